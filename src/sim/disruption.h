// The disruption controller of the model: keeps the status of PodDisruptionBudgets (how many pods are healthy, how many
// there should be, how many more may go). It acts a little after a change, so that what a budget says can be stale, and
// costs nothing in namespaces without budgets.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/loop.h"
#include "kube/label_selector.h"
#include "sim/api_server.h"
#include "sim/by_name.h"
#include "sim/selector_index.h"

namespace careen::sim {

class Disruption {
 public:
  Disruption(io::Loop& loop, ApiServer& api);
  Disruption(const Disruption&) = delete;
  Disruption& operator=(const Disruption&) = delete;

  // How long after a change it acts.
  void set_delay(io::Duration delay) { delay_ = delay; }

 private:
  struct Controller {
    std::string api_version, kind, name, uid;
  };
  // What a budget wants to know of a pod.
  struct PodFacts {
    std::map<std::string, std::string, std::less<>> labels{};
    bool ready = false;
    bool deleting = false;
    std::optional<Controller> controller{};
    std::vector<std::string> budgets{};  // names of those that select it
  };
  // The pods of a budget, by name.
  using Selected = std::map<std::string, const PodFacts*>;
  struct Budget {
    kube::LabelSelector selector{};
    Selected pods{};
  };
  struct Place {
    std::map<std::string, Budget> budgets{};
    SelectorIndex selectors{};
    ByName<PodFacts> pods{};
  };
  using Key = std::pair<std::string, std::string>;  // namespace, name
  // How many pods there should be, and how many of them healthy; or why nobody knows.
  struct Expected {
    int64_t pods = 0;
    int64_t healthy = 0;
  };
  template <class T>
  using OrWhy = tl::expected<T, std::string>;

  void note(const Change& change);
  void note_budget(const Change& change);
  void note_pod(const Change& change);
  void note_workload(const Change& change);
  // Who selects whom is known from then on, until the pod's labels or the selector change.
  static void enroll(Place& place, const std::string& name, PodFacts& pod);
  static void strike_off(Place& place, const std::string& name, const PodFacts& pod);
  static void set_selector(Place& place, const std::string& budget, const kube::LabelSelector& selector);
  static void strike_off_budget(Place& place, const std::string& budget);
  void wake_for(const std::string& ns, const PodFacts& pod);
  void wake(const Key& key, io::Duration in);
  void run();
  void sync(const Key& key);
  OrWhy<Expected> expected(const json::value& budget, const Selected& pods) const;
  OrWhy<int64_t> scale_of(const std::string& ns, const Selected& pods) const;
  // The controller that counts, by UID, and its scale; none when it is gone.
  OrWhy<std::optional<std::pair<std::string, int64_t>>> scale_of(const std::string& ns,
                                                                 const Controller& controller) const;
  static bool selects(const kube::LabelSelector& selector, const PodFacts& pod);
  static PodFacts facts_of(const json::value& pod);
  static std::optional<Controller> controller_of(const json::value& object);
  void read_pods(const std::string& ns, Place& place) const;

  io::Loop& loop_;
  ApiServer& api_;
  io::Duration delay_ = io::milliseconds{5};
  io::Alarm next_;
  std::map<std::string, Place> places_;  // namespaces with budgets
  std::map<Key, io::Steady> due_;
  std::set<std::pair<io::Steady, Key>> by_time_;
};

}  // namespace careen::sim
