#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "cli/redraw.h"
#include "cli/terminal_table.h"
#include "commands/drain_limits.h"
#include "commands/drain_rehearsal.h"
#include "commands/drain_watches.h"
#include "commands/node_commands.h"
#include "commands/node_write.h"
#include "commands/pause.h"
#include "drain/engine.h"
#include "drain/holds.h"
#include "session/drain_report.h"
#include "session/kube_session.h"
#include "session/node_choice.h"
#include "session/progress_view.h"

namespace careen::app {

using drain::Progress;
using io::Task;

namespace {

constexpr int kCordonsAtOnce = 16;
constexpr io::Duration kFinishRequests = io::seconds{5};

// Of the engine's warnings, which kubectl's library begins so.
std::string_view without_mark(std::string_view warnings) {
  constexpr std::string_view kMark = "WARNING: ";
  return warnings.starts_with(kMark) ? warnings.substr(kMark.size()) : warnings;
}

// One run of the command: all nodes at once, on one engine.
class DrainRun {
 public:
  DrainRun(KubeSession& session, DrainLimits& limits, DrainOptions options, std::vector<kube::Node> nodes,
           PodWatches how)
      : session_(session),
        limits_(limits),
        screen_(session.screen),
        options_(as_kubectl(std::move(options))),
        watches_(session, names_of(nodes), how, options_.page_size),
        engine_({session.loop, session.client, watches_.pods(), watches_.budgets(),
                 [this](std::string_view ns, std::string_view name) { return watches_.daemon_set(ns, name); }, nullptr,
                 session.metrics, session.problems, io::Log()},
                {}),
        log_(options_.drain.disable_eviction),
        changed_(session.loop),
        hopeless_(session.loop),
        cordons_(session.loop, kCordonsAtOnce),
        scope_(session.loop) {
    for (kube::Node& node : nodes) work_.push_back({std::move(node), {}, false, false});
    changes_ = engine_.subscribe([this](const drain::Key& key) { has_changed(key.node); });
    session_.on_problem = [this](std::string_view key, std::string_view message) { take_problem(key, message); };
  }
  ~DrainRun() { session_.on_problem = nullptr; }

  Task<int> main();

 private:
  struct Work {
    kube::Node node;
    DrainedNode report;
    bool finished = false;
    bool warned = false;
  };

  // A drain from a terminal says at once what is not possible, and its user decides.
  static DrainOptions as_kubectl(DrainOptions options) {
    options.drain.give_up_on_errors = true;
    return options;
  }
  static std::vector<std::string> names_of(const std::vector<kube::Node>& nodes) {
    std::vector<std::string> names;
    for (const kube::Node& node : nodes) names.push_back(node.name);
    return names;
  }
  drain::Key key_of(const Work& work) const { return {work.node.name, session_.owner}; }
  bool all_finished() const {
    return std::all_of(work_.begin(), work_.end(), [](const Work& work) { return work.finished; });
  }

  Task<void> take_out(Work& work);
  Task<void> cordon(Work& work);
  Task<void> tell_what_is_known();
  Task<void> tell_budgets();
  Task<void> look_why_no_pods();
  void take_problem(std::string_view key, std::string_view message);

  // What it shows of that node may be another.
  void has_changed(const std::string& node) {
    news_.insert(node);
    changed_.notify();
  }

  Task<void> follow();
  void show();
  void show(Work& work, std::vector<NodeView>& views);
  void show_news(Work& work, const Progress& progress);
  void finish(Work& work, const Progress& progress);
  void fail(Work& work, DrainEnd end, std::vector<std::string> errors);
  Task<int> break_off();
  int report(int code);

  void say(const Line& text) {
    if (!options_.json) screen_.line(text);
  }

  KubeSession& session_;
  DrainLimits& limits_;
  Screen& screen_;
  DrainOptions options_;
  DrainWatches watches_;
  drain::Engine engine_;
  ProgressLog log_;
  std::vector<Work> work_;
  std::string no_pods_;         // why none can ever be read
  std::set<std::string> news_;  // nodes of which there is something new to show
  io::Signal changed_;
  io::Gate hopeless_;
  io::Semaphore cordons_;
  io::Subscription changes_;
  io::Scope scope_;
};

Task<int> DrainRun::main() {
  session_.heeds_interrupt = true;
  watches_.start();
  scope_.spawn(engine_.run());
  scope_.spawn(tell_what_is_known());
  scope_.spawn(tell_budgets());
  std::vector<Task<void>> cordons;
  for (Work& work : work_) cordons.push_back(take_out(work));
  scope_.spawn(run_all(session_.loop, std::move(cordons), static_cast<int>(work_.size())));

  co_await io::race(session_.loop, follow(), io::wait_for(session_.interrupted));
  if (session_.interrupted.is_open() && !all_finished()) co_return co_await break_off();
  screen_.redraw({});
  const bool drained =
      std::all_of(work_.begin(), work_.end(), [](const Work& work) { return work.report.end == DrainEnd::drained; });
  co_return report(drained ? 0 : kFailed);
}

// Those that wait for a place keep no others from theirs.
Task<void> DrainRun::take_out(Work& work) {
  co_await limits_.turn(work.node,
                        [&](const std::string& text) { say(fmt::format("node/{} {}", work.node.name, text)); });
  const auto permit = co_await cordons_.acquire();
  co_await cordon(work);
}

// The cordon and its hold are one write; pods are evicted only after it was acknowledged.
Task<void> DrainRun::cordon(Work& work) {
  work.report.node = work.node.name;
  const auto change = [this](const kube::Node& node) {
    // A repeated drain continues with the hold of the first time.
    const drain::Holds holds = drain::holds_of(node);
    const auto own = holds.by_owner.find(session_.owner);
    drain::Hold hold = own == holds.by_owner.end()
                           ? drain::Hold{.id = session_.random.uuid(), .since = session_.now(), .items = {}}
                           : own->second;
    hold.items.cordon = true;
    return drain::hold(node, session_.owner, std::move(hold), session_.atoms);
  };
  const bool before = work.node.unschedulable;
  auto cordoned = co_await change_node(session_, work.node, change);
  if (!cordoned) {
    fail(work, DrainEnd::not_cordoned,
         {fmt::format("unable to cordon node \"{}\": {}", work.node.name, server_error(cordoned.error()))});
    limits_.give_up(work.node.name);
    changed_.notify();
    co_return;
  }
  say(fmt::format("node/{} {}", work.node.name, before ? "already cordoned" : "cordoned"));
  work.node = std::move(*cordoned);
  work.report.cordoned = true;
  engine_.begin(key_of(work), work.node.uid, options_.drain);
  has_changed(work.node.name);
}

Task<void> DrainRun::tell_what_is_known() {
  co_await watches_.pods_known();
  engine_.pods_known();
  changed_.notify();
}

Task<void> DrainRun::tell_budgets() {
  if (co_await watches_.budgets_known()) engine_.budgets_known();
}

void DrainRun::take_problem(std::string_view key, std::string_view message) {
  std::string told;
  if (watches_.takes(key, message, told)) {
    if (DrainWatches::is_about_budgets(key)) engine_.budgets_unavailable(std::string(message));
    return screen_.warning(told);
  }
  screen_.warning(message);
  if (DrainWatches::is_about_pods(key)) scope_.spawn(look_why_no_pods());
}

// A server that is away comes back; rights do not.
Task<void> DrainRun::look_why_no_pods() {
  kube::CallOptions call;
  call.query = "limit=1&fieldSelector=" + url_text("spec.nodeName=" + work_.front().node.name);
  const auto answer = co_await session_.client.list(kube::resources::pods, "", std::move(call));
  if (answer || !answer.error().forbidden()) co_return;
  no_pods_ = server_error(answer.error());
  hopeless_.open();
  changed_.notify();
}

Task<void> DrainRun::follow() {
  while (true) {
    show();
    if (all_finished()) co_return;
    if (screen_.live()) {
      co_await heard_within(session_.loop, kRedrawEvery, changed_);
      co_await io::sleep_for(session_.loop, kBetweenFrames);
    } else {
      co_await changed_.wait();
    }
  }
}

// On a terminal all nodes, a few times a second; elsewhere, after each change, those that it concerns.
void DrainRun::show() {
  const auto news = std::exchange(news_, {});
  std::vector<NodeView> views;
  for (Work& work : work_) {
    if (work.finished) continue;
    if (hopeless_.is_open()) {
      fail(work, DrainEnd::failed,
           {fmt::format("unable to read the pods of node \"{}\": {}", work.node.name, no_pods_)});
      continue;
    }
    if (screen_.live() || news.contains(work.node.name)) show(work, views);
  }
  if (!options_.json) screen_.redraw(frame(views, screen_));
}

void DrainRun::show(Work& work, std::vector<NodeView>& views) {
  const Progress* progress = engine_.progress(key_of(work));
  if (!progress) return;
  show_news(work, *progress);
  if (progress->phase != Progress::Phase::draining) return finish(work, *progress);
  work.report.progress = *progress;
  if (screen_.live()) views.push_back(view_of(work.node.name, *progress, session_.now()));
}

void DrainRun::show_news(Work& work, const Progress& progress) {
  if (!progress.warnings.empty() && !std::exchange(work.warned, true)) {
    screen_.warning(without_mark(progress.warnings));
  }
  if (screen_.live() || options_.json) return;
  for (const std::string& line : log_.news(work.node.name, progress)) screen_.line(line);
}

void DrainRun::finish(Work& work, const Progress& progress) {
  work.report.progress = with_reasons(progress, work.report.progress);
  work.report.took = session_.now() - progress.begun;
  if (progress.phase != Progress::Phase::drained) {
    std::vector<std::string> errors;
    for (const std::string& error : progress.errors) {
      errors.push_back(fmt::format("unable to drain node \"{}\" due to error: {}", work.node.name, error));
    }
    const bool refused = progress.phase == Progress::Phase::refused;
    fail(work, refused ? DrainEnd::refused : DrainEnd::failed, std::move(errors));
  } else {
    work.finished = true;
    work.report.end = DrainEnd::drained;
    const std::string details = fmt::format(
        " ({} in {})", count_text(static_cast<size_t>(progress.pods_to_evict), "pod"), age_text(work.report.took));
    say(fmt::format("node/{} ", work.node.name) + screen_.paint(Colour::green, "drained") +
        (screen_.live() ? screen_.paint(Colour::dim, details) : Line()));
  }
  // Newcomers are nobody's business any more.
  engine_.end(key_of(work));
}

void DrainRun::fail(Work& work, DrainEnd end, std::vector<std::string> errors) {
  work.finished = true;
  work.report.end = end;
  for (const std::string& error : errors) screen_.error(error);
  work.report.errors = std::move(errors);
}

Task<int> DrainRun::break_off() {
  screen_.redraw({});
  for (Work& work : work_) engine_.end(key_of(work));
  if (!options_.json) screen_.note("Interrupted: no further pod is evicted.");
  co_await ends_within(session_.loop, kFinishRequests, engine_.stop());
  co_return report(kInterrupted);
}

int DrainRun::report(int code) {
  std::vector<DrainedNode> nodes;
  for (const Work& work : work_) nodes.push_back(work.report);
  if (options_.json) {
    screen_.document(drain_document(nodes).dump());
    return code;
  }
  if (code == 0) return code;
  for (const DrainedNode& node : nodes) {
    if (code != kInterrupted && node.end == DrainEnd::drained) continue;
    screen_.note(state_text(node));
    for (const std::string& line : pods_left(node)) screen_.note(line);
  }
  for (const std::string& line : advice(nodes)) screen_.note(line);
  return code;
}

// Somebody has stopped everything: that is meant for people, too, unless they know better.
Task<bool> may_drain(KubeSession& session, bool regardless) {
  const std::string paused = co_await find_pause(session);
  if (paused.empty()) co_return true;
  if (regardless) {
    session.screen.warning("careen is " + paused);
    co_return true;
  }
  session.screen.error(
      fmt::format("careen is {}; \"careen resume\" lifts that, --ignore-pause drains nevertheless", paused));
  co_return false;
}

}  // namespace

Task<int> drain_nodes(KubeSession& session, DrainOptions options) {
  ChosenNodes chosen = co_await choose_nodes(session, {options.nodes, options.selector});
  for (const std::string& error : chosen.errors) session.screen.error(error);
  if (!chosen.errors.empty()) co_return kFailed;
  if (chosen.nodes.empty()) {
    session.screen.note("No node matches the selector.");
    co_return 0;
  }
  const bool regardless = options.ignore_pause || options.dry_run != DryRun::none;
  if (!co_await may_drain(session, regardless)) co_return kFailed;
  DrainLimits limits(session, options.page_size);
  if (!options.ignore_limits && !co_await limits.find(chosen.nodes)) co_return kFailed;
  if (options.dry_run != DryRun::none) {
    co_return co_await rehearse_drain(session, limits, std::move(options), std::move(chosen.nodes));
  }
  const PodWatches how = co_await choose_pod_watches(session, chosen.nodes.size());
  DrainRun drain(session, limits, std::move(options), std::move(chosen.nodes), how);
  co_return co_await drain.main();
}

}  // namespace careen::app
