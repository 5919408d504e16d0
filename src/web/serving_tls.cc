#include "web/serving_tls.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace careen::web {

namespace {

constexpr io::Duration kSelfSignedFor = io::hours{24 * 365};
// Clocks differ.
constexpr io::Duration kBackdated = io::hours{1};

std::optional<ServingTls> if_there(io::Files& files, const std::string& cert, const std::string& key) {
  if (!files.read(cert) || !files.read(key)) return std::nullopt;
  return ServingTls{.cert_file = cert, .key_file = key};
}

}  // namespace

void ServingTls::apply_to(io::ServerOptions& options) const {
  options.tls_cert_file = cert_file;
  options.tls_key_file = key_file;
  options.tls_pair = pair;
}

io::Result<ServingTls> webhook_tls_from_files(io::Files& files, const std::string& folder,
                                              const std::string& olm_folder) {
  if (auto olm = if_there(files, olm_folder + "/apiserver.crt", olm_folder + "/apiserver.key")) return std::move(*olm);
  if (auto own = if_there(files, folder + "/tls.crt", folder + "/tls.key")) return std::move(*own);
  return io::fail(io::ErrorKind::file,
                  fmt::format("the webhook has no certificate: neither {0}/apiserver.crt and {0}/apiserver.key nor "
                              "{1}/tls.crt and {1}/tls.key can be read; mount them, or let careen make its own with "
                              "--webhook-self-signed",
                              olm_folder, folder));
}

ServingTls metrics_tls(io::Loop& loop, io::Files& files, const std::string& folder) {
  if (auto own = if_there(files, folder + "/tls.crt", folder + "/tls.key")) return std::move(*own);
  return self_signed_tls(loop, {"localhost", "127.0.0.1"});
}

ServingTls self_signed_tls(io::Loop& loop, std::vector<std::string> names) {
  struct Made {
    std::shared_ptr<const io::KeyPair> pair;
    io::Wall renew_at{};
  };
  ServingTls tls;
  // Copies of the function give the same pair.
  tls.pair = [&loop, names = std::move(names), made = std::make_shared<Made>()] {
    const io::Wall now = loop.wall_now();
    if (made->pair && now < made->renew_at) return made->pair;
    auto pair = io::make_self_signed(names, {now - kBackdated, now + kSelfSignedFor});
    if (!pair) return made->pair;
    made->pair = std::make_shared<const io::KeyPair>(std::move(*pair));
    made->renew_at = now + kSelfSignedFor * 2 / 3;
    return made->pair;
  };
  return tls;
}

}  // namespace careen::web
