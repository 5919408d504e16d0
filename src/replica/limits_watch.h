// What a replica knows of MaintenanceLimits: whether the cluster serves them at all, and if so what they say. As long
// as that is not known the desk admits nothing; a cluster that does not know the kind has no limits.
#pragma once

#include <functional>
#include <string>

#include "io/sync.h"
#include "kube/cluster.h"
#include "kube/objects.h"
#include "kube/steady_refusal.h"

namespace careen::limits {
class Desk;
}

namespace careen::replica {

struct LimitsWatchParts {
  io::Loop& loop;
  kube::Client& client;  // of the cluster that has the limits; reads
  io::Problems& problems;
  kube::WatchParts watch;
};

struct LimitsWatchOptions {
  // Without the right to read limits nothing is admitted, however long that lasts: whoever approves other people's
  // requests must not do so unlimited. Where only careen's own work is at stake it goes on without them, and says so.
  bool closed_without_right = false;
  // When a replica begins to decide: until whatever has a place by its own objects is known as it is now. Where there
  // are limits, nothing is admitted before.
  std::function<io::Task<void>()> places_told = {};
};

class LimitsWatch {
 public:
  LimitsWatch(LimitsWatchParts parts, LimitsWatchOptions options);
  LimitsWatch(const LimitsWatch&) = delete;
  LimitsWatch& operator=(const LimitsWatch&) = delete;

  // Whom it tells what is known; before run().
  void tell(limits::Desk& desk) { desk_ = &desk; }
  // Until cancelled.
  io::Task<void> run();
  // From now on this replica decides: the limits are listed again before anything is admitted.
  io::Task<void> lead();

  kube::Store<kube::Object>& store() { return limits_.store(); }
  const kube::Store<kube::Object>& store() const { return limits_.store(); }

 private:
  enum class Served { yes, no, unknown };
  io::Task<Served> discover();
  io::Task<void> follow();
  void read();
  void none();
  void unreadable(const std::string& what, const kube::ApiError& error);
  // The limits are known; so has to be who has places.
  void open();
  void go_on_without(const std::string& what, const kube::ApiError& error);
  bool is_current() const;

  kube::Client& client_;
  io::Problems& problems_;
  io::Loop& loop_;
  LimitsWatchOptions options_;
  limits::Desk* desk_ = nullptr;
  kube::Watched<kube::Object> limits_;
  kube::SteadyRefusal refusals_;
  bool unread_ = true;         // what is known is too old
  bool settled_ = false;       // it has once been known whether there are limits
  bool listing_anew_ = false;  // lead() waits for its list
  bool told_ = true;           // it is known who has places
  bool untold_ = false;        // that alone keeps the desk closed
};

}  // namespace careen::replica
