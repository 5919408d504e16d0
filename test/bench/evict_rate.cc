// Asks for so many evictions a second, for so long, of pods given on standard input as `namespace name`, all as a dry
// run: the API server asks its webhooks and judges the budget, and nothing changes. Each is sent when it is due,
// whatever has become of those before. Prints one line of JSON with the latencies.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "io/files.h"
#include "io/real_loop.h"
#include "io/sync.h"
#include "kube/credentials.h"
#include "kube/http_transport.h"

namespace {

using namespace careen;

struct Pod {
  std::string ns, name;
};

struct Work {
  io::RealLoop& loop;
  kube::Transport& transport;
  std::vector<double> seconds = {};
  size_t allowed = 0, refused = 0, failed = 0, open = 0;
  std::string failure = {};
};

io::Task<void> evict(Work& work, const Pod& pod) {
  kube::Request request;
  request.method = "POST";
  request.path = fmt::format("/api/v1/namespaces/{}/pods/{}/eviction?dryRun=All", pod.ns, pod.name);
  request.content_type = "application/json";
  request.body = fmt::format(
      R"({{"apiVersion":"policy/v1","kind":"Eviction","metadata":{{"name":"{}"}},"deleteOptions":{{"dryRun":["All"]}}}})",
      pod.name);
  request.timeout = io::seconds{30};
  const io::Steady begun = work.loop.now();
  const auto answer = co_await work.transport.send(std::move(request));
  work.seconds.push_back(io::to_seconds(work.loop.now() - begun));
  --work.open;
  if (answer && answer->status < 300) {
    ++work.allowed;
  } else if (answer && answer->status == 429) {
    ++work.refused;
  } else {
    ++work.failed;
    work.failure = answer ? fmt::format("{}: {}", answer->status, answer->body) : answer.error().message;
  }
}

io::Task<void> ask(Work& work, io::Scope& scope, const std::vector<Pod>& pods, int rate, int seconds) {
  const io::Steady begun = work.loop.now();
  for (int i = 0; i < rate * seconds; ++i) {
    const io::Steady due = begun + io::Duration(io::seconds{1}) * i / rate;
    if (due > work.loop.now()) co_await io::sleep_for(work.loop, due - work.loop.now());
    ++work.open;
    scope.spawn(evict(work, pods[static_cast<size_t>(i) % pods.size()]));
  }
  --work.open;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: evict_rate KUBECONFIG RATE SECONDS   (pods on standard input)\n", stderr);
    return 2;
  }
  std::vector<Pod> pods;
  for (Pod pod; std::cin >> pod.ns >> pod.name;) pods.push_back(pod);
  io::RealLoop loop;
  io::RealFiles files(loop);
  auto cluster = kube::load_access(files, {[](std::string_view) { return std::nullopt; }}, {argv[1], ""});
  if (!cluster || pods.empty()) {
    fmt::print(stderr, "{}\n", cluster ? "no pods" : cluster.error().message);
    return 1;
  }
  const auto transport =
      kube::make_http_transport(loop, kube::make_authenticator(loop, files, std::move(*cluster), io::Log{}));
  Work work{loop, *transport};
  io::Scope scope(loop);
  work.open = 1;
  scope.spawn(ask(work, scope, pods, std::atoi(argv[2]), std::atoi(argv[3])));
  const io::Steady begun = loop.now();
  loop.run_until([&] { return work.open == 0; });
  std::sort(work.seconds.begin(), work.seconds.end());
  const auto at = [&](double share) { return work.seconds[static_cast<size_t>(share * (work.seconds.size() - 1))]; };
  if (!work.failure.empty()) fmt::print(stderr, "{}\n", work.failure);
  fmt::print(
      "{{\"asked\":{},\"took\":{:.3f},\"median\":{:.6f},\"p99\":{:.6f},\"most\":{:.6f},\"allowed\":{},\"refused\":{}}}"
      "\n",
      work.seconds.size(), io::to_seconds(loop.now() - begun), at(0.5), at(0.99), at(1), work.allowed, work.refused);
  return work.failed > 0 ? 1 : 0;
}
