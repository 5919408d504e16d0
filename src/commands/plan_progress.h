// The progress bar of a plan: one line on stderr, for people at a terminal only, gone when the plan is there.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "io/loop.h"

namespace careen::app {

class PlanProgress {
 public:
  PlanProgress(io::Loop& loop, bool shown) : loop_(loop), shown_(shown), last_(loop.now()) {}
  PlanProgress(const PlanProgress&) = delete;
  PlanProgress& operator=(const PlanProgress&) = delete;
  ~PlanProgress() {
    if (drawn_) fmt::print(stderr, "\r\x1b[K");
  }

  // Asked after every step of the model: looks at the clock now and then.
  bool is_due() { return shown_ && ++asked_ % 64 == 0 && loop_.now() - last_ > io::milliseconds{100}; }

  void show(double share) {
    last_ = loop_.now();
    drawn_ = true;
    constexpr int kWidth = 30;
    const int full = static_cast<int>(share * kWidth);
    fmt::print(stderr, "\rPlanning [{}{}] {:3.0f} %", std::string(static_cast<size_t>(full), '#'),
               std::string(static_cast<size_t>(kWidth - full), '-'), share * 100);
    std::fflush(stderr);
  }

 private:
  io::Loop& loop_;
  bool shown_;
  bool drawn_ = false;
  unsigned asked_ = 0;
  io::Steady last_;
};

}  // namespace careen::app
