// MaintenanceRequests as careen shows them: on the map of the fleet, in a node's story, on the timeline and as jobs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/requests/request.h"
#include "controllers/slot/entry.h"
#include "controllers/slot/job.h"
#include "controllers/slot/picture.h"

namespace careen::kube {
struct EventRecord;
struct Object;
}  // namespace careen::kube

namespace careen::requests {

// One that lives.
struct Shown {
  Request request;
  Why why;
  std::string node_uid;  // empty: there is no such node
  bool placed = false;
};

std::unique_ptr<controllers::Picture> picture_of(std::vector<Shown> all);
// `node`: that the event's request is about; empty where it is not known any more.
std::optional<controllers::Entry> entry_of(const kube::EventRecord& event, io::Wall time, const std::string& node);
controllers::Job job_of(const kube::Object& object);

}  // namespace careen::requests
