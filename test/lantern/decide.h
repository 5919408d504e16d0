// What happens next to a node that Lanterns ask for: a pure function from the world to one write, or to what it waits
// for. Whoever carries it out lets it decide again after each write.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "budget/key.h"
#include "controllers/slot/why.h"
#include "lantern.h"

namespace careen::budget {
struct Pause;
}

namespace careen::kube {
struct Node;
}

namespace careen::lantern {

struct World {
  const kube::Node* node = nullptr;  // null: it is gone
  std::vector<Lantern> lanterns;     // that name it, in order of their names; the first one is lit
  bool claimed = false;              // it has a place, on record or on the way there
  bool counted = false;              // it has one, or is lit without
  budget::Use use;                   // of all places, by whom too
  const budget::Pause* pause = nullptr;
};

// The node gets its label; not before its place is on record.
struct Light {
  std::string color;
};
// The label goes, and whatever may still be on its way to light the node is made to conflict.
struct Dim {};
// A Lantern's status.
struct Tell {
  std::string lantern;
  Phase phase = Phase::waiting;
  std::string message;
};
using Effect = std::variant<Light, Dim, Tell>;

struct Decision {
  std::optional<Effect> effect;
  bool claims = false;  // it takes a place before anything else
  bool waits = false;   // for a place
  io::Wall since{};     // for that long
  Why why;
};

Decision decide(const World& world);

}  // namespace careen::lantern
