#include "controllers/profiles/wanted_drains.h"

#include <algorithm>

#include "controllers/profiles/decision.h"
#include "controllers/profiles/node_reports.h"
#include "drain/engine.h"
#include "kube/node.h"
#include "kube/queue.h"

namespace careen::profiles {

WantedDrains::WantedDrains(drain::Engine* engine, kube::WorkQueue& queue, NodeReports& reports)
    : engine_(engine), queue_(queue), reports_(reports) {
  if (engine_) changes_ = engine_->subscribe([this](const drain::Key& key) { changed(key); });
}

void WantedDrains::follow(const std::string& node, const Decision& decision) {
  // Nothing was decided.
  if (!engine_ || decision.needs_document()) return;
  const Effects& effects = decision.effects;
  for (const DrainWanted& wanted : effects.drains) begin(node, decision.uid, wanted);
  const auto found = draining_.find(node);
  if (found == draining_.end()) return;
  std::erase_if(found->second, [&](const auto& entry) {
    const std::string& owner = entry.first;
    const bool wanted = std::any_of(effects.drains.begin(), effects.drains.end(),
                                    [&](const DrainWanted& one) { return one.owner == owner; });
    const bool left =
        std::find(effects.drains_left.begin(), effects.drains_left.end(), owner) != effects.drains_left.end();
    // A drain of a node that has since been created again belongs to nobody any more.
    const bool stays = entry.second.node_uid == decision.uid && (wanted || left);
    if (!stays) engine_->end({node, owner});
    return !stays;
  });
  if (found->second.empty()) draining_.erase(found);
}

void WantedDrains::begin(const std::string& node, const std::string& uid, const DrainWanted& wanted) {
  const auto [known, is_new] = draining_[node].try_emplace(wanted.owner);
  Draining& draining = known->second;
  if (draining.node_uid != uid) draining = {};
  if (is_new || draining.node_uid != uid || draining.options != wanted.options) {
    engine_->begin({node, wanted.owner}, uid, wanted.options);
    draining.node_uid = uid;
    draining.options = wanted.options;
  }
  if (!wanted.overdue || draining.overdue_told) return;
  draining.overdue_told = true;
  reports_.failure(node, *wanted.overdue);
}

// A decision looks at how it ends, and not at the pods on the way.
void WantedDrains::changed(const drain::Key& key) {
  const auto node = draining_.find(key.node);
  if (node == draining_.end()) return;
  const auto draining = node->second.find(key.owner);
  if (draining == node->second.end()) return;
  const drain::Progress* const progress = engine_->progress(key);
  if (!progress || progress->phase == draining->second.phase) return;
  draining->second.phase = progress->phase;
  queue_.wake(key.node);
}

bool WantedDrains::lacks(const std::string& node, const Decision& decision) const {
  const std::vector<DrainWanted>& drains = decision.effects.drains;
  return engine_ && std::any_of(drains.begin(), drains.end(),
                                [&](const DrainWanted& wanted) { return !engine_->has({node, wanted.owner}); });
}

const drain::Progress* WantedDrains::progress(const kube::Node& node, const std::string& owner) const {
  const drain::Progress* const progress = engine_ ? engine_->progress({node.name, owner}) : nullptr;
  return progress && progress->node_uid == node.uid ? progress : nullptr;
}

size_t WantedDrains::nodes_if(const std::function<bool(const std::string&)>& fits) const {
  return static_cast<size_t>(
      std::count_if(draining_.begin(), draining_.end(), [&](const auto& of) { return fits(of.first); }));
}

}  // namespace careen::profiles
