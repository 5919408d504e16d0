#include "controllers/profiles/sweep.h"

#include <vector>

#include "controllers/profiles/node_meters.h"
#include "io/loop.h"
#include "kube/cache.h"
#include "kube/node.h"
#include "kube/queue.h"

namespace careen::profiles {

namespace {
constexpr io::Duration kSweepPatience = io::milliseconds{10};
}  // namespace

io::Task<void> Sweep::run(io::Duration interval) {
  for (;;) {
    co_await io::sleep_for(loop_, interval);
    std::vector<std::string> names;
    nodes_.for_each([&](const kube::Node& node) { names.push_back(node.name); });
    int looked_at = 0;
    for (const std::string& name : names) {
      if (stopped_) co_return;
      if (++looked_at % 1000 == 0) co_await io::yield_to_others(loop_);
      if (!overlooked_(name)) continue;
      // What is due in this very moment is about to be found without us.
      co_await io::sleep_for(loop_, kSweepPatience);
      if (stopped_) co_return;
      if (!overlooked_(name)) continue;
      meters_.late.add();
      log_.warn("only the sweep found that this node can move", "node", name);
      queue_.wake(name);
    }
  }
}

}  // namespace careen::profiles
