// The address where the API server asks a replica: the webhooks of its controllers, and certificates from files or of
// careen's own.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "commands/commands.h"
#include "io/files.h"
#include "io/real_loop.h"
#include "kube/json.h"
#include "replica/replica.h"
#include "web/leader.h"
#include "web/server.h"
#include "web/webhook_certificates.h"

namespace careen::app {

struct WebhookServerParts {
  io::RealLoop& loop;
  io::Files& files;
  replica::Replica& replica;
  io::Random& random;
  io::HttpClient& http;   // to the replica that leads, directly
  std::string ns;         // of the Secret and the Service
  std::string temporary;  // folder below which certificates are looked for
  io::Log log;
};

class WebhookServer {
 public:
  // Everything must outlive it. Without an address it does nothing and is ready. A dry run serves nothing, and says so
  // by never being ready if it is given an address: a caller registered for it would wait for nothing.
  WebhookServer(WebhookServerParts parts, const RunOptions& options);

  // Opens the port; the error names the address or the files.
  io::Result<void> open();
  // Looks after the certificates until cancelled.
  io::Task<void> run();
  // What it still waits for, or nothing.
  std::optional<std::string> unready() const;

 private:
  bool wanted() const { return !dry_run_ && options_.wanted(); }
  std::optional<std::string> never_served() const;
  io::Result<web::ServingTls> tls();
  // For whoever registers a webhook of its own.
  io::Result<kube::Json> client_config(const std::string& path) const;
  io::Result<std::string> authorities() const;
  std::string key() const;

  WebhookServerParts p_;
  const WebhookOptions& options_;
  bool dry_run_;
  web::Leader leader_;
  web::Routes routes_;                                      // until they are served
  std::string cert_file_;                                   // unless they are our own
  std::unique_ptr<web::WebhookCertificates> certificates_;  // only when they are our own
  std::unique_ptr<io::HttpServer> server_;
};

}  // namespace careen::app
