// The message desk: what lies in the nodes' outboxes goes to the courier, once, and what was sent is noted, so that the
// next write of the node takes it out. Messages that have to be sent before the state machine moves on are sent from
// here as well, and nodes that a message prints as a whole are fetched.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controllers/profiles/message_turns.h"
#include "controllers/profiles/outbox.h"
#include "io/log.h"
#include "io/sync.h"
#include "kube/json.h"
#include "notify/courier.h"

namespace careen::io {
class Metrics;
class Problems;
class Random;
}  // namespace careen::io

namespace careen::kube {
class Client;
class WorkQueue;
struct Node;
template <class T>
class ObjectWriter;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::profiles {

class DecisionGuard;
class FailingNodes;
class NodeReports;
class WriteSlots;
struct Basis;
struct Config;
struct Decision;
struct NotifyInstance;

struct MessageDeskParts {
  io::Loop& loop;
  kube::Client& client;
  const kube::Store<kube::Node>& nodes;
  kube::ObjectWriter<kube::Node>& writer;
  notify::Outside& outside;
  io::Metrics& metrics;
  io::Problems& problems;
  io::Random& random;
  io::Log log;
  kube::WorkQueue& queue;
  WriteSlots& slots;
  const DecisionGuard& guard;
  NodeReports& reports;
  FailingNodes& failing;
  const std::shared_ptr<const Config>& config;
  int sends_in_flight = 16;  // of those that go before the state machine
  // Told of each message that was sent.
  std::function<void(const std::string& node, const std::string& instance)> sent;
};

class MessageDesk {
 public:
  explicit MessageDesk(MessageDeskParts parts);
  MessageDesk(const MessageDesk&) = delete;
  MessageDesk& operator=(const MessageDesk&) = delete;
  ~MessageDesk();

  const Deliveries& deliveries() const { return deliveries_; }

  // From now on outboxes are emptied; until close().
  void open();
  void close() { open_ = false; }
  // What is being sent comes to its end, and what was sent leaves the outboxes, so that nobody sends it again.
  io::Task<void> end();

  void config_changed();
  void node_changed(const kube::Node& node) { collect(node); }
  void node_gone(const kube::Node& node);

  // What the decision has rendered is sent unchanged, once the write that records it has taken effect. What an earlier
  // decision rendered and could not write is forgotten.
  void keep_texts(const std::string& node, const Decision& decision);
  void report_dropped(const kube::Node& node, const std::vector<OutboxMessage>& dropped);
  // Sends what the decision announces, before its profile moves on, as with the original.
  io::Task<void> announce(std::string node, const Decision& decision, Basis on);

  // Reads the node for a message that prints all of it; it is decided again then, with its document.
  io::Task<void> fetch_document(std::string node);
  std::optional<kube::Json> take_document(const std::string& node);

  // How much of each kind is under way.
  std::vector<std::pair<std::string_view, size_t>> unfinished() const;

 private:
  struct Parcel {
    std::string node, uid, message, instance;
    std::shared_ptr<const notify::Sender> sender;
  };
  void collect_all();
  void collect(const kube::Node& node);
  bool has_text(const kube::Node& node, const OutboxMessage& message, const NotifyInstance& instance);
  io::Task<void> render_whole(std::string node, std::string uid, std::string id);
  void drop(const std::string& uid, const std::vector<OutboxMessage>& except);
  void sent(const std::string& id);
  void failed(const std::string& id, const notify::Courier::Failure& failure);
  io::Task<void> remove_sent(std::string node);

  MessageDeskParts p_;
  bool open_ = false;
  Deliveries deliveries_;
  MessageTurns turns_;
  notify::Courier courier_;
  io::Semaphore sends_;
  std::map<std::string, Parcel, std::less<>> parcels_;        // with the courier, by their id there
  std::set<std::string> rendering_;                           // by the same id: the node is being fetched
  std::map<std::string, kube::Json, std::less<>> documents_;  // nodes that were fetched for a message
  io::Scope scope_;                                           // last: its tasks use everything above
};

}  // namespace careen::profiles
