// The measuring stick of the benchmark: sends as many node patches and events as a round of maintenance needs, of
// the same size, as fast as the server takes them, and decides nothing. Prints one line of JSON.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "io/files.h"
#include "io/random.h"
#include "io/real_loop.h"
#include "io/sync.h"
#include "kube/credentials.h"
#include "kube/http_transport.h"

namespace {

using namespace careen;

constexpr const char* kStates[] = {"maintenance-required", "in-maintenance", "operational"};

struct Node {
  std::string name;
  std::string uid;
};

struct Work {
  io::RealLoop& loop;
  kube::Transport& transport;
  io::Random& random;
  std::vector<Node> nodes;
  size_t patches = 0, events = 0;  // to be sent
  size_t next_patch = 0, next_event = 0;
  size_t failed = 0;
  std::string first_failure;
};

// Its labels and annotations have names of the same length as the real ones, so that nobody takes them for those.
kube::Request patch(const Work& work, size_t number) {
  const Node& node = work.nodes[number % work.nodes.size()];
  const char* state = kStates[number / work.nodes.size() % 3];
  kube::Request request;
  request.method = "PATCH";
  request.path = fmt::format("/api/v1/nodes/{}?fieldManager=careen", node.name);
  request.content_type = "application/merge-patch+json";
  request.body =
      fmt::format(R"({{"metadata":{{"resourceVersion":null,"labels":{{"load.loop/maintenance-stat":"{0}"}},)"
                  R"("annotations":{{"load.loop/maintenance-dat":"{{\"Profiles\":{{\"bench\":{{\"Transition\":\"{1}\",)"
                  R"(\"Current\":\"{0}\",\"Previous\":\"{0}\"}}}},\"Notifications\":{{}}}}"}}}}}})",
                  state, io::format_rfc3339(work.loop.wall_now()));
  return request;
}

kube::Request event(Work& work, size_t number) {
  const Node& node = work.nodes[number % work.nodes.size()];
  const char* state = kStates[number / work.nodes.size() % 3];
  kube::Request request;
  request.method = "POST";
  request.path = "/apis/events.k8s.io/v1/namespaces/default/events?fieldManager=careen";
  request.content_type = "application/json";
  request.body = fmt::format(
      R"({{"metadata":{{"name":"{0}.{5:016x}","namespace":"default"}},"type":"Normal","reason":"LoadOfMaintenanceState",)"
      R"("action":"ChangeMaintenanceState","reportingInstance":"maintenance-bench","kind":"Event",)"
      R"("apiVersion":"events.k8s.io/v1","regarding":{{"apiVersion":"v1","kind":"Node","name":"{0}","uid":"{1}",)"
      R"("resourceVersion":"{4}"}},"note":"The node is now in the {2} state caused by profile bench",)"
      R"("reportingController":"maintenance","eventTime":"{3}"}})",
      node.name, node.uid, state, io::format_micro_time(work.loop.wall_now()), 100000 + number, work.random.next());
  return request;
}

// One request in flight: patches and events alternate, as they do in a round.
io::Task<void> send_all(Work& work) {
  for (;;) {
    const bool patch_is_next =
        work.next_patch < work.patches &&
        (work.next_event == work.events || work.next_patch * work.events <= work.next_event * work.patches);
    if (!patch_is_next && work.next_event == work.events) co_return;
    auto answer =
        co_await work.transport.send(patch_is_next ? patch(work, work.next_patch++) : event(work, work.next_event++));
    if (answer && answer->status < 300) continue;
    if (work.failed++ == 0) {
      work.first_failure = answer ? fmt::format("{} {}", answer->status, answer->body) : answer.error().message;
    }
  }
}

[[noreturn]] void usage() {
  std::fputs(
      "usage: load_loop KUBECONFIG NODES_FILE PATCHES EVENTS IN_FLIGHT\n"
      "NODES_FILE has a line \"name uid\" for each node.\n",
      stderr);
  std::exit(2);
}

std::vector<Node> read_nodes(io::Files& files, const char* path) {
  const auto text = files.read(path);
  if (!text) {
    std::fprintf(stderr, "load_loop: %s\n", text.error().message.c_str());
    std::exit(1);
  }
  std::vector<Node> nodes;
  for (size_t at = 0; at < text->size();) {
    const size_t end = std::min(text->find('\n', at), text->size());
    const std::string line = text->substr(at, end - at);
    at = end + 1;
    if (const size_t blank = line.find(' '); blank != std::string::npos) {
      nodes.push_back({line.substr(0, blank), line.substr(blank + 1)});
    }
  }
  if (nodes.empty()) usage();
  return nodes;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 6) usage();
  io::RealLoop loop;
  io::RealFiles files(loop);
  io::Random random;
  auto cluster = kube::load_cluster(files, {[](std::string_view) { return std::optional<std::string>(); }},
                                    {.kubeconfig = arguments[1], .context = {}});
  if (!cluster) {
    std::fprintf(stderr, "load_loop: %s\n", cluster.error().message.c_str());
    return 1;
  }
  io::HttpClientOptions options;
  options.user_agent = "load-loop";
  const auto transport =
      kube::make_http_transport(loop, kube::make_authenticator(loop, files, std::move(*cluster)), options);
  Work work{loop, *transport, random, read_nodes(files, arguments[2])};
  work.patches = std::strtoul(arguments[3], nullptr, 10);
  work.events = std::strtoul(arguments[4], nullptr, 10);

  io::Scope senders(loop);
  const io::Steady begun = loop.now();
  for (int i = 0; i < std::atoi(arguments[5]); ++i) senders.spawn(send_all(work));
  loop.run_until([&] { return senders.running() == 0; });
  fmt::print("{{\"seconds\":{:.3f},\"patches\":{},\"events\":{},\"failed\":{}}}\n", io::to_seconds(loop.now() - begun),
             work.patches, work.events, work.failed);
  if (work.failed > 0) {
    std::fprintf(stderr, "load_loop: the first failure: %.500s\n", work.first_failure.c_str());
    return 1;
  }
  return 0;
}
