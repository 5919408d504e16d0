// The info document: what was decided for each node and why, as the dashboard and other programs read it from
// /api/v1/info. It is a JSON array, sorted by node, in the shape of the original's; what careen adds has keys of its
// own, which a reader of the original's document does not look at:
//
//   node.pending      notifications that are still to be sent: [{instance, profile, attempts, error, since}]
//   profile.wake      when the profile could next change without anybody doing anything
//   check.reason      the facts behind the answer, in words
//
// A number that JSON cannot write is a text: "NaN", "+Inf", "-Inf".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controllers/profiles/outcome.h"
#include "io/time.h"

namespace careen::kube {
struct Node;
}

namespace careen::profiles {

struct PendingNotification {
  std::string instance;
  std::string profile;
  int attempts = 0;
  std::string error;  // of the last attempt; empty before the first
  io::Wall since{};
};

struct NodeInfo {
  std::string_view name;
  const std::vector<ProfileOutcome>& profiles;
  std::vector<std::pair<std::string_view, std::string_view>> labels;  // see shown_labels()
  io::Wall updated{};
  std::vector<PendingNotification> pending = {};
  std::vector<std::pair<std::string_view, io::Wall>> wakes = {};  // by profile; not every profile has one
};

// The node's labels among those, sorted by key; the views live as long as the node.
std::vector<std::pair<std::string_view, std::string_view>> shown_labels(const kube::Node& node,
                                                                        const std::vector<std::string>& filter);

// One element of the document.
void append_node_info(std::string& out, const NodeInfo& node);

// The document in pieces, so that one of thousands of nodes stops nobody else for long. Nodes are looked up one at a
// time by their name: they may come, go and change between two pieces.
class InfoPieces {
 public:
  // The first node with a greater name, or none. What the answer refers to has to live until the next call.
  using Next = std::function<std::optional<NodeInfo>(std::string_view after)>;
  explicit InfoPieces(Next next) : next_(std::move(next)) {}

  // Appends some nodes; false when the document is complete.
  bool read(std::string& into);

 private:
  enum class State { nothing, nodes, complete };
  Next next_;
  State state_ = State::nothing;
  std::string last_;
};

}  // namespace careen::profiles
