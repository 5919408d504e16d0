// What must hold at every step, whatever goes wrong: checked on every change at the API server and on every request
// that careen sends. Knows what careen was told to do, not how it does it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "campaign.h"
#include "drain_watch.h"
#include "event_watch.h"
#include "fact_log.h"
#include "guest.h"
#include "hold_watch.h"
#include "io/virtual_time.h"
#include "kube/lock_kind.h"
#include "kube/steady_refusal.h"
#include "lock_watch.h"
#include "maintenance_watch.h"
#include "message_watch.h"
#include "node_facts.h"
#include "settings.h"
#include "sim/api_server.h"
#include "sim/network.h"
#include "stagger_watch.h"

namespace careen::budget {
struct LedgerRecord;
}

namespace careen::explore {

inline constexpr const char* kLockPath =
    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/maintenance-controller-leader-election.cloud.sap";
inline constexpr const char* kLedgerPath = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/careen-ledger";

inline constexpr std::string_view kNodeLeases = "medik8s-leases";
// Until a leader has noticed that the lock was taken from it by hand.
inline constexpr io::Duration kLockLost = io::seconds{30};

struct Violation {
  io::Duration at{};  // since the beginning
  std::string rule;   // short
  std::string what;
};

class Invariants {
 public:
  Invariants(const io::VirtualTime& time, const sim::ApiServer& api, const Settings& settings)
      : time_(time),
        api_(api),
        settings_(settings),
        stagger_(reporting()),
        messages_(settings, reporting()),
        events_(reporting()),
        holds_(reporting()),
        drains_(settings, holds_, reporting()),
        maintenances_(api, holds_, reporting()) {}
  Invariants(const Invariants&) = delete;
  Invariants& operator=(const Invariants&) = delete;

  // It hosts this controller, too.
  void join(const Guest& guest);

  // What happened to careen, from whoever did it. A process is named after its connection.
  void started(const std::string& process, const std::string& identity, io::Duration skew);
  void configured(const std::string& process, const Settings& settings);
  void lock_tampered() {
    lock_tampered_ = time_.now();
    unseeing(kLockLost);
    repeats_are_fine();
    events_.two_may_tell();
  }
  void ledger_deleted() { ledger_missing_ = true; }
  // For so long careen may act late, or on old facts.
  void disturbed(io::Duration span);
  // The leader does not know that another process has written the ledger.
  bool overtaken_unawares() const { return lock_tampered_ && ledger_writer_ != lock_holder_; }
  // For so long careen may not have heard of what others have done.
  void unseeing(io::Duration span) { unseeing_until_ = std::max(unseeing_until_, time_.now() + span); }
  // Those for whom careen may send this request about a pod; nobody when that cannot be said.
  std::set<std::string> evicts_for(const sim::Sending& sending) const {
    return time_.now() < unseeing_until_ ? std::set<std::string>() : drains_.may_be_for(sending, time_.now());
  }
  // A pause of everything that the process knew of has been lifted.
  void resumed(const std::string& process) { processes_[process].resumed = time_.now(); }
  // Somebody who may annotate the node has put a record there that is none of careen's.
  void forged(const std::string& node) { holds_.forged(node, time_.now()); }
  void outbox_forged(const std::string& node);
  // The process' wall clock is off by so much from now on.
  void clock_stepped(const std::string& process, io::Duration skew);
  void stagger_changed(const std::string& group) { stagger_.reconfigured(group); }
  // A process ends, or cannot know what has arrived: messages may be sent again, and events are not told.
  void repeats_are_fine() {
    messages_.repeats_are_fine();
    events_.losses_are_fine();
  }
  void events_are_lost() { events_.losses_are_fine(); }
  void rights_refused() {
    repeats_are_fine();
    maintenances_.rights_refused();
  }
  void outside_slowed() { outside_slowed_ = true; }
  // Nothing goes wrong from now on: timers have to be kept.
  void calm() { calm_since_ = time_.now(); }

  void sent(const sim::Sending& sending);
  // The request never got to the server.
  void refused(const sim::Sending& sending, int code);
  void served(const sim::Sending& sending, const kube::Response& response);
  void changed(const sim::Change& change);
  void evicted(const Evicted& what);
  void message(const sim::Outside::Message& message) { messages_.arrived(message); }
  // Prometheus has answered, and whether it allows maintenance.
  void query_answered(bool allows, io::Duration latency);
  // Careen has come to rest.
  void check_end() {
    messages_.check_end(nodes_, time_.wall_now());
    maintenances_.check_end();
    check_guests();
  }
  // Careen does not come to rest: who waits for ever says why.
  void check_guests() {
    for (const Joined& one : guests_) one.watch->check_end();
  }
  // And that for so long that repetitions of events have been counted.
  void check_told() const { events_.check_end(); }

  void violate(std::string rule, std::string what);
  const std::vector<Violation>& violations() const { return violations_; }
  // Transitions that took effect.
  int transitions() const { return transitions_; }

 private:
  struct Process {
    std::string identity;
    std::vector<std::pair<io::Steady, io::Duration>> clock;  // since when it was off by how much
    io::Duration skew() const { return clock.back().second; }
    std::vector<std::pair<io::Steady, Settings>> history;  // since when which configuration was in force
    std::map<std::string, io::Steady> renewals;            // when they were sent, by renewTime
    std::optional<io::Steady> renewed;                     // when the last one that took effect was sent
    // The same of the locks of further controllers.
    struct Further {
      std::map<std::string, io::Steady> renewals;
      std::optional<io::Steady> renewed;
    };
    std::map<std::string, Further, std::less<>> further;
    // Since when it has been answered nothing but 403 when it asked for the ledger.
    std::optional<io::Steady> ledger_refused;
    std::optional<io::Steady> ledger_again;   // when that was over
    std::optional<io::Steady> last_observed;  // when its last transition on a value of Prometheus took effect
    io::Steady resumed{};                     // when everything was last paused for it
  };
  // A node that careen has let into maintenance.
  struct Admitted {
    std::string profile;
    std::string process;
    io::Steady decided{};
    io::Wall since{};
    Limit limit;
    std::string zone;
    bool altered = false;  // somebody else has changed what limits look at
  };

  struct Answer {  // of Prometheus
    io::Steady asked{}, answered{};
    bool allows = false;
  };

  Report reporting() {
    return [this](std::string rule, std::string what) { violate(std::move(rule), std::move(what)); };
  }
  Process* process_of(std::string_view client);
  const Settings& settings_at(const Process& process, io::Steady when) const;
  io::Steady decided_at(const Process& process, io::Wall decided) const;
  Limit limit_for(const Plan& plan, const std::string& zone, io::Steady decided) const;
  int largest(std::string_view fact, io::Steady decided) const;
  void note_facts();
  bool has_affinity_pod(std::string_view node) const;
  void check_leadership(const sim::Sending& sending, Process& process);
  void check_drain_sent(const sim::Sending& sending, Process& process);
  void check_drained(const std::string& process, const std::string& node, std::string_view owner);
  void check_further_lock(const sim::Sending& sending, Process& process);
  bool is_a_guests(std::string_view key) const;
  bool is_written_for_guests(std::string_view collection) const;
  void tell_guests(const sim::Change& change);
  Circumstances circumstances(bool by_careen) const;
  void further_lock_changed(const sim::Change& change, Process* process, kube::LockKind kind);
  void check_recorded(const sim::Sending& sending, Process& process);
  void check_admission_sent(const sim::Sending& sending, Process& process, const NodeFacts& node,
                            const std::string& name, const std::string& profile, io::Wall decided);
  void check_lease_recorded(const sim::Sending& sending, Process& process);
  void node_changed(const sim::Change& change);
  void node_written(const sim::Change& change, Process& process, const NodeFacts& before, const NodeFacts& after);
  void check_untouched(const sim::Change& change, const NodeFacts& before, const NodeFacts& after);
  void check_profile(const sim::Change& change, Process& process, const Plan& plan, const NodeFacts& before,
                     const NodeFacts& after);
  void check_move(const sim::Change& change, Process& process, const Plan& plan, const NodeFacts& before,
                  const NodeFacts& after);
  void check_guard(const sim::Change& change, const Plan& plan, const NodeFacts& before, const NodeFacts& after,
                   bool enters, bool leaves);
  void check_surroundings(const sim::Change& change, Process& process, const Plan& plan, io::Steady decided);
  void check_observed(const sim::Change& change, Process& process, io::Steady decided);
  void admit(const sim::Change& change, Process& process, const Plan& plan, const NodeFacts& after);
  void check_limits();
  bool counts_for(const Admitted& asking, const std::string& node, const Admitted& other) const;
  void lease_changed(const sim::Change& change);
  void ledger_changed(const sim::Change& change);
  // As it is in the cluster; null when there is none that can be read.
  std::shared_ptr<const budget::LedgerRecord> ledger() const;

  const io::VirtualTime& time_;
  const sim::ApiServer& api_;
  const Settings& settings_;
  std::map<std::string, Process, std::less<>> processes_;
  std::map<std::string, NodeFacts, std::less<>> nodes_;
  std::map<std::string, Admitted, std::less<>> admitted_;  // by node
  std::string lock_holder_;
  io::Steady lock_taken_{};
  std::string ledger_writer_;
  // A large one takes its time to be read.
  mutable sim::Text ledger_text_;
  mutable std::shared_ptr<const budget::LedgerRecord> ledger_;
  // After minutes of refusals a process does without the ledger, until it hears that it has it again.
  bool may_lack_ledger(const Process& process) const;
  void ledger_answered(Process& process);
  std::optional<io::Steady> lock_tampered_, ledger_back_, calm_since_;
  bool ledger_missing_ = false;  // somebody has deleted it
  io::Steady disturbed_until_{}, unseeing_until_{};
  bool outside_slowed_ = false;
  FactLog facts_;
  StaggerWatch stagger_;
  MessageWatch messages_;
  EventWatch events_;
  HoldWatch holds_;
  DrainWatch drains_;
  MaintenanceWatch maintenances_;
  std::map<std::string, std::string, std::less<>> further_holders_;  // of the locks of further controllers
  struct Joined {
    const Guest& guest;
    std::unique_ptr<GuestWatch> watch;
  };
  std::vector<Joined> guests_;
  std::vector<Answer> answers_;
  std::vector<Violation> violations_;
  int transitions_ = 0;
};

}  // namespace careen::explore
