#include "controllers/profiles/decision_guard.h"

#include <utility>

#include "controllers/profiles/decision.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/node.h"

namespace careen::profiles {

bool DecisionGuard::outdated(const std::string& name, const Decision& decision, const Basis& on) const {
  if (on != basis()) return true;
  const kube::Node* node = nodes_.find(name);
  if (!node || node->uid != decision.uid || node->version != decision.version) return true;
  return decision.effects.valid_until && loop_.wall_now() >= *decision.effects.valid_until;
}

budget::PauseGuard::Write DecisionGuard::write(kube::Resource resource, std::string name, std::string patch,
                                               const Decision& decision, const Basis& on) {
  kube::CallOptions options;
  options.not_after = decision.effects.valid_until;
  return pause_guard_.carry(on.pauses, client_.patch(std::move(resource), "", std::move(name), kube::PatchType::merge,
                                                     std::move(patch), {}, std::move(options)));
}

}  // namespace careen::profiles
