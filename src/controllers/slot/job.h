// What an object of a controller's own kind asks for, in terms that all controllers share: plans and views follow jobs
// without knowing the kinds.
#pragma once

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
  bool ending = false;  // the object is being deleted
  std::string held_up;  // what keeps it from the next stage, for people
};

}  // namespace careen::controllers
