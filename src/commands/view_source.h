// Where a command gets the view documents (docs/api.md) from: a dashboard's address, the replica that leads in the
// cluster, or a replica inside the command itself that computes them and writes nothing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/auto_server.h"
#include "io/result.h"
#include "io/task.h"
#include "io/time.h"
#include "kube/json.h"
#include "session/cluster_flags.h"
#include "tl/expected.hpp"

namespace careen::io {
class Files;
class HttpClient;
class Random;
class RealLoop;
}  // namespace careen::io
namespace careen::kube {
class Transport;
}

namespace careen::app {

struct ViewError {
  int status = 0;  // of HTTP; 0: no answer came
  std::string message;
};
template <class T>
using ViewResult = tl::expected<T, ViewError>;

class ViewSource {
 public:
  virtual ~ViewSource() = default;
  // What it is, for people: the leader careen-0 in kube-system
  virtual std::string name() const = 0;
  // The document below /careen/v1/, such as fleet or nodes/node-1.
  virtual io::Task<ViewResult<kube::Json>> get(std::string path) = 0;
  // Calls `on_event` with each event of the stream; returns why it ended.
  using OnEvent = std::function<void(std::string_view event, const kube::Json& document)>;
  virtual io::Task<ViewError> follow(OnEvent on_event) = 0;
};

struct ViewOptions {
  ClusterOptions cluster = {};
  std::string server = {};       // http://127.0.0.1:8080, or auto
  std::string server_from = {};  // what named it: --server or CAREEN_SERVER
  std::string ns = {};           // where careen runs; empty: it is looked for
  std::string token = {};        // for that server, or for the leader and then for the view alone
  std::string config = {};       // compute the documents here with this configuration
  std::string workload = {};     // the cluster that is meant, of those that a hub looks after; empty: its own
};

// --server, --namespace, --token and --config; not --kubeconfig and --context.
void add_view_flags(CLI::App& command, ViewOptions& options);
// What the environment says where no flag does: CAREEN_SERVER and CAREEN_TOKEN. Throws UsageError for what does not fit
// together, and for what is no address.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;
void complete_view_options(ViewOptions& options, const Environment& environment);
void complete_view_options(ViewOptions& options);

// An address as people write it (127.0.0.1:8080, http://host:8080/) as a URL without a slash at its end.
io::Result<std::string> server_url(std::string_view text);

// The documents at a URL, asked with that token unless it is empty. `from`: where the URL comes from, if people should
// be told.
std::unique_ptr<ViewSource> view_at(io::HttpClient& http, std::string url, std::string token, std::string from = {},
                                    std::string workload = {});

// A document of a workload cluster, namespace/name, that a hub looks after; of its own where that is empty.
std::string of_cluster(std::string path, std::string_view workload);

struct LeaderAccess {
  kube::Transport& api;
  kube::Transport& proxied;  // for requests that the API server passes on
  io::Wall now;
  std::string ns = {};          // where careen runs; empty: it is looked for
  std::string view_token = {};  // for the view alone; empty: one is made
  std::string workload = {};
  // The token that goes with the proxied requests from now on.
  std::function<void(std::string token)> show_token = [](const std::string&) {};
};
// Through the API server's proxy to the pod that holds the leader's lock. The token that goes along is good for the
// view and for nothing else, since a stranger's pod may hold the lock: never the user's own, but the one given or a
// short-lived one of the pod's service account, if the user may make it. The error says what was tried.
io::Task<ViewResult<std::unique_ptr<ViewSource>>> view_of_leader(LeaderAccess access);

// As the options say: the address, or the configuration, or the leader. The error says what was tried and what else
// there is. The parts must outlive the source.
struct ViewParts {
  io::RealLoop& loop;
  io::Files& files;
  io::Random& random;
};
io::Task<ViewResult<std::unique_ptr<ViewSource>>> open_view(ViewParts parts, ViewOptions options);

}  // namespace careen::app
