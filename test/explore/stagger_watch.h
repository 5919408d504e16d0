// Watches the leases of stagger checks at the API server: who takes them, from whom, and whether a transition follows.
// From what it checks follows that no more than `parallel` nodes pass within the duration.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "io/time.h"
#include "settings.h"
#include "sim/api_server.h"

namespace careen::explore {

using Report = std::function<void(std::string rule, std::string what)>;

class StaggerWatch {
 public:
  explicit StaggerWatch(Report report) : report_(std::move(report)) {}

  // Whether the lease is one of these.
  static bool concerns(std::string_view lease);
  void changed(const sim::Change& change, bool by_careen, io::Steady now);
  // The node's transition through the check took effect; it was decided then, by its leader's clock.
  void moved(const std::string& node, const Stagger& stagger, io::Wall decided, bool need_not_wait);
  // Numbers of before and after cannot be compared.
  void reconfigured(const std::string& group) { incomparable_.insert(group); }
  // Somebody else has written the node, or another process leads: whether a lease was used can be told no more, and it
  // may be left to run out.
  void edited(const std::string& node, io::Steady now);
  void succeeded();
  // A lease that was taken for a transition is used or given back at once, unless something keeps careen from doing so.
  void check_left(io::Steady now, io::Wall wall, io::Steady calm_since);

 private:
  struct Take {
    std::string lease, node;
    io::Wall acquired{};  // when it was decided to take it
    io::Wall renewed{};   // from when on it is held
    io::Duration duration{};
    io::Steady at{};
    bool spent = false, returned = false, doubtful = false;
  };
  struct Pass {
    io::Wall at{};  // by the clock of its leader, which may be set
    io::Steady taken{};
    Stagger stagger;
    std::string node;
  };
  void changed_by_careen(const sim::Change& change, io::Steady now);
  void check_distance(const std::string& group);

  Report report_;
  std::vector<Take> takes_;
  std::map<std::string, io::Steady> edited_;  // by node: when others did so last
  std::map<std::string, size_t> current_;     // by lease: which take it shows
  std::map<std::string, std::vector<Pass>> passes_;
  std::set<std::string> incomparable_;
};

}  // namespace careen::explore
