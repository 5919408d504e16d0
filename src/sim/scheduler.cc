#include "sim/scheduler.h"

#include <algorithm>
#include <tuple>

#include "kube/label_selector.h"
#include "sim/places.h"
#include "sim/pod_phase.h"

namespace careen::sim {

namespace {

constexpr io::Duration kSchedulingDelay = io::milliseconds{3};
constexpr const char* kScheduler = "kube-scheduler";

bool wants_a_node(const json::value& pod) {
  const json::value* gates = find(pod, {"spec", "schedulingGates"});
  const bool gated = gates && gates->is_array() && !gates->get_array().empty();
  const std::string_view scheduler = text_at(pod, {"spec", "schedulerName"});
  return text_at(pod, {"spec", "nodeName"}).empty() && !gated && !has_ended(pod) &&
         !find(pod, {"metadata", "deletionTimestamp"}) && (scheduler.empty() || scheduler == "default-scheduler");
}

const json::array* anti_affinity(const json::value& pod) {
  const json::value* terms =
      find(pod, {"spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
  return terms && terms->is_array() && !terms->get_array().empty() ? &terms->get_array() : nullptr;
}

// Whether the term is about pods like this one. `home` is the namespace of the pod that has the term.
bool term_is_about(const json::value& term, const std::string& home, std::string_view ns, const json::value& pod) {
  const json::value* named = member(term, "namespaces");
  if (named && named->is_array() && !named->get_array().empty()) {
    const json::array& list = named->get_array();
    if (std::find(list.begin(), list.end(), json::value(ns)) == list.end()) return false;
  } else if (ns != home) {
    return false;
  }
  const auto selector = kube::LabelSelector::from_json(kube::JsonView(member(term, "labelSelector")));
  return selector && selector->matches([&](std::string_view key) -> std::optional<std::string_view> {
    const json::value* value = find(pod, {"metadata", "labels", key});
    if (!value || !value->is_string()) return std::nullopt;
    return value->get_string();
  });
}

std::string label_of(const NodeFacts& node, std::string_view key) {
  const auto found = node.labels.find(key);
  return found == node.labels.end() ? std::string() : found->second;
}

// Why its taints keep the pod away; empty when they do not.
std::string_view taint_refusal(const json::value& spec, const NodeFacts& node) {
  const Taint* taint = untolerated(spec, node, {"NoSchedule", "NoExecute"});
  if (!taint) return "";
  return taint->key == "node.kubernetes.io/unschedulable" ? "node(s) were unschedulable"
                                                          : "node(s) had untolerated taint(s)";
}

double free_share(int64_t used, int64_t whole) {
  return whole <= 0 ? 0 : std::max(0.0, 1 - static_cast<double>(used) / static_cast<double>(whole));
}

}  // namespace

Scheduler::Scheduler(io::Loop& loop, ApiServer& api) : loop_(loop), api_(api), next_(loop, [this] { run(); }) {
  api_.observe([this](const Change& change) { note(change); });
}

// Only remembers what to look at: the change is still being made.
void Scheduler::note(const Change& change) {
  if (change.collection == kNodesPath) {
    if (!following_) return;
    changed_nodes_.insert(change.name);
    if (!refused_.empty()) wake();
    return;
  }
  // It keeps account of its own writes itself.
  if (change.collection != kPodsPath || change.by == kScheduler) return;
  const std::string key = change.ns + "/" + change.name;
  const bool gone = change.type == Change::Type::deleted;
  const bool bound = find_text(*change.object, "\"nodeName\":\"") != std::string::npos;
  if (gone || bound) {
    waiting_.erase(key);
    refused_.erase(key);
  }
  if (!gone && !bound) {
    refused_.erase(key);
    waiting_.try_emplace(key, ++arrivals_);
    wake();
    return;
  }
  if (!following_) return;
  changed_pods_.insert(key);
  if (!refused_.empty()) wake();
}

void Scheduler::wake() {
  if (!next_.pending()) next_.set(loop_.now() + kSchedulingDelay);
}

void Scheduler::run() {
  catch_up();
  std::vector<std::tuple<int64_t, uint64_t, std::string>> order;
  for (const auto& [key, arrival] : waiting_) {
    const Parsed pod = api_.pod(key);
    const int64_t priority = pod ? integer_at(*pod, {"spec", "priority"}).value_or(0) : 0;
    order.emplace_back(-priority, arrival, key);
  }
  std::sort(order.begin(), order.end());
  for (const auto& [priority, arrival, key] : order) try_pod(key);
}

void Scheduler::catch_up() {
  if (!following_) {
    following_ = true;
    api_.for_each(kNodesPath, [&](const std::string& path, const Text&) {
      changed_nodes_.insert(path.substr(path.rfind('/') + 1));
    });
    api_.for_each(kPodsPath,
                  [&](const std::string& path, const Text&) { changed_pods_.insert(key_of_pod_path(path)); });
  }
  if (changed_nodes_.empty() && changed_pods_.empty()) return;
  waiting_.merge(refused_);
  refused_.clear();
  for (const std::string& key : std::exchange(changed_pods_, {})) read_pod(key);
  for (const std::string& name : std::exchange(changed_nodes_, {})) read_node(name);
}

void Scheduler::read_node(const std::string& name) {
  if (const auto known = machines_.find(name); known != machines_.end()) {
    take_off(known->second);
    machines_.erase(known);
  }
  const Parsed node = api_.stored(node_path(name));
  if (!node) return;
  Machine& machine = machines_.emplace(name, Machine{NodeFacts(*node)}).first->second;
  Room used;
  if (const auto pods = pods_on_.find(name); pods != pods_on_.end()) {
    for (const std::string& key : pods->second) used += placed_.at(key).asks;
  }
  rank(machine, used);
}

void Scheduler::take_off(Machine& machine) {
  if (!machine.shelf) return;
  machine.shelf->machines.erase(&machine);
  if (machine.shelf->machines.empty()) shelves_.erase(machine.facts.taints);
  machine.shelf = nullptr;
}

// Its pods ask for that much more.
void Scheduler::rank(Machine& machine, const Room& change) {
  take_off(machine);
  machine.used += change;
  const Room& whole = machine.facts.allocatable;
  machine.free = (free_share(machine.used.milli_cpu, whole.milli_cpu) + free_share(machine.used.memory, whole.memory) +
                  free_share(machine.used.pods, whole.pods)) /
                 3;
  machine.shelf = &shelves_[machine.facts.taints];
  machine.shelf->machines.insert(&machine);
}

void Scheduler::read_pod(const std::string& key) {
  const Text text = api_.pod_text(key);
  const Parsed pod = api_.parsed(text);
  if (!pod || has_ended(*pod) || text_at(*pod, {"spec", "nodeName"}).empty()) return unplace(key);
  place(key, text, *pod);
}

void Scheduler::place(const std::string& key, const Text& text, const json::value& pod) {
  Placed placed{std::string(text_at(pod, {"spec", "nodeName"})), requests_of(pod.at("spec")), text,
                anti_affinity(pod) != nullptr};
  if (const auto known = placed_.find(key); known != placed_.end()) {
    const Placed& was = known->second;
    if (was.node == placed.node && was.asks == placed.asks && was.keeps_others_away == placed.keeps_others_away) {
      known->second.pod = text;
      return;
    }
    unplace(key);
  }
  pods_on_[placed.node].insert(key);
  if (const auto machine = machines_.find(placed.node); machine != machines_.end()) rank(machine->second, placed.asks);
  if (placed.keeps_others_away) keep_others_away_.insert(key);
  placed_.insert_or_assign(key, std::move(placed));
}

void Scheduler::unplace(const std::string& key) {
  const auto known = placed_.find(key);
  if (known == placed_.end()) return;
  const Placed& placed = known->second;
  if (const auto machine = machines_.find(placed.node); machine != machines_.end()) {
    rank(machine->second, Room() - placed.asks);
  }
  const auto neighbours = pods_on_.find(placed.node);
  neighbours->second.erase(key);
  if (neighbours->second.empty()) pods_on_.erase(neighbours);
  keep_others_away_.erase(key);
  placed_.erase(known);
}

void Scheduler::try_pod(const std::string& key) {
  const auto arrival = waiting_.extract(key);
  const Parsed found = api_.pod(key);
  if (!found) return;
  const json::value& pod = *found;
  if (!member(pod, "spec") || !wants_a_node(pod)) return;
  const std::string ns(text_at(pod, {"metadata", "namespace"})), name(text_at(pod, {"metadata", "name"}));
  const Choice choice = choose(ns, pod);
  if (!choice.machine) {
    refused_.emplace(key, arrival.mapped());
    say_refused(ns, pod, choice);
    return;
  }
  if (bind(ns, name, choice.machine->facts.name)) read_pod(key);
}

Scheduler::Choice Scheduler::choose(const std::string& ns, const json::value& pod) const {
  const json::value& spec = pod.at("spec");
  const Room asks = requests_of(spec);
  const Avoid avoid = to_avoid(ns, pod);
  const bool picky = has_preferences(spec);
  Choice choice;
  if (const std::string_view only = only_node(spec); !only.empty()) {
    const auto known = machines_.find(only);
    std::string_view why;
    if (known != machines_.end()) {
      why = taint_refusal(spec, known->second.facts);
      if (why.empty()) why = refusal(known->second, spec, asks, avoid);
      if (why.empty()) choice.machine = &known->second;
    }
    if (!why.empty()) choice.refusals[why] = 1;
    const auto others = static_cast<int>(machines_.size()) - (why.empty() ? 0 : 1);
    if (others > 0) choice.refusals["node(s) didn't satisfy plugin(s) [NodeAffinity]"] = others;
    return choice;
  }
  int64_t best = -1;
  visit_bearable(spec, choice, [&](const Machine& machine) {
    const std::string_view why = refusal(machine, spec, asks, avoid);
    if (!why.empty()) {
      ++choice.refusals[why];
      return true;
    }
    // The first that takes it has most room.
    const int64_t liked = picky ? preference(spec, machine.facts) : 0;
    if (liked > best) {
      best = liked;
      choice.machine = &machine;
    }
    return picky;
  });
  return choice;
}

void Scheduler::visit_bearable(const json::value& spec, Choice& choice,
                               const std::function<bool(const Machine&)>& visit) const {
  struct Row {
    std::set<const Machine*, MoreRoom>::const_iterator at, end;
  };
  std::vector<Row> rows;
  for (const auto& [taints, shelf] : shelves_) {
    const std::string_view why = taint_refusal(spec, (*shelf.machines.begin())->facts);
    if (why.empty()) {
      rows.push_back({shelf.machines.begin(), shelf.machines.end()});
    } else {
      choice.refusals[why] += static_cast<int>(shelf.machines.size());
    }
  }
  while (!rows.empty()) {
    const auto next =
        std::min_element(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return MoreRoom()(*a.at, *b.at); });
    if (!visit(**next->at)) return;
    if (++next->at == next->end) rows.erase(next);
  }
}

// Empty when the node takes it, as far as its taints let it.
std::string_view Scheduler::refusal(const Machine& machine, const json::value& spec, const Room& asks,
                                    const Avoid& avoid) {
  const NodeFacts& node = machine.facts;
  if (!selects(spec, node)) return "node(s) didn't match Pod's node affinity/selector";
  const Room left = node.allocatable - machine.used;
  if (asks.pods > left.pods) return "Too many pods";
  if (asks.milli_cpu > 0 && asks.milli_cpu > left.milli_cpu) return "Insufficient cpu";
  if (asks.memory > 0 && asks.memory > left.memory) return "Insufficient memory";
  for (const auto& [key, values] : avoid) {
    const auto label = node.labels.find(key);
    if (label != node.labels.end() && values.contains(label->second)) {
      return "node(s) didn't match pod anti-affinity rules";
    }
  }
  return "";
}

Scheduler::Avoid Scheduler::to_avoid(const std::string& ns, const json::value& pod) const {
  Avoid avoid;
  if (const json::array* terms = anti_affinity(pod)) {
    for (const json::value& term : *terms) avoid_like(term, ns, avoid);
  }
  // Those that are there may not want it near either.
  for (const std::string& key : keep_others_away_) {
    const Placed& placed = placed_.at(key);
    const auto machine = machines_.find(placed.node);
    if (machine == machines_.end()) continue;
    const Parsed other = api_.parsed(placed.pod);
    const json::array* terms = anti_affinity(*other);
    for (size_t i = 0; terms && i < terms->size(); ++i) {
      const json::value& term = (*terms)[i];
      if (!term_is_about(term, key.substr(0, key.find('/')), ns, pod)) continue;
      const std::string topology(text_at(term, "topologyKey"));
      const std::string where = label_of(machine->second.facts, topology);
      if (!where.empty()) avoid[topology].insert(where);
    }
  }
  return avoid;
}

// Where the pods are that the term of a pod in that namespace is about.
void Scheduler::avoid_like(const json::value& term, const std::string& ns, Avoid& into) const {
  const std::string topology(text_at(term, "topologyKey"));
  for (const auto& [key, placed] : placed_) {
    const auto machine = machines_.find(placed.node);
    if (machine == machines_.end()) continue;
    const std::string where = label_of(machine->second.facts, topology);
    if (where.empty() || (into.contains(topology) && into[topology].contains(where))) continue;
    const std::string_view their_ns = std::string_view(key).substr(0, key.find('/'));
    if (their_ns != ns && !member(term, "namespaces")) continue;
    if (term_is_about(term, ns, their_ns, *api_.parsed(placed.pod))) into[topology].insert(where);
  }
}

bool Scheduler::bind(const std::string& ns, const std::string& name, const std::string& node) {
  Scratch memory;
  const json::value binding({{"apiVersion", "v1"},
                             {"kind", "Binding"},
                             {"metadata", {{"name", name}, {"namespace", ns}}},
                             {"target", {{"kind", "Node"}, {"name", node}}}},
                            memory.storage());
  const kube::Request request{.method = "POST",
                              .path = pod_path(ns, name) + "/binding",
                              .content_type = "application/json",
                              .body = json::serialize(binding)};
  return api_.handle(request, {kScheduler}).status == 201;
}

// The pod's own condition says why it waits. It is written when that changes.
void Scheduler::say_refused(const std::string& ns, const json::value& pod, const Choice& choice) {
  std::vector<std::string> reasons;
  for (const auto& [why, count] : choice.refusals) reasons.push_back(std::to_string(count) + " " + std::string(why));
  std::sort(reasons.begin(), reasons.end());
  std::string message = "0/" + std::to_string(machines_.size()) + " nodes are available";
  for (size_t i = 0; i < reasons.size(); ++i) message += (i == 0 ? ": " : ", ") + reasons[i];
  message += ".";
  if (machines_.empty()) message = "no nodes available to schedule pods";
  std::string since = io::format_whole_seconds(loop_.wall_now());
  if (const json::value* conditions = find(pod, {"status", "conditions"}); conditions && conditions->is_array()) {
    for (const json::value& one : conditions->get_array()) {
      if (text_at(one, "type") != "PodScheduled") continue;
      if (text_at(one, "message") == message) return;
      if (text_at(one, "status") == "False") since = text_at(one, "lastTransitionTime");
    }
  }
  const json::value patch = {{"status",
                              {{"conditions",
                                {{{"type", "PodScheduled"},
                                  {"observedGeneration", integer_at(pod, {"metadata", "generation"}).value_or(1)},
                                  {"status", "False"},
                                  {"lastProbeTime", nullptr},
                                  {"lastTransitionTime", since},
                                  {"reason", "Unschedulable"},
                                  {"message", message}}}}}}};
  const kube::Request request{.method = "PATCH",
                              .path = pod_path(ns, text_at(pod, {"metadata", "name"})) + "/status",
                              .content_type = "application/strategic-merge-patch+json",
                              .body = json::serialize(patch)};
  api_.handle(request, {kScheduler});
}

}  // namespace careen::sim
