// Whether what was decided may still be carried out: under the same configuration and pauses, of the same version of
// the node, and in time. All writes that carry decisions out go through here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "budget/pause_guard.h"

namespace careen::kube {
class Client;
struct Node;
struct Resource;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::profiles {

struct Config;
struct Decision;

// What a decision rests on besides the node: with another configuration, or other pauses, it is made again.
struct Basis {
  std::shared_ptr<const Config> config;
  uint64_t pauses = 0;
  bool operator==(const Basis&) const = default;
};

class DecisionGuard {
 public:
  // Without pauses nothing is ever paused.
  DecisionGuard(io::Loop& loop, kube::Client& client, const kube::Store<kube::Node>& nodes, budget::Pauses* pauses,
                const std::shared_ptr<const Config>& config)
      : loop_(loop), client_(client), nodes_(nodes), config_(config), pause_guard_(loop, pauses) {}

  Basis basis() const { return {config_, pause_guard_.changes()}; }
  bool other_pauses(const Basis& on) const { return on.pauses != pause_guard_.changes(); }
  bool outdated(const std::string& node, const Decision& decision, const Basis& on) const;
  // A write that carries the decision out: every attempt of it comes in time, and under the pauses of the decision.
  budget::PauseGuard::Write write(kube::Resource resource, std::string name, std::string patch,
                                  const Decision& decision, const Basis& on);

 private:
  io::Loop& loop_;
  kube::Client& client_;
  const kube::Store<kube::Node>& nodes_;
  const std::shared_ptr<const Config>& config_;
  budget::PauseGuard pause_guard_;
};

}  // namespace careen::profiles
