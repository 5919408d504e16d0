// Installed as /manager, careen starts like the program whose manifest starts it. Three programs have an image with
// that name: the table here says which one is meant, by the flags, and where those do not tell, by what the cluster
// grants. It never guesses: a careen that stands for the wrong one would look well and do nothing.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace careen::app {

// The controller that does what the program meant does, by the flags and by whether there is a configuration where
// profiles look for theirs. Empty: they do not tell.
std::string_view controller_by_flags(const std::vector<std::string>& arguments, bool has_config);

// What the cluster says to whoever has careen's credentials.
struct ManagerSurroundings {
  std::string ns = {};             // the pod's, or the context's
  bool serves_limits = false;      // repairman.k8s.io/v1
  bool may_update_limits = false;  // the status of its MaintenanceLimits
  bool may_list_pods = false;
  bool may_lock = false;   // by a ConfigMap in that namespace
  bool may_pause = false;  // read there what is paused, that is
};
// The controller, or why that is in doubt.
tl::expected<std::string_view, std::string> controller_by_cluster(const ManagerSurroundings& found);

// Whether --controllers or --config say it; then nothing is looked for.
bool says_controllers(const std::vector<std::string>& arguments);
// Whether the cluster has to be asked although the controller is known: how it runs depends on its role.
bool starts_as_its_role_allows(std::string_view controller);

// The arguments for careen: with the controller, what its original does without any flags, and what its role makes
// sensible.
std::vector<std::string> as_manager(std::vector<std::string> arguments, std::string_view controller,
                                    const ManagerSurroundings& found = {});

}  // namespace careen::app
