// Leader election on a record that its holder renews, compatible with client-go: two programs that use the same lock
// never lead at once. The record stands in a Lease, or in a ConfigMap where an older program keeps it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/lock.h"
#include "kube/lock_object.h"

namespace careen::kube {

struct ElectionOptions {
  std::string ns;
  std::string name;
  std::string identity;  // <hostname>_<uuid>: nobody else's, ever
  LockKind kind = LockKind::lease;
  LockTiming timing = {};
  // Under which a lock that cannot be read or written is reported; of its own for each further lock.
  std::string problem = "leader election";
};

class Election final : public Lock {
 public:
  Election(io::Loop& loop, Client& client, io::Random& random, io::Problems& problems, io::Log log,
           ElectionOptions options);
  ~Election() override;

 private:
  struct Record;  // the object as the server last showed it
  // A write of ours whose fate is open: its answer has not come, or said nothing. The record tells by renewTime
  // whether it took effect.
  struct Attempt {
    std::string renew_time;
    std::string base_version;
    io::Steady sent;
  };

  io::Task<Outcome> attempt(bool look) override;
  io::Steady claimable_at() const override;
  bool may_be_held() const override { return !open_attempts_.empty(); }
  io::Task<bool> hand_back() override;
  void take_event(EventType type, std::string_view object) override;
  io::Duration longest_silence() const override;

  io::Task<std::optional<Trouble>> read();
  io::Task<Outcome> claim();
  io::Result<std::unique_ptr<Record>> parse(std::string_view body) const;
  bool older_than_known(const Record& record) const;
  void observe(std::unique_ptr<Record> record);
  void vanish();
  std::string stamp();

  const LockObject& object_;
  std::unique_ptr<Record> record_;  // null when there is no object
  io::Steady observed_{};           // since when we have seen this record, on our clock
  io::Steady guarded_until_{};      // an object that vanished protects its holder as long as if it had stayed
  std::vector<Attempt> open_attempts_;
  io::Wall last_stamp_{};
};

}  // namespace careen::kube
