// Writes whose end is not known: what became of one is found out by reading the node, or made certain by changing it,
// so that the write must fail should it still arrive.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "io/log.h"
#include "io/task.h"

namespace careen::kube {
class Client;
struct Node;
template <class T>
class ObjectWriter;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::profiles {

class FailingNodes;
struct NodeMeters;

// A write of a node that may still be on its way.
struct UnansweredWrite {
  std::string node, uid;
  std::optional<uint64_t> precondition = {};  // the version that it names, if we know
  std::function<bool()> has_arrived = {};     // asked once the node has been read, if we do not
};

class Settler {
 public:
  Settler(kube::Client& client, const kube::Store<kube::Node>& nodes, kube::ObjectWriter<kube::Node>& writer,
          FailingNodes& failing, NodeMeters& meters, io::Log log)
      : client_(client), nodes_(nodes), writer_(writer), failing_(failing), meters_(meters), log_(std::move(log)) {}

  // What is known of a write without an answer.
  enum class Fate {
    over,   // it has been applied or never will be
    never,  // it has not been applied, and never will be
  };
  // Resumes when that is certain, or so late that nothing can be on its way any more.
  io::Task<Fate> settle(UnansweredWrite write);

 private:
  enum class Look {
    unread,   // nothing is known: the node cannot be read
    pending,  // it has not been applied yet, and may be
    over,
    never,
  };
  io::Task<Look> look(const UnansweredWrite& write);

  kube::Client& client_;
  const kube::Store<kube::Node>& nodes_;
  kube::ObjectWriter<kube::Node>& writer_;
  FailingNodes& failing_;
  NodeMeters& meters_;
  io::Log log_;
};

}  // namespace careen::profiles
