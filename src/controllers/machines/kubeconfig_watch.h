// How a workload cluster is reached, as the Secret with its kubeconfig says: it is watched by its name, so that a new
// credential, authority or address counts within a moment, and what cannot be used is told.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "controllers/machines/workload.h"
#include "io/problems.h"
#include "kube/credentials.h"
#include "kube/watched.h"

namespace careen::machines {

class KubeconfigWatch {
 public:
  // `parts` are those of one more watch of the management cluster, whose metrics no other Secret of that name shares;
  // `changed` is called when there is a kubeconfig, another one, or none that can be used. Not from a listener.
  KubeconfigWatch(kube::WatchParts parts, kube::AtomPool& atoms, const std::string& ns, const std::string& cluster,
                  std::function<void()> changed);
  KubeconfigWatch(const KubeconfigWatch&) = delete;
  KubeconfigWatch& operator=(const KubeconfigWatch&) = delete;

  // The last one that could be used: credentials that are taken away do not work any more in any case.
  const std::optional<kube::Access>& access() const { return access_; }
  // Why what is there now cannot be used; empty: it can, or it is not known yet.
  const std::string& refusal() const { return refusal_; }

 private:
  io::Task<void> run();
  void take();

  io::Loop& loop_;
  io::Problems& problems_;
  const std::string from_;
  std::function<void()> changed_;
  kube::Watched<KubeconfigSecret> secret_;
  io::Subscription changes_;
  std::optional<kube::Access> access_;
  std::string refusal_;
  io::Signal heard_;
  io::Scope scope_;
};

}  // namespace careen::machines
