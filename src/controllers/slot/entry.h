// One line of the timeline: what happened to a node, or to careen itself, for people.
#pragma once

#include <string>

#include "io/time.h"

namespace careen::controllers {

struct Entry {
  enum class Kind { transition, notification, drain, maintenance, pause, error, careen };
  io::Wall time{};
  Kind kind = Kind::careen;
  std::string text;  // complete
  std::string node = {};
  std::string profile = {};
  std::string from = {}, to = {};  // states of a transition
};

}  // namespace careen::controllers
