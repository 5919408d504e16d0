// Kubernetes events, written aside: recording never waits and never fails a decision. Repetitions within six
// minutes are folded into a series.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "io/loop.h"
#include "io/problems.h"
#include "io/random.h"
#include "io/sync.h"
#include "kube/client.h"

namespace careen::kube {

struct ObjectReference {
  std::string api_version = "v1";
  std::string kind;
  std::string ns;  // empty for cluster-scoped objects; their events go to "default"
  std::string name;
  std::string uid;
  std::string resource_version;
};

struct EventRecord {
  enum class Api { events_v1, core_v1 };
  Api api = Api::events_v1;
  ObjectReference regarding;
  std::optional<ObjectReference> related;
  std::string type = "Normal";  // or Warning
  std::string reason;
  std::string action;
  std::string note;  // cut at 1,024 bytes, on a character's boundary
  std::string controller;  // reportingController; core/v1: source.component
};

class EventRecorder {
 public:
  // `instance` becomes "<controller>-<hostname>" in reportingInstance.
  EventRecorder(io::Loop& loop, Client& client, io::Metrics& metrics, io::Problems& problems, std::string hostname);

  void record(EventRecord event);
  // Sends what was recorded, several at once; runs until cancelled.
  io::Task<void> run();
  // Waits until all that was recorded has been sent or dropped, `limit` at the most.
  io::Task<void> flush(io::Duration limit);
  size_t pending() const;

 private:
  struct Parts;
  io::Loop& loop_;
  Client& client_;
  std::shared_ptr<Parts> parts_;
};

}  // namespace careen::kube
