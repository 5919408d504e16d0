// What an object of a controller's own kind asks for, in terms that all controllers share: plans, views and commands
// follow jobs without knowing the kinds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/time.h"

namespace careen::controllers {

struct Job {
  enum class Stage {
    waiting,  // nothing has been done to the node
    working,  // the node is being taken out
    ready,    // the node is out, and whoever asked may work on it
    failed,
  };
  std::string name;  // of the object
  std::string node;
  io::Wall created{};
  Stage stage = Stage::waiting;
  bool ending = false;    // the object is being deleted
  bool keeps_out = true;  // it wants no pods to come to its node
  bool given_up = false;  // nothing happens any more until it is deleted
  bool over = false;      // it has nothing to do with its node any more
  std::string held_up;    // what keeps it from the next stage, for people
  std::string limit;      // in a word or two, what sets the pace of those that wait
  // The rest is for people alone, as `careen status` shows it.
  std::string state;                   // in the words of the kind
  std::string reason;                  // why somebody asked for it
  std::string blocked_by;              // what will not go away by itself soon; empty: nothing
  std::optional<int64_t> percent;      // of the way to `ready`
  std::optional<size_t> pending_pods;  // those that have to leave and have not

  // The job wants its node to be kept out.
  bool holds_node() const { return keeps_out && !ending && !given_up; }
};

}  // namespace careen::controllers
