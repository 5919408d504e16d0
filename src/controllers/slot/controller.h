// A controller as its replica hosts it. The replica knows none by name: it takes the locks, watches what is asked for,
// lets the controller run while it leads, and shows its part of every document.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "controllers/slot/entry.h"
#include "controllers/slot/picture.h"
#include "io/task.h"
#include "io/time.h"

namespace careen::kube {
struct EventRecord;
}

namespace careen::controllers {

struct Kind;

class Controller {
 public:
  virtual ~Controller() = default;

  // Asks its host for what it needs to have watched. Called once, before anything else.
  virtual void watch() = 0;
  // Returns when its own objects have been listed for the first time.
  virtual io::Task<void> synced() = 0;
  // When they have been listed anew, and who has a place by them has been told.
  virtual io::Task<void> refresh() { return synced(); }
  // Decides and acts until cancelled or stopped. Called when its lock is held, the nodes have been listed under it and
  // it is known what is paused.
  virtual io::Task<void> lead() = 0;
  // Takes no more work, and returns when what is under way has ended.
  virtual io::Task<void> stop() = 0;
  // It leads, and knows enough to decide.
  virtual bool running() const = 0;
  // Somebody has set the wall clock, or the machine has slept.
  virtual void clock_stepped(io::Duration by) = 0;

  // What it does to nodes now; the controller may go on meanwhile.
  virtual std::unique_ptr<Picture> picture() const = 0;
  // The node that one of its objects is about; nothing when there is no such object.
  virtual std::optional<std::string> node_of(std::string_view object) const = 0;
  // The story of one of its objects that is about no node of this cluster, as a document; nothing: there is no such.
  virtual std::optional<std::string> document_of(std::string_view) const { return std::nullopt; }
  // The line of the timeline that one of its own events stands for; nothing when the event is not about its kind or
  // tells nothing that people need to know.
  virtual std::optional<Entry> entry_of(const kube::EventRecord& event, io::Wall time) = 0;
  // Called when one of its objects has changed, by whom it is shown to.
  virtual void on_change(std::function<void()> tell) = 0;
};

// One that a replica hosts.
struct HostedController {
  const Kind& kind;
  Controller& controller;
};

}  // namespace careen::controllers
