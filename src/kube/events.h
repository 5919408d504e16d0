// Kubernetes events, written aside: recording never waits and never fails a decision. Repetitions within six
// minutes are folded into one event that counts them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/task.h"
#include "io/time.h"

namespace careen::io {
class Loop;
class Metrics;
class Problems;
}  // namespace careen::io

namespace careen::kube {

class Client;

struct ObjectReference {
  std::string api_version = "v1";
  std::string kind;
  std::string ns;  // empty for cluster-scoped objects; their events go to "default"
  std::string name;
  std::string uid;
  std::string resource_version;
};

struct EventRecord {
  // Where a role has no right on events.k8s.io, as those of older programs, its events are written as core/v1.
  enum class Api { events_v1, core_v1 };
  Api api = Api::events_v1;
  ObjectReference regarding;
  std::optional<ObjectReference> related;
  std::string type = "Normal";  // or Warning
  std::string reason;
  std::string action;
  std::string note;        // cut at 1,024 bytes, on a character's boundary
  std::string controller;  // reportingController; core/v1: source.component
};

// Two events are the same if everything in the record is, note included, but for the resource versions: a node that
// changes for another reason does not make a repetition a new event, and a new note is never swallowed.
//
// The first repetition is written at once (a series with count 2). Later ones are counted here and written now and
// then, less and less often, and once more when none came for six minutes; core/v1 counts every second.
class EventRecorder {
 public:
  // reportingInstance becomes "<controller>-<hostname>".
  EventRecorder(io::Loop& loop, Client& client, io::Metrics& metrics, io::Problems& problems, std::string hostname);
  ~EventRecorder();

  // Drops the event, and counts that in careen_events_dropped_total, when 4,000 wait.
  void record(EventRecord event);
  // Called for each event that is recorded, repetitions included, before it is sent.
  void on_record(std::function<void(const EventRecord&)> listener) { listener_ = std::move(listener); }
  // Sends what was recorded, several at once; runs until cancelled.
  io::Task<void> run();
  // Waits until everything recorded has been sent or dropped, counts included, at most for `limit`.
  io::Task<void> flush(io::Duration limit);
  // Waiting or being sent.
  size_t pending() const;
  // Events that a repetition would be folded into.
  size_t remembered() const;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
  std::function<void(const EventRecord&)> listener_;
};

// The longest beginning of `text` of at most `limit` bytes that ends with a whole UTF-8 character.
std::string_view cut_text(std::string_view text, size_t limit);

}  // namespace careen::kube
