#include "tally.h"

#include <fmt/format.h>

#include <cstdio>
#include <sstream>

#include "run.h"

namespace careen::explore {

void Tally::add(const Outcome& outcome) {
  ++cases_;
  virtual_time_ += outcome.virtual_time;
  transitions_ += outcome.transitions;
  coverage_.add(outcome.coverage);
}

void Tally::tell() const {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  fmt::print("{} cases in {:.1f} s: {:.1f} cases/s, {:.1f} virtual hours/s, {} transitions\n", cases_, seconds,
             static_cast<double>(cases_) / seconds, io::to_seconds(virtual_time_) / 3600 / seconds, transitions_);
  std::fflush(stdout);
}

std::string Tally::text() const {
  return fmt::format("{} {} {}\n{}", cases_, transitions_, virtual_time_.count(), coverage_.text());
}

void Tally::add(std::string_view text) {
  std::istringstream lines{std::string(text)};
  int64_t cases = 0, transitions = 0, nanoseconds = 0;
  lines >> cases >> transitions >> nanoseconds;
  cases_ += cases;
  transitions_ += transitions;
  virtual_time_ += io::Duration{nanoseconds};
  coverage_.read(lines);
}

}  // namespace careen::explore
