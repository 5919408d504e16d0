// Budgets: how many places each limit has, who has them, and who waits. Limits of checks are those that are in use,
// one for each group of nodes that share it; of disruption budgets only those that are used up or hold a drain up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/time.h"

namespace careen::replica {
class Replica;
}

namespace careen::view {

struct Budget {
  std::string_view kind;  // maxMaintenance, stagger, disruption
  std::string name;
  std::string scope;
  int64_t max = 0, used = 0, reserved = 0;
  std::vector<std::string> holders = {};
  size_t waiting = 0;
  std::optional<io::Wall> free_at = std::nullopt;
};

// In the order of the configuration, then by group; disruption budgets by name.
std::vector<Budget> budgets_of(const replica::Replica& replica);
void append_json(std::string& out, const Budget& budget);

}  // namespace careen::view
