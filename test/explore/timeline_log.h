// careen's own log lines, in the timeline.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "io/log.h"

namespace careen::explore {

class TimelineLog final : public io::LogSink {
 public:
  using Note = std::function<void(std::string_view line)>;
  TimelineLog(Note note, std::string process) : note_(std::move(note)), process_(std::move(process)) {}
  bool enabled(io::LogLevel level) const override { return level != io::LogLevel::debug; }
  void write(io::LogLevel, std::string_view name, std::string_view message, const io::LogFields& fields) override {
    std::string line = fmt::format("{} {}: {}", process_, name, message);
    for (const auto& [key, value] : fields) line += fmt::format(" {}={}", key, value);
    note_(line);
  }

 private:
  Note note_;
  std::string process_;
};

}  // namespace careen::explore
