// The measuring stick of the drain benchmark: cordons the nodes, lists their pods once, and evicts them as fast as the
// server takes it, so many at a time, or with one eviction in flight for each value of the label "app" (each has a
// disruption budget of its own). A refused eviction is sent again after 50 ms. It waits for nothing else. Prints one
// line of JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "io/files.h"
#include "io/metrics.h"
#include "io/random.h"
#include "io/real_loop.h"
#include "io/sync.h"
#include "kube/client.h"
#include "kube/credentials.h"
#include "kube/http_transport.h"
#include "kube/json.h"

namespace {

using namespace careen;

struct Pod {
  std::string ns, name, uid;
};

struct Work {
  io::RealLoop& loop;
  kube::Client& client;
  int in_flight = 0;                                   // 0: one for each queue
  std::map<std::string, std::deque<Pod>> queues = {};  // by app, or one for all
  int evictions = 0;
  int refused = 0;
  int open = 0;
  std::string failure = {};
};

io::Task<void> evict_all(Work& work, std::deque<Pod>& pods) {
  kube::CallOptions once;
  once.attempts = 1;
  once.timeout = io::seconds{60};
  while (!pods.empty()) {
    const Pod pod = std::move(pods.front());
    pods.pop_front();
    for (;;) {
      kube::DeleteOptions what;
      what.preconditions.uid = pod.uid;
      ++work.evictions;
      const auto answer = co_await work.client.evict(pod.ns, pod.name, what, once);
      if (answer || answer.error().not_found()) break;
      if (answer.error().code != 429) {
        work.failure = answer.error().message;
        break;
      }
      ++work.refused;
      co_await io::sleep_for(work.loop, io::milliseconds{50});
    }
  }
  --work.open;
}

io::Task<void> empty_node(Work& work, std::string node) {
  const std::string cordon = R"({"spec":{"unschedulable":true}})";
  const auto patched = co_await work.client.patch(kube::resources::nodes, "", node, kube::PatchType::merge, cordon);
  kube::CallOptions options;
  options.query = "fieldSelector=spec.nodeName%3D" + node;
  const auto answer = co_await work.client.list(kube::resources::pods, "", options);
  if (!patched || !answer) {
    work.failure = patched ? answer.error().message : patched.error().message;
  } else if (const auto list = kube::Json::parse(*answer)) {
    list->at("/items").for_each_element([&](kube::JsonView pod) {
      const auto text = [&pod](std::string_view pointer) { return std::string(pod.at(pointer).text().value_or("")); };
      work.queues[work.in_flight > 0 ? std::string() : text("/metadata/labels/app")].push_back(
          {text("/metadata/namespace"), text("/metadata/name"), text("/metadata/uid")});
    });
  }
  --work.open;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: drain_loop KUBECONFIG IN_FLIGHT NODE…   (0: one for each value of the label app)\n", stderr);
    return 2;
  }
  io::RealLoop loop;
  io::RealFiles files(loop);
  io::Metrics metrics;
  io::Random random;
  auto cluster = kube::load_access(files, {[](std::string_view) { return std::nullopt; }}, {argv[1], ""});
  if (!cluster) {
    fmt::print(stderr, "{}\n", cluster.error().message);
    return 1;
  }
  const auto transport =
      kube::make_http_transport(loop, kube::make_authenticator(loop, files, std::move(*cluster), io::Log{}));
  kube::Client client(loop, *transport, metrics, random);
  Work work{loop, client, std::atoi(argv[2])};
  io::Scope scope(loop);
  const io::Steady begun = loop.now();
  for (int i = 3; i < argc; ++i) {
    ++work.open;
    scope.spawn(empty_node(work, argv[i]));
  }
  loop.run_until([&] { return work.open == 0; });
  for (auto& [app, pods] : work.queues) {
    for (int worker = 0; worker < std::max(work.in_flight, 1); ++worker) {
      ++work.open;
      scope.spawn(evict_all(work, pods));
    }
  }
  loop.run_until([&] { return work.open == 0; });
  if (!work.failure.empty()) fmt::print(stderr, "{}\n", work.failure);
  fmt::print("{{\"seconds\":{:.3f},\"evictions\":{},\"refused\":{}}}\n", io::to_seconds(loop.now() - begun),
             work.evictions, work.refused);
  return work.failure.empty() ? 0 : 1;
}
