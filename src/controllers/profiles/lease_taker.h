// Takes and gives back the leases of `stagger` checks. A lease is written only as it was when somebody decided to take
// it, so no two nodes ever take the same one; what the server answers enters the world at once.
#pragma once

#include <string>
#include <vector>

#include "controllers/profiles/lease_grab.h"
#include "io/log.h"
#include "io/task.h"
#include "io/time.h"
#include "kube/error.h"

namespace careen::kube {
class AtomPool;
class Client;
struct Lease;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::profiles {

class LeaseTaker {
 public:
  LeaseTaker(kube::Client& client, kube::Store<kube::Lease>& leases, kube::AtomPool& atoms, io::Log log)
      : client_(client), leases_(leases), atoms_(atoms), log_(std::move(log)) {}

  enum class Outcome {
    taken,
    lost,  // the lease is another than the one that was looked at; the world knows it now
  };
  // Its time begins with the call; `acquired`, when it was decided, is by what it is known to be ours. The error of a
  // server that answers neither.
  io::Task<kube::Result<Outcome>> take(LeaseGrab grab, std::string node, io::Wall acquired);
  // The world knows the lease as it is now, unless the server does not tell.
  io::Task<void> read(std::string key);
  // Makes the lease free for others, if it still is one that was taken at one of these times.
  io::Task<void> give_back(std::string key, std::string node, std::vector<io::Wall> acquired);

 private:
  bool enter_world(const std::string& body);
  io::Task<kube::Result<Outcome>> read_back(LeaseGrab grab, std::string node, io::Wall acquired);

  kube::Client& client_;
  kube::Store<kube::Lease>& leases_;
  kube::AtomPool& atoms_;
  io::Log log_;
};

}  // namespace careen::profiles
