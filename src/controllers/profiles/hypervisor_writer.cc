#include "controllers/profiles/hypervisor_writer.h"

#include <map>
#include <utility>

#include "controllers/profiles/config.h"
#include "controllers/profiles/decision.h"
#include "controllers/profiles/hypervisors.h"
#include "io/loop.h"
#include "kube/cache.h"
#include "kube/decode.h"
#include "kube/json.h"
#include "kube/queue.h"

namespace careen::profiles {

using io::Task;

Task<bool> HypervisorWriter::write(std::string node, const Decision& decision, const Basis& on) {
  std::map<std::string, kube::Json> patches;  // by profile
  for (const auto& [field, wish] : decision.effects.hypervisor) {
    patches.try_emplace(wish.profile, kube::Json::object()).first->second.set({"spec", field}, wish.value);
  }
  for (const auto& [profile, patch] : patches) {
    const auto answer = co_await guard_.write(kHypervisorResource, node, patch.dump(), decision, on);
    if (answer) {
      written(node, profile, decision, *answer);
      continue;
    }
    if (answer.error().not_leader()) {
      queue_.wake_after_failure(node);
      co_return false;
    }
    const bool moot = answer.error().too_late() || budget::PauseGuard::interrupted(answer.error());
    if (!moot) facts_.refuse(node, profile, {answer.error().message, next_try()});
    queue_.wake(node);
    co_return false;
  }
  co_return true;
}

void HypervisorWriter::written(const std::string& node, const std::string& profile, const Decision& decision,
                               const std::string& answer) {
  facts_.accept(node, profile);
  auto object = kube::decode_object(answer);
  if (!object) return;
  for (const auto& [field, wish] : decision.effects.hypervisor) {
    if (wish.profile == profile) facts_.told(node, object->version, field, wish.value);
  }
  objects_.put(std::move(*object));
}

// When what has failed is tried again. Without a time in the configuration only changes bring a node back; but not at
// once.
io::Wall HypervisorWriter::next_try() const {
  constexpr io::Duration kWithoutRequeue = io::minutes{1};
  const io::Duration pause = config_->requeue > io::Duration{0} ? config_->requeue : kWithoutRequeue;
  return io::add(loop_.wall_now(), pause);
}

}  // namespace careen::profiles
