// The part of a decision that is about trigger chains: what they change, and how they end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/profiles/decision.h"
#include "controllers/profiles/node_draft.h"

namespace careen::profiles {

struct DecisionDraft;
struct Profile;
struct ProfileData;

enum class ChainEnd {
  done,
  draining,  // the node has to be drained first
  stuck,     // for another reason
};

// Why a chain runs.
struct ChainPurpose {
  std::string failure;   // what it is called when a trigger fails
  bool entered = false;  // the profile has entered its state; otherwise a transition happens
};

struct ChainResult {
  ChainEnd end = ChainEnd::done;
  std::optional<DrainWanted> drain;  // what the chain's last drain wants, whether or not it is done
};

// Each chain runs from its beginning, up to the first trigger that is not done.
ChainResult run_chain(DecisionDraft& draft, const Profile& profile, const ProfileData& data,
                      const std::vector<int>& chain, const ChainPurpose& purpose, Why& why);

// What chains change. Taken before one runs, given back if it fails.
struct ChainChanges {
  explicit ChainChanges(const DecisionDraft& draft);
  void restore(DecisionDraft& draft) const;

  NodeDraft::Changes node;
  HypervisorDraft hypervisor;
};

}  // namespace careen::profiles
