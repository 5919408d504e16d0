// Maintenance profiles as a replica hosts them, and what is known of them without one. They have no objects of their
// own: a file says what they do.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "controllers/profiles/controller_options.h"
#include "controllers/slot/controller.h"
#include "controllers/slot/kind.h"

namespace careen::profiles {

class Controller;
struct Config;

struct HostedOptions {
  std::string config = "./config/maintenance.yaml";  // path
  bool strict_config = false;                        // refuse files with warnings
  bool cache_pods = true;                            // all of them, whether or not a check needs it
  std::string slack_api = {};                        // empty: Slack itself
  ControllerOptions controller = {};
  // Changes a configuration that was read before it is taken.
  std::function<void(Config&)> adjust_config = {};
};

const controllers::Kind& kind();
std::shared_ptr<const controllers::Choice> with_options(HostedOptions options);

// The profiles among them, for those few who ask for more than any controller tells; null: they do not run.
const HostedOptions* options_in(const std::vector<std::shared_ptr<const controllers::Choice>>& choices);
const Controller* controller_in(const std::vector<controllers::HostedController>& hosted);

}  // namespace careen::profiles
