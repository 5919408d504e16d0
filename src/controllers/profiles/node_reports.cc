#include "controllers/profiles/node_reports.h"

#include <fmt/format.h>

#include "controllers/profiles/names.h"
#include "controllers/profiles/node_meters.h"
#include "io/problems.h"
#include "kube/cache.h"
#include "kube/events.h"
#include "kube/node.h"

namespace careen::profiles {

bool wants_details(const kube::Node& node) {
  const kube::Atom* details = node.label(kLogDetailsLabel);
  return details && *details == "true";
}

void NodeReports::decided(const std::string& name, const Decision& decision) {
  const std::string problem = "node/" + name;
  if (const Unreadable* const unreadable = decision.unreadable()) {
    problems_.raise(problem, fmt::format("annotation {} of node {} cannot be read: {}; the node is left alone until it "
                                         "is mended or removed",
                                         kDataAnnotation, name, unreadable->error));
    return;
  }
  problems_.clear(problem);
  const kube::Node* node = nodes_.find(name);
  if (!node) return;
  if (wants_details(*node)) log_.info("decision", "node", name, "why", to_text(decision.why));
  for (const Failure& failed : decision.failures) failure(name, failed);
}

void NodeReports::failure(const std::string& name, const Failure& failure) {
  meters_.failures(failure.profile).add();
  meters_.errors().add();
  log_.error(failure.what, "node", name, "profile", failure.profile, "state", failure.stays, "cause", failure.detail);
  const kube::Node* node = nodes_.find(name);
  if (!node) return;
  event(*node, "ChangeMaintenanceStateFailed",
        fmt::format("{} for profile {}: Will stay in {} state", failure.what, failure.profile, failure.stays));
}

void NodeReports::event(const kube::Node& node, std::string reason, std::string note, std::string type) {
  if (rehearses_) return;
  kube::EventRecord event;
  event.regarding.kind = "Node";
  event.regarding.name = node.name;
  event.regarding.uid = node.uid;
  event.regarding.resource_version = std::to_string(node.version);
  event.reason = std::move(reason);
  event.action = "ChangeMaintenanceState";
  event.note = std::move(note);
  event.type = std::move(type);
  event.controller = kEventSource;
  events_.record(std::move(event));
}

}  // namespace careen::profiles
