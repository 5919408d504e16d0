// Pauses: a drain whose owner is paused is still followed, but nothing is sent for it, and its time limits stand still.
#include "drain/engine_core.h"
#include "drain/holds.h"

namespace careen::drain {

namespace {

constexpr std::string_view kProfilePrefix = "profile/";
constexpr std::string_view kBegunSuffix = "/begun";

// The profile that the owner stands for; empty for anybody else.
std::string_view profile_of(std::string_view owner) {
  if (!owner.starts_with(kProfilePrefix)) return {};
  owner.remove_prefix(kProfilePrefix.size());
  if (owner.ends_with(kBegunSuffix)) owner.remove_suffix(kBegunSuffix.size());
  return owner;
}

}  // namespace

// A person who drains from a terminal was asked there.
const budget::Pause* Engine::Core::pause_of(const Drain& drain) const {
  if (!p.pauses || drain.key.owner.starts_with(kTerminalPrefix)) return nullptr;
  return p.pauses->of(profile_of(drain.key.owner));
}

void Engine::Core::pauses_changed() {
  for (const auto& [key, drain] : drains) follow_pause(*drain);
  for (const auto& [key, drain] : drains) {
    consider_all(*drain);
    tell(*drain);
  }
  for (const auto& [key, lane] : lanes) serve(*lane);
}

void Engine::Core::follow_pause(Drain& drain) {
  const bool paused = pause_of(drain) != nullptr;
  if (paused == drain.paused_since.has_value()) return;
  const io::Steady now = p.loop.now();
  if (paused) {
    drain.paused_since = now;
  } else {
    const io::Duration lasted = now - *drain.paused_since;
    drain.paused_since.reset();
    drain.resumed_at = now;
    drain.paused_for += lasted;
    // A pod that could not be evicted because of the pause alone is not deleted for it.
    for (const auto& [name, target] : drain.pods) {
      Membership& membership = *target->membership(drain);
      if (membership.turn_since) *membership.turn_since += lasted;
    }
  }
  set_deadline(drain);
}

void Engine::Core::set_deadline(Drain& drain) {
  drain.deadline.cancel();
  if (drain.timed_out || drain.paused_since || drain.options.timeout <= io::Duration::zero()) return;
  drain.deadline.set(drain.begun_at + drain.paused_for + drain.options.timeout);
}

}  // namespace careen::drain
