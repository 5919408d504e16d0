#include "controllers/profiles/pod_events.h"

#include <algorithm>

#include "controllers/profiles/drains.h"
#include "controllers/profiles/names.h"
#include "drain/pod_request.h"
#include "kube/node.h"

namespace careen::profiles {

namespace {

std::string note_of(drain::PodRequest::Kind kind) {
  using Kind = drain::PodRequest::Kind;
  if (kind == Kind::leave) return "Evicting pod during node drain";
  if (kind == Kind::kill) return "Force deleting pod that exceeded grace period during node drain";
  return "Force deleting pod that could not be evicted in time during node drain";
}

}  // namespace

bool is_of_profile(const drain::PodRequest& request) {
  return std::any_of(request.owners.begin(), request.owners.end(),
                     [](const std::string& owner) { return owner.starts_with(kHoldPrefix); });
}

kube::EventRecord pod_event(const drain::PodRequest& request, const kube::Node* node) {
  kube::EventRecord event;
  event.regarding.kind = "Pod";
  event.regarding.ns = request.ns;
  event.regarding.name = request.name;
  event.regarding.uid = request.uid;
  event.related.emplace();
  event.related->kind = "Node";
  event.related->name = request.node;
  if (node) event.related->uid = node->uid;
  event.reason = request.kind == drain::PodRequest::Kind::leave ? "Evicting" : "ForceDeleting";
  event.action = "Drain";
  event.note = note_of(request.kind);
  event.controller = kEventSource;
  return event;
}

}  // namespace careen::profiles
