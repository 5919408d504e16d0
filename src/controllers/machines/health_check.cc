#include "controllers/machines/health_check.h"

#include <algorithm>

#include "controllers/machines/names.h"
#include "kube/decode.h"

namespace careen::machines {

namespace {

HealthCheck of_object(kube::Object object) {
  HealthCheck check;
  check.name = std::move(object.name);
  check.uid = std::move(object.uid);
  check.version = object.version;
  const kube::JsonView spec = object.document["spec"];
  // One without a selector is about all Nodes.
  const kube::JsonView selector = spec["selector"];
  auto read = selector.is_object() ? kube::LabelSelector::from_json(selector) : kube::LabelSelector();
  if (read) check.selector = std::move(*read);
  spec["pauseRequests"].for_each_element(
      [&](kube::JsonView one) { check.pause_requests.emplace_back(one.text().value_or("")); });
  return check;
}

io::Result<HealthCheck> of_result(io::Result<kube::Object> object) {
  if (!object) return tl::make_unexpected(std::move(object.error()));
  return of_object(std::move(*object));
}

bool may_concern(const HealthCheck& check, const Node* node) {
  if (!node || !check.selector) return true;
  return check.selector->matches([node](std::string_view key) -> std::optional<std::string_view> {
    for (const auto& [label, value] : node->labels) {
      if (label == key) return value.view();
    }
    return std::nullopt;
  });
}

}  // namespace

bool HealthCheck::same_facts(const HealthCheck& other) const {
  return uid == other.uid && selector == other.selector && pause_requests == other.pause_requests;
}

bool HealthCheck::is_held() const { return std::ranges::find(pause_requests, kPauseRequest) != pause_requests.end(); }

io::Result<HealthCheck> read_health_check(kube::RawObject& raw) { return of_result(kube::decode_object(raw)); }
io::Result<HealthCheck> read_health_check(std::string_view json) { return of_result(kube::decode_object(json)); }

std::optional<std::vector<std::string>> decide_pause(const HealthCheckWorld& world) {
  const HealthCheck& check = *world.check;
  const bool wanted = std::ranges::any_of(world.out, [&](const Node* node) { return may_concern(check, node); });
  if (wanted == check.is_held() || (!wanted && !world.complete)) return std::nullopt;
  std::vector<std::string> requests = check.pause_requests;
  if (wanted) {
    requests.emplace_back(kPauseRequest);
  } else {
    std::erase(requests, kPauseRequest);
  }
  return requests;
}

}  // namespace careen::machines
