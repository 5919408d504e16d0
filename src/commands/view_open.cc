#include <fmt/format.h>

#include "cli/environment.h"
#include "commands/local_careens.h"
#include "commands/view_local.h"
#include "commands/view_source.h"
#include "io/files.h"
#include "io/http.h"
#include "io/real_loop.h"
#include "kube/credentials.h"
#include "kube/http_transport.h"
#include "web/view_guard.h"

namespace careen::app {

using io::Task;

namespace {

// A source together with what it needs to live.
template <class Needed>
class Owning final : public ViewSource {
 public:
  Owning(Needed needed, std::unique_ptr<ViewSource> source) : needed_(std::move(needed)), source_(std::move(source)) {}
  std::string name() const override { return source_->name(); }
  Task<ViewResult<kube::Json>> get(std::string path) override { return source_->get(std::move(path)); }
  Task<ViewError> follow(OnEvent on_event) override { return source_->follow(std::move(on_event)); }

 private:
  Needed needed_;
  std::unique_ptr<ViewSource> source_;
};

std::string advice(const std::string& tried) {
  return fmt::format(
      "no running careen could be asked: {}\n"
      "Say whom to ask with --server, or for all commands with CAREEN_SERVER:\n"
      "  export CAREEN_SERVER=auto                    # a careen that runs on this machine\n"
      "  export CAREEN_SERVER=http://127.0.0.1:8080   # its dashboard, for instance after \"kubectl port-forward\"\n"
      "Or give a configuration with --config FILE to compute the answer here.",
      tried);
}

// That it answers at all is known only after the first question.
Task<ViewResult<std::unique_ptr<ViewSource>>> leader(ViewParts parts, kube::Access access, ViewOptions options) {
  const auto authenticator = kube::make_authenticator(parts.loop, parts.files, std::move(access));
  const auto transport = kube::make_http_transport(parts.loop, authenticator);
  auto proxied = kube::make_http_transport(parts.loop, authenticator);
  LeaderAccess way{
      .api = *transport,
      .proxied = *proxied,
      .now = parts.loop.wall_now(),
      .ns = std::move(options.ns),
      .view_token = std::move(options.token),
      .workload = std::move(options.workload),
      .show_token = [&](std::string token) { proxied->set_headers({{web::kTokenHeader, std::move(token)}}); }};
  auto found = co_await view_of_leader(std::move(way));
  if (!found) co_return tl::make_unexpected(ViewError{found.error().status, advice(found.error().message)});
  co_return std::make_unique<Owning<std::unique_ptr<kube::HttpTransport>>>(std::move(proxied), std::move(*found));
}

ViewResult<std::unique_ptr<ViewSource>> at_address(io::RealLoop& loop, const ViewOptions& options) {
  const bool typed = options.server_from.starts_with('-');
  std::string url = options.server;
  // Who typed the address need not be told where it comes from.
  std::string from = typed ? "" : options.server_from;
  if (url == kAutoServer) {
    from = fmt::format("{}{}{}", options.server_from, typed ? ' ' : '=', kAutoServer);
    const auto found = find_local_careen(record_folder(read_environment));
    if (!found) return tl::make_unexpected(ViewError{0, fmt::format("{}: {}", from, found.error().message)});
    url = found->url;
  }
  auto http = io::make_http_client(loop, {});
  auto source = view_at(*http, std::move(url), options.token, std::move(from), options.workload);
  return std::make_unique<Owning<std::unique_ptr<io::HttpClient>>>(std::move(http), std::move(source));
}

}  // namespace

Task<ViewResult<std::unique_ptr<ViewSource>>> open_view(ViewParts parts, ViewOptions options) {
  if (!options.server.empty()) co_return at_address(parts.loop, options);
  auto access =
      kube::load_access(parts.files, {read_environment}, {options.cluster.kubeconfig, options.cluster.context});
  if (!access) co_return tl::make_unexpected(ViewError{0, access.error().message});
  if (options.config.empty()) co_return co_await leader(parts, std::move(*access), std::move(options));
  co_return co_await view_computed_here(parts, std::move(*access), std::move(options));
}

}  // namespace careen::app
