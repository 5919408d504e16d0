// The rules by which a NodeMaintenance is admitted: its node exists, has no other maintenance, and the control plane
// can spare it. Everything is read live, so that what was created a moment ago counts.
//
// Two creations for one node at the same time would both find nothing. So an admission is remembered until the object
// is there: a second creation for that node waits and looks again. It is refused when the first one's object appears,
// and goes through when it has not appeared for `on_the_way`, because the creation failed after all, say by another
// webhook. The same name may always be tried again: the API server never keeps two objects of one name. A creation
// whose node the control plane could spare if another were not on the way waits in the same manner: anybody who can
// reach the port can have something admitted that never appears.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/nodemaintenance/waiting_room.h"
#include "io/loop.h"
#include "io/sync.h"
#include "io/task.h"
#include "kube/admission.h"
#include "kube/error.h"

namespace careen::kube {
class Client;
struct CallOptions;
struct Resource;
}  // namespace careen::kube

namespace careen::nodemaintenance {

struct WebhookOptions {
  // Not on OpenShift, where the budget of etcd decides: refuse what would leave fewer than a majority of the
  // control-plane nodes.
  bool protect_control_plane = false;
  // How long an object may take to appear after its admission.
  io::Duration on_the_way = io::seconds{5};
  // For one decision. The API server waits 15 s.
  io::Duration patience = io::seconds{12};
  // Admissions that are remembered. Beyond it the oldest is forgotten; what slips through, the controller settles.
  size_t most_on_the_way = 1000;
  // Reads at once: whoever reaches the port can have us read.
  int most_reads = 8;
  // Creations that wait for another's object, in all and from one address. For what comes beyond it, the list decides
  // about its own node, and what is on the way about the majority of the control plane.
  size_t most_waiting = 32;
  size_t most_waiting_for_a_peer = 8;
};

class Webhook {
 public:
  // The client reads nodes, maintenances and, on OpenShift, budgets and pods of etcd, on every replica. It must outlive
  // the webhook, which must outlive its decisions.
  Webhook(kube::Client& client, WebhookOptions options);

  // Takes from the request what it needs before it returns.
  io::Task<kube::AdmissionVerdict> judge(const kube::AdmissionRequest& request);
  size_t on_the_way() const { return on_the_way_.size(); }

 private:
  using Verdict = kube::AdmissionVerdict;
  // A maintenance that exists.
  struct Listed {
    std::string name;
    std::string node;
  };
  // One that was admitted and has not been seen yet.
  struct Admitted {
    std::string name;
    io::Steady since;  // under this name
    io::Steady forget_at;
  };
  // What is to be created.
  struct Subject {
    std::string name;
    std::string node;
    std::string peer;
    bool dry_run = false;
    io::Wall give_up{};
    std::optional<io::Steady> waits_since = {};      // for another's object
    std::unique_ptr<WaitingRoom::Place> place = {};  // null: it does not wait, or there is none for it
    io::Steady looked_at{};                          // when the latest list was asked for
    kube::Json node_object = {};
  };
  // Whether the control plane can spare the node.
  struct Spared {
    Verdict verdict;
    bool may_change = false;  // it is refused only for what is on the way, and may wait for that
  };

  io::Task<Verdict> judge_creation(Subject subject);
  io::Task<kube::Result<std::string>> read_node(std::string name, io::Wall give_up);
  io::Task<Verdict> judge_existing_node(Subject subject);
  static Verdict judge_update(const kube::AdmissionRequest& request);

  io::Task<Spared> judge_control_plane(Subject& subject, const std::vector<Listed>& maintenances);
  io::Task<kube::Result<bool>> on_openshift(io::Wall give_up);
  io::Task<Verdict> judge_etcd(const Subject& subject);
  io::Task<Verdict> judge_etcd_pod(const Subject& subject, std::string selector);
  Spared judge_majority(Subject& subject, const std::vector<kube::Json>& control_plane,
                        const std::vector<Listed>& maintenances);

  io::Task<kube::Result<std::vector<kube::Json>>> list(kube::Resource resource, std::string ns, std::string selectors,
                                                       io::Wall give_up);
  io::Task<kube::Result<std::vector<kube::Json>>> list_control_plane(io::Wall give_up);
  kube::CallOptions reading(io::Wall give_up, std::string query = {}) const;

  void forget_what_is_there(const std::vector<Listed>& maintenances);
  // From the first time that it is asked on, the subject waits.
  bool may_wait(Subject& subject);
  bool has_waited_enough(const Subject& subject) const;
  bool awaits_another(Subject& subject);
  // Whether an admission for this control-plane node counts against the majority.
  bool may_still_come(std::string_view node, const Subject& subject) const;
  Verdict admit(const Subject& subject);
  void remember(const Subject& subject);

  io::Loop& loop_;
  kube::Client& client_;
  WebhookOptions options_;
  io::Semaphore reads_;
  WaitingRoom waiting_;
  std::map<std::string, Admitted, std::less<>> on_the_way_;  // by node
  uint64_t arrivals_ = 0;                                    // admissions whose object has been seen
  std::optional<bool> openshift_;                            // once it is known
};

// A selector as a plain map, in the form of a query: matchLabels, and `In` with one value; null selects everything. The
// error for anything else is that of the original's library.
io::Result<std::string> plain_selector(kube::JsonView selector);

}  // namespace careen::nodemaintenance
