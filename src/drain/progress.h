// How far a drain is, pod by pod, with what holds each of them: the same for status, events, terminal and dashboard.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/time.h"

namespace careen::drain {

enum class Stage {
  waiting,      // for its turn: an earlier tier, or another eviction under the same budget
  evicting,     // the request is on its way
  blocked,      // by a budget, by several of them, or by what the server answered; tried again when that changes
  terminating,  // evicted or deleted by anybody; not gone yet
  completing,   // left to end by itself
  failed,       // the last request failed; tried again later
};
std::string_view name_of(Stage stage);

struct PodProgress {
  std::string ns, name, uid;
  Stage stage = Stage::waiting;
  io::Wall since{};             // in this stage
  std::string reason;           // for people, complete: waiting for budget shop/db, which allows 0 of 3 disruptions
  std::string budget;           // ns/name of the budget that blocks it, of several with commas; empty when none does
  std::string cause;            // the server's refusal as it came: the Status' message
  std::string finalizers = {};  // separated by commas, while it terminates
};

struct Progress {
  enum class Phase {
    draining,
    refused,  // a filter forbids it; nothing is evicted
    drained,  // and a list that was taken after the cordon shows it
    failed,   // its time-out has passed, the node is not there any more, or what is left cannot be evicted
  };
  Phase phase = Phase::draining;
  std::string node_uid;
  io::Wall begun{};
  io::Duration paused{};  // of the time since then; no limit runs meanwhile
  std::optional<io::Wall> drained_at;
  int total_pods = 0;               // all that were bound to the node when it began
  int pods_to_evict = 0;            // those of them that had to go
  std::vector<PodProgress> pods;    // pending, ordered by namespace and name
  std::vector<std::string> errors;  // refusals of the filters; of a failure, what kubectl would say
  std::string warnings;
  // Pods that say so themselves, or of which a rule says so: left alone: MachineDrainRule fleet/db says Skip: shop/db-0
  std::vector<std::string> left_alone;

  bool blocked() const;
  // 0 to 100; 100 only when drained.
  int percent() const;
};

}  // namespace careen::drain
