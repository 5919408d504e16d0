// Where a server's certificate comes from: files that somebody mounts and renews, or a pair made in memory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/certificates.h"
#include "io/files.h"
#include "io/http_server.h"
#include "io/loop.h"

namespace careen::web {

// Either both files or the function.
struct ServingTls {
  std::string cert_file = {};
  std::string key_file = {};
  // Asked at each new connection; null while there is none.
  std::function<std::shared_ptr<const io::KeyPair>()> pair = {};

  void apply_to(io::ServerOptions& options) const;
};

// Where OLM puts the certificate of a webhook: apiserver.crt and apiserver.key.
inline constexpr const char* kOlmFolder = "/apiserver.local.config/certificates";
// Below the folder for temporary files, as the original has them: tls.crt and tls.key.
inline constexpr const char* kWebhookFolder = "k8s-webhook-server/serving-certs";
inline constexpr const char* kMetricsFolder = "k8s-metrics-server/serving-certs";

// OLM's files if both are there, otherwise tls.crt and tls.key of `folder`. The error names all of them.
io::Result<ServingTls> webhook_tls_from_files(io::Files& files, const std::string& folder,
                                              const std::string& olm_folder = kOlmFolder);
// tls.crt and tls.key of `folder` if both are there, otherwise one made in memory for localhost. The loop must outlive
// its use.
ServingTls metrics_tls(io::Loop& loop, io::Files& files, const std::string& folder);
// Signs itself, and is replaced before it expires.
ServingTls self_signed_tls(io::Loop& loop, std::vector<std::string> names);

}  // namespace careen::web
