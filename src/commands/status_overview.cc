#include "commands/status_overview.h"

#include <fmt/format.h>

#include "budget/pause.h"
#include "commands/fleet_from_nodes.h"

namespace careen::app {

using io::Task;
using kube::Json;

namespace {

// People who ask for the status do not want to wait for a careen that does not answer.
constexpr io::Duration kPatience = io::seconds{5};
constexpr const char* kHint =
    "\nCAREEN_SERVER or --server names a careen to ask: its dashboard's address, or auto for one on this machine.";

Task<ViewResult<Json>> ask(KubeSession* session, ViewOptions options) {
  if (!session->process) co_return tl::make_unexpected(ViewError{0, "there is nobody to ask"});
  const ViewParts parts{session->process->loop, session->process->files, session->random};
  const auto source = co_await open_view(parts, std::move(options));
  if (!source) co_return tl::make_unexpected(source.error());
  auto fleet = co_await (*source)->get("fleet");
  if (fleet) session->screen.remark("from " + (*source)->name());
  co_return fleet;
}

// Of whichever namespace has the record.
Task<std::vector<budget::Pause>> read_pauses(KubeSession* session) {
  kube::CallOptions call;
  call.timeout = kPatience;
  call.attempts = 1;
  call.query = fmt::format("fieldSelector=metadata.name%3D{}", budget::PauseRecord::kLease);
  const auto body = co_await session->client.list(kube::resources::leases, "", std::move(call));
  std::vector<budget::Pause> pauses;
  const auto leases = body ? Json::parse(*body) : Json();
  if (!leases) co_return pauses;
  (*leases)["items"].for_each_element([&](kube::JsonView lease) {
    const auto text = lease.at("/metadata/annotations")[budget::PauseRecord::kAnnotation].text();
    const auto record = budget::PauseRecord::parse(text.value_or(""));
    if (!text || !record) return;
    for (const auto& [profile, pause] : record->pauses) pauses.push_back(pause);
  });
  co_return pauses;
}

}  // namespace

Task<Json> read_overview(KubeSession& session, ViewOptions options, std::vector<kube::Node> nodes) {
  const bool asked = !options.server.empty() || !options.config.empty();
  // Computing here takes as long as it takes.
  const io::Duration limit = options.config.empty() ? kPatience : io::minutes{1};
  const std::string whom =
      options.server.empty() ? "" : fmt::format(" from {} {}", options.server_from, options.server);
  auto fleet = co_await io::with_timeout(session.loop, limit, ask(&session, std::move(options)));
  if (fleet && *fleet) co_return std::move(**fleet);
  std::string why =
      fleet ? fleet->error().message : fmt::format("no answer{} within {}", whom, io::format_duration(limit));
  // Where a careen was asked for, the error lists every remedy; here the rest is useful without one.
  if (!asked) why = why.substr(0, why.find('\n')) + kHint;
  const std::string note = "budgets, drains and problems are not shown: " + why;
  if (asked) {
    session.screen.warning(note);
  } else {
    session.screen.remark(note);
  }
  const std::vector<budget::Pause> pauses = co_await read_pauses(&session);
  co_return fleet_from_nodes(nodes, pauses);
}

}  // namespace careen::app
