// The measuring stick of the benchmark: sends as many node patches, events, lease writes and messages as a round of
// maintenance needs, of the same size, as fast as they are taken, and decides nothing. Prints one line of JSON.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "io/files.h"
#include "io/http.h"
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

// So many requests of a kind, numbered from 0.
struct Quota {
  size_t all = 0;
  size_t next = 0;

  bool over() const { return next >= all; }
  double progress() const { return static_cast<double>(next) / static_cast<double>(all); }
};

struct Work {
  io::RealLoop& loop;
  kube::Transport& transport;
  io::HttpClient& outside;
  io::Random& random;
  std::vector<Node> nodes;
  std::string hook;     // messages are posted there
  size_t leases_named;  // load-loop-0 to load-loop-<this - 1> are there to be written
  Quota patches, events, leases, posts;
  size_t failed = 0;
  std::string first_failure = {};

  bool with_messages() const { return posts.all > 0; }
  const Node& node(size_t number) const { return nodes[number % nodes.size()]; }
  // With messages the fourth write of a node only removes what was sent.
  size_t phase(size_t number) const { return number / nodes.size() % (with_messages() ? 4 : 3); }
};

constexpr const char* kText = "node-0000 is now in-maintenance because of profile bench; it will be back soon";

kube::Request node_patch(const Work& work, size_t number, std::string body) {
  kube::Request request;
  request.method = "PATCH";
  request.path = fmt::format("/api/v1/nodes/{}?fieldManager=careen", work.node(number).name);
  request.content_type = "application/merge-patch+json";
  request.body = std::move(body);
  return request;
}

// Its labels and annotations have names of the same length as the real ones, so that nobody takes them for those.
kube::Request patch(const Work& work, size_t number) {
  const size_t phase = work.phase(number);
  if (phase == 3) {
    return node_patch(work, number, R"({"metadata":{"resourceVersion":null,"annotations":{"load.loop/outb":null}}})");
  }
  const std::string now = io::format_rfc3339(work.loop.wall_now());
  std::string outbox;
  if (work.with_messages() && phase > 0) {
    outbox = fmt::format(
        R"(,"load.loop/outb":"[{{\"instance\":\"tell_somebody\",\"profile\":\"bench\",\"at\":\"{}\",\"text\":\"{}\"}}]")",
        now, kText);
  }
  return node_patch(
      work, number,
      fmt::format(R"({{"metadata":{{"resourceVersion":null,"labels":{{"load.loop/maintenance-stat":"{0}"}},)"
                  R"("annotations":{{"load.loop/maintenance-dat":"{{\"Profiles\":{{\"bench\":{{\"Transition\":\"{1}\",)"
                  R"(\"Current\":\"{0}\",\"Previous\":\"{0}\"}}}},\"Notifications\":{{}}}}"{2}}}}}}})",
                  kStates[phase], now, outbox));
}

kube::Request event(Work& work, size_t number) {
  const Node& node = work.node(number);
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

kube::Request lease(const Work& work, size_t number) {
  kube::Request request;
  request.method = "PATCH";
  request.path = fmt::format("/apis/coordination.k8s.io/v1/namespaces/bench/leases/load-loop-{}?fieldManager=careen",
                             number % work.leases_named);
  request.content_type = "application/merge-patch+json";
  request.body =
      fmt::format(R"({{"spec":{{"holderIdentity":"{0}","acquireTime":"{1}","renewTime":"{1}","leaseDurationSeconds":1,)"
                  R"("leaseTransitions":{2}}}}})",
                  work.node(number).name, io::format_micro_time(work.loop.wall_now()), number);
  return request;
}

io::HttpRequest message(const Work& work) {
  io::HttpRequest request;
  request.method = "POST";
  request.url = work.hook;
  request.headers = {{"Content-Type", "application/json"}};
  request.body = fmt::format(R"({{"channel":"#load","text":"{}"}})", kText);
  return request;
}

// What is furthest behind; none when all is sent.
Quota* next_kind(Work& work) {
  Quota* chosen = nullptr;
  for (Quota* kind : {&work.patches, &work.events, &work.leases, &work.posts}) {
    if (kind->over() || (chosen && chosen->progress() <= kind->progress())) continue;
    chosen = kind;
  }
  return chosen;
}

kube::Request request_of(Work& work, Quota* kind) {
  const size_t number = kind->next++;
  if (kind == &work.patches) return patch(work, number);
  return kind == &work.events ? event(work, number) : lease(work, number);
}

void judge(Work& work, const auto& answer) {
  if (answer && answer->status < 300) return;
  if (work.failed++ > 0) return;
  work.first_failure = answer ? fmt::format("{} {}", answer->status, answer->body) : answer.error().message;
}

// One request in flight: the kinds alternate, as they do in a round.
io::Task<void> send_all(Work& work) {
  while (Quota* kind = next_kind(work)) {
    if (kind == &work.posts) {
      ++kind->next;
      judge(work, co_await work.outside.send(message(work)));
    } else {
      judge(work, co_await work.transport.send(request_of(work, kind)));
    }
  }
}

[[noreturn]] void usage() {
  std::fputs(
      "usage: load_loop KUBECONFIG NODES_FILE IN_FLIGHT PATCHES EVENTS [LEASE_WRITES LEASES MESSAGES URL]\n"
      "NODES_FILE has a line \"name uid\" for each node. The leases load-loop-0 and so on of namespace bench are\n"
      "written in turn, and the messages are posted to the URL.\n",
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
  if (count != 6 && count != 10) usage();
  const auto number = [&](int index) { return index < count ? std::strtoul(arguments[index], nullptr, 10) : 0; };
  io::RealLoop loop;
  io::RealFiles files(loop);
  io::Random random;
  auto cluster = kube::load_access(files, {[](std::string_view) { return std::optional<std::string>(); }},
                                   {.kubeconfig = arguments[1], .context = {}});
  if (!cluster) {
    std::fprintf(stderr, "load_loop: %s\n", cluster.error().message.c_str());
    return 1;
  }
  io::HttpClientOptions options;
  options.user_agent = "load-loop";
  const auto outside = io::make_http_client(loop, options);
  const auto transport =
      kube::make_http_transport(loop, kube::make_authenticator(loop, files, std::move(*cluster)), options);
  Work work{.loop = loop,
            .transport = *transport,
            .outside = *outside,
            .random = random,
            .nodes = read_nodes(files, arguments[2]),
            .hook = count > 9 ? arguments[9] : "",
            .leases_named = number(7),
            .patches = {number(4)},
            .events = {number(5)},
            .leases = {number(6)},
            .posts = {number(8)}};
  if (work.leases.all > 0 && work.leases_named == 0) usage();

  io::Scope senders(loop);
  const io::Steady begun = loop.now();
  for (size_t i = 0; i < number(3); ++i) senders.spawn(send_all(work));
  loop.run_until([&] { return senders.running() == 0; });
  fmt::print("{{\"seconds\":{:.3f},\"patches\":{},\"events\":{},\"leases\":{},\"messages\":{},\"failed\":{}}}\n",
             io::to_seconds(loop.now() - begun), work.patches.all, work.events.all, work.leases.all, work.posts.all,
             work.failed);
  if (work.failed > 0) {
    std::fprintf(stderr, "load_loop: the first failure: %.500s\n", work.first_failure.c_str());
    return 1;
  }
  return 0;
}
