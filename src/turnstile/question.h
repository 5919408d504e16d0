// What a replica is asked when somebody else wants to take a node out of service, and how it passes the question on to
// the replica that leads: as a review, like the one that the API server sent, with the little that the answer needs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kube/admission.h"
#include "kube/json.h"

namespace careen::turnstile {

struct Question {
  enum class Kind {
    eviction,  // of a pod
    leave,     // of the node itself: a cordon, or the end of its machine
  };
  Kind kind = Kind::eviction;
  std::string ns = {}, pod = {};
  std::string node = {};   // of an eviction that is passed on: where the pod is
  std::string user = {};   // who asked the API server
  std::string actor = {};  // who is shown, where the node does not say it
  bool dry_run = false;
  bool passed_on = false;
};

inline constexpr std::string_view kEvictionPath = "/validate-eviction";
inline constexpr std::string_view kCordonPath = "/validate-cordon";
inline constexpr std::string_view kDeletionPath = "/validate-machine-deletion";
std::string_view path_of(Question::Kind kind);

Question eviction_question(const kube::AdmissionRequest& request);
// Of a node that is to be cordoned.
Question cordon_question(const kube::AdmissionRequest& request);

// As it is passed on, and the answer to it; nothing if it is none.
std::string review_of(const Question& question);
std::optional<kube::AdmissionVerdict> verdict_in(std::string_view review);

// Empty where there is none.
std::string text_in(kube::JsonView value);

// 429 as if a disruption budget allowed no disruption, which everybody who evicts tries again. Without the seconds to
// wait: clients would sleep and show nobody the text.
kube::AdmissionVerdict later(std::string text);

}  // namespace careen::turnstile
