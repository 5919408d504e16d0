#include "play.h"

#include <fmt/format.h>

#include "actions.h"
#include "stage.h"
#include "words.h"

namespace careen::scenarios {

namespace {

constexpr size_t kMostMoments = 24;
constexpr size_t kMostReasons = 16;
constexpr size_t kMostNodes = 3;
// For so long after the end, what `finally` says must stay so.
constexpr io::Duration kStable = io::hours{1};

struct Failure {
  config::Position where;
  std::string expected;
  std::string how;  // seen instead, cannot be done
  std::string seen;
  std::set<std::string> nodes;
};

class Player {
 public:
  Player(const Scenario& scenario, uint64_t seed) : scenario_(scenario), stage_(scenario, seed) {
    stage_.witness.on_node = [this] { watch_over(); };
    stage_.witness.on_change = [this] { dirty_ = true; };
    stage_.crew.on_log = [this] { dirty_ = true; };
  }

  Outcome play() {
    open();
    for (const Step& step : scenario_.steps) {
      if (!play_step(step)) break;
    }
    if (failures_.empty() && scenario_.end) run_until(*scenario_.end, [] { return false; });
    if (failures_.empty()) play_finale();
    Outcome outcome;
    outcome.passed = failures_.empty();
    outcome.length = now();
    outcome.timeline = stage_.timeline.text();
    if (!outcome.passed) outcome.failure = report();
    return outcome;
  }

 private:
  // What must hold all the time, for as long as it is in the list.
  struct Guard {
    const Expectation& expectation;
    std::string when;  // for the report: "never", "always", "for 10m"
    Mark since = {};
    bool from_known = false;  // only once careen has seen every node
  };

  io::Duration now() const { return stage_.time.now().time_since_epoch(); }

  void open() {
    note("person", fmt::format("makes a cluster: {}", scenario_.summary.empty() ? "empty" : scenario_.summary));
    for (const PlannedObject& object : scenario_.objects) {
      first_nodes_ += object.path.starts_with("/api/v1/nodes/") ? 1 : 0;
    }
    for (const PlannedObject& object : scenario_.objects) {
      const std::string wrong = make_object(stage_, object, {});
      if (!wrong.empty()) failures_.push_back({{}, object.path, "cannot be made", wrong, {}});
    }
    for (const auto& [query, number] : scenario_.measures) stage_.cluster.outside.values[query] = number;
    for (const Expectation& one : scenario_.never) guards_.push_back({one, "never"});
    for (const Expectation& one : scenario_.always) guards_.push_back({one, "always", {}, scenario_.careen.profiles});
    for (const std::string& name : stage_.crew.names()) stage_.crew.start(name);
  }

  void note(std::string who, std::string what) {
    stage_.timeline.add({stage_.time.now(), std::move(who), std::move(what), {}, {}});
  }

  void fail(const Expectation& expectation, std::string_view when, const Verdict& verdict) {
    failures_.push_back(
        {expectation.where, fmt::format("{}{}", when, expectation.text), "seen instead", verdict.seen, verdict.nodes});
  }

  bool every_node_is_known() const {
    if (stage_.witness.nodes().size() < first_nodes_) return false;
    for (const auto& [name, node] : stage_.witness.nodes()) {
      if (node.state().empty()) return false;
    }
    return true;
  }

  // Right after every change, so that nothing is missed that is put right in the same instant.
  void watch_over() {
    if (!failures_.empty()) return;
    all_known_ = all_known_ || every_node_is_known();
    for (const Guard& guard : guards_) {
      if (guard.from_known && !all_known_) continue;
      const Verdict verdict = guard.expectation.check(stage_, guard.since);
      if (verdict.holds) continue;
      fail(guard.expectation, guard.when + ": ", verdict);
      return;
    }
  }

  // Runs to that time, or until `done`, or until something has failed. Looks only after something has happened.
  bool run_until(io::Duration end, const std::function<bool()>& done) {
    dirty_ = true;
    const auto stop = [&] {
      stage_.crew.tend();
      if (!dirty_) return false;
      dirty_ = false;
      watch_over();
      return !failures_.empty() || done();
    };
    return stage_.time.run_until(stop, end - now()) && failures_.empty();
  }

  bool play_step(const Step& step) {
    run_until(step.at ? *step.at : now() + step.after, [] { return false; });
    if (!failures_.empty()) return false;
    if (!step.actions.empty()) acted_ = stage_.mark();
    for (const Action& action : step.actions) {
      note(action.who, action.text);
      const std::string wrong = action.perform(stage_);
      if (wrong.empty()) continue;
      failures_.push_back({action.where, action.text, "cannot be done", wrong, {}});
      return false;
    }
    if (!step.expect.empty()) look(step);
    return failures_.empty();
  }

  void look(const Step& step) {
    switch (step.window) {
      case Step::Window::moment:
        stage_.time.settle();
        return require(step.expect, "", {});
      case Step::Window::within: {
        const auto all_hold = [&] { return holds(step.expect, acted_); };
        if (!run_until(now() + step.span, all_hold) && failures_.empty()) {
          require(step.expect, fmt::format("within {}: ", format_span(step.span)), acted_);
        }
        break;
      }
      case Step::Window::throughout:
        guard_for(step.expect, step.span, fmt::format("for {}", format_span(step.span)));
    }
    if (failures_.empty()) tell_held(step.expect);
  }

  bool holds(const std::vector<Expectation>& all, const Mark& since) const {
    for (const Expectation& one : all) {
      if (!one.check(stage_, since).holds) return false;
    }
    return true;
  }

  void require(const std::vector<Expectation>& all, const std::string& when, const Mark& since) {
    for (const Expectation& one : all) {
      const Verdict verdict = one.check(stage_, since);
      if (!verdict.holds) fail(one, when, verdict);
    }
    if (failures_.empty() && when.empty()) tell_held(all);
  }

  void guard_for(const std::vector<Expectation>& all, io::Duration span, const std::string& when) {
    const size_t before = guards_.size();
    for (const Expectation& one : all) guards_.push_back({one, when, acted_});
    run_until(now() + span, [] { return false; });
    while (guards_.size() > before) guards_.pop_back();
  }

  void tell_held(const std::vector<Expectation>& all) {
    for (const Expectation& one : all) note("seen", fmt::format("{}  (line {})", one.text, one.where.line));
  }

  void play_finale() {
    if (scenario_.finally.empty()) return;
    stage_.time.settle();
    require(scenario_.finally, "finally: ", {});
    if (!failures_.empty()) return;
    tell_held(scenario_.finally);
    std::map<std::string, std::string> states;
    for (const auto& [name, node] : stage_.witness.nodes()) states[name] = node.state();
    const std::vector<Expectation> stable = {
        {scenario_.finally.front().where, "no node moves any more", [states](const Stage& stage, const Mark&) {
           for (const auto& [name, node] : stage.witness.nodes()) {
             const auto was = states.find(name);
             if (was != states.end() && was->second == node.state()) continue;
             return Verdict{false, fmt::format("{} is {}", name, node.state()), {name}};
           }
           return Verdict{};
         }}};
    const std::string when = fmt::format("finally, and for {} after", format_span(kStable));
    for (const Expectation& one : scenario_.finally) guards_.push_back({one, when, {}});
    guard_for(stable, kStable, when);
  }

  std::string report() const {
    std::string out;
    std::set<std::string> nodes;
    for (const Failure& failure : failures_) {
      out += fmt::format("{}:{}:{}: {}\n  {}, at {}: {}\n", scenario_.file, failure.where.line, failure.where.column,
                         failure.expected, failure.how, format_span(now()), failure.seen);
      nodes.insert(failure.nodes.begin(), failure.nodes.end());
    }
    out += fmt::format("\nwhat happened:\n{}", stage_.timeline.latest(nodes, kMostMoments));
    return out + last_reasons(nodes);
  }

  std::string last_reasons(const std::set<std::string>& nodes) const {
    std::string out;
    size_t shown = 0;
    const auto leader = stage_.crew.leader();
    for (const std::string& node : nodes) {
      const auto decision = leader ? stage_.crew.explain(*leader, node) : std::nullopt;
      if (!decision || decision->gone() || shown == kMostNodes) continue;
      if (shown++ == 0) out += fmt::format("\nwhat {} thinks at {}:\n", *leader, format_span(now()));
      out += shortened(decision->why, "", kMostReasons);
    }
    return out;
  }

  const Scenario& scenario_;
  Stage stage_;
  std::vector<Guard> guards_;
  std::vector<Failure> failures_;
  Mark acted_;  // when something was done last
  bool dirty_ = true;
  size_t first_nodes_ = 0;  // while the cluster is being made, it has fewer
  bool all_known_ = false;
};

}  // namespace

Outcome play(const Scenario& scenario, uint64_t seed) { return Player(scenario, seed).play(); }

}  // namespace careen::scenarios
