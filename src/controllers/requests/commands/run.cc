#include <fmt/format.h>

#include "controllers/requests/commands/approval.h"
#include "controllers/requests/commands/asking.h"
#include "controllers/requests/commands/commands.h"
#include "io/process.h"
#include "session/kube_session.h"

namespace careen::requests {

using app::KubeSession;
using io::Task;

namespace {

// An API server that was on the node that has just been maintained needs its time.
constexpr io::Duration kPatience = io::minutes{10};
constexpr io::Duration kBetweenAttempts = io::seconds{5};

// One run: ask, wait, begin, do it, end.
class Run {
 public:
  Run(KubeSession& session, RequestRunOptions options)
      : session_(session),
        options_(std::move(options)),
        mark_(fmt::format("{} {}", session.owner.substr(session.owner.find('/') + 1), session.random.uuid())) {}

  Task<int> main() {
    session_.heeds_interrupt = true;
    if (!co_await check_node(session_, options_.node)) co_return kNotRun;
    auto asked = co_await find_or_create(session_, {options_.client, options_.node}, true);
    if (!asked) {
      refused(session_, asked.error());
      co_return kNotRun;
    }
    request_ = std::move(asked->request);
    if (request_.is(State::in_progress)) co_return refuse_second();
    say(asked->created ? "created" : "found");
    const Approval approval = co_await wait_for_approval(session_, request_, options_.timeout, Tell::notes);
    request_ = approval.request;
    if (approval.end == Approval::End::in_progress) co_return refuse_second();
    if (approval.end != Approval::End::approved) co_return co_await give_up(approval.end);
    const auto begun = co_await start_own(session_, request_, mark_);
    if (!begun) {
      session_.screen.error(fmt::format("{}; the command was not run", begun.error().text));
      co_return kNotRun;
    }
    request_ = *begun;
    if (!session_.interrupted.is_open()) co_return co_await work();
    session_.screen.note("Interrupted: the command was not run.");
    const int code = co_await finish();
    co_return code == 0 ? app::kInterrupted : code;
  }

 private:
  // What it says is no output of the command.
  void say(std::string_view what) { session_.screen.note(fmt::format("{} {}", full_name(request_.name), what)); }
  std::string as_asker() const { return fmt::format("{} --client {}", options_.node, options_.client); }

  int refuse_second() {
    session_.screen.error(
        fmt::format("{} is in progress already{}; the command was not run. When nobody works on the node any more, "
                    "\"careen request done {}\" ends it",
                    full_name(request_.name), request_.run.empty() ? "" : ", begun by " + request_.run, as_asker()));
    return kNotRun;
  }

  // Nobody will run the command: a request that stayed would take a place for nothing.
  Task<void> withdraw() {
    const auto removed = co_await remove_own(session_, request_);
    if (removed) {
      say("deleted");
    } else {
      session_.screen.warning(removed.error().text);
    }
  }

  Task<int> give_up(Approval::End end) {
    const std::string name = full_name(request_.name);
    if (end == Approval::End::rejected || end == Approval::End::completed || end == Approval::End::gone) {
      const std::string what = end == Approval::End::rejected    ? "was rejected: " + waits_for(request_)
                               : end == Approval::End::completed ? "was completed by somebody else"
                                                                 : "was deleted";
      session_.screen.error(fmt::format("{} {}; the command was not run", name, what));
      co_return kNotRun;
    }
    if (end == Approval::End::timed_out) {
      session_.screen.error(
          fmt::format("timed out waiting for {}: {}; the command was not run", name, waits_for(request_)));
    } else {
      session_.screen.note("Interrupted: the command was not run.");
    }
    co_await withdraw();
    co_return end == Approval::End::timed_out ? kNotApprovedInTime : app::kInterrupted;
  }

  Task<int> work() {
    say("in progress");
    session_.leaves_signals = true;
    const auto ended = co_await io::run_attached(
        session_.process->loop,
        {options_.command, {{"CAREEN_NODE", request_.node}, {"CAREEN_REQUEST", request_.name}}});
    session_.leaves_signals = false;
    const std::string error = ended ? ended->error : ended.error().message;
    const int code = ended ? ended->exit_code : kNotRun;
    if (!error.empty()) {
      session_.screen.error(error);
      co_await withdraw();
      co_return code;
    }
    if (code == 0) co_return co_await finish();
    session_.screen.error(
        fmt::format("{} stays in progress, and with it the place of node \"{}\": the command ended with code {}. When "
                    "the node is well, \"careen request done {}\" ends it",
                    full_name(request_.name), request_.node, code, as_asker()));
    co_return code;
  }

  Task<int> finish() {
    const io::Steady limit = session_.loop.now() + kPatience;
    while (true) {
      const auto done = co_await finish_own(session_, request_);
      if (done) {
        say("completed");
        co_return 0;
      }
      const Refusal& refusal = done.error();
      if (refusal.for_good || session_.loop.now() + kBetweenAttempts > limit) {
        session_.screen.error(
            fmt::format("nobody works on the node any more, but {}; \"careen request done {}\" tries it again",
                        refusal.text, as_asker()));
        co_return kNotRun;
      }
      co_await io::sleep_for(session_.loop, kBetweenAttempts);
    }
  }

  KubeSession& session_;
  RequestRunOptions options_;
  std::string mark_;
  OwnRequest request_;
};

}  // namespace

Task<int> run_approved(KubeSession& session, RequestRunOptions options) {
  Run run(session, std::move(options));
  co_return co_await run.main();
}

}  // namespace careen::requests
