// What the desk of limits costs in a large cluster: 5,000 nodes in 40 zones with a limit each and one over all, where
// everybody who is not out waits. Nothing is sent. Prints one line of JSON; times are CPU times of the process, in
// microseconds.
//
//   limit_desk [NODES [ROUNDS]]
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "budget/ledger.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/random.h"
#include "io/virtual_time.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/decode.h"
#include "limits/desk.h"
#include "sim/test_api.h"

namespace {

using namespace careen;

constexpr int kZones = 40;
constexpr int kPlaces = 4;  // of a zone

double cpu_microseconds() {
  timespec spent{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return 1e6 * static_cast<double>(spent.tv_sec) + 1e-3 * static_cast<double>(spent.tv_nsec);
}

struct World {
  io::VirtualTime time;
  std::unique_ptr<io::Loop> server = time.make_loop();
  sim::TestApi api{*server};
  std::unique_ptr<io::Loop> loop = time.make_loop();
  std::unique_ptr<kube::Transport> transport = api.connect(*loop);
  io::Metrics metrics;
  io::Random random{7};
  io::Problems problems{io::Log{}};
  kube::Client client{*loop, *transport, metrics, random};
  budget::Ledger ledger{*loop, client, problems, io::Log{}, metrics, std::nullopt};
  kube::AtomPool atoms;
  kube::Store<kube::Node> nodes;
  kube::Store<kube::Object> limits;
  uint64_t version = 0;

  kube::Node node(int index, bool ready) {
    return *kube::decode_node(
        fmt::format(R"({{"metadata":{{"name":"n{}","uid":"u{}","resourceVersion":"{}","labels":{{"zone":"z{}"}}}},
        "status":{{"conditions":[{{"type":"Ready","status":"{}"}}]}}}})",
                    index, index, ++version, index % kZones, ready ? "True" : "False"),
        atoms);
  }
  void limit(const std::string& name, const std::string& spec) {
    limits.put(*kube::decode_object(
        fmt::format(R"({{"metadata":{{"name":"{}","uid":"l-{}","resourceVersion":"{}"}},"spec":{}}})", name, name,
                    ++version, spec)));
  }
  limits::Asking asking(int index) {
    return {fmt::format("n{}", index), "profile/p", "profile/p", limits::Rank::campaign, loop->wall_now()};
  }
};

struct Figures {
  std::vector<double> all;
  template <class F>
  void measure(F&& what) {
    const double begin = cpu_microseconds();
    what();
    all.push_back(cpu_microseconds() - begin);
  }
  double at(double share) {
    std::ranges::sort(all);
    return all[static_cast<size_t>(share * static_cast<double>(all.size() - 1))];
  }
  std::string text(const char* name) { return fmt::format(R"("{}":[{:.1f},{:.1f}])", name, at(0.5), at(0.99)); }
};

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 5'000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 2'000;
  World world;
  for (int zone = 0; zone < kZones; ++zone) {
    world.limit(fmt::format("zone-{}", zone),
                fmt::format(R"({{"type":"node","selector":{{"matchLabels":{{"zone":"z{}"}}}},"maxUnavailable":{}}})",
                            zone, kPlaces));
  }
  world.limit("all", fmt::format(R"({{"type":"node","maxUnavailable":{}}})", kZones * kPlaces));
  for (int i = 0; i < count; ++i) world.nodes.put(world.node(i, true));

  std::optional<limits::Desk> desk;
  Figures open, waits, changes, cycles, questions, texts, groups, queue;
  open.measure([&] {
    desk.emplace(*world.loop, world.nodes, world.limits, world.ledger);
    desk->known();
    world.time.settle();
  });
  std::vector<std::string> turns;
  const auto told = desk->on_turn([&](const std::string& node, const std::string&) { turns.push_back(node); });
  std::vector<std::string> out;
  for (int i = 0; i < kZones * kPlaces; ++i) {
    desk->take({fmt::format("n{}", i), fmt::format("u{}", i), "profile/p", "profile/p", world.loop->wall_now()});
    out.push_back(fmt::format("n{}", i));
  }
  for (int i = kZones * kPlaces; i < count; ++i) {
    waits.measure([&] { desk->wait(world.asking(i)); });
  }
  world.time.settle();
  // A place becomes free, and is given to the next.
  size_t next = 0;
  for (int i = 0; i < rounds && next < out.size(); ++i) {
    const std::string node = out[next++];
    cycles.measure([&] {
      desk->release(node, "profile/p");
      world.time.settle();
      for (const std::string& one : std::exchange(turns, {})) {
        const limits::Asking asking{one, "profile/p", "profile/p", limits::Rank::campaign, world.loop->wall_now()};
        if (!desk->ask(asking).allowed) std::exit(1);
        desk->take({one, "u" + one.substr(1), "profile/p", "profile/p", world.loop->wall_now()});
        out.push_back(one);
      }
    });
  }
  for (int i = 0; i < rounds; ++i) {
    kube::Node changed = world.node(i % count, i % 2 == 0);
    changes.measure([&] {
      world.nodes.put(std::move(changed));
      world.time.settle();
    });
    questions.measure([&] { (void)desk->ask(world.asking((7 * i) % count)); });
  }
  for (int i = 0; i < 100; ++i) {
    texts.measure([&] { (void)desk->ask(world.asking(count - 1 - i), limits::Desk::Detail::text); });
  }
  for (int i = 0; i < 10; ++i) {
    groups.measure([&] { (void)desk->groups(); });
    queue.measure([&] { (void)desk->queue(); });
  }
  std::printf("{\"nodes\":%d,%s,%s,%s,%s,%s,%s,%s,%s}\n", count, open.text("open").c_str(), waits.text("wait").c_str(),
              cycles.text("freed_and_given").c_str(), changes.text("node_changed").c_str(),
              questions.text("asked").c_str(), texts.text("asked_with_text").c_str(), groups.text("groups").c_str(),
              queue.text("queue").c_str());
  return 0;
}
