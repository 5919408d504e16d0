// Watches the events that careen writes about moves: each reports what has happened to the node it names, and there is
// exactly one for every move, however its write was answered, unless a process ended before it could send it.
#pragma once

#include <map>
#include <set>
#include <string>

#include "sim/api_server.h"
#include "stagger_watch.h"

namespace careen::explore {

class EventWatch {
 public:
  explicit EventWatch(Report report) : report_(std::move(report)) {}

  // The node's profile has moved to that state.
  void moved(const std::string& uid, const std::string& profile, std::string_view state);
  // A node that is gone need not be reported any more.
  void gone(const std::string& uid) { gone_.insert(uid); }
  // Somebody else has changed the node's record of its states: a write whose answer is still out can no longer be told
  // from one that has failed. Of what has not been told by now, nothing need be.
  void rewritten(const std::string& uid);
  // A process has ended, or events could not be written: some are lost.
  void losses_are_fine() { losses_are_fine_ = true; }
  // Two processes lead at once. Both wake at the end of the same wait and send the same write, and neither can tell
  // whose it was that came through: in virtual time their clocks agree to the nanosecond.
  void two_may_tell() { two_may_tell_ = true; }
  void changed(const sim::Change& change);
  // All there is to tell has been told.
  void check_end() const;

 private:
  struct Event {
    std::string key;    // "uid profile state"
    int64_t count = 0;  // of its occurrences
  };
  std::map<std::string, int64_t> told() const;  // by key

  Report report_;
  std::map<std::string, int64_t> moves_;    // by key
  std::map<std::string, int64_t> excused_;  // of those, by key
  std::map<std::string, Event> events_;     // by name
  std::set<std::string> gone_;
  bool losses_are_fine_ = false, two_may_tell_ = false;
};

}  // namespace careen::explore
