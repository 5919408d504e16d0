#include <fmt/format.h>

#include "controllers/requests/commands/asking.h"
#include "controllers/requests/commands/commands.h"
#include "controllers/requests/names.h"
#include "session/kube_session.h"

namespace careen::requests {

using app::kFailed;
using app::KubeSession;
using io::Task;

namespace {

std::string there_is_none(const StepOptions& options) {
  return fmt::format("there is no request of client \"{}\" for node \"{}\"; \"careen request list --all\" shows all",
                     options.client, options.node);
}

int tell(KubeSession& session, const Step<OwnRequest>& step, std::string_view done) {
  if (!step) {
    session.screen.error(step.error().text);
    return kFailed;
  }
  session.screen.line(fmt::format("{} {}", full_name(step->name), done));
  return 0;
}

}  // namespace

Task<int> start_request(KubeSession& session, StepOptions options) {
  const Asker asker{options.client, options.node};
  const auto listed = co_await list_own(session, options.client);
  if (!listed) co_return refused(session, listed.error());
  const OwnRequest* live = live_of(*listed, asker);
  if (!live) live = last_of(*listed, asker, State::rejected);
  if (!live) {
    session.screen.error(there_is_none(options));
    co_return kFailed;
  }
  co_return tell(session, co_await start_own(session, *live, ""), "in progress");
}

Task<int> finish_request(KubeSession& session, StepOptions options) {
  const Asker asker{options.client, options.node};
  const auto listed = co_await list_own(session, options.client);
  if (!listed) co_return refused(session, listed.error());
  const OwnRequest* live = live_of(*listed, asker);
  // Who was too slow has worked all the same.
  if (!live) live = last_of(*listed, asker, State::rejected);
  if (live) co_return tell(session, co_await finish_own(session, *live), "completed");
  if (const OwnRequest* before = last_of(*listed, asker, State::completed)) {
    session.screen.line(full_name(before->name) + " is completed already");
    co_return 0;
  }
  session.screen.error(there_is_none(options));
  co_return kFailed;
}

Task<int> cancel_request(KubeSession& session, StepOptions options) {
  const Asker asker{options.client, options.node};
  const auto listed = co_await list_own(session, options.client);
  if (!listed) co_return refused(session, listed.error());
  const OwnRequest* live = live_of(*listed, asker);
  if (!live) live = last_of(*listed, asker, State::rejected);
  if (!live) {
    session.screen.error(there_is_none(options));
    co_return kFailed;
  }
  if (const auto removed = co_await remove_own(session, *live); !removed) {
    session.screen.error(removed.error().text);
    co_return kFailed;
  }
  session.screen.line(fmt::format("maintenancerequest.{} \"{}\" deleted", kResource.group, live->name));
  if (live->is(State::in_progress)) {
    session.screen.warning(
        fmt::format("it was in progress: whoever works on node \"{}\" has no place any more", live->node));
  }
  co_return 0;
}

}  // namespace careen::requests
