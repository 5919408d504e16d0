// The stage of a campaign of Machines: a model management cluster, the workload clusters behind it, those who live
// there, careen's processes between them, and the faults that perturbations put on all of it. Processes that die or end
// are started again, as the kubelet does.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agenda.h"
#include "draw.h"
#include "io/virtual_time.h"
#include "lock_watch.h"
#include "machines_people.h"
#include "machines_plan.h"
#include "machines_profiles.h"
#include "machines_secret.h"
#include "machines_server.h"
#include "machines_watch.h"
#include "replica/model_process.h"
#include "run.h"
#include "sim/machine_world.h"

namespace careen::explore {

class MachinesStage {
 public:
  MachinesStage(const Case& one, bool timeline);
  ~MachinesStage();

  // Runs until that time since the beginning, or until something is violated.
  void run_until(io::Duration when);
  bool violated() const { return !violations_.empty(); }
  void violate(std::string rule, std::string what);
  io::Duration now() const { return time_.now().time_since_epoch(); }
  // No fault lasts longer than this; what has not struck is off once disarmed.
  io::Duration faults_end() const { return faults_end_; }
  void disarm() { armed_ = false; }
  io::Duration last_write() const { return last_write_; }  // but of the lock, and of events
  // People and Cluster API have not ended yet what they have begun, or will begin.
  bool busy() const;
  bool people_have_plans() const;
  std::vector<MachinesWatch::Unfinished> unfinished() const { return watch_.unfinished(); }
  // Everybody runs, somebody leads, and nobody has a problem.
  void check_settled();

  void note(std::string_view line);
  Outcome outcome();

 private:
  struct Process {
    std::string name;  // changes with every start
    int number = 0, starts = 0;
    io::Duration skew{};
    std::unique_ptr<replica::ModelProcess> careen;
    bool dying = false, suspended = false, stopped = false;
  };
  struct Hit {  // where a perturbation strikes
    Process* process = nullptr;
    const MachinesServer* server = nullptr;
    const sim::Sending* sending = nullptr;
    sim::Treatment* treatment = nullptr;
    std::string place;
  };
  struct Cluster {
    Cluster(const ClusterPlan& what, io::Loop& loop, uint64_t seed, MachinesServer& management,
            MachinesServer::Treat treat);
    const ClusterPlan& plan;
    MachinesServer server;
    MachinesSecret secret;
  };

  static Target target_of(const sim::Sending& sending);
  void set_up_clusters();
  void set_up_slots();
  void add_stranger(const SlotPlan& plan, const ClusterPlan& cluster);
  void set_up_faults();
  sim::Treatment treat(MachinesServer& server, const sim::Sending& sending);
  void served(const MachinesServer& server, const sim::Sending& sending);
  void observe(const MachinesServer& server, const sim::Change& change);
  void note_change(const MachinesServer& server, const sim::Change& change);
  void die(int number);
  void check_progress();

  void start(Process& process);
  void crash(Process& process, io::Duration restart_after);
  bool has_ended() const;
  void see_to_ends();
  Process* sender(std::string_view client);
  Process& leader();
  std::vector<MachinesServer*> servers();

  // Faults (machines_strike.cc).
  void strike(const Perturbation& what, const Hit& hit);
  void strike_due(Trigger::Kind kind, const MachinesServer& server, Process& process, const sim::Sending& sending,
                  sim::Treatment* treatment);
  void strike_process(const Perturbation& what, const Hit& hit);
  void strike_lock(const Perturbation& what, const Hit& hit);
  void strike_later(const Perturbation& what, Process& process, const std::string& slot);
  void strike_server(const Perturbation& what, const std::string& slot);
  void strike_secret(const Perturbation& what, const std::string& slot);
  void strike_people(const Perturbation& what, const std::string& slot);
  void edit_others(const Perturbation& what, const std::string& slot);
  void renew_unheard(const Perturbation& what, const std::string& slot);
  void step_clock(const Perturbation& what, Process& process);
  void pause(io::Duration span);
  void trouble(MachinesServer& server, MachinesServer::Trouble what, io::Duration span);
  void blind(const Process& process, io::Duration span, uint64_t choice);
  void stands_still(io::Duration span);
  void lasts(io::Duration span) { faults_end_ = std::max(faults_end_, now() + span); }
  Cluster& cluster_of(const std::string& slot);
  // The slot that the request is about, or any.
  std::string slot_of(const Hit& hit, uint64_t choice) const;

  const Case& case_;
  const MachinesPlan& plan_;
  const bool timeline_;
  Draw draw_;
  io::VirtualTime time_;
  Agenda agenda_;
  std::unique_ptr<io::Loop> loop_;  // of everything but careen
  MachinesWatch watch_;
  LockWatch lock_;
  MachinesServer management_;
  std::vector<std::unique_ptr<Cluster>> clusters_;
  std::unique_ptr<sim::MachineWorld> world_;
  std::unique_ptr<MachinesProfiles> profiles_;
  std::unique_ptr<MachinesPeople> people_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<Violation> violations_;
  std::string timeline_text_;
  Coverage coverage_;
  std::map<Target, int> sent_, served_;
  std::vector<bool> struck_;
  bool armed_ = true;
  int paused_ = 0;
  int deaths_ = 0;  // of clusters, still to come
  io::Duration faults_end_{}, last_write_{};
  io::Steady last_step_{};
  int steps_ = 0;
};

}  // namespace careen::explore
