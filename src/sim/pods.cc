#include "sim/pods.h"

#include <algorithm>
#include <charconv>

#include "sim/disruption_status.h"
#include "sim/places.h"
#include "sim/pod_phase.h"

namespace careen::sim {

namespace {

constexpr const char* kKubelet = "kubelet";

std::string_view annotation(const json::value& pod, std::string_view name) {
  const json::value* all = find(pod, {"metadata", "annotations"});
  return all ? text_at(*all, "model.careen.dev/" + std::string(name)) : std::string_view();
}

// Whole seconds or a fraction of them.
std::optional<io::Duration> duration_in(std::string_view text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 0) return std::nullopt;
  return std::chrono::duration_cast<io::Duration>(std::chrono::duration<double>(seconds));
}

void add_condition(json::array& to, const char* type, bool holds, const std::string& now,
                   const char* reason = nullptr) {
  json::value out(
      {{"type", type}, {"status", holds ? "True" : "False"}, {"lastProbeTime", nullptr}, {"lastTransitionTime", now}},
      to.storage());
  if (reason) out.get_object()["reason"] = reason;
  to.push_back(std::move(out));
}

// What its kubelet does not say itself stays: PodScheduled, DisruptionTarget, those of others.
json::array conditions_of(const json::value& pod, const std::string& now, bool ready, bool done,
                          json::storage_ptr memory) {
  json::array out(std::move(memory));
  const json::value* known = find(pod, {"status", "conditions"});
  bool scheduled = false;
  if (known && known->is_array()) {
    for (const json::value& one : known->get_array()) {
      const std::string_view type = text_at(one, "type");
      if (type == "Initialized" || type == "Ready" || type == "ContainersReady") continue;
      scheduled |= type == "PodScheduled";
      out.push_back(one);
    }
  }
  const char* reason = ready ? nullptr : done ? "PodCompleted" : "ContainersNotReady";
  add_condition(out, "Initialized", true, now, done ? "PodCompleted" : nullptr);
  add_condition(out, "Ready", ready, now, reason);
  add_condition(out, "ContainersReady", ready, now, reason);
  if (!scheduled) add_condition(out, "PodScheduled", true, now);
  return out;
}

json::array container_statuses(const json::value& pod, const std::string& now, bool ready, bool done,
                               json::storage_ptr memory) {
  json::array out(std::move(memory));
  const json::value* containers = find(pod, {"spec", "containers"});
  if (!containers || !containers->is_array()) return out;
  const std::string_view since = text_at(pod, {"status", "startTime"});
  const std::string_view started = since.empty() ? std::string_view(now) : since;
  for (const json::value& one : containers->get_array()) {
    json::object status({{"name", text_at(one, "name")},
                         {"ready", ready},
                         {"restartCount", 0},
                         {"image", text_at(one, "image")},
                         {"imageID", ""},
                         {"started", !done}},
                        out.storage());
    if (done) {
      status["state"] = {
          {"terminated", {{"exitCode", 0}, {"reason", "Completed"}, {"startedAt", started}, {"finishedAt", now}}}};
    } else {
      object_at(object_at(status, "state"), "running")["startedAt"] = started;
    }
    out.push_back(std::move(status));
  }
  return out;
}

}  // namespace

Pods::Pods(io::Loop& loop, ApiServer& api, Kubelets& kubelets)
    : loop_(loop), api_(api), kubelets_(kubelets), next_(loop, [this] { run(); }) {
  api_.observe([this](const Change& change) { note(change); });
  kubelets_.follow([this](const std::string& node) { look_again(node); });
}

void Pods::note(const Change& change) {
  if (change.collection != kPodsPath) return;
  changed_.insert(change.ns + "/" + change.name);
  next_.set(loop_.now());
}

// Its kubelet stopped or came back.
void Pods::look_again(const std::string& node) {
  const auto known = on_node_.find(node);
  if (known == on_node_.end()) return;
  changed_.insert(known->second.begin(), known->second.end());
  next_.set(loop_.now());
}

void Pods::run() {
  for (const std::string& key : std::exchange(changed_, {})) plan(key);
  while (!by_time_.empty() && by_time_.begin()->first <= loop_.now()) act(by_time_.begin()->second);
  // What it did is a change, too.
  if (!changed_.empty()) return next_.set(loop_.now());
  if (!by_time_.empty()) next_.set(by_time_.begin()->first);
}

void Pods::forget(const std::string& key) {
  const auto known = pods_.find(key);
  if (known == pods_.end()) return;
  by_time_.erase({known->second.due, key});
  const auto on_node = on_node_.find(known->second.node);
  on_node->second.erase(key);
  if (on_node->second.empty()) on_node_.erase(on_node);
  pods_.erase(known);
}

void Pods::wake(const std::string& key, Pod& pod, io::Steady at) {
  if (pod.due == at) return;
  by_time_.erase({pod.due, key});
  pod.due = at;
  if (at != io::kNever) by_time_.insert({at, key});
}

void Pods::plan(const std::string& key) {
  const Parsed found = api_.pod(key);
  if (!found) return forget(key);
  const json::value& object = *found;
  const std::string node(text_at(object, {"spec", "nodeName"}));
  const std::string_view uid = text_at(object, {"metadata", "uid"});
  // Another pod of the same name starts afresh.
  if (const auto known = pods_.find(key); known != pods_.end() && known->second.uid != uid) forget(key);
  if (node.empty()) return;
  auto [known, fresh] = pods_.try_emplace(key);
  Pod& pod = known->second;
  if (fresh) {
    pod.node = node;
    pod.uid = uid;
    pod.bound = loop_.now();
    on_node_[node].insert(key);
  }
  if (!kubelets_.running(node)) return wake(key, pod, io::kNever);
  const Next next = next_step(pod, object);
  wake(key, pod, next.step == Step::none ? io::kNever : std::max(next.at, loop_.now()));
}

Pods::Next Pods::next_step(Pod& pod, const json::value& object) const {
  const std::string_view phase = text_at(object, {"status", "phase"});
  if (find(object, {"metadata", "deletionTimestamp"})) {
    if (!pod.ends_since) pod.ends_since = loop_.now();
    const int64_t grace = integer_at(object, {"metadata", "deletionGracePeriodSeconds"}).value_or(0);
    const std::string_view wanted = annotation(object, "termination-time");
    // With no time left only finalizers hold it.
    if (wanted == "never" || grace == 0) return {};
    const io::Duration takes = duration_in(wanted).value_or(times_.to_end);
    return {Step::end, *pod.ends_since + std::min<io::Duration>(takes, io::seconds{grace})};
  }
  if (is_last_phase(phase)) return {};
  if (phase != "Running") {
    return {Step::start, pod.bound + duration_in(annotation(object, "start-time")).value_or(times_.to_start)};
  }
  if (const std::string_view wanted = annotation(object, "ready"); !wanted.empty()) {
    if (is_ready(object) != (wanted != "false")) return {Step::show_readiness, loop_.now()};
  }
  const auto work = duration_in(annotation(object, "run-time"));
  if (!work) return {};
  if (!pod.runs_since) pod.runs_since = loop_.now();
  return {Step::finish, *pod.runs_since + *work};
}

void Pods::act(const std::string& due) {
  const std::string key = due;
  const auto known = pods_.find(key);
  wake(key, known->second, io::kNever);
  const std::string path = pod_path_of_key(key);
  const Parsed found = api_.pod(key);
  if (!found || !kubelets_.running(known->second.node)) return;
  const json::value& object = *found;
  const bool ready = annotation(object, "ready") != "false";
  const Next next = next_step(known->second, object);
  if (next.at > loop_.now()) return wake(key, known->second, next.at);
  switch (next.step) {
    case Step::none:
      return;
    case Step::start:
      known->second.runs_since = loop_.now();
      return write_status(path, object, "Running", ready, true);
    case Step::show_readiness:
      return write_status(path, object, "Running", ready, false);
    case Step::finish:
      return write_status(path, object, "Succeeded", false, false);
    case Step::end:
      return end(path, object);
  }
}

void Pods::write_status(const std::string& path, const json::value& object, std::string_view phase, bool ready,
                        bool started) {
  const std::string now = io::format_whole_seconds(loop_.wall_now());
  const bool done = is_last_phase(phase);
  Scratch memory;
  json::object status(memory.storage());
  status["phase"] = phase;
  status["conditions"] = conditions_of(object, now, ready, done, memory.storage());
  status["containerStatuses"] = container_statuses(object, now, ready, done, memory.storage());
  if (started) {
    const uint64_t number = ++addresses_;
    const std::string ip = "10." + std::to_string(128 + number / 65536 % 64) + "." +
                           std::to_string(number / 256 % 256) + "." + std::to_string(number % 256);
    status["startTime"] = now;
    status["podIP"] = ip;
    status["podIPs"] = {{{"ip", ip}}};
    const std::string host = address_of(text_at(object, {"spec", "nodeName"}));
    if (!host.empty()) {
      status["hostIP"] = host;
      status["hostIPs"] = {{{"ip", host}}};
    }
  }
  json::object patch(memory.storage());
  patch["status"] = std::move(status);
  api_.merge(path, json::value(std::move(patch)), kKubelet);
}

// The first of the node's addresses, or nothing.
std::string Pods::address_of(std::string_view node) const {
  const Parsed found = api_.stored(node_path(node));
  const json::value* addresses = found ? find(*found, {"status", "addresses"}) : nullptr;
  if (!addresses || !addresses->is_array() || addresses->get_array().empty()) return {};
  return std::string(text_at(addresses->get_array().front(), "address"));
}

// Its containers have ended: it goes, unless finalizers hold what is left of it.
void Pods::end(const std::string& path, const json::value& object) {
  const json::value* finalizers = find(object, {"metadata", "finalizers"});
  if (finalizers && finalizers->is_array() && !finalizers->get_array().empty() &&
      !is_last_phase(text_at(object, {"status", "phase"}))) {
    write_status(path, object, "Succeeded", false, false);
  }
  kube::Request request;
  request.method = "DELETE";
  request.path = path;
  request.body =
      R"({"gracePeriodSeconds":0,"preconditions":{"uid":)" + quoted(text_at(object, {"metadata", "uid"})) + "}}";
  api_.handle(request, {kKubelet});
}

}  // namespace careen::sim
