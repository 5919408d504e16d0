// Watches what people are told: every change of state that has a notification, nothing untrue, and nothing twice unless
// something went wrong that cannot be distinguished from a lost message.
#pragma once

#include <map>
#include <set>
#include <string>

#include "node_facts.h"
#include "settings.h"
#include "sim/outside.h"
#include "stagger_watch.h"

namespace careen::explore {

// What a forged message would say. No text from a node's records reaches people.
inline constexpr std::string_view kForgedText = "forged";

class MessageWatch {
 public:
  MessageWatch(const Settings& settings, Report report) : settings_(settings), report_(std::move(report)) {}

  // A node as the server has it.
  void seen(const NodeFacts& node);
  // A transition took effect under that plan.
  void moved(const Plan& plan, const NodeFacts& before, const NodeFacts& after);
  // Somebody else has changed what careen remembers of the node.
  void altered(const NodeFacts& now);
  void gone(const std::string& uid);
  // A replica has loaded a configuration, with or without notifications.
  void configured(const std::string& replica, bool muted);
  void arrived(const sim::Outside::Message& message);
  // Somebody has put a record into the node's outbox that careen never wrote.
  void forged(const std::string& uid) { ++forged_[uid]; }
  // A clock was set: two readings may be so far apart from now on.
  void clock_stepped(io::Duration by) { skews_ = stepped_ = by; }
  // A process has restarted, or an answer got lost.
  void repeats_are_fine() { repeats_are_fine_ = true; }
  void thread_lease_changed() { thread_broken_ = true; }
  // All there is to tell has been told.
  void check_end(const std::map<std::string, NodeFacts, std::less<>>& nodes, io::Wall now);

 private:
  struct Entered {
    std::string key;
    io::Wall at{};
    std::set<std::string> oneshots;  // that will be due in this state
  };
  const Telling* find(std::string_view instance) const;
  void title_arrived(const sim::Outside::Message& message);
  void check_count(const Telling& telling, const std::string& uid, io::Wall transition, int count, io::Wall now);
  void expect(const std::string& instance, const std::string& key);
  void check_scheduled(const Telling& telling, const std::string& profile,
                       const std::map<std::string, NodeFacts, std::less<>>& nodes);

  const Settings& settings_;
  Report report_;
  std::set<std::string> attached_;               // "uid profile"
  std::set<std::string> altered_;                // UIDs
  std::map<std::string, int> forged_;            // by UID: records that others have put into its outbox
  std::set<std::string> true_;                   // "uid profile state time" that was so
  std::map<std::string, int> told_;              // "instance uid profile state time"
  std::map<std::string, int> told_nodes_;        // "instance uid"
  std::map<std::string, std::string> expected_;  // the same, by UID
  std::map<std::string, Entered> entered_;       // by "uid profile"
  std::optional<io::Wall> last_title_;
  io::Duration skews_ = io::seconds{10};  // how far two clocks can be apart
  io::Duration stepped_{};                // and one and the same
  std::set<std::string> muted_;           // replicas without notifications
  bool repeats_are_fine_ = false, thread_broken_ = false, was_muted_ = false;
};

}  // namespace careen::explore
