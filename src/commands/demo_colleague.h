// Somebody who types `careen drain` in the demonstration: the command itself, on the model cluster and in its time. It
// waits its turn under the MaintenanceLimit like everybody else.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace careen::io {
class VirtualTime;
}

namespace careen::app {

class DemoWorld;

class DemoColleague {
 public:
  // Told what is seen at that terminal, line by line, and of which node.
  using Tell = std::function<void(const std::string& node, const std::string& text)>;

  DemoColleague(io::VirtualTime& time, DemoWorld& world, uint64_t seed, Tell tell);
  ~DemoColleague();

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace careen::app
