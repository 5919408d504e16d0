#include "commands/demo_colleague.h"

#include <optional>
#include <utility>
#include <vector>

#include "cli/screen.h"
#include "commands/node_commands.h"
#include "demo/world.h"
#include "io/random.h"
#include "io/sync.h"
#include "io/virtual_time.h"
#include "session/kube_session.h"
#include "sim/cluster.h"

namespace careen::app {

using io::minutes;
using io::seconds;
using io::Task;

namespace {

constexpr const char* kColleague = "ben@desk";

DrainOptions drain_of(const std::string& node) {
  DrainOptions options;
  options.nodes = {node};
  options.drain.ignore_daemon_sets = true;
  options.drain.delete_emptydir_data = true;
  return options;
}

UncordonOptions uncordon_of(const std::string& node) {
  UncordonOptions options;
  options.nodes = {node};
  return options;
}

}  // namespace

struct DemoColleague::Core {
  Core(io::VirtualTime& time, DemoWorld& world, uint64_t seed, Tell tell)
      : loop_(time.make_loop()), world_(world), random_(seed), tell_(std::move(tell)), scope_(*loop_) {
    scope_.spawn(work());
  }

  io::SleepAwaiter pause(io::Duration least, io::Duration most) {
    const auto beyond = static_cast<double>((most - least).count()) * random_.unit();
    return io::sleep_for(*loop_, least + io::Duration{static_cast<io::Duration::rep>(beyond)});
  }

  Task<void> work() {
    co_await pause(seconds{70}, seconds{100});
    for (;;) {
      if (const std::string node = node_at_rest(); !node.empty()) {
        tell_(node, "Ben types: careen drain " + node);
        co_await command(node, [&node](KubeSession& session) { return drain_nodes(session, drain_of(node)); });
        co_await pause(minutes{2}, minutes{4});
        co_await command(node, [&node](KubeSession& session) { return uncordon_nodes(session, uncordon_of(node)); });
      }
      co_await pause(minutes{6}, minutes{15});
    }
  }

  // One command from its beginning to its end, with a connection of its own.
  Task<void> command(std::string node, std::function<Task<int>(KubeSession&)> run) {
    ScreenOptions output;
    output.out = output.err = [this, &node](std::string_view text) { say(node, text); };
    Screen screen(std::move(output));
    kube::Access access;
    access.ns = "default";
    KubeSession session(
        {*loop_, std::move(access),
         [this](const kube::Access&) { return kube::Transports{world_.home().network.connect(*loop_, kColleague)}; },
         random_, screen, kColleague});
    co_await run(session);
  }

  // What happens to single pods is too much for a log.
  void say(const std::string& node, std::string_view text) {
    for (const std::string_view word : {"pod/", "evicting pod ", "pod ", "Warning: ignoring"}) {
      if (text.starts_with(word)) return;
    }
    while (text.ends_with('\n')) text.remove_suffix(1);
    tell_(node, "Ben reads: " + std::string(text));
  }

  std::string node_at_rest() {
    std::vector<std::string> resting;
    for (const auto& [name, node] : world_.cluster().nodes().all()) {
      if (node.at_rest()) resting.push_back(name);
    }
    return resting.empty() ? "" : resting[random_.next() % resting.size()];
  }

  std::unique_ptr<io::Loop> loop_;
  DemoWorld& world_;
  io::Random random_;
  Tell tell_;
  io::Scope scope_;
};

DemoColleague::DemoColleague(io::VirtualTime& time, DemoWorld& world, uint64_t seed, Tell tell)
    : core_(std::make_unique<Core>(time, world, seed, std::move(tell))) {}
DemoColleague::~DemoColleague() = default;

}  // namespace careen::app
