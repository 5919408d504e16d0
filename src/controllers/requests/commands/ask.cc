#include <fmt/format.h>

#include "controllers/requests/commands/approval.h"
#include "controllers/requests/commands/asking.h"
#include "controllers/requests/commands/commands.h"
#include "session/kube_session.h"
#include "session/node_choice.h"

namespace careen::requests {

using app::Colour;
using app::kFailed;
using app::KubeSession;
using io::Task;

namespace {

void explain_rejection(KubeSession& session, const OwnRequest& request) {
  session.screen.error(fmt::format("{} was rejected: {}", full_name(request.name),
                                   request.status.message.empty() ? "nobody says why" : request.status.message));
}

int tell(KubeSession& session, const RequestOptions& options, Approval::End end, const OwnRequest& request) {
  const auto line = [&](const app::Line& text) {
    if (!options.json) session.screen.line(text);
  };
  const std::string name = full_name(request.name);
  const std::string as_asker = fmt::format("{} --client {}", options.node, options.client);
  switch (end) {
    case Approval::End::approved:
      line(name + " " + session.screen.paint(Colour::green, "approved") +
           fmt::format(": node/{} may be maintained", options.node));
      return 0;
    case Approval::End::in_progress:
      session.screen.error(
          fmt::format("{} is in progress already; \"careen request done {}\" ends it", name, as_asker));
      return kInProgress;
    case Approval::End::rejected:
      explain_rejection(session, request);
      session.screen.note(
          fmt::format("\"careen request cancel {}\" deletes it, and it can be asked for anew.", as_asker));
      return kRejected;
    case Approval::End::completed:
      session.screen.error(fmt::format("{} was completed meanwhile, by somebody else", name));
      return kRejected;
    case Approval::End::gone:
      session.screen.error(fmt::format("{} was deleted meanwhile", name));
      return kRejected;
    case Approval::End::timed_out:
      session.screen.error(fmt::format("timed out waiting for {}: {}", name, waits_for(request)));
      session.screen.note(fmt::format("It keeps its turn; \"careen request cancel {}\" withdraws it.", as_asker));
      return kTimedOut;
    case Approval::End::interrupted:
      session.screen.note(
          fmt::format("Interrupted: the request keeps its turn; \"careen request cancel {}\" withdraws it.", as_asker));
      return app::kInterrupted;
  }
  return kFailed;
}

Approval::End end_of(const OwnRequest& request) {
  if (request.is(State::approved)) return Approval::End::approved;
  return request.is(State::in_progress) ? Approval::End::in_progress : Approval::End::timed_out;
}

}  // namespace

Task<bool> check_node(KubeSession& session, std::string node) {
  const app::ChosenNodes chosen = co_await app::choose_nodes(session, {{node}, ""});
  if (chosen.forbidden || chosen.errors.empty()) co_return true;
  for (const std::string& error : chosen.errors) session.screen.error(error);
  co_return false;
}

int refused(KubeSession& session, const kube::ApiError& error) {
  session.screen.error(error.not_found() ? missing_kind() : app::server_error(error));
  return kFailed;
}

Task<kube::Result<Asked>> find_or_create(KubeSession& session, Asker asker, bool anew) {
  const auto listed = co_await list_own(session, asker.client);
  if (!listed) co_return tl::make_unexpected(listed.error());
  if (const OwnRequest* live = live_of(*listed, asker)) co_return Asked{*live, false};
  if (const OwnRequest* rejected = last_of(*listed, asker, State::rejected)) {
    if (!anew) co_return Asked{*rejected, false};
    if (const auto removed = co_await remove_own(session, *rejected); !removed) {
      session.screen.warning(removed.error().text);
    }
  }
  auto created = co_await create_own(session, asker);
  if (!created) co_return tl::make_unexpected(created.error());
  co_return Asked{std::move(*created), true};
}

Task<int> request_node(KubeSession& session, RequestOptions options) {
  if (!co_await check_node(session, options.node)) co_return kFailed;
  auto asked = co_await find_or_create(session, {options.client, options.node}, options.wait);
  if (!asked) co_return refused(session, asked.error());
  OwnRequest request = std::move(asked->request);
  if (asked->created && !options.json) session.screen.line(full_name(request.name) + " created");

  int code = 0;
  if (options.wait && request.is(State::pending)) {
    Approval approval = co_await wait_for_approval(session, std::move(request), options.timeout,
                                                   options.json ? Tell::nothing : Tell::output);
    request = std::move(approval.request);
    code = tell(session, options, approval.end, request);
  } else if (request.is(State::rejected)) {
    code = tell(session, options, Approval::End::rejected, request);
  } else if (!request.is(State::pending)) {
    code = tell(session, options, end_of(request), request);
  } else {
    code = kStillPending;
    if (!options.json && !asked->created) {
      session.screen.line(fmt::format("{} is pending{}", full_name(request.name),
                                      request.status.message.empty() ? "" : ": " + waits_for(request)));
    }
  }
  if (options.json) session.screen.document(document_of(request).dump());
  co_return code;
}

}  // namespace careen::requests
