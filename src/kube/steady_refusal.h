// Whether a right is really missing. One refusal proves nothing: an API server that has just started answers 403 to
// everything until its roles are loaded, and 401 while keys rotate. Code that can do without a right gives it up only
// after minutes of nothing but 403, and keeps asking.
#pragma once

#include <optional>

#include "io/time.h"
#include "kube/error.h"

namespace careen::kube {

class SteadyRefusal {
 public:
  static constexpr io::Duration kPatience = io::minutes{3};

  // After each failed request that needs the right. True when it is taken to be missing.
  bool missing(const ApiError& error, io::Steady now) {
    if (error.code != 403) since_.reset();
    if (error.code == 403 && !since_) since_ = now;
    return since_ && now - *since_ >= kPatience;
  }
  // After one that was answered.
  void granted() { since_.reset(); }

 private:
  std::optional<io::Steady> since_;
};

}  // namespace careen::kube
