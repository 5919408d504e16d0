#include "controllers/profiles/controller.h"

#include <algorithm>

#include "budget/ledger.h"
#include "budget/pause.h"
#include "controllers/profiles/claims.h"
#include "controllers/profiles/config.h"
#include "controllers/profiles/decide.h"
#include "controllers/profiles/limits.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/observation_topic.h"
#include "drain/engine.h"
#include "io/steady_at.h"
#include "kube/node_decoder.h"

namespace careen::profiles {

using io::Task;

namespace {
// Nothing but our own touch has changed: there is nothing new to decide.
bool only_touched(const kube::Node& before, const kube::Node& after) {
  const std::string* const touched = after.annotation(kTouchAnnotation);
  const std::string* const known = before.annotation(kTouchAnnotation);
  if (!touched || (known && *known == *touched)) return false;
  const auto without_touch = [](kube::Node node) {
    std::erase_if(node.annotations, [](const auto& item) { return item.first.view() == kTouchAnnotation; });
    return node;
  };
  return before.uid == after.uid && without_touch(before).same_facts(without_touch(after));
}
}  // namespace

Controller::Controller(ControllerParts parts, ControllerOptions options)
    : p_(std::move(parts)),
      options_(options),
      queue_(p_.loop),
      meters_(p_.metrics),
      reports_(p_.nodes, p_.events, meters_, p_.problems, p_.log, options.dry_run),
      fleet_(p_.nodes, p_.pods, topics_),
      observations_(p_.loop, p_.outside.http, p_.metrics, {},
                    [this](const observe::PrometheusQuery& source) { observation_changed(source); }),
      lease_facts_(p_.leases, topics_),
      desk_(p_.loop, {p_.nodes, p_.ledger, lease_facts_, observations_, p_.limits},
            [this](const std::string& node) { queue_.wake(node); }),
      hypervisor_facts_(p_.hypervisors),
      drains_(options.dry_run ? nullptr : p_.engine, queue_, reports_),
      facts_{desk_.occupancy(),
             fleet_,
             lease_facts_,
             hypervisor_facts_,
             observations_,
             topics_,
             p_.engine || options.dry_run ? &drains_ : nullptr,
             p_.limits ? &desk_.limit_places() : nullptr},
      writer_(
          p_.client, kube::resources::nodes, p_.nodes,
          [this](std::string_view node) { return p_.decoder.decode(node); }, p_.log, p_.node_lanes),
      failing_(p_.loop, queue_, p_.problems, meters_, config_),
      guard_(p_.loop, p_.client, p_.nodes, p_.pauses, config_),
      slots_(p_.loop, options.writes_in_flight, queue_, hypervisor_facts_),
      messages_({.loop = p_.loop,
                 .client = p_.client,
                 .nodes = p_.nodes,
                 .writer = writer_,
                 .outside = p_.outside,
                 .metrics = p_.metrics,
                 .problems = p_.problems,
                 .random = p_.random,
                 .log = p_.log,
                 .queue = queue_,
                 .slots = slots_,
                 .guard = guard_,
                 .reports = reports_,
                 .failing = failing_,
                 .config = config_,
                 .sends_in_flight = options.writes_in_flight,
                 .sent =
                     [this](const std::string& node, const std::string& instance) {
                       if (on_message_sent) on_message_sent(node, instance);
                     }}),
      begun_leases_(p_.loop, LeaseTaker(p_.client, p_.leases, p_.atoms, p_.log), lease_facts_,
                    [this](const std::string& lease) { lease_changed(lease); }),
      admissions_(p_.ledger, desk_, begun_leases_, observations_, options.dry_run),
      settler_(p_.client, p_.nodes, writer_, failing_, meters_, p_.log),
      inheritance_({.loop = p_.loop,
                    .nodes = p_.nodes,
                    .ledger = p_.ledger,
                    .desk = desk_,
                    .queue = queue_,
                    .leases = begun_leases_,
                    .settler = settler_,
                    .failing = failing_}),
      hypervisor_writer_(p_.loop, p_.hypervisors, hypervisor_facts_, guard_, queue_, config_),
      lane_({.loop = p_.loop,
             .nodes = p_.nodes,
             .leases = p_.leases,
             .writer = writer_,
             .ledger = p_.ledger,
             .queue = queue_,
             .slots = slots_,
             .guard = guard_,
             .messages = messages_,
             .admissions = admissions_,
             .begun = begun_leases_,
             .hypervisors = hypervisor_writer_,
             .settler = settler_,
             .observations = observations_,
             .failing = failing_,
             .reports = reports_,
             .meters = meters_,
             .log = p_.log,
             .moved = [this](const kube::Node& node, const Moved& by) { moved(node, by); }}),
      rehearsal_(p_.log),
      sweep_(p_.loop, p_.nodes, queue_, meters_, p_.log, [this](const std::string& node) { return overlooked(node); }),
      configured_(p_.loop),
      acting_(p_.loop) {
  scrapes_ = p_.metrics.before_scrape_while([this] { meters_.show_work(p_.loop.now()); });
  changes_.push_back(
      p_.nodes.subscribe([this](const kube::Node* before, const kube::Node* after) { node_changed(before, after); }));
  changes_.push_back(p_.pods.subscribe_nodes([this](std::string_view node) { pods_changed(node); }));
  changes_.push_back(p_.leases.subscribe([this](const kube::Lease* before, const kube::Lease* after) {
    lease_changed(after ? after->key() : before->key());
  }));
  changes_.push_back(p_.hypervisors.subscribe([this](const kube::Object* before, const kube::Object* after) {
    queue_.wake(after ? after->name : before->name);
  }));
  if (p_.pauses) changes_.push_back(p_.pauses->subscribe([this] { decide_all(); }));
}

Controller::~Controller() = default;

void Controller::set_config(std::shared_ptr<const Config> config) {
  config_ = std::move(config);
  desk_.set_config(*config_);
  topic_waiters_.clear();
  told_values_.clear();
  hypervisor_facts_.forget_refusals();
  observations_.set_interval(config_->requeue);
  messages_.config_changed();
  decide_all();
  configured_.open();
}

void Controller::clock_stepped() {
  hypervisor_facts_.forget_refusals();
  decide_all();
}

void Controller::decide_all() {
  p_.nodes.for_each([&](const kube::Node& node) { queue_.wake(node.name); });
}

World Controller::world(const kube::Json* document) const {
  return {p_.nodes,         *config_,  facts_,    messages_.deliveries(), options_.notify_blocking, document,
          options_.dry_run, p_.pauses, &p_.ledger};
}

void Controller::leases_known(const std::string& ns) {
  lease_facts_.set_known(ns);
  decide_all();
}

void Controller::hypervisors_known() {
  hypervisor_facts_.set_known();
  decide_all();
}

void Controller::pods_known() {
  std::vector<budget::Topic> topics;
  fleet_.pods_changed({}, topics);
  wake_waiting(topics);
}

void Controller::lease_changed(const std::string& key) {
  desk_.lease_changed(key);
  wake_waiting(lease_facts_.topics_of(key));
}

void Controller::observation_changed(const observe::PrometheusQuery& source) {
  desk_.observation_changed(source);
  const budget::Topic topic = topics_.of(observation_topic(source));
  if (is_news(source)) {
    wake_waiting({topic});
  } else if (topic_waiters_.any(topic)) {
    // The same again: nobody decides otherwise, but they all wait for the next.
    observations_.want(source);
  }
}

bool Controller::is_news(const observe::PrometheusQuery& source) {
  auto latest = observations_.latest(source);
  if (!latest) return false;
  // Beside an error there may be the value of before, on which nobody decides.
  std::pair<double, std::string> now{latest->error.empty() ? latest->value->number : 0, std::move(latest->error)};
  std::pair<double, std::string>& told = told_values_.try_emplace(source, 0, "nothing yet").first->second;
  if (told == now) return false;
  told = std::move(now);
  return true;
}

void Controller::pods_changed(std::string_view node) {
  std::vector<budget::Topic> topics;
  if (fleet_.pods_changed(node, topics)) queue_.wake(std::string(node));
  wake_waiting(topics);
}

void Controller::wake_waiting(const std::vector<budget::Topic>& topics) {
  for (const budget::Topic topic : topics) {
    for (const std::string& node : topic_waiters_.of(topic)) queue_.wake(node);
  }
}

void Controller::node_changed(const kube::Node* before, const kube::Node* after) {
  if (before && after && only_touched(*before, *after)) return;
  const std::string& name = after ? after->name : before->name;
  // A late write can reach neither a node that is gone nor one created again under its name: it names another version.
  if (before && (!after || after->uid != before->uid)) {
    desk_.finish(before->uid);
    messages_.node_gone(*before);
  }
  desk_.node_changed(name);
  if (after) messages_.node_changed(*after);
  wake_waiting(fleet_.node_changed(before, after));
  queue_.wake(name);
}

Task<void> Controller::run() {
  // Whoever else asks for places counts on what the ledger says, from the first decision on.
  desk_.rebuild();
  co_await configured_.wait();
  running_ = true;
  acting_.spawn(inheritance_.run());
  // What is not carried out would be found again and again.
  if (!options_.dry_run) {
    messages_.open();
    acting_.spawn(sweep_.run(options_.sweep));
  }
  if (options_.count_standing) acting_.spawn(meters_.count_standing(p_.loop, p_.nodes, queue_, config_));
  while (!stopping_) {
    const std::string key = co_await queue_.next();
    if (stopping_) {
      queue_.done(key);
      break;
    }
    meters_.queue_wait.observe(io::to_seconds(queue_.last_wait()));
    meters_.queue_depth.set(static_cast<double>(queue_.depth()));
    meters_.begin_work(key, p_.loop.now());
    decide_one(key);
  }
}

Task<void> Controller::stop() {
  stopping_ = true;
  running_ = false;
  messages_.close();
  sweep_.stop();
  queue_.clear();
  while (queue_.working() > 0) co_await queue_.idle().wait();
  co_await messages_.end();
}

Decision Controller::explain(std::string_view node) const {
  World explained = world();
  explained.only_explained = true;
  return decide(explained, node, p_.loop.wall_now(), Detail::reasons);
}

std::vector<Limit> Controller::limits() const {
  return config_ ? limits_in_use(world(), p_.loop.wall_now()) : std::vector<Limit>();
}

std::vector<budget::Claim> Controller::claims(const std::vector<Limit>& limits) const {
  return config_ ? claims_of_profiles(world(), limits, p_.loop.wall_now()) : std::vector<budget::Claim>();
}

void Controller::decide_one(const std::string& key) {
  if (inheritance_.holds_up(key)) return lane_.done(key);
  const kube::Node* node = p_.nodes.find(key);
  const io::Steady begun = p_.loop.now();
  const bool reasons = (node && wants_details(*node)) || options_.dry_run;
  const std::optional<kube::Json> document = messages_.take_document(key);
  Decision decision = decide(world(document ? &*document : nullptr), key, p_.loop.wall_now(),
                             reasons ? Detail::reasons : Detail::verdicts);
  // From here to the end of the function nothing waits: what the decision takes is reserved before the next one.
  admissions_.reserve(key, decision);
  schedule(key, decision);
  drains_.follow(key, decision);
  reports_.decided(key, decision);
  meters_.decided(key, decision);
  meters_.reconcile_time.observe(io::to_seconds(p_.loop.now() - begun));
  if (options_.dry_run) {
    rehearsal_.tell(key, decision);
    return lane_.done(key);
  }
  if (decision.is_to_be_carried_out()) {
    messages_.keep_texts(key, decision);
    return lane_.carry_out(key, std::move(decision), guard_.basis());
  }
  failing_.rests(key);
  if (decision.gone()) {
    queue_.forget(key);
    hypervisor_facts_.forget(key);
  }
  lane_.done(key);
}

// When the key has to be looked at again, besides changes of the node itself.
void Controller::schedule(const std::string& key, const Decision& decision) {
  topic_waiters_.update(key, decision.waits.topics);
  for (const observe::PrometheusQuery& source : decision.waits.observations) observations_.want(source);
  desk_.wait(key, decision.waits);
  if (decision.waits.wake) queue_.wake_at(key, io::steady_at(p_.loop, *decision.waits.wake));
  if (decision.failing()) {
    failing_.wait(key);
  } else {
    failing_.recovered(key);
  }
}

void Controller::moved(const kube::Node& node, const Moved& moved) {
  if (on_moved) on_moved(node.name, moved);
  if (moved.to == State::in_maintenance && on_maintenance) on_maintenance(node, moved.profile);
}

bool Controller::overlooked(const std::string& node) const {
  if (failing_.contains(node) || queue_.busy(node) || inheritance_.holds_up(node)) return false;
  const Decision decision = decide(world(), node, p_.loop.wall_now(), Detail::verdicts);
  return decision.is_to_be_carried_out() || drains_.lacks(node, decision);
}

std::vector<std::pair<std::string_view, size_t>> Controller::unfinished() const {
  const auto is_gone = [this](const std::string& node) { return !p_.nodes.find(node); };
  std::vector<std::pair<std::string_view, size_t>> all = messages_.unfinished();
  all.insert(all.end(),
             {{"transitions begun", begun_leases_.nodes()},
              {"leases of transitions", lease_facts_.unfinished()},
              {"nodes that wait and are gone", desk_.waiters().nodes_if(is_gone) + topic_waiters_.nodes_if(is_gone) +
                                                   desk_.limit_places().nodes_if(is_gone)},
              {"nodes that are drained and are gone", drains_.nodes_if(is_gone)},
              {"failing nodes", failing_.waiting()},
              {"nodes that cannot be written", failing_.unwritable()},
              {"admissions of a predecessor", inheritance_.unsettled()},
              {"nodes at work", queue_.working()}});
  return all;
}

}  // namespace careen::profiles
