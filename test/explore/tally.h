// Cases that have run, how fast, and what has hit them. What several processes have counted is added up.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "coverage.h"
#include "io/time.h"

namespace careen::explore {

struct Outcome;

class Tally {
 public:
  void add(const Outcome& outcome);
  // One line about all of it.
  void tell() const;
  const Coverage& coverage() const { return coverage_; }

  // As text, and what such a text of another process says.
  std::string text() const;
  void add(std::string_view text);

 private:
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  int64_t cases_ = 0;
  int64_t transitions_ = 0;
  io::Duration virtual_time_{};
  Coverage coverage_;
};

}  // namespace careen::explore
