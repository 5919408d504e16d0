#include <fmt/format.h>

#include <vector>

#include "controllers/requests/commands/asking.h"
#include "controllers/requests/commands/commands.h"
#include "controllers/requests/names.h"
#include "session/kube_session.h"

namespace careen::requests {

using app::kFailed;
using app::KubeSession;
using io::Task;

namespace {

int tell(KubeSession& session, const Step<OwnRequest>& step, std::string_view done) {
  if (!step) {
    session.screen.error(step.error().text);
    return kFailed;
  }
  session.screen.line(fmt::format("{} {}", full_name(step->name), done));
  return 0;
}

// The asker's live request, or else the last one that is over in one of these ways, the first of them first. If there
// is none, that has been said, and the error is the exit code.
Task<tl::expected<OwnRequest, int>> find_own(KubeSession& session, StepOptions options, std::vector<State> over) {
  const Asker asker{options.client, options.node};
  const auto listed = co_await list_own(session, options.client);
  if (!listed) co_return tl::make_unexpected(refused(session, listed.error()));
  if (const OwnRequest* live = live_of(*listed, asker)) co_return *live;
  for (const State state : over) {
    if (const OwnRequest* last = last_of(*listed, asker, state)) co_return *last;
  }
  session.screen.error(
      fmt::format("there is no request of client \"{}\" for node \"{}\"; \"careen request list --all\" shows all",
                  options.client, options.node));
  co_return tl::make_unexpected(kFailed);
}

}  // namespace

Task<int> start_request(KubeSession& session, StepOptions options) {
  const auto found = co_await find_own(session, options, {State::rejected});
  if (!found) co_return found.error();
  co_return tell(session, co_await start_own(session, *found, ""), "in progress");
}

Task<int> finish_request(KubeSession& session, StepOptions options) {
  // Who was too slow has worked all the same.
  const auto found = co_await find_own(session, options, {State::rejected, State::completed});
  if (!found) co_return found.error();
  if (!found->is(State::completed)) co_return tell(session, co_await finish_own(session, *found), "completed");
  session.screen.line(full_name(found->name) + " is completed already");
  co_return 0;
}

Task<int> cancel_request(KubeSession& session, StepOptions options) {
  const auto found = co_await find_own(session, options, {State::rejected});
  if (!found) co_return found.error();
  if (const auto removed = co_await remove_own(session, *found); !removed) {
    session.screen.error(removed.error().text);
    co_return kFailed;
  }
  session.screen.line(fmt::format("maintenancerequest.{} \"{}\" deleted", kResource.group, found->name));
  if (found->is(State::in_progress)) {
    session.screen.warning(
        fmt::format("it was in progress: whoever works on node \"{}\" has no place any more", found->node));
  }
  co_return 0;
}

}  // namespace careen::requests
