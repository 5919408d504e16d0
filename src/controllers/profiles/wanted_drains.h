// Drains of the profiles: the engine runs what the latest decision of a node wants, and no other drain of a profile,
// and a node is decided again when a drain of it has come further.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "controllers/profiles/drains.h"
#include "drain/key.h"
#include "drain/options.h"
#include "drain/progress.h"
#include "io/subscription.h"

namespace careen::drain {
class Engine;
}

namespace careen::kube {
class WorkQueue;
}

namespace careen::profiles {

class NodeReports;
struct Decision;
struct DrainWanted;

class WantedDrains final : public Drains {
 public:
  // Without an engine nothing is drained, as in a rehearsal.
  WantedDrains(drain::Engine* engine, kube::WorkQueue& queue, NodeReports& reports);

  void follow(const std::string& node, const Decision& decision);
  // The decision wants a drain that does not run.
  bool lacks(const std::string& node, const Decision& decision) const;
  const drain::Progress* progress(const kube::Node& node, const std::string& owner) const override;

  size_t nodes_if(const std::function<bool(const std::string&)>& fits) const;

 private:
  struct Draining {
    std::string node_uid;
    drain::Options options;
    std::optional<drain::Progress::Phase> phase;  // that decisions know of
    bool overdue_told = false;
  };
  void begin(const std::string& node, const std::string& uid, const DrainWanted& wanted);
  void changed(const drain::Key& key);

  drain::Engine* const engine_;
  kube::WorkQueue& queue_;
  NodeReports& reports_;
  std::map<std::string, std::map<std::string, Draining>, std::less<>> draining_;  // by node and owner
  io::Subscription changes_;
};

}  // namespace careen::profiles
