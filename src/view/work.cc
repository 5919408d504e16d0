#include "view/work.h"

#include <algorithm>

#include "controllers/slot/controller.h"
#include "drain/engine.h"
#include "kube/cache.h"
#include "kube/json_writer.h"
#include "replica/replica.h"

namespace careen::view {

namespace {

using kube::append_json;
using kube::Members;

constexpr size_t kMostPods = 50;

void append_pod(std::string& out, const drain::PodProgress& pod) {
  Members members(out, '{', '}');
  append_json(members.next("namespace"), pod.ns);
  append_json(members.next("name"), pod.name);
  append_json(members.next("stage"), drain::name_of(pod.stage));
  append_json(members.next("since"), pod.since);
  append_json(members.next("reason"), pod.reason);
  if (!pod.budget.empty()) append_json(members.next("budget"), pod.budget);
}

// Those that hold the drain up come first.
std::vector<const drain::PodProgress*> shown_pods(const drain::Progress& progress) {
  std::vector<const drain::PodProgress*> pods;
  const auto stuck = [](const drain::PodProgress& pod) {
    return pod.stage == drain::Stage::blocked || pod.stage == drain::Stage::failed;
  };
  for (const bool first : {true, false}) {
    for (const drain::PodProgress& pod : progress.pods) {
      if (stuck(pod) == first && pods.size() < kMostPods) pods.push_back(&pod);
    }
  }
  return pods;
}

}  // namespace

Work::Work(const replica::Replica& replica) : drains_(replica.drains().keys()) {
  for (const auto& one : replica.hosted()) parts_.push_back({one.kind, one.controller.picture()});
}

const controllers::Picture* Work::picture_of(const controllers::Kind& kind) const {
  const auto part = std::find_if(parts_.begin(), parts_.end(), [&](const Part& one) { return &one.kind == &kind; });
  return part == parts_.end() ? nullptr : part->picture.get();
}

std::vector<drain::Key> Work::drains_of(std::string_view node) const {
  std::vector<drain::Key> found;
  auto it = std::lower_bound(drains_.begin(), drains_.end(), node,
                             [](const drain::Key& key, std::string_view name) { return key.node < name; });
  for (; it != drains_.end() && it->node == node; ++it) found.push_back(*it);
  return found;
}

std::string_view name_of(drain::Progress::Phase phase) {
  switch (phase) {
    case drain::Progress::Phase::draining:
      return "draining";
    case drain::Progress::Phase::refused:
      return "refused";
    case drain::Progress::Phase::drained:
      return "drained";
    case drain::Progress::Phase::failed:
      break;
  }
  return "failed";
}

void append_drain(std::string& out, const drain::Key& key, const drain::Progress& progress) {
  Members members(out, '{', '}');
  append_json(members.next("node"), key.node);
  append_json(members.next("owner"), key.owner);
  append_json(members.next("phase"), name_of(progress.phase));
  append_json(members.next("percent"), progress.percent());
  append_json(members.next("begun"), progress.begun);
  append_json(members.next("total"), progress.pods_to_evict);
  append_json(members.next("left"), progress.pods.size());
  {
    Members pods(members.next("pods"), '[', ']');
    for (const drain::PodProgress* pod : shown_pods(progress)) append_pod(pods.next(), *pod);
  }
  if (!progress.errors.empty()) append_json(members.next("errors"), progress.errors);
}

void append_drains(std::string& out, const replica::Replica& replica, const std::vector<drain::Key>& keys) {
  Members drains(out, '[', ']');
  for (const drain::Key& key : keys) {
    if (const drain::Progress* progress = replica.drains().progress(key)) append_drain(drains.next(), key, *progress);
  }
}

}  // namespace careen::view
