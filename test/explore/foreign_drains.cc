#include "foreign_drains.h"

#include <fmt/format.h>

#include <utility>

#include "campaign.h"

namespace careen::explore {

using kube::Json;

namespace {

// Between the cordon and the first eviction.
constexpr io::Duration kListsPods = io::milliseconds{300};
// As kubectl does.
constexpr io::Duration kTriesAgain = io::seconds{5};

std::string pod_of(const std::string& node, int number) { return fmt::format("web{}-{}", number, node); }

}  // namespace

ForeignDrains::ForeignDrains(std::shared_ptr<const RequestsPlan> plan, Hands hands)
    : plan_(std::move(plan)), hands_(std::move(hands)) {
  for (const ForeignDrain& what : plan_->drains) {
    drains_.push_back(std::make_unique<Drain>(Drain{.what = what}));
    ++unfinished_;
    hands_.later(io::Duration{}, [this, &what] { keep_pods(hands_, what.node, what.pods); });
    hands_.later(what.at, [this, &drain = *drains_.back()] { begin(drain); });
  }
}

bool ForeignDrains::is_there(const Drain& drain) const { return hands_.read(node_path(drain.what.node)) != nullptr; }

void keep_pods(const Hands& hands, const std::string& node, int number) {
  for (int i = 0; i < number; ++i) {
    const std::string path = "/api/v1/namespaces/default/pods/" + pod_of(node, i);
    if (hands.read(path)) continue;
    Json pod = Json::object({{"kind", "Pod"}, {"apiVersion", "v1"}});
    pod.set({"spec", "nodeName"}, node);
    pod.set({"spec", "containers"}, Json::array({Json::object({{"name", "c"}, {"image", "i"}})}));
    hands.put(path, pod);
  }
}

void ForeignDrains::begin(Drain& drain) {
  if (!is_there(drain)) {
    --unfinished_;
    return;
  }
  for (int i = 0; i < drain.what.pods; ++i) drain.pods.insert(pod_of(drain.what.node, i));
  hands_.cordon(drain.what.node, true);
  hands_.later(kListsPods, [this, &drain] { try_all(drain); });
}

void ForeignDrains::try_all(Drain& drain) {
  const bool untouched = drain.pods.size() == static_cast<size_t>(drain.what.pods);
  const bool impatient = drain.what.patience && drain.tried >= *drain.what.patience && untouched;
  if (impatient || !is_there(drain)) return end(drain);
  drain.asked = static_cast<int>(drain.pods.size());
  for (const std::string& pod : std::set(drain.pods)) {
    hands_.evict({pod, drain.what.node, drain.what.user, [this, &drain, pod](bool gone) {
                    if (gone) drain.pods.erase(pod);
                    if (--drain.asked == 0) answered(drain);
                  }});
  }
}

void ForeignDrains::answered(Drain& drain) {
  if (drain.pods.empty()) return hands_.later(drain.what.works_for, [this, &drain] { end(drain); });
  drain.tried += kTriesAgain;
  hands_.later(kTriesAgain, [this, &drain] { try_all(drain); });
}

void ForeignDrains::end(Drain& drain) {
  hands_.cordon(drain.what.node, false);
  keep_pods(hands_, drain.what.node, drain.what.pods);
  --unfinished_;
}

}  // namespace careen::explore
