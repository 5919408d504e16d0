// Holds other programs back while a group of a limit has no free place: those that its `governors` name, by their own
// levers (levers.h), on the objects of that group. The replica that leads pulls them and lets them go, at most once a
// minute. Which governors may have left something behind is in the ledger, so a successor takes it away.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/log.h"
#include "io/subscription.h"
#include "io/sync.h"
#include "io/task.h"
#include "io/time.h"
#include "kube/error.h"
#include "kube/resource.h"
#include "turnstile/levers.h"

namespace careen::budget {
class Ledger;
}

namespace careen::io {
class Problems;
}

namespace careen::kube {
class Client;
struct Node;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::limits {
class Desk;
struct Limit;
}  // namespace careen::limits

namespace careen::turnstile {

struct GovernorsParts {
  io::Loop& loop;
  kube::Client& client;  // writes only while this replica leads
  const kube::Store<kube::Node>& nodes;
  limits::Desk& desk;
  budget::Ledger& ledger;
  io::Problems& problems;
  io::Log log;
};

class Governors {
 public:
  static constexpr io::Duration kPace = io::minutes{1};

  explicit Governors(GovernorsParts parts) : p_(std::move(parts)), changed_(p_.loop) {}
  ~Governors();
  Governors(const Governors&) = delete;
  Governors& operator=(const Governors&) = delete;

  // While this replica leads; until cancelled.
  io::Task<void> run();

 private:
  using Groups = std::set<std::string>;  // by name

  bool concerned() const;
  io::Task<void> round();
  std::set<Governor> on_node(const kube::Node& node, const Groups& full) const;
  io::Task<void> govern_nodes(const Groups& full);
  io::Task<void> govern_objects(Governor governor, kube::Resource resource, Governed what,
                                std::function<bool(kube::JsonView)> fits);
  io::Task<void> govern_pools(bool hold);
  // Each object of a kind, with the patch that it needs.
  using Change = std::function<std::optional<kube::Json>(kube::JsonView)>;
  io::Task<bool> change_all(Governor governor, kube::Resource resource, Change change);
  io::Task<bool> patch(const kube::Resource& resource, std::string ns, std::string name, kube::Json change);
  io::Task<bool> mark(Governor governor);
  void unmark(Governor governor);
  bool marked(Governor governor) const;
  bool named(Governor governor) const;
  bool looks_after(Governor governor) const;
  void trouble(Governor governor, const std::string& what);

  GovernorsParts p_;
  io::Signal changed_;
  io::Subscription changes_;
  // What they hold was not looked at yet since this replica leads.
  std::set<Governor> unlooked_{std::begin(kAllGovernors), std::end(kAllGovernors)};
  std::set<Governor> failed_;  // in this round
  Groups full_;                // as of the last round
};

}  // namespace careen::turnstile
