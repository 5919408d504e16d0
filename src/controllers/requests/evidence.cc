#include "controllers/requests/evidence.h"

#include "drain/holds.h"
#include "kube/json.h"
#include "kube/node.h"
#include "limits/facts.h"

namespace careen::requests {

namespace {

bool is_held(const kube::Node& node, std::string_view owner, bool& by_others) {
  if (!node.annotation(drain::kHoldsAnnotation)) return false;
  bool held = false;
  for (const auto& [who, hold] : drain::holds_of(node).by_owner) {
    if (!hold.items.cordon) continue;
    (who == owner ? held : by_others) = true;
  }
  return held;
}

}  // namespace

std::string sign_of_work(const kube::Node* node, std::string_view owner) {
  if (!node) return "there is no such node";
  for (const limits::Fact& fact : limits::facts_of(*node)) {
    if (fact.counts() && !fact.own) return fact.what;
  }
  bool by_others = false;
  const bool held = is_held(*node, owner, by_others);
  if (node->unschedulable && (by_others || !held)) return "cordoned";
  return {};
}

std::string boot_id_of(const kube::Node& node) {
  constexpr size_t kLongest = 128;
  const std::string* const section = node.section(kBootIdPointer);
  if (!section) return {};
  const auto json = kube::Json::parse(*section);
  return json ? std::string(json->view().text().value_or("").substr(0, kLongest)) : std::string();
}

void Evidence::look(const kube::Node* node, std::string_view owner, io::Wall now) {
  if (node) gone_since.reset();
  if (!node && !gone_since) gone_since = now;
  std::string shown = sign_of_work(node, owner);
  if (node) {
    std::string boot = boot_id_of(*node);
    if (!boot.empty() && !boot_id.empty() && boot != boot_id) {
      seen = now;
      sign = "it was started anew";
      quiet_since = now;
    }
    if (!boot.empty()) boot_id = std::move(boot);
  }
  if (shown.empty()) {
    if (!quiet_since) quiet_since = now;
    return;
  }
  seen = now;
  sign = std::move(shown);
  quiet_since.reset();
}

}  // namespace careen::requests
