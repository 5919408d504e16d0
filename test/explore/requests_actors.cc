#include "requests_actors.h"

#include <fmt/format.h>

#include <algorithm>

namespace careen::explore {

using kube::Json;

namespace {

// Until an actor has heard of a change and acts on it.
constexpr io::Duration kNotices = io::milliseconds{50};
constexpr int kPodsKept = 2;

std::string path_of(const std::string& request) { return fmt::format("{}/{}", kRequestsPath, request); }

}  // namespace

void RequestsActors::changed(const sim::Change& change) {
  if (change.collection != kRequestsPath) return;
  const auto errand = plan_->errands.find(change.name);
  if (errand == plan_->errands.end()) return;
  const bool gone = change.type == sim::Change::Type::deleted;
  const std::string state(gone ? "" : (*Json::parse(*change.object))["spec"]["state"].text().value_or(""));
  if (std::exchange(states_[change.name], state) == state) return;
  const bool over = gone || state == "Completed" || state == "Rejected";
  if (over && plan_->drains_first) {
    hands_.later(kNotices, [this, &one = errand->second] { keep_pods(hands_, one.node, kPodsKept); });
  }
  if (state != "Approved") return;
  if (errand->second.dies == Errand::Dies::begin) return;
  hands_.later(kNotices + errand->second.begins_after,
               [this, request = change.name, &one = errand->second] { begin(request, one); });
}

// On nodes that are drained before somebody works on them.
void RequestsActors::keep_all_pods() {
  for (const auto& [request, errand] : plan_->errands) keep_pods(hands_, errand.node, kPodsKept);
}

bool RequestsActors::busy() const {
  return drains_.busy() || std::any_of(states_.begin(), states_.end(), [](const auto& request) {
           return !request.second.empty() && request.second != "Completed" && request.second != "Rejected";
         });
}

std::string RequestsActors::state_of(const std::string& request) const {
  const sim::Text text = hands_.read(path_of(request));
  return text ? std::string((*Json::parse(*text))["spec"]["state"].text().value_or("")) : std::string();
}

void RequestsActors::set_state(const std::string& request, const char* state) {
  hands_.merge(path_of(request), Json::object({{"spec", Json::object({{"state", state}})}}));
}

void RequestsActors::begin(const std::string& request, const Errand& errand) {
  // It may have been taken back by a time-out meanwhile.
  if (state_of(request) != "Approved") return;
  set_state(request, "InProgress");
  if (errand.dies == Errand::Dies::cordon) return;
  if (errand.cordons) hands_.cordon(errand.node, true);
  if (errand.dies == Errand::Dies::complete) return leave_to_people(errand);
  hands_.later(errand.works_for, [this, request, &errand] { complete(request, errand); });
}

void RequestsActors::complete(const std::string& request, const Errand& errand) {
  if (state_of(request) == "InProgress") set_state(request, "Completed");
  if (errand.dies == Errand::Dies::uncordon) return leave_to_people(errand);
  if (errand.cordons) hands_.cordon(errand.node, false);
}

void RequestsActors::leave_to_people(const Errand& errand) {
  if (!errand.cordons) return;
  hands_.later(errand.cleaned_up_after, [this, &errand] { hands_.cordon(errand.node, false); });
}

}  // namespace careen::explore
