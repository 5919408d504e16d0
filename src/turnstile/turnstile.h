// Where everybody who is not careen passes when he takes nodes out of service, one after the other: it answers the API
// server about evictions (mode Queue) and cordons (mode Enforce). What concerns nobody else is answered from this
// replica's own caches; whether a node may go is known to the replica that leads alone, which counts and keeps the
// line.
//
// Nobody is let through on a guess: who cannot be asked has not said yes. Only when nobody has decided for a minute
// everybody passes (silence.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/log.h"
#include "io/sync.h"
#include "io/task.h"
#include "io/time.h"
#include "kube/admission.h"
#include "limits/facts.h"
#include "limits/foreign_places.h"
#include "turnstile/question.h"
#include "turnstile/reach.h"
#include "turnstile/silence.h"

namespace careen::io {
class Counter;
class Metrics;
class Problems;
}  // namespace careen::io

namespace careen::kube {
class Client;
class EventRecorder;
class NodeDecoder;
class PodStore;
struct Node;
struct Resource;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::turnstile {

// How a node was seen last.
struct Sight {
  bool exists = false;
  std::string uid = {};
  uint64_t version = 0;
  std::vector<limits::Fact> facts = {};
  std::string break_glass = {};  // why somebody takes it out of service in any case
};

struct TurnstileParts {
  io::Loop& loop;
  kube::Client& reader;
  const kube::NodeDecoder& decoder;
  const kube::Store<kube::Node>& nodes;
  const kube::PodStore& pods;
  const limits::Desk& desk;
  limits::ForeignPlaces& places;
  kube::EventRecorder& events;
  io::Metrics& metrics;
  io::Problems& problems;
  io::Log log = {};
  std::string break_glass_group = {};  // whose members are never refused; empty: none
  std::function<bool()> decides;       // this replica leads, and knows enough
  std::function<bool()> knows_nodes;   // the first list of nodes is complete
  std::function<bool()> knows_pods;    // the same of pods
  AskLeader ask_leader;
};

class Turnstile {
 public:
  explicit Turnstile(TurnstileParts parts);
  Turnstile(const Turnstile&) = delete;
  Turnstile& operator=(const Turnstile&) = delete;

  // Until cancelled.
  io::Task<void> run();

  io::Task<kube::AdmissionVerdict> judge_eviction(const kube::AdmissionRequest& request);
  io::Task<kube::AdmissionVerdict> judge_cordon(const kube::AdmissionRequest& request);
  // Of a Machine or a NodeClaim: its node goes with it.
  io::Task<kube::AdmissionVerdict> judge_deletion(const kube::AdmissionRequest& request);

  // With a reason as its value: whoever writes it goes before all limits, and an event says so.
  static constexpr std::string_view kBreakGlass = "careen.dev/break-glass";

  // Of the whole answer, of which the API server waits a second.
  static constexpr io::Duration kPatience = io::milliseconds{750};
  static constexpr io::Duration kPatienceWithLeader = io::milliseconds{500};
  static constexpr io::Duration kOneLook = io::seconds{1};

 private:
  using Verdict = kube::AdmissionVerdict;
  struct Look;

  io::Task<Verdict> judge(Question question, std::string reason);
  io::Task<Verdict> judge_machine(std::string group_version, bool claim, std::string ns, std::string owner,
                                  std::string cluster, Question question);
  // The group in which nobody is refused, if the user is in it.
  std::string reason_of(const kube::AdmissionRequest& request) const;
  Verdict break_glass(const Question& question, const std::string& reason);
  bool enforced(std::string_view node) const;
  // Of which limits a node is. One that this replica has not heard of yet is of none as far as it knows.
  bool knows_limits() const;
  io::Task<Verdict> about_eviction(Question question, std::string reason);
  io::Task<Verdict> about_node(Question question, std::string reason);
  io::Task<Verdict> decide(Question question, Sight sight);
  io::Task<Verdict> pass_on(Question question);
  io::Task<bool> somebody_decides();
  io::Task<void> learn_own_user();
  // Whether there is such an object and it stays, with as many replicas as it has; nothing if that is not known.
  io::Task<std::optional<bool>> stays(kube::Resource resource, std::string ns, std::string name);
  void count(std::string_view answer);
  Verdict allow(std::string_view answer);
  Verdict wait(std::string_view answer, std::string text);
  Sight cached(const std::string& node) const;
  // Read within the last second; nothing if it cannot be read.
  io::Task<std::optional<Sight>> look_at(std::string node);
  io::Task<void> read(std::string node, std::shared_ptr<Look> look);

  TurnstileParts p_;
  std::string own_user_;
  std::map<std::string, io::Counter*, std::less<>> answers_;
  std::map<std::string, std::shared_ptr<Look>, std::less<>> looks_;
  Silence silence_;
  io::Scope reads_;
};

}  // namespace careen::turnstile
