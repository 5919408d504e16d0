#include "plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "controllers/profiles/controller.h"
#include "controllers/profiles/hosted.h"
#include "controllers/profiles/names.h"
#include "controllers/slot/kind.h"
#include "io/virtual_time.h"
#include "kube/decode.h"
#include "kube/name_order.h"
#include "plan/blame.h"
#include "plan/config_assumptions.h"
#include "plan/learned.h"
#include "plan/model_loader.h"
#include "plan/others.h"
#include "plan/outside_facts.h"
#include "plan/outside_world.h"
#include "plan/pace.h"
#include "plan/timetable.h"
#include "replica/controllers.h"
#include "replica/model_process.h"
#include "sim/cluster.h"

namespace careen::plan {

using profiles::State;

namespace {

// What the model makes must not have the UID of what it is a model of: that may have been a model cluster of the same
// seed, as in a demonstration, and whoever goes takes along what belongs to that UID.
constexpr uint64_t kOwnNames = 0x9e3779b97f4a7c15;

// Objects that are loaded between two questions for a break.
constexpr size_t kAtOnce = 20;
constexpr int kSamples = 1500;

// Those whose objects the snapshot has.
std::vector<std::shared_ptr<const controllers::Choice>> wanted_controllers(const Snapshot& snapshot) {
  std::vector<std::shared_ptr<const controllers::Choice>> wanted;
  for (const controllers::Kind* kind : replica::object_kinds()) {
    if (!snapshot.of(kind_of(*kind)).empty()) wanted.push_back(kind->usual());
  }
  return wanted;
}

class ModelPlanner final : public Planner {
 public:
  ModelPlanner(Snapshot snapshot, PlanConfig config, PlannerOptions options)
      : snapshot_(std::move(snapshot)),
        others_(others_text(snapshot_)),
        options_(std::move(options)),
        config_(std::move(config)),
        pods_(config_.facts.needs.pods || config_.facts.needs.budgets || !wanted_controllers(snapshot_).empty()),
        time_(options_.seed, snapshot_.time),
        loop_(time_.make_loop()),
        cluster_(*loop_, options_.seed ^ kOwnNames),
        loader_(snapshot_, cluster_, {pods_, config_.facts.needs.lease_namespaces}),
        timetable_(config_.facts),
        outside_(*loop_, cluster_, config_.facts, options_.assumptions),
        pace_(*loop_, timetable_, options_.span / kSamples,
              [this](const std::string& node, const std::string& profile) { return why(node, profile); }) {
    cluster_.pods.set_times({options_.assumptions.pod_start, options_.assumptions.pod_termination});
    follow_stories(cluster_.api, [this](const std::string& node, const NodeStory& story) {
      timetable_.note(node, story, time_.wall_now());
      outside_.note(node, story);
      if (!timetable_.waiting().empty()) pace_.wake();
    });
    cluster_.api.observe([this](const sim::Change& change) { follow_jobs(change); });
  }

  bool advance(const std::function<bool()>& pause) override {
    while (!process_) {
      if (loader_.load(kAtOnce)) start();
      if (pause && pause()) return false;
    }
    const io::Duration left = end_ - time_.now();
    // Something is done before each break.
    bool fresh = true;
    time_.run_until([&] { return !std::exchange(fresh, false) && pause && pause(); }, left);
    return time_.now() >= end_;
  }

  double progress() const override {
    if (!process_) return 0;
    return io::to_seconds(time_.now().time_since_epoch()) / std::max(1e-9, io::to_seconds(options_.span));
  }

  Plan plan() const override;

 private:
  void start();
  void follow_jobs(const sim::Change& change);
  Blame why(const std::string& node, const std::string& profile) const;
  profiles::Decision explain(const std::string& node) const {
    return profiles::controller_in(process_->replica().hosted())->explain(node);
  }
  // What keeps a node that has not had its maintenance.
  struct Verdict {
    bool for_others = false;  // it waits for somebody outside, or for an error to be fixed
    bool wakes = false;       // it may move by itself later
    bool draining = false;
  };
  Unserved unserved(const std::string& node, const std::string& profile, Verdict& verdict) const;
  bool is_stuck(const PlanRow& row, const Verdict& verdict) const;
  // That of an object of a controller, by its name as in rows.
  controllers::Job job_named(const std::string& name) const;
  void add_unserved(Plan& plan) const;
  void add_campaigns(Plan& plan) const;

  Snapshot snapshot_;
  const std::string others_;
  PlannerOptions options_;
  PlanConfig config_;
  bool pods_;
  io::VirtualTime time_;
  std::unique_ptr<io::Loop> loop_;
  sim::Cluster cluster_;
  ModelLoader loader_;
  Timetable timetable_;
  OutsideWorld outside_;
  Pace pace_;
  std::unique_ptr<replica::ModelProcess> process_;
  io::Steady end_{};
};

void ModelPlanner::start() {
  end_ = time_.now() + options_.span;
  replica::ModelProcessOptions careen;
  careen.seed = options_.seed;
  careen.leader_election = false;
  careen.controllers = wanted_controllers(snapshot_);
  // Nothing is overlooked on the model: the sweep would only find that out, again and again.
  careen.controller.sweep = io::hours{24 * 365 * 100};
  // Nobody reads them there.
  careen.controller.pod_events = false;
  careen.controller.count_standing = false;
  careen.environment = config_.environment;
  careen.adjust_config = [this](profiles::Config& config) { assume_in(config, options_.assumptions); };
  process_ = std::make_unique<replica::ModelProcess>(time_, cluster_, config_.text, std::move(careen));
}

void ModelPlanner::follow_jobs(const sim::Change& change) {
  const auto& kinds = replica::object_kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const controllers::Kind* kind) {
    return kind->object.path() == change.collection;
  });
  if (found == kinds.end()) return;
  const controllers::Kind& kind = **found;
  if (change.type == sim::Change::Type::deleted) return timetable_.forget(kind, change.name, time_.wall_now());
  const auto object = kube::decode_object(*change.object);
  if (!object) return;
  const controllers::Job job = kind.job_of(*object);
  timetable_.note(kind, job, time_.wall_now());
  outside_.note(kind, job);
}

Blame ModelPlanner::why(const std::string& node, const std::string& profile) const {
  if (!config_.facts.find_profile(profile)) {
    Blame blame;
    const controllers::Job job = job_named(profile);
    blame.all.push_back({job.limit, job.held_up, false, false});
    return blame;
  }
  const profiles::Decision decision = explain(node);
  return blame(config_.facts, decision, profile, State::maintenance_required, State::in_maintenance);
}

controllers::Job ModelPlanner::job_named(const std::string& name) const {
  controllers::Job unknown;
  unknown.held_up = unknown.limit = "it is not known";
  const size_t slash = name.find('/');
  const controllers::Kind* kind = replica::find_controller_kind(std::string_view(name).substr(0, slash));
  if (!kind) return unknown;
  const auto text = cluster_.api.text(kind->object.path("", std::string_view(name).substr(slash + 1)));
  const auto object = text ? kube::decode_object(*text) : io::Result<kube::Object>(io::fail({}, ""));
  return object ? kind->job_of(*object) : unknown;
}

Unserved ModelPlanner::unserved(const std::string& node, const std::string& profile, Verdict& verdict) const {
  if (!config_.facts.find_profile(profile)) return {node, profile, job_named(profile).held_up};
  const sim::Text text = cluster_.api.text("/api/v1/nodes/" + node);
  const NodeStory story = text ? read_story(*text) : NodeStory{};
  const auto data = story.profiles.find(profile);
  const State from = data == story.profiles.end() ? State::maintenance_required
                                                  : data->second.current.known().value_or(State::maintenance_required);
  const State target = from == State::in_maintenance ? State::operational : State::in_maintenance;
  const profiles::Decision decision = explain(node);
  const Blame found = blame(config_.facts, decision, profile, from, target);
  verdict.for_others =
      std::any_of(found.all.begin(), found.all.end(), [](const Blamed& one) { return one.outside || one.failed; });
  verdict.wakes = found.wake.has_value();
  verdict.draining = story.begun.contains(profile);
  return {node, profile, found.text()};
}

// A node that is under way when the plan ends is stuck only if it should have been done long before.
bool ModelPlanner::is_stuck(const PlanRow& row, const Verdict& verdict) const {
  const io::Duration takes = options_.assumptions.maintenance_of(row.profile, row.node);
  const bool late = row.begin < io::add(time_.wall_now(), -2 * takes);
  return late && (verdict.draining || verdict.for_others || !verdict.wakes);
}

void ModelPlanner::add_unserved(Plan& plan) const {
  bool moving = outside_.pending() > 0;
  for (const PlanRow& row : plan.rows) {
    if (row.end) continue;
    Verdict verdict;
    Unserved one = unserved(row.node, row.profile, verdict);
    const bool stuck = is_stuck(row, verdict);
    moving |= !stuck;
    (stuck ? plan.stuck : plan.left).push_back(std::move(one));
  }
  for (const auto& [profile, waiting] : timetable_.waiting()) {
    // Many wait since the same moment.
    std::vector<Timetable::Waiting::value_type> order(waiting.begin(), waiting.end());
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : kube::compare_names(a.second, b.second) < 0;
    });
    for (const auto& [since, node] : order) {
      Verdict verdict;
      Unserved one = unserved(node, profile, verdict);
      // A node that waits only for other nodes moves when they do.
      const bool stuck = verdict.for_others || (!verdict.wakes && !moving);
      (stuck ? plan.stuck : plan.left).push_back(std::move(one));
    }
  }
}

void ModelPlanner::add_campaigns(Plan& plan) const {
  std::map<std::string, Campaign> all;
  const auto of = [&](const std::string& profile) -> Campaign& {
    Campaign& campaign = all[campaign_of(profile)];
    campaign.profile = campaign_of(profile);
    return campaign;
  };
  for (const PlanRow& row : plan.rows) {
    Campaign& campaign = of(row.profile);
    if (!campaign.begin) campaign.begin = row.begin;
    if (!row.end) continue;
    ++campaign.maintained;
    campaign.end = std::max(campaign.end.value_or(*row.end), *row.end);
  }
  for (const Unserved& one : plan.left) ++of(one.profile).left;
  for (const Unserved& one : plan.stuck) ++of(one.profile).stuck;
  for (auto& [name, campaign] : all) {
    campaign.at_once = timetable_.most_at_once(name);
    if (campaign.left + campaign.stuck > 0) campaign.end.reset();
    plan.campaigns.push_back(std::move(campaign));
  }
}

Plan ModelPlanner::plan() const {
  Plan plan;
  plan.from = snapshot_.time;
  plan.until = plan.from + options_.span;
  plan.assumptions = assumptions_text(config_, options_.assumptions, pods_);
  if (!others_.empty()) plan.assumptions.push_back(others_);
  plan.rows = timetable_.rows();
  plan.limits = pace_.limits();
  plan.at_once = timetable_.most_nodes_at_once();
  for (const std::string& missing : snapshot_.missing) plan.notes.push_back("not in the snapshot: " + missing);
  if (!process_) return plan;
  plan.complete = time_.now() >= end_;
  if (plan.complete) add_unserved(plan);
  add_campaigns(plan);
  return plan;
}

}  // namespace

io::Result<std::unique_ptr<Planner>> Planner::make(Snapshot snapshot, std::string text, PlannerOptions options) {
  if (text.empty()) text = snapshot.config;
  if (text.empty()) {
    return io::fail(io::ErrorKind::invalid, "there is no configuration: neither given nor in the snapshot");
  }
  if (options.span <= io::Duration{0} || options.span > io::hours{24 * 3660}) {
    return io::fail(io::ErrorKind::invalid, "a plan is for more than nothing and at most ten years");
  }
  auto config = read_plan_config(std::move(text), options.config_name, options.environment, options.assumptions);
  if (!config) return tl::make_unexpected(config.error());
  for (const auto& [profile, learned] : learned_durations(snapshot, config->facts)) {
    options.assumptions.learned[profile] = learned.median;
    config->learned_from[profile] = learned.nodes;
  }
  return std::make_unique<ModelPlanner>(std::move(snapshot), std::move(*config), std::move(options));
}

io::Result<Plan> make_plan(Snapshot snapshot, std::string config, PlannerOptions options) {
  auto planner = Planner::make(std::move(snapshot), std::move(config), std::move(options));
  if (!planner) return tl::make_unexpected(planner.error());
  (*planner)->advance();
  return (*planner)->plan();
}

bool needs_pods(std::string_view text) {
  const auto config = read_plan_config(std::string(text), "", {}, {});
  return config && (config->facts.needs.pods || config->facts.needs.budgets);
}

}  // namespace careen::plan
