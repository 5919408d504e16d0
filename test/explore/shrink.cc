#include "shrink.h"

#include <algorithm>

namespace careen::explore {

namespace {

using StillFails = std::function<bool(const Case&)>;

void drop_perturbations(Case& best, size_t size, const StillFails& still_fails) {
  for (size_t at = 0; at < best.perturbations.size();) {
    Case smaller = best;
    auto& list = smaller.perturbations;
    const auto first = list.begin() + static_cast<std::ptrdiff_t>(at);
    list.erase(first, first + static_cast<std::ptrdiff_t>(std::min(size, list.size() - at)));
    if (still_fails(smaller)) {
      best = std::move(smaller);
    } else {
      at += size;
    }
  }
}

void drop_nodes(Case& best, const StillFails& still_fails) {
  for (size_t at = best.campaign.nodes.size(); at-- > 0 && best.campaign.nodes.size() > 1;) {
    Case smaller = best;
    const std::string name = smaller.campaign.nodes[at].name;
    smaller.campaign.nodes.erase(smaller.campaign.nodes.begin() + static_cast<std::ptrdiff_t>(at));
    std::erase_if(smaller.campaign.edits, [&](const Edit& edit) { return edit.node == name; });
    if (still_fails(smaller)) best = std::move(smaller);
  }
}

Outcome run_one(const Case& one, bool timeline) {
  const Outcome undisturbed = run_undisturbed(one.campaign, {.timeline = timeline});
  // A campaign that fails by itself is another failure, unless it is the one we look for.
  if (undisturbed.failed()) return one.perturbations.empty() ? undisturbed : Outcome{};
  return run_case(one, undisturbed.end, {.timeline = timeline});
}

}  // namespace

Case make_smaller(Case failing, const StillFails& still_fails) {
  for (size_t size = std::max<size_t>(1, failing.perturbations.size() / 2);; size /= 2) {
    drop_perturbations(failing, size, still_fails);
    if (size <= 1) break;
  }
  drop_nodes(failing, still_fails);
  drop_perturbations(failing, 1, still_fails);
  return failing;
}

Shrunk shrink(const Case& failing, const Outcome& outcome) {
  Shrunk shrunk;
  const std::string rule = outcome.violations.front().rule;
  shrunk.one = make_smaller(failing, [&](const Case& smaller) {
    ++shrunk.runs;
    const Outcome again = run_one(smaller, false);
    return again.failed() && again.violations.front().rule == rule;
  });
  shrunk.outcome = run_one(shrunk.one, true);
  return shrunk;
}

}  // namespace careen::explore
