// Hands messages to their senders: many at once, but in order for each node, few at a time for each endpoint, and again
// and again until each is sent or forgotten. An endpoint that fails gets a growing pause and is then tried with a
// single message. Nothing here survives the process: the caller keeps a message until it is reported as sent.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/loop.h"
#include "io/sync.h"
#include "io/task.h"
#include "io/time.h"
#include "notify/sender.h"

namespace careen::io {
class Gauge;
class Metrics;
class Random;
}  // namespace careen::io

namespace careen::notify {

struct Parcel {
  std::string id;        // unique among those on their way
  std::string lane;      // parcels of one lane (a node) reach an endpoint in the order they were added
  std::string instance;  // the configured notification, for metrics
  Message message;
  std::shared_ptr<const Sender> sender;
};

struct CourierOptions {
  int per_endpoint = 2;  // sends at once
  int in_all = 16;
  io::Duration first_pause = io::seconds{1};  // after a failure; doubled after each further one
  io::Duration longest_pause = io::minutes{5};
  io::Duration longest_asked_pause = io::hours{1};  // of what an endpoint asks for
  io::Duration send_limit = io::minutes{2};         // of one try, should a sender not end by itself
};

class Courier {
 public:
  struct Failure {
    std::string error;
    int attempt = 0;      // of this message, from 1
    io::Wall next_try{};  // not before
  };
  // Called from run(); they may call add() and forget().
  struct Listener {
    std::function<void(const std::string& id)> on_sent;
    std::function<void(const std::string& id, const Failure& failure)> on_failed;
  };

  Courier(Outside& outside, io::Metrics& metrics, io::Random& random, Listener listener, CourierOptions options = {});
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;
  ~Courier();

  // Sends what is added until it is cancelled.
  io::Task<void> run();

  // false when a parcel of that id is on its way already; nothing changes then.
  bool add(Parcel parcel);
  // Forgets the parcel, also while it is being sent: it may or may not arrive then.
  void forget(const std::string& id);

  // Starts no more sends, and resumes when those under way have ended and were told. The rest stays unsent.
  io::Task<void> drain();

  bool has(const std::string& id) const;
  // It is being sent just now.
  bool is_flying(const std::string& id) const;
  size_t pending() const;

 private:
  struct Entry;
  struct Endpoint;

  io::Task<void> fly(std::string id, std::shared_ptr<const Sender> sender, Message message);
  void settle_finished();
  void settle(const std::string& id);
  void readmit_refused();
  void start_due();
  bool start_one(Endpoint& endpoint);
  void arm();
  void land(Entry& entry);
  void drop(const std::string& id);
  io::Wall back_off(Entry& entry, const SendError& error);
  io::Wall set_aside(const std::string& id, Entry& entry, const SendError& error);
  io::Duration pause(int failures, const std::optional<io::Duration>& asked);
  void count(const std::string& instance, const char* result);
  io::Wall wall_at(io::Steady when) const;

  Outside& outside_;
  io::Metrics& metrics_;
  io::Random& random_;
  Listener listener_;
  CourierOptions options_;
  io::Gauge& pending_;
  io::Signal wake_;
  io::Alarm alarm_;
  int flying_ = 0;
  bool draining_ = false;
  std::string last_served_;  // the endpoint that got the last turn
  std::vector<std::string> finished_;
  std::multimap<io::Steady, std::string> set_aside_;
  std::map<std::string, Endpoint> endpoints_;
  std::map<std::string, Entry> entries_;
};

}  // namespace careen::notify
