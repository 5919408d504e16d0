#include "controllers/profiles/node_meters.h"

#include <algorithm>

#include "controllers/profiles/config.h"
#include "io/loop.h"
#include "kube/cache.h"
#include "kube/node.h"
#include "kube/queue.h"

namespace careen::profiles {

namespace {
// Where there is no interval, and where it is so short that counting all nodes would be work.
constexpr io::Duration kWithoutInterval = io::minutes{1};
constexpr io::Duration kShortest = io::seconds{10};
}  // namespace

// A node is not decided before something can change the decision, which may be at 10:00 tomorrow. To an observer who
// expects nodes to be looked at after each interval, as the replaced program did, that would look like a standstill. A
// node that waits for its turn, or whose write is not done, is not counted: that is one.
io::Task<void> NodeMeters::count_standing(io::Loop& loop, const kube::Store<kube::Node>& nodes,
                                          const kube::WorkQueue& queue, const std::shared_ptr<const Config>& config) {
  for (;;) {
    const io::Duration requeue = config->requeue;
    co_await io::sleep_for(loop, requeue > io::Duration{0} ? std::max(requeue, kShortest) : kWithoutInterval);
    size_t standing = 0;
    nodes.for_each([&](const kube::Node& node) {
      if (!lately.contains(node.name) && !queue.busy(node.name)) ++standing;
    });
    lately.clear();
    stood(standing);
  }
}

}  // namespace careen::profiles
