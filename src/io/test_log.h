// A log whose messages a test can count.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "io/log.h"

namespace careen::io {

struct LogLines final : LogSink {
  explicit LogLines(LogLevel from = LogLevel::debug) : least(from) {}
  bool enabled(LogLevel level) const override { return level >= least; }
  void write(LogLevel, std::string_view, std::string_view message, const LogFields&) override {
    lines.emplace_back(message);
  }
  int count(std::string_view text) const { return static_cast<int>(std::ranges::count(lines, text)); }

  const LogLevel least;
  std::vector<std::string> lines;
};

}  // namespace careen::io
