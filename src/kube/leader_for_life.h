// The lock of operator-sdk's leader-for-life: a ConfigMap whose owner is the leader's Pod. Nobody renews it. It is
// held until that Pod is gone and the garbage collector has removed the ConfigMap with it; the next one to create it
// leads. While we hold it we look every few seconds whether it is still ours, and write no longer than that proves.
//
// Whoever deletes a Pod by force frees such a lock while its process may still run: the ones who wait for it do not
// wait for anybody's time to be over. Where that matters, a renewed lock goes before this one (see Locks).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kube/lock.h"

namespace careen::kube {

struct LeaderForLifeOptions {
  std::string ns;
  std::string name;
  std::string pod;  // ours, in `ns`
  LockTiming timing = {};
  std::string problem = "leader for life";
};

class LeaderForLife final : public Lock {
 public:
  LeaderForLife(io::Loop& loop, Client& client, io::Random& random, io::Problems& problems, io::Log log,
                LeaderForLifeOptions options);
  ~LeaderForLife() override;

 private:
  struct Seen;  // the ConfigMap as the server last showed it

  io::Task<Outcome> attempt(bool look) override;
  io::Steady claimable_at() const override;
  bool may_be_held() const override { return created_; }
  io::Task<bool> hand_back() override;
  void take_event(EventType type, std::string_view object) override;
  io::Duration longest_silence() const override;

  io::Task<std::optional<Trouble>> learn_own_pod();
  io::Task<std::optional<Trouble>> read();
  io::Task<Outcome> create();
  io::Task<void> bury_holder();
  void observe(std::unique_ptr<Seen> seen);
  void vanish();
  bool ours() const;

  std::string pod_uid_;         // empty until it is known
  std::unique_ptr<Seen> seen_;  // null when there is no ConfigMap
  std::string last_version_;    // that we know of, also when it is gone
  io::Steady looked_{};
  // What we find ours without having created it was taken by a process before us in this Pod, whose last write may
  // still be on its way.
  std::optional<io::Steady> inherited_until_;
  bool created_ = false;  // or a request to do so has been sent
};

}  // namespace careen::kube
