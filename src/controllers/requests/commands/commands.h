// What actors and people type to ask for a maintenance and to end it: careen request. It plays the actor's side of the
// MaintenanceRequest protocol against the plain API, so that a shell script or a cron job takes part without a library.
#pragma once

#include <string>
#include <vector>

#include "io/task.h"
#include "io/time.h"

namespace careen::app {
class Commands;
class KubeSession;
}  // namespace careen::app

namespace careen::requests {

// Exit codes of `careen request NODE`, beside those of all commands.
inline constexpr int kStillPending = 3;
inline constexpr int kRejected = 4;
inline constexpr int kTimedOut = 5;
inline constexpr int kInProgress = 6;  // approved before, and begun
// Of `careen request run`, where it does not end with the command's own: as timeout, env and shells have them.
inline constexpr int kNotApprovedInTime = 124;
inline constexpr int kNotRun = 125;

void add_commands(app::Commands& commands);

struct RequestOptions {
  std::string node;
  std::string client;
  bool wait = false;
  io::Duration timeout{};  // of the wait; 0: none
  bool json = false;
};

struct StepOptions {
  std::string node;
  std::string client;
};

struct RequestListOptions {
  std::vector<std::string> nodes;  // none: of all
  std::string client;              // empty: of all
  bool finished = false;           // those as well
  bool json = false;
};

struct RequestRunOptions {
  std::string node;
  std::string client;
  io::Duration timeout{};  // of the wait for the approval; 0: none
  std::vector<std::string> command;
};

// Each returns the exit code.
io::Task<int> request_node(app::KubeSession& session, RequestOptions options);
io::Task<int> start_request(app::KubeSession& session, StepOptions options);
io::Task<int> finish_request(app::KubeSession& session, StepOptions options);
io::Task<int> cancel_request(app::KubeSession& session, StepOptions options);
io::Task<int> list_requests(app::KubeSession& session, RequestListOptions options);
io::Task<int> run_approved(app::KubeSession& session, RequestRunOptions options);

}  // namespace careen::requests
