#include "controllers/requests/decide_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "budget/pause.h"
#include "controllers/requests/names.h"
#include "drain/progress.h"
#include "kube/node.h"
#include "limits/limit.h"

namespace careen::requests {

namespace {

using limits::Limit;
using limits::OnTimeout;
using Verdict = Why::Verdict;

constexpr size_t kMostNamed = 5;

const drain::Hold* own_hold(const drain::Holds& holds, const Request& request) {
  const auto found = holds.by_owner.find(request.owner());
  return found != holds.by_owner.end() && found->second.id == request.uid ? &found->second : nullptr;
}

drain::Holds holds_on(const kube::Node& node) {
  return node.annotation(drain::kHoldsAnnotation) ? drain::holds_of(node) : drain::Holds{};
}

template <class Wants>
const Limit* first_that(const World& world, Wants wants) {
  const auto found = std::ranges::find_if(world.limits, [&](const Limit* one) { return wants(*one); });
  return found == world.limits.end() ? nullptr : *found;
}

const Limit* that_drains(const World& world) {
  return first_that(world, [](const Limit& one) { return one.drain.enabled; });
}
const Limit* that_detaches(const World& world) {
  return first_that(world, [](const Limit& one) { return one.drain.enabled && one.infra_drain.enabled; });
}

// One step: what the status says, the condition that is not fulfilled yet, and nothing else to do.
void stand(Decision& decision, Phase phase, std::string_view reason, std::string message, io::Wall now) {
  Status& status = decision.status;
  status.phase = phase;
  status.reason = reason;
  status.message = std::move(message);
  status.set_condition(conditions::kApproved, false, reason, status.message, now);
  decision.why.add(Verdict::no, status.message);
}

// True when so long has passed since then; otherwise it is looked at again when it has.
bool is_over(Decision& decision, const std::optional<io::Wall>& since, io::Duration span, io::Wall now) {
  if (!since) return false;
  const io::Wall when = io::add(*since, span);
  if (when <= now) return true;
  if (!decision.wake || when < *decision.wake) decision.wake = when;
  return false;
}

std::string text_of(const drain::Progress* progress) {
  if (!progress) return "the drain begins";
  if (!progress->errors.empty()) return progress->errors.front();
  std::string text = fmt::format("{} of {} pods are left", progress->pods.size(), progress->pods_to_evict);
  for (const std::string& line : progress->left_alone) text += "; " + line;
  for (const drain::PodProgress& pod : progress->pods) {
    if (pod.stage != drain::Stage::blocked && pod.stage != drain::Stage::failed) continue;
    return fmt::format("{}; {}/{}: {}", text, pod.ns, pod.name, pod.reason);
  }
  return text;
}

void reject(Decision& decision, std::string_view reason, std::string message) {
  decision.why.add(Verdict::no, fmt::format("{}: {}", reason, message));
  decision.effect = End{{std::string(reason), std::move(message)}};
}

// Whether the node is cordoned for the request; otherwise that is the next write.
bool is_cordoned(Decision& decision, const World& world, io::Wall now) {
  const Request& request = *world.request;
  drain::NodeChange change =
      drain::hold(*world.node, request.owner(), {request.uid, now, {.cordon = true}}, world.atoms);
  if (change.empty()) return true;
  if (change.unschedulable) change.annotations[std::string(kCordonedBy)] = request.name;
  stand(decision, Phase::reserved, reasons::kReserved, "it has a place; its node is being cordoned", now);
  decision.effect = HoldNode{std::move(change), world.node->version};
  return false;
}

// Whether the node is drained, or is not to be, or has been for too long where that does not matter.
bool is_drained(Decision& decision, const World& world, const Memory& memory, const Limit& limit, io::Wall now) {
  Status& status = decision.status;
  if (limit.drain.cordon_only) return true;
  if (memory.drained) {
    status.set_condition(conditions::kDrained, true, "AllPodsLeft", "the node is drained", now);
    return true;
  }
  const drain::Progress* const progress = world.progress;
  const std::string text = text_of(progress);
  if (limit.drain.timeout > io::Duration{} && is_over(decision, memory.held, limit.drain.timeout, now)) {
    if (limit.drain.on_timeout == OnTimeout::go_on) {
      status.set_condition(conditions::kDrained, false, reasons::kDrainTimedOut, text, now);
      return true;
    }
    reject(decision, reasons::kDrainTimedOut, fmt::format("the drain has taken too long: {}", text));
    return false;
  }
  drain::Options options = limit.drain.options;
  options.timeout = {};  // it began with the hold, whoever led then
  decision.drain = std::move(options);
  using ProgressPhase = drain::Progress::Phase;
  const bool refused =
      progress && (progress->phase == ProgressPhase::refused || progress->phase == ProgressPhase::failed);
  if (world.pause) {
    stand(decision, progress ? Phase::draining : Phase::cordoned, reasons::kPaused, world.pause->text(), now);
  } else {
    stand(decision, progress ? Phase::draining : Phase::cordoned, refused ? reasons::kDrainRefused : reasons::kDraining,
          text, now);
  }
  status.set_condition(conditions::kDrained, false, status.reason, text, now);
  return false;
}

bool are_volumes_gone(Decision& decision, const World& world, const Memory& memory, io::Wall now) {
  const Limit* const limit = that_detaches(world);
  if (!limit) return true;
  const limits::InfraDrainStep& step = limit->infra_drain;
  Status& status = decision.status;
  if (memory.detached) {
    status.set_condition(conditions::kVolumesDetached, true, "AllDetached", "no volume is attached to the node", now);
    if (is_over(decision, memory.detached, step.after, now)) return true;
    stand(decision, Phase::infra_draining, reasons::kGrace, "its volumes are detached, and a grace period runs", now);
    return false;
  }
  std::string text = "it is not known yet which volumes are attached to the node";
  if (world.volumes.known) {
    const auto& names = world.volumes.names;
    text = fmt::format("{} volumes are attached to the node: {}{}", names.size(),
                       fmt::join(names.begin(), names.begin() + int64_t(std::min(names.size(), kMostNamed)), ", "),
                       names.size() > kMostNamed ? ", …" : "");
  }
  if (step.timeout > io::Duration{} && is_over(decision, memory.infra, step.timeout, now)) {
    if (step.on_timeout == OnTimeout::go_on) {
      status.set_condition(conditions::kVolumesDetached, false, reasons::kInfraDrainTimedOut, text, now);
      return true;
    }
    reject(decision, reasons::kInfraDrainTimedOut, text);
    return false;
  }
  stand(decision, Phase::infra_draining, reasons::kVolumesAttached, text, now);
  status.set_condition(conditions::kVolumesDetached, false, reasons::kVolumesAttached, text, now);
  return false;
}

// From when its node was emptied; or since it is cordoned, where nothing more is asked for.
bool is_grace_over(Decision& decision, const Memory& memory, const Limit& limit, io::Wall now) {
  if (limit.drain.after <= io::Duration{}) return true;
  const auto since = memory.drained            ? memory.drained
                     : limit.drain.cordon_only ? memory.held
                     : memory.held             ? std::optional(io::add(*memory.held, limit.drain.timeout))
                                               : std::nullopt;
  if (is_over(decision, since, limit.drain.after, now)) return true;
  stand(decision, Phase::grace, reasons::kGrace, "its node is drained, and a grace period runs", now);
  return false;
}

}  // namespace

void take_next_step(Decision& decision, const World& world, const Memory& memory, io::Wall now) {
  const Limit* const limit = that_drains(world);
  if (limit) {
    const bool cordoned = own_hold(holds_on(*world.node), *world.request) && world.node->unschedulable;
    if (world.pause && !cordoned) {
      return stand(decision, Phase::reserved, reasons::kPaused, world.pause->text(), now);
    }
    if (!world.pause && !is_cordoned(decision, world, now)) return;
    if (!is_drained(decision, world, memory, *limit, now)) return;
    if (!is_grace_over(decision, memory, *limit, now)) return;
    if (!are_volumes_gone(decision, world, memory, now)) return;
  }
  if (world.pause) {
    const Phase phase = std::max(decision.status.phase, Phase::reserved);
    return stand(decision, phase > Phase::infra_draining ? Phase::reserved : phase, reasons::kPaused,
                 world.pause->text(), now);
  }
  decision.why.add(Verdict::yes, "it is approved");
  decision.effect = Approve{};
}

void observe_steps(const World& world, Memory& memory, io::Wall now) {
  const auto reset = [&] {
    memory.held.reset();
    memory.drained.reset();
    memory.infra.reset();
    memory.detached.reset();
  };
  const Limit* const limit = that_drains(world);
  if (!world.node || !world.has_place || !limit) return reset();
  const drain::Holds holds = holds_on(*world.node);
  const drain::Hold* const hold = own_hold(holds, *world.request);
  if (!hold) return reset();
  if (!memory.held) memory.held = std::min(hold->since, now);
  // As whoever led before has recorded it. A condition from before the hold is about another drain.
  const auto recorded = [&](std::string_view type, bool holds_now) -> std::optional<io::Wall> {
    const Condition* const found = memory.status.condition(type);
    if (!found || found->holds != holds_now || io::add(found->since, io::seconds{1}) < hold->since) return std::nullopt;
    return std::min(found->since, now);
  };
  const bool is_drained = world.progress && world.progress->phase == drain::Progress::Phase::drained;
  if (!memory.drained) memory.drained = recorded(conditions::kDrained, true);
  if (!memory.drained && is_drained) memory.drained = now;
  const bool timed_out = limit->drain.timeout > io::Duration{} && io::add(*memory.held, limit->drain.timeout) <= now;
  const bool emptied = memory.drained || limit->drain.cordon_only || timed_out;
  if (!emptied || !that_detaches(world)) return;
  const io::Wall since = memory.drained ? *memory.drained : *memory.held;
  if (!memory.infra && io::add(since, limit->drain.after) <= now) {
    memory.infra = recorded(conditions::kVolumesDetached, false).value_or(now);
  }
  if (memory.infra && !memory.detached && world.volumes.known && world.volumes.names.empty()) {
    memory.detached = recorded(conditions::kVolumesDetached, true).value_or(now);
  }
  if (world.volumes.known && !world.volumes.names.empty()) memory.detached.reset();
}

bool holds_node(const kube::Node& node, const Request& request) { return own_hold(holds_on(node), request) != nullptr; }

drain::NodeChange end_hold(const kube::Node& node, const std::string& owner, const drain::Hold& hold,
                           const Request* stands, const std::vector<const Limit*>& limits, kube::AtomPool& atoms) {
  const bool is_its = stands && stands->uid == hold.id && stands->node == node.name;
  if (is_its && stands->live()) return {};
  const auto first = std::ranges::find_if(limits, [](const Limit* one) { return one->drain.enabled; });
  const bool uncordons = first == limits.end() || (*first)->drain.uncordon;
  // Nobody knows in what state it is.
  const bool lost = is_its && stands->ended && stands->ended->reason == reasons::kTimedOut;
  drain::NodeChange change =
      lost || !uncordons ? drain::abandon(node, owner, atoms) : drain::release(node, owner, atoms);
  const std::string* const by = node.annotation(kCordonedBy);
  const auto name = request_of(owner);
  if (by && name && *by == *name) change.annotations[std::string(kCordonedBy)] = std::nullopt;
  return change;
}

}  // namespace careen::requests
