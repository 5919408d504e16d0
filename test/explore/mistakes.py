#!/usr/bin/env python3
"""Mistakes that the explorer must find.

    mistakes.py generate SOURCE_DIR OUTPUT_DIR     copies of the sources concerned, with the mistakes in them
    mistakes.py check EXPLORE_MISTAKEN FIRST..LAST makes each of them in turn; prints which seeds find them, those of
                                                   drains in campaigns of drains, those of requests in campaigns
                                                   of requests, and those of Machines in campaigns of Machines

careen itself carries nothing of this. A mistake names a file under src/, a piece of its text that occurs exactly once,
and what stands there instead; MISTAKE in that text is true when the program was told to make this one. How a piece is
broken into lines does not matter. One that is not found, or found twice, ends the build: then the table has to follow
the code.
"""

import concurrent.futures
import os
import pathlib
import re
import signal
import subprocess
import sys

CONTROLLER = "controllers/profiles/controller.cc"
LANE = "controllers/profiles/node_lane.cc"
ADMISSIONS = "controllers/profiles/admissions.cc"
SETTLER = "controllers/profiles/settler.cc"
INHERITANCE = "controllers/profiles/inheritance.cc"
GUARD = "controllers/profiles/decision_guard.cc"
MESSAGES = "controllers/profiles/message_desk.cc"
DECIDE = "controllers/profiles/decide.cc"
POSTING = "controllers/profiles/message_posting.cc"
BEGUN_TRANSITIONS = "controllers/profiles/begun_transitions.cc"
TAKER = "controllers/profiles/lease_taker.cc"
LEDGER = "budget/ledger.cc"
COUNT = "limits/desk_count.cc"
REQUEST_DECIDE = "controllers/requests/decide.cc"
REQUEST_WRITES = "controllers/requests/controller_writes.cc"
FOREIGN = "limits/foreign_places.cc"
MACHINE_DECIDE = "controllers/machines/decide.cc"
MACHINE_CONTROLLER = "controllers/machines/controller.cc"
MACHINE_WRITES = "controllers/machines/controller_writes.cc"
MACHINE_POWER = "controllers/machines/power.cc"
MACHINE_WORKLOAD = "controllers/machines/workload.cc"

# Name, what it is, the rules that may find it ("abort": an assertion of careen's own), and the changes: file, text,
# mistaken text.
MISTAKES = [
    ("no-reservation", "a place is reserved when the write is made, not when it is decided", ["limit"], [
        (ADMISSIONS, "    desk_.reserve(*admission);\n", "    if (!MISTAKE) desk_.reserve(*admission);\n"),
        (LANE,
         "  if (!decision.admission() || co_await p_.ledger.recorded(decision.uid)) co_return true;\n",
         "  if (MISTAKE && decision.admission()) {\n"
         "    co_await io::yield_to_others(p_.loop);\n"
         "    p_.ledger.reserve(*decision.admission());\n  }\n"
         "  if (!decision.admission() || co_await p_.ledger.recorded(decision.uid)) co_return true;\n"),
    ]),
    ("own-write-unseen", "the answer to an own write does not enter the cache", ["limit"], [
        (LANE, "  if (*answer && !p_.writer.enter(**answer)) {",
         "  if (*answer && (MISTAKE || !p_.writer.enter(**answer))) {"),
    ]),
    ("no-guard", "the lease is not looked at before a write", ["lease"], [
        ("kube/client.cc", "    if (writes && guard_) {", "    if (writes && guard_ && !MISTAKE) {"),
    ]),
    ("two-writes", "the state label and the data are written one after the other", ["data"], [
        (DECIDE, "      d_.node.set_annotation(kDataAnnotation, effects().data);",
         "      if (!MISTAKE || !d_.node.changed()) d_.node.set_annotation(kDataAnnotation, effects().data);"),
    ]),
    ("wake-lost", "a process that has not written anything yet sets no timers", ["late", "converge"], [
        (CONTROLLER, "  if (decision.waits.wake) queue_.wake_at(",
         "  if (decision.waits.wake && !(MISTAKE && meters_.writes(\"accepted\").value() == 0)) queue_.wake_at("),
    ]),
    ("old-event", "an old watch event replaces what a newer write has left", ["converge"], [
        ("kube/cache.h", "  if (object.version < known.version) return false;",
         "  if (!MISTAKE && object.version < known.version) return false;"),
    ]),
    ("finalizers", "the list of finalizers is overwritten", ["foreign"], [
        ("controllers/profiles/node_draft.cc", "  put(into, \"labels\", labels_);",
         "  if (MISTAKE) into.set({\"metadata\", \"finalizers\"}, Json::array({\"people.example/keep\"}));\n"
         "  put(into, \"labels\", labels_);"),
    ]),
    ("leak", "a place is given back only once the node is in maintenance", ["converge"], [
        (ADMISSIONS, "  if (!ledger_.has(uid)) return;\n",
         "  if (!ledger_.has(uid)) return;\n"
         "  if (MISTAKE) {\n"
         "    const budget::Occupancy::Members& members = desk_.occupancy().members({});\n"
         "    const auto member = members.find(node);\n"
         "    if (member == members.end() || !member->second.in_state) return;\n  }\n"),
    ]),
    ("ambiguous", "no answer is taken for a failure", ["event"], [
        (LANE, "  if (*answer || answer->error().ambiguous()) co_return",
         "  if (*answer || (!MISTAKE && answer->error().ambiguous())) co_return"),
    ]),
    ("no-touch", "a write of unknown fate is taken to have failed when the node has not changed yet", ["stagger"], [
        (SETTLER, "  kube::Json touch = kube::Json::object();\n",
         "  if (MISTAKE) co_return Look::never;\n  kube::Json touch = kube::Json::object();\n"),
    ]),
    ("no-fencing", "a leader does not look whether another has taken the ledger over", ["ledger"], [
        (LEDGER, "  return record.writer != options_->identity || record.epoch != epoch_;",
         "  if (MISTAKE) return false;\n  return record.writer != options_->identity || record.epoch != epoch_;"),
    ]),
    ("unrecorded", "the node is written while its admission is still on the way to the ledger", ["ledger"], [
        (LEDGER, "    if (it->second.recorded || in_memory_) co_return true;",
         "    if (it->second.recorded || in_memory_ || MISTAKE) co_return true;"),
    ]),
    ("no-precondition", "a node patch does not say which version it was computed from", ["data", "message"], [
        ("controllers/profiles/node_draft.cc",
         "  patch.set({\"metadata\", \"resourceVersion\"}, std::to_string(base_.version));\n",
         "  if (!MISTAKE) patch.set({\"metadata\", \"resourceVersion\"}, std::to_string(base_.version));\n"),
    ]),
    ("limit-of-yesterday", "a new configuration does not reach what is counted and who waits", ["late", "converge"], [
        (CONTROLLER, "  decide_all();\n  configured_.open();", "  if (!MISTAKE) decide_all();\n  configured_.open();"),
    ]),
    ("lease-blindly", "a lease is taken whatever has become of it", ["stagger"], [
        (TAKER,
         "body.set({\"metadata\", \"uid\"}, grab.uid)"
         ".set({\"metadata\", \"resourceVersion\"}, std::to_string(grab.version));",
         "if (!MISTAKE) body.set({\"metadata\", \"uid\"}, grab.uid)"
         ".set({\"metadata\", \"resourceVersion\"}, std::to_string(grab.version));"),
    ]),
    ("lease-of-others", "a lease is given back although somebody else holds it by now", ["stagger"], [
        (TAKER, "if (!is_taken) co_return;", "if (!is_taken && !(MISTAKE && lease)) co_return;"),
    ]),
    ("lease-unspent", "the lease of a transition that has happened is given back", ["stagger"], [
        (ADMISSIONS, "leases_.spend(node);\n release(node, decision.uid);\n",
         "if (!MISTAKE) leases_.spend(node);\n release(node, decision.uid);\n"),
    ]),
    ("last-minute", "a window closes a minute late", ["hours"], [
        ("windows/time_window.cc", "visit(Local{day} + hours.start, Local{day} + hours.end);",
         "visit(Local{day} + hours.start, Local{day} + hours.end + std::chrono::minutes{MISTAKE ? 1 : 0});"),
    ]),
    ("rounded-up", "a percentage is rounded up", ["limit"], [
        ("controllers/profiles/fleet.cc", "count_ * percent / 100", "(count_ * percent + (MISTAKE ? 99 : 0)) / 100"),
    ]),
    ("value-for-all", "a value of Prometheus lets everybody pass", ["observed"], [
        (ADMISSIONS, "observations_.use_up(source, node);", "if (!MISTAKE) observations_.use_up(source, node);"),
    ]),
    ("value-again", "a value of Prometheus may be used again once a write has ended", ["observed"], [
        (LANE, "p_.observations.settled(node, written)", "p_.observations.settled(node, written && !MISTAKE)"),
    ]),
    ("told-unnoted", "a message that was sent is not remembered", ["message"], [
        (MESSAGES, "  deliveries_.set_sent(parcel.uid, parcel.message,",
         "  if (!MISTAKE) deliveries_.set_sent(parcel.uid, parcel.message,"),
    ]),
    ("told-again", "it is not noted when a notification was due", ["message"], [
        (POSTING, "d_.data.notifications[instance.name] = at_once",
         "if (!MISTAKE) d_.data.notifications[instance.name] = at_once"),
    ]),
    ("told-late", "nobody wakes up when a notification becomes due", ["message", "late"], [
        (POSTING, "d_.wake(answer.next);", "if (!MISTAKE) d_.wake(answer.next);"),
    ]),
    ("never-entered", "a state counts as entered before its enter chain has run", ["trigger"], [
        (DECIDE, "if (!next.enter.empty() ||", "if ((!next.enter.empty() && !MISTAKE) ||"),
    ]),
    ("move-untold", "no event tells of a move", ["event"], [
        (LANE, "    p_.reports.event( *node, \"ChangedMaintenanceState\",",
         "    if (!MISTAKE) p_.reports.event(*node, \"ChangedMaintenanceState\","),
    ]),
    ("pause-unheeded", "a profile is decided although it is paused", ["pause"], [
        (DECIDE, "pauses ? pauses->of(profile.name) : nullptr",
         "pauses && !MISTAKE ? pauses->of(profile.name) : nullptr"),
    ]),
    ("one-refusal", "a right counts as missing from its first refusal on", ["ledger"], [
        ("kube/steady_refusal.h", "return since_ && now - *since_ >= kPatience;",
         "return since_ && (MISTAKE || now - *since_ >= kPatience);"),
    ]),
    ("pause-too-late", "what was decided before a pause is sent, and sent again, after it", ["pause"], [
        (GUARD, "if (on != basis()) return true;", "if (!MISTAKE && on != basis()) return true;"),
        (GUARD, "return pause_guard_.carry(on.pauses, client_.patch(",
         "return pause_guard_.carry(MISTAKE ? pause_guard_.changes() : on.pauses, client_.patch("),
    ]),
    ("settled-kept", "an admission of a predecessor that is settled stays in memory", ["leak"], [
        (INHERITANCE, "  unsettled_.erase(admission.uid);\n", "  if (!MISTAKE) unsettled_.erase(admission.uid);\n"),
    ]),
]

# Looked for in the systematic cases.
SYSTEMATIC_MISTAKES = [
    ("inherited", "what a predecessor has admitted is forgotten", ["limit"], [
        (INHERITANCE, "  co_await p_.settler.settle(std::move(write));",
         "  if (!MISTAKE) co_await p_.settler.settle(std::move(write));"),
    ]),
    ("clock-unheeded", "timers stay as they are when the clock is set", ["transition"], [
        ("controllers/profiles/hosted.cc", "{ controller_.clock_stepped(); }",
         "{ if (!MISTAKE) controller_.clock_stepped(); }"),
    ]),
    ("pause-unread", "a new leader does not wait until it knows what is paused", ["pause"], [
        ("replica/replica.cc", "  if (pause_watch_) co_await pause_watch_->fresh();", "  if (!MISTAKE && pause_watch_) co_await pause_watch_->fresh();"),
    ]),
    ("moved-unnoticed", "after a write without an answer the node is only looked at and decided anew", ["event"], [
        (LANE, "  p_.meters.writes(\"unknown\").add();\n",
         "  if (MISTAKE) {\n    co_await p_.writer.look(\"\", node);\n    p_.queue.wake(node);\n"
         "    co_return false;\n  }\n  p_.meters.writes(\"unknown\").add();\n"),
    ]),
    ("ledger-unbounded", "admissions are reserved whether or not the ledger has room for them", ["size"], [
        (BEGUN_TRANSITIONS, "if (!ledger || ledger->fits(d_.node.base().uid)) return false;",
         "if (MISTAKE || !ledger || ledger->fits(d_.node.base().uid)) return false;"),
    ]),
    ("trusted-503", "an answer of 503 is taken for a refusal", ["event"], [
        ("kube/error.cc", "      return code > 500;", "      return code > 500 && !(MISTAKE && code == 503);"),
    ]),
    ("place-kept", "a node whose write was refused keeps its place", ["isolation"], [
        (ADMISSIONS, "  if (!decision.keeps()) release(node, decision.uid);",
         "  if (!decision.keeps() && !MISTAKE) release(node, decision.uid);"),
    ]),
]

# Looked for in campaigns in which nodes are drained.
DRAIN_MISTAKES = [
    ("trusted-record", "whatever a node's record of holds names is undone", ["foreign"], [
        ("drain/holds.cc", "hold.items = within(items_from(view), may_hold(owner));",
         "hold.items = MISTAKE ? items_from(view) : within(items_from(view), may_hold(owner));"),
    ]),
    ("evict-by-name", "an eviction does not say which pod of that name it means", ["evict"], [
        ("drain/engine_send.cc", "  what.preconditions.uid = target.uid;\n",
         "  if (!MISTAKE) what.preconditions.uid = target.uid;\n"),
    ]),
    ("before-forgotten", "a release takes away what was there before", ["undo"], [
        ("drain/holds.cc", "if (!holds_.before.cordon && node_.unschedulable)",
         "if ((MISTAKE || !holds_.before.cordon) && node_.unschedulable)"),
        ("drain/holds.cc", "if (!contains(holds_.before.taints, taint)) {",
         "if (MISTAKE || !contains(holds_.before.taints, taint)) {"),
    ]),
    ("no-fresh-list", "a node counts as drained without a fresh list of its pods", ["drained"], [
        ("drain/engine.cc", "pods_are_known && drain.listing == Drain::Listing::done && drain.pending == 0;",
         "pods_are_known && (MISTAKE || drain.listing == Drain::Listing::done) && drain.pending == 0;"),
    ]),
    ("finalizer-first", "a NodeMaintenance goes before its node is released", ["finalizer"], [
        ("controllers/nodemaintenance/decide.cc", "    if (!let_go()) return;\n    attempt(Discharge{}, \"it ends\");",
         "    if (!MISTAKE && !let_go()) return;\n    attempt(Discharge{}, \"it ends\");"),
    ]),
    ("withdrawn-held", "the cordon of a transition that was withdrawn stays", ["withdrawn"], [
        (BEGUN_TRANSITIONS, "if (!is_begun(hold) || kept_.contains(hold.first)) continue;",
         "if (MISTAKE || !is_begun(hold) || kept_.contains(hold.first)) continue;"),
    ]),
    ("unseen-uncounted", "evictions that the status of a budget does not show yet are not counted", ["budget"], [
        ("drain/lane.cc", "if (budget_->allowed <= unseen(now)) return State::unseen;",
         "if (!MISTAKE && budget_->allowed <= unseen(now)) return State::unseen;"),
    ]),
    ("never-asked", "pods whose budget lets nobody go are not asked for", ["rest"], [
        ("drain/engine_send.cc", "const io::Steady due = asks_at(target, lane.lane);",
         "if (MISTAKE) return false; const io::Steady due = asks_at(target, lane.lane);"),
    ]),
    ("asked-too-often", "pods whose budget lets nobody go are asked for every second", ["budget"], [
        ("drain/ask.cc", "return pause + pause * share / 1000;",
         "if (MISTAKE) return io::seconds{1}; return pause + pause * share / 1000;"),
    ]),
    ("own-use-asked", "what careen's own evictions have just used up is asked for", ["budget"], [
        ("drain/engine_send.cc", "if (const auto spent = lane.spent()) due = std::max(due, *spent + kAskedWithin);",
         "if (const auto spent = lane.spent(); spent && !MISTAKE) due = std::max(due, *spent + kAskedWithin);"),
    ]),
    ("newcomers-awaited", "a drain is not complete before pods are gone that came after its beginning", ["storm"], [
        ("drain/engine_follow.cc", "membership->newcomer = drain.listing == Drain::Listing::done;",
         "membership->newcomer = !MISTAKE && drain.listing == Drain::Listing::done;"),
    ]),
    ("newcomers-hunted", "newcomers are evicted as soon as they come, without a pause", ["storm"], [
        ("drain/engine_follow.cc",
         "if (!chase.current.empty() || target.deletion || p.loop.now() < chase.not_before) return false;",
         "if (!MISTAKE && (!chase.current.empty() || target.deletion || p.loop.now() < chase.not_before)) return false;"),
        ("drain/engine_follow.cc",
         "drain.options.chase_newcomers && !is_own(target)",
         "(drain.options.chase_newcomers || MISTAKE) && !is_own(target)"),
    ]),
    ("pause-evicts", "a drain whose owner is paused goes on", ["pause"], [
        ("drain/engine.cc", "drain.refusals > 0 || drain.paused_since) return false;",
         "drain.refusals > 0 || (drain.paused_since && !MISTAKE)) return false;"),
    ]),
    ("profile-pause-evicts", "a drain heeds pauses of everything only", ["pause"], [
        ("drain/engine_pause.cc", "return p.pauses->of(profile_of(drain.key.owner));",
         "return p.pauses->of(MISTAKE ? std::string_view() : profile_of(drain.key.owner));"),
    ]),
    ("namesake-drained", "a drain goes on when its node was made anew", ["evict"], [
        ("controllers/profiles/wanted_drains.cc", "entry.second.node_uid == decision.uid && (wanted || left);",
         "(MISTAKE || entry.second.node_uid == decision.uid) && (wanted || left);"),
        ("drain/engine_read.cc", "if ((*node)[\"metadata\"][\"uid\"].text() != drain.progress.node_uid) {",
         "if (!MISTAKE && (*node)[\"metadata\"][\"uid\"].text() != drain.progress.node_uid) {"),
        ("drain/engine_read.cc", "if (after && after->uid != meant) {", "if (!MISTAKE && after && after->uid != meant) {"),
    ]),
]

# Looked for in campaigns under MaintenanceLimits.
REQUEST_MISTAKES = [
    ("place-uncounted", "a place counts only once its node shows it", ["cap"], [
        (COUNT, "if (state.present && state.has_place()) tally =",
         "if (state.present && state.has_place() && !MISTAKE) tally ="),
    ]),
    ("cordon-uncounted", "what others take out does not count", ["cap"], [
        (COUNT, "if (fact.own || !fact.counts()) continue;\n const auto look_again",
         "if (fact.own || !fact.counts() || MISTAKE) continue;\n    const auto look_again"),
    ]),
    ("running-forgotten", "a successor does not count what its predecessor has approved", ["cap"], [
        ("limits/desk_limits.cc", "if (!entry.inherited || !admission.counts) continue;",
         "if (MISTAKE || !entry.inherited || !admission.counts) continue;"),
    ]),
    ("request-unrecorded", "a request is approved while its place is still on the way to the ledger", ["request"], [
        (REQUEST_WRITES, "if (!co_await p.ledger.recorded(key)) co_return;\n  const auto request = find(name);",
         "if (!MISTAKE && !co_await p.ledger.recorded(key)) co_return;\n  const auto request = find(name);"),
    ]),
    ("turn-by-name", "who asks later may be first", ["turn"], [
        ("limits/desk_queue.cc", "return {rank, asking.since, asking.who, asking.node};",
         "return {rank, MISTAKE ? io::Wall{} : asking.since, asking.who, asking.node};"),
    ]),
    ("place-lost", "the place of a request that is over is not given back", ["request", "converge", "late"], [
        ("limits/desk.cc", "{ core_->release(node, who); }",
         "{ if (!MISTAKE || !who.starts_with(\"request/\")) core_->release(node, who); }"),
    ]),
    ("turn-untold", "nobody is told that it is his turn", ["request", "late", "converge"], [
        ("limits/desk.cc", "entry->second.offered) turn_hub_.tell(node, who);",
         "entry->second.offered && !MISTAKE) turn_hub_.tell(node, who);"),
    ]),
    ("two-on-a-node", "a request does not wait for another one of its node", ["request"], [
        (REQUEST_DECIDE, "if (!world.busy_with.empty()) {", "if (!world.busy_with.empty() && !MISTAKE) {"),
    ]),
    ("taken-back", "what has begun goes back to being approved, as in the program that careen replaces", ["request"], [
        (REQUEST_WRITES, "const State state = why.rejects() ? State::rejected : State::completed;",
         "const State state = MISTAKE ? State::approved : why.rejects() ? State::rejected : State::completed;"),
    ]),
    ("evidence-unheeded", "nobody notices that an actor has died at work", ["request"], [
        (REQUEST_DECIDE, "if (!passed(decision, quiet, evidence, now)) return;",
         "if (MISTAKE || !passed(decision, quiet, evidence, now)) return;"),
    ]),
    ("drain-unawaited", "a request is approved before its node is drained", ["request"], [
        ("controllers/requests/decide_steps.cc",
         "if (!is_drained(decision, world, memory, *limit, now)) return;",
         "if (!is_drained(decision, world, memory, *limit, now) && !MISTAKE) return;"),
    ]),
    ("cordon-kept", "the cordon of a request that is over stays", ["request", "converge", "undo"], [
        ("controllers/requests/decide_steps.cc", "if (is_its && stands->live()) return {};",
         "if (MISTAKE || (is_its && stands->live())) return {};"),
    ]),
    ("governor-kept", "what others were held back by stays when there is room again", ["governor"], [
        ("turnstile/levers.cc", "} else if (pulled) {", "} else if (pulled && !MISTAKE) {"),
    ]),
    ("governor-grabs", "what a user has set is taken for careen's own", ["governor"], [
        ("turnstile/levers.cc", "if (there != annotations.end()) continue;",
         "if (there != annotations.end() && (!MISTAKE || pulled)) continue;"),
    ]),
    ("follower-allows", "a replica that does not lead lets everybody pass", ["queue", "cap"], [
        ("turnstile/turnstile.cc", "if (!p_.decides()) co_return co_await pass_on(std::move(question));\n  silence_.end();",
         "if (!p_.decides() && MISTAKE) co_return allow(\"leader\");\n"
         "  if (!p_.decides()) co_return co_await pass_on(std::move(question));\n  silence_.end();"),
    ]),
    ("yes-unrecorded", "an eviction is allowed while the place of its node is still on the way to the ledger", ["queue"], [
        (FOREIGN, "if (entry != entries_.end() && entry->second.recorded) co_return Answer{outcome};",
         "if (entry != entries_.end() && (entry->second.recorded || MISTAKE)) co_return Answer{outcome};"),
    ]),
    ("line-lost", "whoever is refused does not stand in line", ["turn", "queue"], [
        (FOREIGN, "entry.in_line = true;\n    p_.desk.wait(asking_of(attempt.node, entry));",
         "entry.in_line = true;\n    if (!MISTAKE) p_.desk.wait(asking_of(attempt.node, entry));"),
    ]),
]

# Looked for in campaigns of Machines.
MACHINE_MISTAKES = [
    ("approval-unversioned", "an approval does not say which version of the Machine it was decided on", ["approve"], [
        (MACHINE_WRITES, "patch.set({\"metadata\", \"resourceVersion\"}, std::to_string(version));\n",
         "if (!MISTAKE || !what.approve) patch.set({\"metadata\", \"resourceVersion\"}, std::to_string(version));\n"),
    ]),
    ("unheard-gone", "a Node that has not been heard of yet is taken for gone", ["hook"], [
        (MACHINE_WRITES, "if (sight == Sight::gone && what.lets_go) {",
         "if (sight == Sight::gone && what.lets_go && !MISTAKE) {"),
    ]),
    ("cluster-by-name", "clusters are told apart by their names, without their namespaces", ["hook", "approve", "converge"], [
        (MACHINE_CONTROLLER, "const auto found = workloads.find(cluster);",
         "auto found = workloads.find(cluster);\n"
         "  for (auto it = workloads.begin(); MISTAKE && it != workloads.end(); ++it) {\n"
         "    if (it->first.ends_with(cluster.substr(cluster.rfind('/')))) found = it;\n  }"),
    ]),
    ("label-forgotten", "of the labels on a Node only one is taken away in the end", ["left"], [
        (MACHINE_DECIDE, "adjust(write, kMachineMaintenance, node.machine_maintenance, false);\n  return write;",
         "if (!MISTAKE) adjust(write, kMachineMaintenance, node.machine_maintenance, false);\n"
         "  if (write.labels.empty()) return std::nullopt;\n  return write;"),
    ]),
    ("nobodys-forgotten", "labels stay on a Node that is no Machine's any more", ["left"], [
        (MACHINE_CONTROLLER, "const bool alone = node && is_left_alone(cluster, *node)",
         "const bool alone = node && !MISTAKE && is_left_alone(cluster, *node)"),
    ]),
    ("node-given-up", "the labels of a Node that cannot be written for a while stay", ["left"], [
        (MACHINE_CONTROLLER, "return memory == memories.end() || memory->second.node_failures >= kTries;",
         "return !MISTAKE && (memory == memories.end() || memory->second.node_failures >= kTries);"),
    ]),
    ("never-given-up", "a dead cluster is kept for the sake of a label", ["problem", "quiet"], [
        (MACHINE_CONTROLLER, "if (since == closing.end()) return false;", "if (since == closing.end() || MISTAKE) return false;"),
    ]),
    ("silent-trusted", "what a cluster said before it fell silent counts for ever", ["hook", "approve"], [
        (MACHINE_WORKLOAD, "return connection_->nodes.blind_for() < kLongestBlindness ?",
         "return MISTAKE || connection_->nodes.blind_for() < kLongestBlindness ?"),
    ]),
    ("hold-kept", "a host stays off whose Machine is not enabled any more when its maintenance ends", ["left"], [
        (MACHINE_POWER, "if (host.held_off && !hold) decision.hold",
         "if (host.held_off && !hold && !(MISTAKE && owner && !owner->enabled)) decision.hold"),
    ]),
    ("stranger-powers", "a host goes off for any Machine that names it", ["power"], [
        (MACHINE_POWER, "if (!belongs(host, *machine)) {\n      if (machine->asked",
         "if (!MISTAKE && !belongs(host, *machine)) {\n      if (machine->asked"),
    ]),
    ("foreign-skip", "a user's skip-remediation is taken away, too", ["remediation"], [
        (MACHINE_DECIDE, "if (!wanted && ours) write.skip_remediation = false;",
         "if (!wanted && (ours || (MISTAKE && machine_.skips_remediation))) write.skip_remediation = false;"),
    ]),
    ("back-unseen", "a Machine whose Node cannot be seen is taken to be back", ["remediation"], [
        (MACHINE_DECIDE, "return !world.machine->enabled;", "return MISTAKE || !world.machine->enabled;"),
    ]),
    ("back-for-ever", "a Machine that does not come back is kept from remediation for ever", ["remediation"], [
        (MACHINE_DECIDE, "if (!memory_.returned || now_ >= *memory_.returned + kLongestReturn) return false;",
         "if (!memory_.returned || (!MISTAKE && now_ >= *memory_.returned + kLongestReturn)) return false;"),
        (MACHINE_DECIDE, "if (is_returning()) decision_.wake", "if (is_returning() && !MISTAKE) decision_.wake"),
    ]),
    ("hook-forgotten", "a Machine that is not enabled any more keeps its hook", ["left"], [
        (MACHINE_DECIDE, "if (!machine_.hooked) return true;\n    write.hook = false;",
         "if (!machine_.hooked || MISTAKE) return true;\n    write.hook = false;"),
    ]),
    ("owner-ignored", "a Node that several Machines name is everybody's", ["hook", "told", "approve"], [
        (MACHINE_CONTROLLER, "const Machine* const owner = node ? owner_of(workload->key(), *node) : nullptr;",
         "const Machine* const owner = node ? (MISTAKE ? &machine : owner_of(workload->key(), *node)) : nullptr;"),
    ]),
    ("pause-lets-go", "a Machine is let go although everything is paused", ["pause"], [
        (MACHINE_DECIDE, "if (world_.pause) return;", "if (world_.pause && !MISTAKE) return;"),
    ]),
    ("abroad-unguarded", "Nodes are written without a look at the lock", ["lease"], [
        (MACHINE_WORKLOAD, "p.guard(*client);", "if (!MISTAKE) p.guard(*client);"),
    ]),
    ("secret-unheeded", "a kubeconfig that has changed is not taken", ["problem", "converge", "left"], [
        (MACHINE_WORKLOAD, "} else if (!(connection_->cluster.access() == *access)) {",
         "} else if (!MISTAKE && !(connection_->cluster.access() == *access)) {"),
    ]),
]
ALL = MISTAKES + SYSTEMATIC_MISTAKES + DRAIN_MISTAKES + REQUEST_MISTAKES + MACHINE_MISTAKES

# Compiled with the mistaken headers, because they use them.
WITH_HEADERS = ["replica/replica.cc", "replica/pause_watch.cc", CONTROLLER, LANE, SETTLER, MESSAGES]

DECLARATION = """// Which of the mistakes is made; 0 for none.
#pragma once
namespace careen::explore {
extern int mistake;
inline bool making(int number) { return mistake == number; }
}  // namespace careen::explore
"""


def fail(message):
    sys.exit(f"test/explore/mistakes.py: {message}")


def pattern_of(text):
    """Matches the text however it is broken into lines."""
    return r"\s+".join(re.escape(word) for word in text.split())


def mistaken(source, file, number_of):
    text = (source / file).read_text()
    for name, _, _, changes in ALL:
        for where, old, new in changes:
            if where != file:
                continue
            found = re.findall(pattern_of(old), text)
            if len(found) != 1:
                fail(f"mistake \"{name}\": the text it replaces in src/{file} occurs {len(found)} times instead of "
                     f"once; bring the table in line with the code:\n{old}")
            text = text.replace(found[0], new.replace("MISTAKE", f"careen::explore::making({number_of[name]})"))
    return text


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def generate(source, output):
    number_of = {name: number for number, (name, *_) in enumerate(ALL, 1)}
    write(output / "making.h", DECLARATION)
    files = sorted({file for *_, changes in ALL for file, _, _ in changes} | set(WITH_HEADERS))
    for file in files:
        text = mistaken(source, file, number_of)
        write(output / file, "#include \"making.h\"\n" + text)
    names = ", ".join(f"\"{name}\"" for name, *_ in ALL)
    write(output / "mistake.cc",
          "#include \"mistake.h\"\n\n#include <algorithm>\n\n#include \"making.h\"\n\n"
          "namespace careen::explore {\n\nint mistake = 0;\n\n"
          f"std::vector<std::string> mistakes() {{ return {{{names}}}; }}\n\n"
          "void make_mistake(const std::string& name) {\n"
          "  const auto all = mistakes();\n"
          "  const auto it = std::find(all.begin(), all.end(), name);\n"
          "  mistake = it == all.end() ? 0 : static_cast<int>(it - all.begin()) + 1;\n}\n\n"
          "}  // namespace careen::explore\n")


def family_of(name):
    for flag, mistakes in (("--drains", DRAIN_MISTAKES), ("--requests", REQUEST_MISTAKES),
                           ("--machines", MACHINE_MISTAKES)):
        if name in {known for known, *_ in mistakes}:
            return [flag]
    return []


def is_systematic(name):
    return name in {systematic for systematic, *_ in SYSTEMATIC_MISTAKES}


def rules_of(name):
    return next(rules for known, _, rules, _ in ALL if known == name)


class Trouble(Exception):
    """The program ended in a way that says nothing of the mistake."""


def failure_of(run):
    """Where a run failed (the seed, or "-" when it has none), the rule and what it says; None when all was well."""
    if run.returncode == 0:
        return None
    failed = re.search(r"^seed (\d+) fails:\n *[0-9.]+ +\[([a-z]+)\] (.*)", run.stdout, re.MULTILINE)
    if run.returncode == 1 and failed:
        return failed.groups()
    case = re.search(r"systematic case fails: (.*)", run.stdout)
    rule = re.search(r"^ *[0-9.]+ +\[([a-z]+)\] ", run.stdout, re.MULTILINE)
    if run.returncode == 1 and case and rule:
        return "-", rule.group(1), case.group(1)
    said = (run.stderr.strip().splitlines() or ["nothing"])[-1]
    # What a shell makes of the signal counts too.
    if run.returncode in (-signal.SIGABRT, 128 + signal.SIGABRT):
        return "-", "abort", said
    raise Trouble(f"it ended with {run.returncode} and said: {said}")


def find(program, name, seeds):
    """The first seed in which one of its rules finds it, or "-" for a systematic case; the rule, and what it says.

    Other rules may break in earlier seeds: whether that has to do with the mistake is not known, so they do not count.
    """
    command = [program, *family_of(name), "--mistake", name]
    first, last = (int(end) for end in seeds.split(".."))
    while first <= last:
        where = ["--systematic"] if is_systematic(name) else ["--seeds", f"{first}..{last}", "--no-shrink"]
        found = failure_of(subprocess.run([*command, *where], capture_output=True, text=True))
        if not found or found[1] in rules_of(name):
            return found
        if found[0] == "-":
            raise Trouble(f"[{found[1]}] found it instead of {rules_of(name)}: {found[2]}")
        first = int(found[0]) + 1
    return None


def look_for(program, name, seeds):
    try:
        return find(program, name, seeds)
    except Trouble as trouble:
        return trouble


def row(name, found):
    if isinstance(found, Trouble):
        return f"{name:<20} trouble: {found}"
    return f"{name:<20} " + (f"{found[0]:>6}  {found[1]:<10} {found[2][:110]}" if found else "   not found")


def check(program, seeds):
    names = [name for name, *_ in ALL]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = dict(zip(names, pool.map(lambda name: look_for(program, name, seeds), names)))
    print(f"{'mistake':<20} {'seeds':>6}  {'rule':<10} found by")
    for name, found in results.items():
        print(row(name, found))
    missed = [name for name, found in results.items() if not found or isinstance(found, Trouble)]
    if missed:
        sys.exit(f"the explorer does not find {', '.join(missed)} within seeds {seeds}")
    for name, (seed, *_) in results.items():
        if seed == "-":
            continue
        if subprocess.run([program, *family_of(name), "--seed", seed], capture_output=True).returncode != 0:
            sys.exit(f"seed {seed} fails also without the mistake {name}")


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "generate":
        generate(pathlib.Path(sys.argv[2]) / "src", pathlib.Path(sys.argv[3]))
    elif len(sys.argv) == 4 and sys.argv[1] == "check":
        check(sys.argv[2], sys.argv[3])
    elif len(sys.argv) == 2 and sys.argv[1] == "files":
        files = {file for *_, changes in ALL for file, _, _ in changes} | set(WITH_HEADERS)
        print(";".join(sorted(files)))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
