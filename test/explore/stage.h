// The stage of one case: model cluster, careen processes and people, and the faults that perturbations put on them.
// Processes that die or end are started again, as the kubelet does.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agenda.h"
#include "draw.h"
#include "invariants.h"
#include "io/virtual_time.h"
#include "replica/model_process.h"
#include "run.h"
#include "sim/cluster.h"

namespace careen::explore {

class Stage {
 public:
  Stage(const Case& one, bool timeline);
  ~Stage();

  // Runs until that time since the beginning, or until something is violated.
  void run_until(io::Duration when);
  bool violated() const { return !invariants.violations().empty(); }
  io::Duration now() const { return time.now().time_since_epoch(); }
  // No fault lasts longer than this; what has not struck is off from `calm_after` on.
  io::Duration faults_end() const { return faults_end_; }
  void disarm() { armed_ = false; }
  io::Duration last_write() const { return last_write_; }  // of a node, the ledger or a lease, and of messages
  std::map<std::string, std::string> end_states() const;
  // Everybody runs, somebody leads, and no place is kept for anybody.
  void check_settled();
  void check_problems();
  // Others have not ended yet what they have begun, or will begin.
  bool busy() const;
  double swept_late();

  void note(std::string_view line);
  std::string timeline_text;
  Coverage coverage;
  std::map<Target, int> writes;

  io::VirtualTime time;

 private:
  struct Replica {
    std::string name;  // changes with every start
    int starts = 0;
    io::Duration skew{};
    std::unique_ptr<replica::ModelProcess> process;
    Settings settings;  // as written to its file
    bool dying = false;
    bool suspended = false;
    std::optional<io::Steady> isolated_until;
    std::optional<io::Steady> leads_since;  // when it took the lock
  };
  struct Hit {  // where a perturbation strikes
    Replica* replica = nullptr;
    const sim::Sending* sending = nullptr;
    sim::Treatment* treatment = nullptr;
    std::string place;
  };

  std::unique_ptr<io::Loop> server_ = nullptr;

 public:
  std::unique_ptr<sim::Cluster> cluster;
  Invariants invariants;

 private:
  sim::Treatment treat(const sim::Sending& sending);
  void served(const sim::Sending& sending, const kube::Response& response);
  void observe(const sim::Change& change);
  bool guest_with(bool (Guest::*fact)(std::string_view) const, std::string_view name) const;
  void check_progress();
  void restart_ended();
  void watch_queries();
  Replica* sender(std::string_view client);
  Replica* leader();

  void strike(const Perturbation& what, Hit hit);
  void strike_write(const Perturbation& what, sim::Treatment& treatment);
  void strike_process(const Perturbation& what, const Hit& hit);
  void strike_node(const Perturbation& what, const std::string& node);
  void strike_config(const Perturbation& what);
  void forge(const Perturbation& what);
  void step_clock(const Perturbation& what, Replica& replica);
  void strike_server(const Perturbation& what);
  void strike_lease(const Perturbation& what);
  void strike_outside(const Perturbation& what);
  void set_condition(const std::string& node, const char* status);
  void make_pod(const std::string& node);
  void move_pod(const std::string& node);
  void usurp(const Perturbation& what, const Hit& hit);
  void blind(const Replica& replica, io::Duration span);
  void lasts(io::Duration span);
  void later(io::Duration span, std::function<void()> action);

  void start(Replica& replica);
  void crash(Replica& replica, io::Duration restart_after);
  void write_config(Replica& replica);
  void reload(uint64_t choice);
  void edit(const Edit& edit);
  void set(const std::string& node, std::string_view map, std::string_view key, kube::Json value);
  void make(const std::string& node);
  void append(const std::string& node, const char* parent, const char* list, kube::Json element);

  Hands hands();

  // The webhook (stage_webhook.cc).
  struct PassedOn;
  void serve_webhooks(Replica& replica);
  bool is_reachable(const Replica& replica) const;
  io::Task<io::Result<std::string>> ask_leader(Replica& asking, std::string name, std::string path, std::string review);
  void evict(Hands::Eviction eviction);
  void evicted(const Hands::Eviction& eviction, Passage passage);
  void lose_webhook(const Perturbation& what);

  kube::Json conditions_with(const char* health) const;

  // Drains (stage_drains.cc).
  void ask(std::string method, std::string path, const kube::Json& body);
  void set_up_drains();
  void make_workload(const Workload& workload);
  void make_bare_pod(const std::string& name, const std::string& node, kube::Json pod);
  // The workload whose pod a webhook moves when its eviction is asked for; null when there is none.
  const Workload* moved_by(const sim::Sending& sending) const;
  void tell_mover(const sim::Sending& sending, const Workload& workload);
  void make_machine(const std::string& node);
  void maintain(const std::string& name, const std::string& node);
  void release(const std::string& name);
  void set_cordon(const std::string& node, bool cordoned);
  void set_budget(const std::string& name, int max_unavailable);
  void strike_drain(const Perturbation& what, const Hit& hit);
  void strike_drained(const Perturbation& what, const std::string& node, const std::string& maintenance);
  void edit_maintenance(const Perturbation& what, const std::string& name);
  void renew_maintenance(const std::string& name);
  void make_again(const std::string& name, const std::string& uid, const std::string& node);

  // Faults that stick to some requests (strike_sticky.cc).
  struct Sticky {
    std::function<bool(const sim::Sending&)> concerns;
    kube::Response answer;
  };
  void strike_sticky(const Perturbation& what);
  void stick(std::function<bool(const sim::Sending&)> concerns, kube::Response answer, io::Duration span);
  std::optional<kube::Response> stuck(const sim::Sending& sending) const;
  static kube::Response broken_webhook();

  // Pauses (stage_pause.cc).
  void strike_pause(const Perturbation& what);
  void write_pauses();
  void tell_of_resumption();
  void check_paused(const sim::Sending& sending, const Replica& sender);
  void check_paused_eviction(const sim::Sending& sending, const Replica& sender);
  bool heeds_pause_of(const std::string& profile, const Replica& sender) const;
  // What a process knows may be as old as now until the span is over, and it has had the time to ask again.
  void see_nothing_new(io::Duration span);
  void lacks_rights(io::Duration span);
  std::optional<io::Duration> paused_for(const std::string& profile, const Replica& sender) const;

  const Case& case_;
  bool timeline_;
  Draw draw_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::vector<std::unique_ptr<GuestActors>> actors_;
  Agenda agenda_;
  std::map<std::string, Labels> wanted_;           // by people, on their nodes
  Settings settings_;                              // as people want it
  std::map<std::string, std::string> maintained_;  // NodeMaintenance objects that people want, and their nodes
  std::map<std::string, int> allowed_;             // by their budgets, of workloads
  std::set<std::string> moving_;                   // pods that a webhook is about to move
  int closed_ = 0, broken_ = 0, muted_ = 0;
  int webhook_lost_ = 0;                            // the API server reaches no replica
  int parted_ = 0;                                  // replicas do not reach each other
  io::Steady together_{};                           // until they do again, and have noticed
  std::map<std::string, int> paused_;               // by profile, or "" for everything: how many want it so
  std::map<std::string, io::Steady> paused_since_;  // the same: since when the cluster has it
  struct Span {
    io::Steady begun{}, until{};
  };
  bool is_in(const std::vector<Span>& spans) const;
  std::vector<Span> unseeing_;   // when processes could not hear of anything new
  std::vector<Span> rightless_;  // when they may do without what they are refused
  std::string holder_;           // of the lock: the replica that last wrote it
  std::list<Sticky> sticky_;
  bool events_forbidden_ = false;  // at some time
  bool armed_ = true;
  std::map<Target, int> sent_, served_;
  std::vector<bool> struck_;
  io::Duration stale_{};
  int stale_windows_ = 0;
  std::optional<int> outage_, event_trouble_;
  io::Duration faults_end_{};
  io::Duration last_write_{};
  io::Steady last_step_{};
  int queries_ = 0;
  int steps_ = 0;
};

}  // namespace careen::explore
