// A NodeHealthCheck of medik8s, which has Nodes of a workload cluster repaired that are not healthy: what it says, and
// whether it ought to stand back. It knows no single Node that it is to leave alone, only that somebody wants all of
// its Nodes left alone; so it stands back while one of them is in maintenance. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/machines/machine.h"
#include "io/result.h"
#include "kube/label_selector.h"

namespace careen::machines {

struct HealthCheck {
  std::string name;
  std::string uid;
  uint64_t version = 0;
  std::optional<kube::LabelSelector> selector;  // of Nodes; nothing: it cannot be read
  std::vector<std::string> pause_requests;      // by whom it is held back, careen among them

  const std::string& key() const { return name; }
  bool same_facts(const HealthCheck& other) const;
  bool is_held() const;  // by careen
};

io::Result<HealthCheck> read_health_check(kube::RawObject& raw);
io::Result<HealthCheck> read_health_check(std::string_view json);

struct HealthCheckWorld {
  const HealthCheck* check = nullptr;
  // Of the Machines of its cluster that are out; null: their Node is not seen at the moment.
  std::vector<const Node*> out;
  // It is known of all Machines of the cluster whether they are out.
  bool complete = false;
};

// The requests that it ought to have, those of others in their order; nothing: it has them. What is not known holds it
// back, but only once there is a reason.
std::optional<std::vector<std::string>> decide_pause(const HealthCheckWorld& world);

}  // namespace careen::machines
