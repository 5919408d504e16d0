// A notification plugin: a configured way to tell people about a node. When it is due is the schedule's matter.
#pragma once

#include <string_view>

namespace careen::profiles {

class Notify {
 public:
  Notify() = default;
  Notify(const Notify&) = delete;
  Notify& operator=(const Notify&) = delete;
  virtual ~Notify() = default;

  // The plugin's name in the configuration file, such as slack.
  virtual std::string_view type() const = 0;
};

}  // namespace careen::profiles
