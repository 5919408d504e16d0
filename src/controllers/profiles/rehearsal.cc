#include "controllers/profiles/rehearsal.h"

#include <fmt/format.h>

#include <utility>

#include "controllers/profiles/decision.h"

namespace careen::profiles {

void Rehearsal::tell(const std::string& node, const Decision& decision) {
  if (decision.gone()) {
    told_.erase(node);
    return;
  }
  const Effects& effects = decision.effects;
  std::string would;
  for (const Moved& moved : effects.moved) {
    would += fmt::format("move profile {} from {} to {}; ", moved.profile, name_of(moved.from), name_of(moved.to));
  }
  if (decision.begins() || !effects.drains.empty()) would += "drain it; ";
  for (const RenderedMessage& message : effects.posted) would += fmt::format("send {}; ", message.what.instance);
  if (effects.announced) would += fmt::format("send {}; ", effects.announced->message.what.instance);
  if (would.empty() && effects.patch) would = "write its data; ";
  std::string& told = told_[node];
  if (told == would) return;
  told = would;
  if (!would.empty()) would.resize(would.size() - 2);
  log_.info("dry run", "node", node, "would", would.empty() ? "do nothing" : would, "why", to_text(decision.why));
}

}  // namespace careen::profiles
