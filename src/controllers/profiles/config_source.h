// The configuration file, kept current: loaded at the start and whenever it changes. A broken file (with `strict` also
// one with warnings) is reported and the last good configuration stays.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "config/interpolate.h"
#include "io/files.h"
#include "io/log.h"

namespace careen::io {
class Counter;
class Gauge;
class Loop;
class Metrics;
class Problems;
}  // namespace careen::io

namespace careen::profiles {

struct Config;

class ConfigSource {
 public:
  using Taken = std::function<void(std::shared_ptr<const Config>)>;
  // Changes a configuration that was read before it is taken, as a plan does that assumes answers of checks.
  using Adjust = std::function<void(Config&)>;

  ConfigSource(io::Loop& loop, io::Files& files, std::string path, config::Environment environment,
               io::Metrics& metrics, io::Problems& problems, io::Log log, Taken taken, bool strict = false,
               Adjust adjust = {});

  // The first load, then a watch.
  void start();
  bool valid_once() const { return valid_once_; }

 private:
  void load();
  void refuse(const std::string& why);

  io::Loop& loop_;
  io::Files& files_;
  std::string path_;
  config::Environment environment_;
  io::Problems& problems_;
  io::Log log_;
  Taken taken_;
  bool strict_;
  Adjust adjust_;
  io::Gauge& valid_;
  io::Gauge& loaded_at_;
  io::Counter& failures_;
  std::optional<std::string> text_;  // that was last looked at
  bool valid_once_ = false;
  std::unique_ptr<io::Files::Watch> watch_;
};

}  // namespace careen::profiles
