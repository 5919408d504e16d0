#include "decide.h"

#include <fmt/format.h>

#include "budget/pause.h"
#include "kube/node.h"

namespace careen::lantern {

namespace {

using Verdict = Why::Verdict;

std::string color_on(const kube::Node& node) {
  const kube::Atom* label = node.label(kLit);
  return label ? std::string(label->view()) : std::string();
}

// The first status that does not say what is so.
std::optional<Effect> next_status(const World& world, bool lit, const std::string& held_up) {
  for (const Lantern& lantern : world.lanterns) {
    const bool first = &lantern == &world.lanterns.front();
    Tell tell{lantern.name, first && lit ? Phase::lit : Phase::waiting, {}};
    if (!first) tell.message = fmt::format("{} comes before it", world.lanterns.front().name);
    if (first && !lit) tell.message = held_up;
    if (tell.phase != lantern.phase || tell.message != lantern.message) return tell;
  }
  return std::nullopt;
}

}  // namespace

Decision decide(const World& world) {
  Decision decision;
  if (!world.node) {
    decision.effect = next_status(world, false, "there is no such node");
    return decision;
  }
  const std::string shown = color_on(*world.node);
  if (world.lanterns.empty()) {
    if (world.claimed || !shown.empty()) decision.effect = Dim{};
    return decision;
  }
  const Lantern& lantern = world.lanterns.front();
  const bool lit = shown == lantern.color;
  decision.why = {
      lit ? Verdict::yes : Verdict::no, fmt::format("Lantern {}: {}", lantern.name, lit ? "lit" : "dark"), {}};
  // A label without a place on record is one that somebody has lost: it counts in any case.
  decision.claims = !world.claimed && !shown.empty();
  std::string held_up;
  if (!lit && world.pause) {
    held_up = world.pause->text();
  } else if (!lit && !world.counted && world.use.full()) {
    decision.waits = true;
    decision.since = lantern.created;
    held_up = fmt::format("{} of {} nodes are lit: {}", world.use.used, world.use.max, world.use.by);
  } else if (!lit) {
    decision.claims = !world.claimed;
    decision.effect = Light{lantern.color};
    return decision;
  }
  if (!held_up.empty()) decision.why.add(Verdict::no, held_up, decision.waits ? Why::Code::none : Why::Code::paused);
  decision.effect = next_status(world, lit, held_up);
  return decision;
}

}  // namespace careen::lantern
