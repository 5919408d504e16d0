#include "budget/key.h"

namespace careen::budget {

std::string Scope::text() const {
  if (labels.empty()) return "all nodes in the cluster";
  std::string out = "nodes matching the ";
  for (size_t i = 0; i < labels.size(); ++i) {
    if (i > 0) out += ',';
    out += labels[i].first + "=" + labels[i].second;
  }
  return out + " label selector";
}

}  // namespace careen::budget
