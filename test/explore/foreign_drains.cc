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

std::string pod_of(const ForeignDrain& what, int number) { return fmt::format("web{}-{}", number, what.node); }

}  // namespace

ForeignDrains::ForeignDrains(std::shared_ptr<const RequestsPlan> plan, Hands hands)
    : plan_(std::move(plan)), hands_(std::move(hands)) {
  for (const ForeignDrain& what : plan_->drains) {
    drains_.push_back(std::make_unique<Drain>(Drain{.what = what}));
    ++unfinished_;
    hands_.later(io::Duration{}, [this, &what] { fill(what); });
    hands_.later(what.at, [this, &drain = *drains_.back()] { begin(drain); });
  }
}

bool ForeignDrains::is_there(const Drain& drain) const { return hands_.read(node_path(drain.what.node)) != nullptr; }

void ForeignDrains::fill(const ForeignDrain& what) {
  for (int i = 0; i < what.pods; ++i) {
    const std::string path = "/api/v1/namespaces/default/pods/" + pod_of(what, i);
    if (hands_.read(path)) continue;
    Json pod = Json::object({{"kind", "Pod"}, {"apiVersion", "v1"}});
    pod.set({"spec", "nodeName"}, what.node);
    pod.set({"spec", "containers"}, Json::array({Json::object({{"name", "c"}, {"image", "i"}})}));
    hands_.put(path, pod);
  }
}

void ForeignDrains::begin(Drain& drain) {
  if (!is_there(drain)) {
    --unfinished_;
    return;
  }
  for (int i = 0; i < drain.what.pods; ++i) drain.pods.insert(pod_of(drain.what, i));
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
  fill(drain.what);
  --unfinished_;
}

}  // namespace careen::explore
