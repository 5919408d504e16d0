// The part of a decision that is about transitions which take more than one write: which of the node's have begun, what
// they and others take, and which drains run for them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "budget/admission.h"
#include "controllers/profiles/decision.h"

namespace careen::profiles {

enum class ChainEnd;
struct DecisionDraft;
struct Profile;
struct ProfileData;
struct TransitionChoice;

class BegunTransitions {
 public:
  // With those that have begun according to the node.
  explicit BegunTransitions(DecisionDraft& draft);

  // A node has one place: only one of its profiles is on its way by a transition that takes longer.
  bool waits_for_other(const Profile& profile, Why& why);
  // The ledger has to record the admission, and its record is full.
  bool waits_for_room(const ProfileData& data, Why& why);
  // The transition leads into maintenance, and a MaintenanceLimit that is about the node has no place for it.
  bool waits_for_limit(const Profile& profile, const TransitionChoice& choice, Why& why);

  // The transition needs more than one write: it keeps its place while the node is drained. False when it cannot begin
  // now.
  bool begin(const Profile& profile, const TransitionChoice& choice, DrainWanted drain, Why& why);
  // The move happens with the patch. It takes a place, or leases.
  void admit(const Profile& profile, State to);

  // The same for a state's own chain, which takes no place. It ended like this.
  void drain_on_entry(const Profile& profile, DrainWanted drain, ChainEnd end);
  // A transition that may have begun stays as it is, with its drain.
  void leave(const Profile& profile);
  // It keeps what it has taken, but nothing is evicted for it now.
  void keep(const Profile& profile);
  // The same for whatever has begun: nothing was decided.
  void keep_all();

  // Withdraws what has begun and was neither begun again nor kept, and says which drains run.
  void finish();

 private:
  budget::Admission admission_of(const Profile& profile) const;
  void add(budget::Admission& admission, State to) const;
  void withdraw();
  void start_awaited_drains();
  void end_released_drains();

  DecisionDraft& d_;
  std::set<std::string> begun_;       // owners of cordons that stand for a transition that has begun
  std::set<std::string> kept_;        // those of them that stay
  std::vector<DrainWanted> awaited_;  // drains of chains that are not done; their cordon is acknowledged
};

}  // namespace careen::profiles
