// The commands that an operator types to take nodes out and give them back: drain, uncordon, maintain, release and
// status. Each talks to the API server for as long as it runs and leaves nothing behind but what it says.
#pragma once

#include <string>
#include <vector>

#include "commands/cluster_flags.h"
#include "commands/view_source.h"
#include "drain/options.h"
#include "io/task.h"
#include "io/time.h"

namespace careen::app {

class KubeSession;

// Exit codes, beside 0: done.
inline constexpr int kFailed = 1;
inline constexpr int kInterrupted = 130;

enum class DryRun { none, client, server };

struct DrainOptions {
  std::vector<std::string> nodes;
  std::string selector;  // of nodes, instead of names
  drain::Options drain;
  DryRun dry_run = DryRun::none;
  bool ignore_pause = false;
  int page_size = 500;
  bool json = false;
};

struct UncordonOptions {
  std::vector<std::string> nodes;
  std::string selector;
  bool all_mine = false;
  bool force = false;  // also what others hold
  DryRun dry_run = DryRun::none;
};

struct MaintainOptions {
  std::vector<std::string> nodes;
  std::string reason;
  std::string name;  // empty: the node's
  bool wait = false;
  io::Duration timeout{};  // of the wait; 0: none
};

struct ReleaseOptions {
  std::vector<std::string> nodes;
  std::vector<std::string> names;  // of NodeMaintenances
  bool wait = false;
  io::Duration timeout{};
};

enum class StatusFormat { table, wide, json };

struct StatusOptions {
  std::vector<std::string> nodes;  // empty: all
  StatusFormat format = StatusFormat::table;
  bool watch = false;
  ViewOptions view = {};  // whom to ask for the overview
};

// Each returns the exit code.
io::Task<int> drain_nodes(KubeSession& session, DrainOptions options);
io::Task<int> uncordon_nodes(KubeSession& session, UncordonOptions options);
io::Task<int> maintain_nodes(KubeSession& session, MaintainOptions options);
io::Task<int> release_nodes(KubeSession& session, ReleaseOptions options);
io::Task<int> show_status(KubeSession& session, StatusOptions options);

}  // namespace careen::app
