// The commands that an operator types to take nodes out and give them back: drain, uncordon, maintain, release and
// status. Each talks to the API server for as long as it runs and leaves nothing behind but what it says.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drain/options.h"
#include "io/task.h"
#include "io/time.h"

namespace CLI {
class App;
}

namespace careen::app {

class KubeSession;

// Exit codes, beside 0: done.
inline constexpr int kFailed = 1;
inline constexpr int kInterrupted = 130;

struct ClusterOptions {
  std::string kubeconfig;
  std::string context;
};

enum class DryRun { none, client, server };

struct DrainOptions {
  std::vector<std::string> nodes;
  std::string selector;  // of nodes, instead of names
  drain::Options drain;
  DryRun dry_run = DryRun::none;
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
};

// Each returns the exit code.
io::Task<int> drain_nodes(KubeSession& session, DrainOptions options);
io::Task<int> uncordon_nodes(KubeSession& session, UncordonOptions options);
io::Task<int> maintain_nodes(KubeSession& session, MaintainOptions options);
io::Task<int> release_nodes(KubeSession& session, ReleaseOptions options);
io::Task<int> show_status(KubeSession& session, StatusOptions options);

// The flags of these commands.
class NodeCommands {
 public:
  explicit NodeCommands(CLI::App& app);
  ~NodeCommands();

  static bool has(const std::string& command);
  // kubectl's syntax, which these commands share, as CLI11 reads it.
  static std::vector<std::string> kubectl_syntax(std::vector<std::string> arguments);

  // Runs the one that was given; nothing when it was none of them.
  std::optional<int> run();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace careen::app
