// Whose turn it is to send a message: each node has a ration, and what is beyond it waits, with a problem that says so,
// until the ration has room again.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "io/loop.h"
#include "notify/ration.h"

namespace careen::io {
class Problems;
}

namespace careen::profiles {

class Deliveries;

class MessageTurns {
 public:
  // `again`: called when a node that waits may ask once more.
  MessageTurns(io::Loop& loop, io::Problems& problems, Deliveries& deliveries,
               std::function<void(const std::string& node)> again);

  void set_pace(io::Duration pace) { ration_.set_pace(pace); }

  // The message of the node may go. A turn that was given stays given.
  bool has_turn(const std::string& node, const std::string& uid, const std::string& message);
  // Nothing of the node waits for its turn any more.
  void end(const std::string& node);

  // The same for messages that are sent one by one: when the next may go (nothing: now), and that one has gone.
  std::optional<io::Steady> wait(const std::string& node) const { return ration_.wait(node, loop_.now()); }
  void sent(const std::string& node) { ration_.take(node, loop_.now()); }

  size_t waiting() const { return waiting_.size(); }

 private:
  void call_those_due();
  void set_alarm();

  io::Loop& loop_;
  io::Problems& problems_;
  Deliveries& deliveries_;
  std::function<void(const std::string& node)> again_;
  notify::Ration ration_;
  std::map<std::string, io::Steady> waiting_;  // nodes that have sent very many messages: when they may go on
  io::Alarm alarm_;                            // when the first of them may
};

}  // namespace careen::profiles
