#include <algorithm>

#include "sim/workload_kinds.h"
#include "sim/workload_world.h"

namespace careen::sim {

namespace {

constexpr std::string_view kDeployments = "/apis/apps/v1/deployments";
constexpr std::string_view kTemplateHashLabel = "pod-template-hash";
constexpr std::string_view kRevision = "deployment.kubernetes.io/revision";

struct Limits {
  int64_t replicas = 1;
  int64_t surge = 0;
  int64_t unavailable = 0;
  bool recreate = false;
};

Limits limits_of(const json::value& deployment) {
  Limits limits;
  limits.replicas = spec_number(deployment, "replicas", 1);
  limits.recreate = text_at(deployment, {"spec", "strategy", "type"}) == "Recreate";
  if (limits.recreate) return limits;
  const auto given = [&](std::string_view field) {
    return find(deployment, {"spec", "strategy", "rollingUpdate", field});
  };
  limits.surge = scaled(given("maxSurge"), limits.replicas, true, 1);
  limits.unavailable = std::min(scaled(given("maxUnavailable"), limits.replicas, false, 0), limits.replicas);
  // Otherwise nothing could ever move.
  if (limits.surge == 0 && limits.unavailable == 0) limits.unavailable = 1;
  return limits;
}

json::value without_hash(json::value pod_template) {
  json::value* labels = find(pod_template, {"metadata", "labels"});
  if (labels && labels->is_object()) labels->get_object().erase(kTemplateHashLabel);
  return pod_template;
}

int64_t revision_of(const json::value& object) {
  const json::value* text = find(object, {"metadata", "annotations", kRevision});
  return text && text->is_string() ? std::atoll(text->get_string().c_str()) : 0;
}

bool older(const json::value& a, const json::value& b) {
  const auto left = text_at(a, {"metadata", "creationTimestamp"}),
             right = text_at(b, {"metadata", "creationTimestamp"});
  return left != right ? left < right : name_of(a) < name_of(b);
}

int64_t replicas_of(const json::value& set) { return spec_number(set, "replicas", 0); }

// A Deployment and its ReplicaSets at one look.
class Rollout {
 public:
  Rollout(WorkloadWorld& world, const json::value& deployment)
      : world_(world),
        deployment_(deployment),
        limits_(limits_of(deployment)),
        paused_(is_true(deployment.at("spec"), "paused")) {
    read();
  }

  Again tend();

 private:
  void read();
  void make_newest();
  void number_newest();
  void scale_up_newest();
  void scale_down_old();
  int64_t clean_up_unhealthy(int64_t most);
  void forget_history();
  void scale(const json::value& set, int64_t replicas);
  int64_t sum(std::string_view field) const;
  int64_t wanted() const;
  int64_t room_for_newest() const;
  bool old_pods_live() const;
  void write_status(Again& again);
  json::array conditions(const json::object& status, Again& again) const;
  std::string path() const { return path_of(kDeployments, deployment_); }

  WorkloadWorld& world_;
  const json::value& deployment_;
  const Limits limits_;
  const bool paused_;
  std::vector<json::value> old_;         // oldest first
  std::optional<json::value> newest_{};  // has the template of today
};

void Rollout::read() {
  old_ = world_.dependents(kReplicaSetsPath, uid_of(deployment_));
  newest_.reset();
  std::sort(old_.begin(), old_.end(), older);
  const json::value today = without_hash(deployment_.at("spec").at("template"));
  const auto same = std::find_if(old_.begin(), old_.end(), [&](const json::value& set) {
    const json::value* known = find(set, {"spec", "template"});
    return known && without_hash(*known) == today;
  });
  if (same == old_.end()) return;
  newest_ = std::move(*same);
  old_.erase(same);
}

int64_t Rollout::wanted() const {
  int64_t all = newest_ ? replicas_of(*newest_) : 0;
  for (const json::value& set : old_) all += replicas_of(set);
  return all;
}

int64_t Rollout::sum(std::string_view field) const {
  int64_t all = newest_ ? status_number(*newest_, field) : 0;
  for (const json::value& set : old_) all += status_number(set, field);
  return all;
}

bool Rollout::old_pods_live() const {
  return std::any_of(old_.begin(), old_.end(), [&](const json::value& set) {
    const auto pods = world_.dependents(kPodsPath, uid_of(set));
    return std::any_of(pods.begin(), pods.end(), [](const json::value& pod) { return !has_ended(pod); });
  });
}

// How many replicas the newest may have now.
int64_t Rollout::room_for_newest() const {
  const int64_t has = newest_ ? replicas_of(*newest_) : 0;
  if (limits_.recreate) return old_pods_live() ? has : limits_.replicas;
  if (has > limits_.replicas) return limits_.replicas;
  const int64_t room = limits_.replicas + limits_.surge - wanted();
  return room <= 0 ? has : has + std::min(room, limits_.replicas - has);
}

void Rollout::make_newest() {
  const json::value& pod_template = deployment_.at("spec").at("template");
  int64_t collisions = status_number(deployment_, "collisionCount");
  std::string hash = template_hash(pod_template, collisions);
  const auto name = [&] { return std::string(name_of(deployment_)) + "-" + hash; };
  while (world_.read(object_in(kReplicaSetsPath, namespace_of(deployment_), name()))) {
    hash = template_hash(pod_template, ++collisions);
  }
  json::value made_template = pod_template;
  json::object labels = object_at(object_at(made_template.get_object(), "metadata"), "labels");
  labels[kTemplateHashLabel] = hash;
  made_template.at("metadata").get_object()["labels"] = labels;
  json::value selector = deployment_.at("spec").at("selector");
  object_at(selector.get_object(), "matchLabels")[kTemplateHashLabel] = hash;
  json::object annotations;
  if (const json::value* own = find(deployment_, {"metadata", "annotations"}); own && own->is_object()) {
    annotations = own->get_object();
    annotations.erase("kubectl.kubernetes.io/last-applied-configuration");
    annotations.erase(kRevision);
  }
  annotations["deployment.kubernetes.io/desired-replicas"] = std::to_string(limits_.replicas);
  annotations["deployment.kubernetes.io/max-replicas"] = std::to_string(limits_.replicas + limits_.surge);
  int64_t last = 0;
  for (const json::value& set : old_) last = std::max(last, revision_of(set));
  annotations[kRevision] = std::to_string(last + 1);
  json::object spec{{"replicas", room_for_newest()}, {"selector", selector}, {"template", made_template}};
  if (const json::value* least = find(deployment_, {"spec", "minReadySeconds"})) spec["minReadySeconds"] = *least;
  const json::value set = {
      {"kind", "ReplicaSet"},
      {"apiVersion", "apps/v1"},
      {"metadata",
       {{"name", name()},
        {"namespace", namespace_of(deployment_)},
        {"labels", labels},
        {"annotations", annotations},
        {"ownerReferences", json::array{controller_reference(deployment_, "apps/v1", "Deployment")}}}},
      {"spec", spec}};
  world_.create(collection_in(kReplicaSetsPath, namespace_of(deployment_)), set);
  read();
}

// The newest has the highest revision, also when it is an old one that came back; the Deployment says the same.
void Rollout::number_newest() {
  if (!newest_) return;
  int64_t last = 0;
  for (const json::value& set : old_) last = std::max(last, revision_of(set));
  if (revision_of(*newest_) <= last) {
    world_.merge(path_of(kReplicaSetsPath, *newest_),
                 {{"metadata", {{"annotations", {{kRevision, std::to_string(last + 1)}}}}}});
    read();
  }
  if (revision_of(deployment_) == revision_of(*newest_)) return;
  world_.merge(path(), {{"metadata", {{"annotations", {{kRevision, std::to_string(revision_of(*newest_))}}}}}});
}

void Rollout::scale(const json::value& set, int64_t replicas) {
  const json::value annotations = {
      {"deployment.kubernetes.io/desired-replicas", std::to_string(limits_.replicas)},
      {"deployment.kubernetes.io/max-replicas", std::to_string(limits_.replicas + limits_.surge)}};
  const json::value* known = find(set, {"metadata", "annotations", "deployment.kubernetes.io/desired-replicas"});
  if (replicas_of(set) == replicas && known && *known == json::value(std::to_string(limits_.replicas))) return;
  world_.merge(path_of(kReplicaSetsPath, set),
               {{"metadata", {{"annotations", annotations}}}, {"spec", {{"replicas", replicas}}}});
  read();
}

void Rollout::scale_up_newest() {
  if (newest_) scale(json::value(*newest_), room_for_newest());
}

// Old pods that serve nobody go first, they cost nothing.
int64_t Rollout::clean_up_unhealthy(int64_t most) {
  int64_t gone = 0;
  for (const json::value& set : std::vector(old_)) {
    const int64_t idle = replicas_of(set) - status_number(set, "availableReplicas");
    const int64_t count = std::min(idle, most - gone);
    if (count <= 0) continue;
    scale(set, replicas_of(set) - count);
    gone += count;
  }
  return gone;
}

void Rollout::scale_down_old() {
  if (limits_.recreate) {
    for (const json::value& set : std::vector(old_)) scale(set, 0);
    return;
  }
  if (!newest_) return;
  const int64_t least = limits_.replicas - limits_.unavailable;
  const int64_t coming = replicas_of(*newest_) - status_number(*newest_, "availableReplicas");
  const int64_t most = wanted() - least - coming;
  if (most <= 0) return;
  clean_up_unhealthy(most);
  int64_t spare = sum("availableReplicas") - least;
  for (const json::value& set : std::vector(old_)) {
    const int64_t count = std::min(replicas_of(set), spare);
    if (count <= 0) continue;
    scale(set, replicas_of(set) - count);
    spare -= count;
  }
}

void Rollout::forget_history() {
  const auto keep = static_cast<size_t>(std::max<int64_t>(0, spec_number(deployment_, "revisionHistoryLimit", 10)));
  std::vector<json::value> empty;
  for (const json::value& set : old_) {
    if (replicas_of(set) == 0 && status_number(set, "replicas") == 0 && !is_terminating(set)) empty.push_back(set);
  }
  std::sort(empty.begin(), empty.end(), [](const json::value& a, const json::value& b) {
    return std::pair(revision_of(a), name_of(a)) < std::pair(revision_of(b), name_of(b));
  });
  for (size_t i = 0; i + keep < empty.size(); ++i) {
    world_.remove(path_of(kReplicaSetsPath, empty[i]), uid_of(empty[i]));
  }
}

json::value condition(const json::value& deployment, std::string_view type, bool holds, std::string_view reason,
                      const std::string& message, const std::string& now, bool progress) {
  std::string updated = now, since = now;
  const json::value* known = find(deployment, {"status", "conditions"});
  if (known && known->is_array()) {
    for (const json::value& one : known->get_array()) {
      if (text_at(one, "type") != type || text_at(one, "status") != (holds ? "True" : "False")) continue;
      since = text_at(one, "lastTransitionTime");
      if (text_at(one, "reason") == reason && !progress) updated = text_at(one, "lastUpdateTime");
    }
  }
  return {{"type", type},
          {"status", holds ? "True" : "False"},
          {"lastUpdateTime", updated},
          {"lastTransitionTime", since},
          {"reason", reason},
          {"message", message}};
}

const json::value* known_condition(const json::value& object, std::string_view type) {
  const json::value* list = find(object, {"status", "conditions"});
  if (!list || !list->is_array()) return nullptr;
  for (const json::value& one : list->get_array()) {
    if (text_at(one, "type") == type) return &one;
  }
  return nullptr;
}

json::array Rollout::conditions(const json::object& status, Again& again) const {
  const auto number = [&](std::string_view field) {
    const json::value* value = status.if_contains(field);
    return value ? value->to_number<int64_t>() : 0;
  };
  const std::string now = world_.now_text();
  const bool enough = number("availableReplicas") >= limits_.replicas - limits_.unavailable;
  json::array out{condition(
      deployment_, "Available", enough, enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
      enough ? "Deployment has minimum availability." : "Deployment does not have minimum availability.", now, false)};
  if (!newest_) return out;
  const std::string name = "ReplicaSet " + quoted(name_of(*newest_));
  const json::value* known = known_condition(deployment_, "Progressing");
  const bool only_newest = number("replicas") == number("updatedReplicas");
  // A finished rollout stays finished, whatever becomes of its pods.
  if (known && only_newest && text_at(*known, "reason") == "NewReplicaSetAvailable" &&
      text_at(*known, "message").find(name) == 0) {
    out.push_back(*known);
    return out;
  }
  const bool complete =
      only_newest && number("updatedReplicas") == limits_.replicas && number("availableReplicas") == limits_.replicas;
  if (complete) {
    out.push_back(condition(deployment_, "Progressing", true, "NewReplicaSetAvailable",
                            name + " has successfully progressed.", now, false));
    return out;
  }
  bool progress = known == nullptr;
  for (const char* field : {"updatedReplicas", "readyReplicas", "availableReplicas"}) {
    progress |= number(field) > status_number(deployment_, field);
  }
  json::value going =
      condition(deployment_, "Progressing", true, "ReplicaSetUpdated", name + " is progressing.", now, progress);
  const auto updated = io::parse_rfc3339(text_at(going, "lastUpdateTime"));
  const io::Wall deadline =
      updated.value_or(world_.now()) + io::seconds{spec_number(deployment_, "progressDeadlineSeconds", 600)};
  const bool gave_up = known && text_at(*known, "reason") == "ProgressDeadlineExceeded" && !progress;
  if (paused_ || (deadline > world_.now() && !gave_up)) {
    if (!paused_) sooner(again, std::chrono::ceil<std::chrono::milliseconds>(deadline - world_.now()));
    out.push_back(std::move(going));
    return out;
  }
  out.push_back(condition(deployment_, "Progressing", false, "ProgressDeadlineExceeded",
                          name + " has timed out progressing.", now, false));
  return out;
}

void Rollout::write_status(Again& again) {
  json::object status;
  const auto put = [&](std::string_view field, int64_t value) {
    if (value > 0) status[field] = value;
  };
  status["observedGeneration"] = generation_of(deployment_);
  put("replicas", sum("replicas"));
  put("updatedReplicas", newest_ ? status_number(*newest_, "replicas") : 0);
  put("readyReplicas", sum("readyReplicas"));
  put("availableReplicas", sum("availableReplicas"));
  put("unavailableReplicas", std::max<int64_t>(0, wanted() - sum("availableReplicas")));
  status["terminatingReplicas"] = sum("terminatingReplicas");
  put("collisionCount", status_number(deployment_, "collisionCount"));
  status["conditions"] = conditions(status, again);
  world_.write_status(path(), deployment_, status);
}

Again Rollout::tend() {
  Again again;
  if (is_terminating(deployment_)) return again;
  if (paused_) {
    // Nothing rolls out; the size still follows.
    if (newest_ && old_.empty()) scale(json::value(*newest_), limits_.replicas);
  } else {
    if (limits_.recreate) scale_down_old();
    if (!newest_) make_newest();
    number_newest();
    scale_up_newest();
    if (!limits_.recreate) scale_down_old();
    forget_history();
  }
  write_status(again);
  return again;
}

}  // namespace

Again tend_deployment(WorkloadWorld& world, const json::value& deployment) { return Rollout(world, deployment).tend(); }

}  // namespace careen::sim
