#include "view/story.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/profiles/config.h"
#include "controllers/profiles/decision.h"
#include "controllers/profiles/expression_why.h"
#include "controllers/profiles/hosted.h"
#include "controllers/profiles/info.h"
#include "controllers/slot/controller.h"
#include "controllers/slot/kind.h"
#include "drain/engine.h"
#include "drain/holds.h"
#include "kube/cache.h"
#include "kube/json_writer.h"
#include "kube/node.h"
#include "replica/controllers.h"
#include "replica/replica.h"
#include "view/chronicle.h"
#include "view/fleet.h"
#include "view/info_source.h"
#include "view/limit_groups.h"
#include "view/pauses.h"
#include "view/row.h"
#include "view/timeline.h"
#include "view/waiting.h"
#include "view/work.h"

namespace careen::view {

namespace {

using kube::append_json;
using kube::Members;
using profiles::ProfileOutcome;
using profiles::TransitionOutcome;
using Verdict = Why::Verdict;

Verdict verdict_of(const TransitionOutcome& transition) {
  if (!transition.error.empty()) return Verdict::error;
  return transition.chain_passed ? Verdict::yes : Verdict::no;
}

std::string triggers_text(const profiles::Config& config, const profiles::Transition& transition) {
  std::vector<std::string_view> names;
  for (const int index : transition.trigger) names.push_back(config.triggers[static_cast<size_t>(index)].name);
  return fmt::format("{}", fmt::join(names, " && "));
}

void append_transition(std::string& out, const TransitionOutcome& outcome, const profiles::Transition& transition,
                       const profiles::Config& config, std::string_view held_up) {
  Members members(out, '{', '}');
  append_json(members.next("target"), profiles::name_of(outcome.target));
  append_json(members.next("passed"), outcome.passed && held_up.empty());
  append_json(members.next("expression"), outcome.expression);
  if (!outcome.error.empty()) append_json(members.next("error"), outcome.error);
  const std::string_view blocked = outcome.blocked.empty() ? held_up : std::string_view(outcome.blocked);
  if (!blocked.empty()) append_json(members.next("blocked"), blocked);
  const Why why{verdict_of(outcome), outcome.expression, explain_expression(transition.check, outcome.checks)};
  append_why(members.next("why"), why);
  append_json(members.next("triggers"), triggers_text(config, transition));
}

void append_transitions(std::string& out, const ProfileOutcome& outcome, const profiles::Config& config) {
  const auto transitions = transitions_of(outcome, config.find_profile(outcome.name));
  const std::string held_up = held_up_text(outcome);
  bool chosen = false;
  Members array(out, '[', ']');
  for (size_t i = 0; i < transitions.size(); ++i) {
    const TransitionOutcome& transition = outcome.transitions[i];
    // Of those that pass the first one goes, and it is that which is held up.
    const bool goes = transition.passed && !chosen;
    chosen |= goes;
    append_transition(array.next(), transition, transitions[i], config, goes ? held_up : std::string());
  }
}

void append_profile(std::string& out, const ProfileOutcome& outcome, const profiles::Config& config, io::Wall now) {
  const profiles::Profile* profile = config.find_profile(outcome.name);
  Members members(out, '{', '}');
  append_json(members.next("name"), outcome.name);
  append_json(members.next("state"), outcome.state);
  if (outcome.since) append_json(members.next("since"), *outcome.since);
  append_json(members.next("next"), outcome.next);
  if (!outcome.error.empty()) append_json(members.next("error"), outcome.error);
  append_json(members.next("summary"), summary(outcome, profile, now));
  if (const auto wake = wake_of(outcome)) append_json(members.next("wake"), *wake);
  append_transitions(members.next("transitions"), outcome, config);
}

std::vector<budget::Pause> pauses_concerning(const replica::Replica& replica, const profiles::Decision* decision) {
  std::vector<budget::Pause> all = replica.pauses().all();
  std::erase_if(all, [&](const budget::Pause& pause) {
    if (pause.profile.empty()) return false;
    return !decision || std::none_of(decision->profiles.begin(), decision->profiles.end(),
                                     [&](const ProfileOutcome& profile) { return profile.name == pause.profile; });
  });
  return all;
}

std::vector<std::string> items_of(const drain::Hold& hold) {
  std::vector<std::string> items;
  if (hold.items.cordon) items.emplace_back("cordon");
  for (const drain::BareTaint& taint : hold.items.taints) items.push_back("taint " + taint.key + ":" + taint.effect);
  for (const auto& [key, value] : hold.items.labels) {
    items.push_back(value.empty() ? "label " + key : fmt::format("label {}={}", key, value));
  }
  return items;
}

void append_holds(std::string& out, const drain::Holds& holds) {
  Members array(out, '[', ']');
  for (const auto& [owner, hold] : holds.by_owner) {
    Members members(array.next(), '{', '}');
    append_json(members.next("owner"), owner);
    append_json(members.next("since"), hold.since);
    append_json(members.next("items"), items_of(hold));
  }
}

void append_node(Members& members, const kube::Node& node) {
  append_json(members.next("node"), node.name);
  append_json(members.next("uid"), node.uid);
  {
    Members labels(members.next("labels"), '{', '}');
    for (const auto& [key, value] : node.labels) append_json(labels.next(key.view()), value.view());
  }
  append_json(members.next("ready"), is_ready(node));
  append_json(members.next("cordoned"), node.unschedulable);
  Members taints(members.next("taints"), '[', ']');
  for (const kube::Taint& taint : node.taints) {
    const std::string_view value = taint.value.view();
    append_json(taints.next(),
                fmt::format("{}{}{}:{}", taint.key.view(), value.empty() ? "" : "=", value, taint.effect.view()));
  }
}

void append_pending(std::string& out, const std::vector<profiles::PendingNotification>& all) {
  Members array(out, '[', ']');
  for (const profiles::PendingNotification& one : all) {
    Members members(array.next(), '{', '}');
    append_json(members.next("instance"), one.instance);
    append_json(members.next("profile"), one.profile);
    append_json(members.next("attempts"), one.attempts);
    if (!one.error.empty()) append_json(members.next("error"), one.error);
    append_json(members.next("since"), one.since);
  }
}

Why drain_why(const drain::Key& key, const drain::Progress& progress) {
  const Verdict verdict = progress.phase == drain::Progress::Phase::drained    ? Verdict::yes
                          : progress.phase == drain::Progress::Phase::draining ? Verdict::no
                                                                               : Verdict::error;
  Why why{verdict,
          fmt::format("drain for {}: {}, {} pods left", key.owner, view::name_of(progress.phase), progress.pods.size()),
          {}};
  for (const std::string& error : progress.errors) why.add(Verdict::error, error);
  for (const drain::PodProgress& pod : progress.pods) {
    const bool stuck = pod.stage == drain::Stage::blocked || pod.stage == drain::Stage::failed;
    why.add(stuck ? Verdict::no : Verdict::note, fmt::format("{}/{}: {}", pod.ns, pod.name, pod.reason));
  }
  return why;
}

Why whole_why(const replica::Replica& replica, const kube::Node& node, const profiles::Decision* decision,
              const Work& work, const drain::Holds& holds, const std::vector<Why>& limits) {
  Why why = decision ? decision->why : Why{Verdict::note, "node " + node.name, {}};
  for (const Work::Part& part : work.parts()) {
    for (Why& reason : part.picture->reasons(node.name)) why.children.push_back(std::move(reason));
  }
  why.children.insert(why.children.end(), limits.begin(), limits.end());
  for (const drain::Key& key : work.drains_of(node.name)) {
    if (const auto* progress = replica.drains().progress(key)) why.children.push_back(drain_why(key, *progress));
  }
  for (const auto& [owner, hold] : holds.by_owner) {
    why.add(Verdict::note, fmt::format("{} holds {}", owner, fmt::join(items_of(hold), ", ")));
  }
  return why;
}

void append_story(std::string& out, const Shown& shown, const kube::Node& node) {
  const replica::Replica& replica = shown.replica;
  const auto decided = explained(replica, node);
  const profiles::Decision* decision = decided ? &*decided : nullptr;
  const Work work(replica);
  const drain::Holds holds = drain::holds_of(node);
  Members members(out, '{', '}');
  append_json(members.next("time"), replica.now());
  append_node(members, node);
  append_pauses(members.next("pauses"), pauses_concerning(replica, decision));
  {
    Members array(members.next("profiles"), '[', ']');
    for (const ProfileOutcome& outcome : decision ? decision->profiles : std::vector<ProfileOutcome>()) {
      append_profile(array.next(), outcome, *config_of(replica), replica.now());
    }
  }
  append_holds(members.next("holds"), holds);
  append_drains(members.next("drains"), replica, work.drains_of(node.name));
  for (const controllers::Kind* kind : replica::object_kinds()) {
    Members array(members.next(kind->section), '[', ']');
    const controllers::Picture* picture = work.picture_of(*kind);
    if (!picture) continue;
    for (const std::string& document : picture->documents_of(node.name)) array.next() += document;
  }
  const std::vector<Why> limits = limit_reasons(replica.limits(), node, replica.now());
  {
    Members array(members.next("limits"), '[', ']');
    for (const Why& reason : limits) append_why(array.next(), reason);
  }
  append_pending(members.next("pending"), pending_notifications(node, profiles::controller_in(replica.hosted())));
  append_entries(members.next("timeline"), shown.chronicle.timeline().of_node(node.name));
  append_why(members.next("why"), whole_why(replica, node, decision, work, holds, limits));
}

}  // namespace

std::optional<std::string> story(const Shown& shown, std::string_view name) {
  const kube::Node* node = shown.replica.nodes().find(name);
  if (!node) return std::nullopt;
  std::string out;
  append_story(out, shown, *node);
  return out;
}

std::optional<std::string> told_document(const replica::Replica& replica, std::string_view plural,
                                         std::string_view name) {
  for (const auto& one : replica.hosted()) {
    if (one.kind.explained == plural) return one.controller.document_of(name);
  }
  return std::nullopt;
}

std::optional<std::string> node_of_object(const replica::Replica& replica, std::string_view plural,
                                          std::string_view name) {
  for (const auto& one : replica.hosted()) {
    if (one.kind.object.plural == plural) return one.controller.node_of(name);
  }
  return std::nullopt;
}

std::string timeline_document(const Shown& shown, std::string_view node) {
  const Timeline& timeline = shown.chronicle.timeline();
  std::string out = "{\"timeline\":";
  append_entries(out, node.empty() ? timeline.latest(Timeline::kMost) : timeline.of_node(node));
  return out + "}";
}

}  // namespace careen::view
