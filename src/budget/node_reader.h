// What a node says about itself. Those who count know what is counted; those who write it on nodes know the words.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "io/time.h"

namespace careen::kube {
struct Node;
}

namespace careen::budget {

struct Admission;

class NodeReader {
 public:
  // A node is in the state that is counted.
  struct InState {
    // When each subset that it is in last changed; nullopt: what it says about that cannot be read.
    std::optional<std::map<std::string, io::Wall, std::less<>>> changed;
    bool operator==(const InState&) const = default;
  };

  virtual ~NodeReader() = default;
  // Nothing when it is not in the state.
  virtual std::optional<InState> state_of(const kube::Node& node) const = 0;
  // Under which the ledger has what was admitted for the node of this UID.
  virtual std::string key_of(std::string_view uid) const = 0;
  // An admission that counts until its node says so itself. What other admissions are for, the reader does not know.
  virtual bool counts(const Admission& admission) const = 0;
  // The node is one of that subset.
  virtual bool belongs(const kube::Node& node, std::string_view subset) const = 0;
};

}  // namespace careen::budget
