// The commands that an operator types to take nodes out and give them back: drain, uncordon and status; those of
// controllers lie with them. Each talks to the API server for as long as it runs and leaves nothing behind but what it
// says.
#pragma once

#include <string>
#include <vector>

#include "commands/view_source.h"
#include "drain/options.h"
#include "io/task.h"
#include "io/time.h"
#include "session/cluster_flags.h"

namespace careen::app {

class KubeSession;

enum class DryRun { none, client, server };

struct DrainOptions {
  std::vector<std::string> nodes;
  std::string selector;  // of nodes, instead of names
  drain::Options drain;
  DryRun dry_run = DryRun::none;
  bool ignore_pause = false;
  bool ignore_limits = false;
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
io::Task<int> show_status(KubeSession& session, StatusOptions options);

}  // namespace careen::app
