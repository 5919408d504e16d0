// What people do with Machines: they ask for maintenances and carry them out once they are approved, delete Machines,
// take them out of careen's care and give them back, and give up clusters that are dead.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "draw.h"
#include "machines_facts.h"
#include "machines_plan.h"
#include "machines_profiles.h"
#include "sim/api_server.h"
#include "sim/machine_world.h"

namespace careen::explore {

class MachinesPeople {
 public:
  using Later = MachinesProfiles::Later;
  MachinesPeople(const MachinesPlan& plan, sim::ApiServer& management, sim::MachineWorld& world,
                 MachinesProfiles& profiles, Later later, uint64_t seed);

  // All their steps are still to come.
  void begin();
  // Of a Machine.
  void changed(const sim::Change& change);
  bool have_plans() const { return steps_ > 0; }
  bool busy() const { return have_plans() || !errands_.empty(); }

  // Earlier than they meant to.
  void withdraw(const std::string& slot);
  void disable(const std::string& slot, io::Duration span);
  // Whatever holds it, and without its Node. `scaled_down`: no other takes its place.
  void erase(const std::string& slot, bool scaled_down);
  void leave_node(const std::string& slot, io::Duration span);
  void fail(const std::string& slot, io::Duration span);
  // All Machines of a cluster that is dead go, one way or the other; then `done` is called.
  void give_up(int cluster, std::function<void()> done);

 private:
  struct Errand {
    std::string machine;
    io::Duration works_for{}, patience{};
    int repeats = 0;  // how often more they ask for it when it is over
    bool begun = false, down = false;
  };
  void plan(io::Duration after, std::function<void()> act);
  void take(const SlotPlan& slot, const MachineStep& step);
  void request(const SlotPlan& slot, Errand errand);
  void begin_work(const std::string& slot, const std::string& machine);
  void end_work(const std::string& slot, const std::string& machine);
  void skip(const SlotPlan& slot, io::Duration span);
  void set_enabled(const std::string& slot, const std::string& value);
  void set_down(const std::string& slot, int more);
  void remove(const SlotPlan& slot);
  void annotate(const std::string& path, const char* value);
  void set_asked(const SlotPlan& slot, const std::string& machine, const char* value);
  void ask(const char* method, const std::string& path, const kube::Json& body);
  std::string path_of(const SlotPlan& slot, const std::string& machine) const;

  const MachinesPlan& plan_;
  sim::ApiServer& management_;
  sim::MachineWorld& world_;
  MachinesProfiles& profiles_;
  Later later_;
  Draw draw_;
  int steps_ = 0;                          // still to come, or to be taken back
  std::map<std::string, Errand> errands_;  // by slot
  std::map<std::string, int> down_;        // by slot: how many want its Node so
  std::set<int> given_up_;                 // clusters
};

}  // namespace careen::explore
