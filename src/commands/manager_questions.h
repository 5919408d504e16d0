// careen as /manager, where the flags do not tell for which program: the API server is asked, as long as it takes. It
// needs no rights but those that everybody with an account has.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "commands/manager_start.h"
#include "io/log.h"
#include "io/task.h"

namespace careen::kube {
class Client;
}

namespace careen::app {

// An API server that does not answer is asked again, with a line in the log about it.
io::Task<ManagerSurroundings> ask_surroundings(kube::Client& client, std::string ns, io::Log log);

// Of the process that was started with these arguments, in Go's syntax: those of `careen run` for it, or its exit code
// when it has been said why it cannot go on.
tl::expected<std::vector<std::string>, int> start_as_manager(std::vector<std::string> arguments);

}  // namespace careen::app
