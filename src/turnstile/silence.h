// Since when nobody has been there to decide. For a minute everybody waits; from then on everybody may pass, because a
// webhook of a program that does not run must not stop a cluster: limits only observe what others do, and a problem and
// a metric say so.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "io/sync.h"
#include "io/task.h"
#include "io/time.h"

namespace careen::io {
class Gauge;
class Loop;
class Metrics;
class Problems;
}  // namespace careen::io

namespace careen::turnstile {

class Silence {
 public:
  static constexpr io::Duration kPatience = io::seconds{60};
  static constexpr io::Duration kBetweenLooks = io::seconds{5};
  static constexpr std::string_view kProblem = "limit webhook";

  // `look`: whether somebody decides now; asked again and again while nobody has.
  Silence(io::Loop& loop, io::Metrics& metrics, io::Problems& problems, std::function<io::Task<bool>()> look);
  ~Silence();
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

  // Until cancelled.
  io::Task<void> run();
  void begin(std::string why);
  void end();
  // It has lasted a minute.
  bool open() const;

 private:
  void show();

  io::Loop& loop_;
  io::Problems& problems_;
  io::Gauge& shown_;
  std::function<io::Task<bool>()> look_;
  std::optional<io::Steady> since_;
  std::string why_;
  io::Signal begun_;
};

}  // namespace careen::turnstile
