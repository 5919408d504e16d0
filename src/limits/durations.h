// How long places have lasted, by whoever had them: what is learned is the middle of the last few, and stands behind
// every "expected at" of those that wait.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "io/time.h"

namespace careen::limits {

class Durations {
 public:
  static constexpr size_t kRemembered = 31;
  // Of more actors nothing is learned: their names come from the cluster.
  static constexpr size_t kMostActors = 256;

  void add(std::string_view actor, io::Duration lasted);
  // Nothing: it has never been seen to the end of one.
  std::optional<io::Duration> usual(std::string_view actor) const;

 private:
  std::map<std::string, std::deque<io::Duration>, std::less<>> by_actor_;
};

}  // namespace careen::limits
