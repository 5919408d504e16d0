// careen demo: the demonstration's world in one process, with its API servers and dashboard on loopback ports, its
// clock running at a chosen speed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/time.h"

namespace careen::app {

struct DemoOptions {
  int nodes = 60;    // of each cluster
  int clusters = 1;  // more: behind a hub
  uint64_t seed = 1;
  double speed = 1;
  std::string listen;                 // of the dashboard; empty: the usual port, or a free one if that is taken
  std::string kubeconfig;             // empty: in a temporary folder
  std::optional<io::Duration> lasts;  // none: until stopped by a signal
  bool actors = true;
  bool print_config = false;
};

// The exit code.
int run_demo(const DemoOptions& options);

}  // namespace careen::app
