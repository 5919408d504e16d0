// One command's time with a cluster: the way to the API server, what reads from it need, and who is asking. It does
// not know where it runs: over HTTP from a terminal, or on the model cluster in virtual time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_set.h"
#include "cli/screen.h"
#include "io/loop.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/random.h"
#include "io/sync.h"
#include "kube/cluster.h"
#include "session/cluster_flags.h"

namespace careen::io {
class Files;
class RealLoop;
}  // namespace careen::io

namespace careen::app {

struct KubeSessionParts {
  io::Loop& loop;
  kube::Access access;
  kube::Connect connect;
  io::Random& random;
  Screen& screen;
  std::string user;  // ana@host, in the names of holds
};

class KubeSession {
 public:
  explicit KubeSession(KubeSessionParts parts);
  KubeSession(const KubeSession&) = delete;
  KubeSession& operator=(const KubeSession&) = delete;

  // Told of each problem once, when it appears or changes. Without it they are shown as warnings.
  std::function<void(std::string_view key, std::string_view message)> on_problem;

  io::Loop& loop;
  io::Random& random;
  Screen& screen;
  const std::string owner;  // of holds: terminal/ana@host
  const std::string ns;     // of the kubeconfig
  io::Metrics metrics;
  io::Problems problems;
  const kube::Connect connect;
  kube::Cluster cluster;
  kube::Client& client{cluster.client()};
  kube::AtomPool& atoms{cluster.atoms()};
  kube::NodeDecoder& nodes{cluster.node_decoder()};

  // What else there is of the outside world where a command runs in a process of its own; null on the model cluster.
  struct Process {
    io::RealLoop& loop;
    io::Files& files;
  };
  const Process* process = nullptr;
  // Of a workload cluster the management cluster through which it was reached; null: it is no workload cluster.
  KubeSession* management = nullptr;

  // Opened by the first Ctrl-C; the second one ends the process, as the first does unless a command heeds it.
  io::Gate interrupted;
  bool heeds_interrupt = false;
  // Signals that would end us are somebody else's: a command of the user's runs, and they are passed on to it.
  bool leaves_signals = false;

  io::Wall now() const { return loop.wall_now(); }
  // Of a watch; its name is the key of its problems, after "watch ".
  kube::WatchParts watch_parts() { return cluster.watch_parts({}); }
};

// All objects of a list, read with as few requests as the pages allow; visit() reads each.
io::Task<kube::Result<uint64_t>> read_list(KubeSession& session, kube::Resource resource, std::string query,
                                           std::function<io::Result<bool>(kube::RawObject&)> visit);

// As it is written in a query.
std::string url_text(std::string_view text);

// Runs them side by side, `at_once` at a time.
io::Task<void> run_all(io::Loop& loop, std::vector<io::Task<void>> tasks, int at_once);

// False when `limit` passed first; the task is cancelled then. No limit when it is 0.
io::Task<bool> ends_within(io::Loop& loop, io::Duration limit, io::Task<void> task);
// False when `limit` passed first.
io::Task<bool> heard_within(io::Loop& loop, io::Duration limit, io::Signal& signal);

// What the server answered, in kubectl's words: Error from server (NotFound): nodes "x" not found
std::string server_error(const kube::ApiError& error);

using Command = std::function<io::Task<int>(KubeSession&)>;
// A workload cluster of Cluster API, by the kubeconfig that its management cluster has of it. The error says why not.
io::Task<io::Result<kube::Access>> workload_access(KubeSession& management, std::string workload);
// In this process, with its terminal and its signals.
int run_on_cluster(const ClusterOptions& options, const Command& command);

}  // namespace careen::app
