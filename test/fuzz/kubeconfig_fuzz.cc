// Kubeconfigs as anybody might have written them. A line "=====" separates the files of a KUBECONFIG list; every
// context of the result is tried. Each file is read as an untrusted text, too, and then reaches for nothing.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include "io/files.h"
#include "io/virtual_time.h"
#include "kube/credentials.h"
#include "kube/kubeconfig.h"

namespace {

using careen::kube::ClusterFlags;
using careen::kube::Environment;

constexpr std::string_view kSeparator = "=====\n";

void check(const careen::io::Result<careen::kube::Access>& cluster) {
  // Whatever comes out is either a message or something that can be connected to.
  if (!cluster ? cluster.error().message.empty() : !cluster->server.starts_with("http")) std::abort();
}

void check_untrusted(const std::string& text, const std::string& context) {
  const auto cluster = careen::kube::resolve_untrusted_kubeconfig("Secret a/b", text, context);
  check(cluster);
  if (!cluster) return;
  const careen::kube::User& user = cluster->user;
  const auto* token = std::get_if<careen::kube::Token>(&user.method);
  const bool reads = !cluster->ca.path.empty() || !user.client_cert.path.empty() || !user.client_key.path.empty() ||
                     (token && !token->path.empty());
  const bool runs = std::holds_alternative<careen::kube::ExecPlugin>(user.method);
  if (reads || runs || !cluster->proxy.empty() || !cluster->server.starts_with("https://")) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  careen::io::VirtualTime time;
  const auto loop = time.make_loop();
  careen::io::MemoryFiles files(*loop);
  files.write("/kube/ca.crt", "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n");
  files.write("/kube/me.key", "-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n");
  files.write("/kube/token", "secret\n");

  std::string list;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  for (int i = 0; i < 3; ++i) {
    const size_t end = i < 2 ? std::min(rest.find(kSeparator), rest.size()) : rest.size();
    const std::string path = "/kube/config" + std::to_string(i);
    files.write(path, std::string(rest.substr(0, end)));
    check_untrusted(std::string(rest.substr(0, end)), "");
    check_untrusted(std::string(rest.substr(0, end)), "a");
    list += (i > 0 ? ":" : "") + path;
    if (end == rest.size()) break;
    rest.remove_prefix(end + kSeparator.size());
  }
  const Environment environment{[&list](std::string_view name) -> std::optional<std::string> {
    if (name == "KUBECONFIG") return list;
    return std::nullopt;
  }};
  check(load_access(files, environment, ClusterFlags{}));
  check(load_access(files, environment, ClusterFlags{"", "a"}));
  return 0;
}
