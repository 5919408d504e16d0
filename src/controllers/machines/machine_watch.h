// The Machines of a management cluster, in whichever version of their kind it serves: that is found out by asking, and
// again when the watch has lost its server, since a newer Cluster API may have taken a version away.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "controllers/machines/machine.h"
#include "io/sync.h"
#include "kube/cache.h"
#include "kube/watched.h"

namespace careen::machines {

class MachineWatch {
 public:
  // `parts` are those of one more watch of that cluster; they and the pool must outlive it.
  MachineWatch(std::function<kube::WatchParts(std::string_view name)> parts, kube::AtomPool& atoms);
  MachineWatch(const MachineWatch&) = delete;
  MachineWatch& operator=(const MachineWatch&) = delete;

  // Until cancelled.
  io::Task<void> run();
  kube::Store<Machine>& store() { return store_; }
  const kube::Store<Machine>& store() const { return store_; }
  // As it is served; before that is known, in the newest version.
  const kube::Resource& resource() const { return resource_; }
  // The first list is complete.
  io::Gate& synced_gate() { return synced_; }
  // Waits for a list that is taken after this call.
  io::Task<void> refresh();
  // Called when they are listed in another version than before.
  void on_version(std::function<void()> listener) { on_version_ = std::move(listener); }

 private:
  enum class Found { version, nothing, no_answer };
  io::Task<Found> look(std::string& version);
  void follow(std::string version);

  kube::WatchParts parts_;
  std::function<kube::WatchParts(std::string_view)> make_parts_;
  kube::AtomPool& atoms_;
  kube::Resource resource_;
  kube::Store<Machine> store_;
  std::unique_ptr<kube::Watch> watch_;
  io::Gate synced_;
  io::Gate followed_;
  std::function<void()> on_version_;
};

}  // namespace careen::machines
