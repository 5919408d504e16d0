#include "controllers/requests/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "budget/pause.h"
#include "controllers/requests/decide_steps.h"
#include "controllers/requests/names.h"
#include "io/whole_seconds.h"
#include "kube/events.h"
#include "kube/node.h"
#include "limits/limit.h"

namespace careen::requests {

namespace {

using limits::Limit;
using Verdict = Why::Verdict;

constexpr size_t kLongestMessage = 1024;
constexpr io::Duration kStillCordoned = io::minutes{5};
constexpr io::Duration kRejectedStays = io::minutes{5};
// What was not looked at for so long after its end, because nobody led, is not looked at any more.
constexpr io::Duration kLateLook = io::hours{1};

// The smallest that is set.
template <class Get>
io::Duration shortest(const std::vector<const Limit*>& limits, io::Duration without_limits, Get get) {
  if (limits.empty()) return without_limits;
  io::Duration found{};
  for (const Limit* const limit : limits) {
    const io::Duration one = get(*limit);
    if (one > io::Duration{} && (found == io::Duration{} || one < found)) found = one;
  }
  return found;
}

io::Duration evidence_span(const World& world) {
  return shortest(world.limits, limits::Timeouts{}.evidence, [](const Limit& one) { return one.timeouts.evidence; });
}
io::Duration timeout_of(const World& world, io::Duration limits::Timeouts::* which) {
  return shortest(world.limits, {}, [&](const Limit& one) { return one.timeouts.*which; });
}

void wake_at(Decision& decision, io::Wall when) {
  if (!decision.wake || when < *decision.wake) decision.wake = when;
}

// Whether so long has passed; otherwise it is looked at again when it has.
bool passed(Decision& decision, const std::optional<io::Wall>& since, io::Duration span, io::Wall now) {
  if (span <= io::Duration{} || !since) return false;
  const io::Wall when = io::add(*since, span);
  if (when <= now) return true;
  wake_at(decision, when);
  return false;
}

void say(Decision& decision, Phase phase, std::string_view reason, std::string message) {
  Status& status = decision.status;
  status.phase = phase;
  status.reason = reason;
  status.message = std::move(message);
}

// As it was first written; the clock may have been set since then.
void keep_time(std::optional<io::Wall>& said, const std::optional<io::Wall>& time) {
  if (!said && time) said = io::whole_seconds(*time);
}

void end(Decision& decision, std::string_view reason, std::string message) {
  decision.why.add(Verdict::no, fmt::format("{}: {}", reason, message));
  decision.effect = End{{std::string(reason), std::move(message)}};
}

// Why the state of a running request was never approved by careen, or could not have been; false: it may have been, by
// whoever led before.
bool never_approved(const World& world, const Memory& memory) {
  const Request& request = *world.request;
  if (request.approved_at) return false;
  if (memory.status.reason == reasons::kUnapproved) return true;
  if (memory.status.approved) return false;
  const bool seen_waiting = memory.status.phase == Phase::waiting || memory.status.phase == Phase::reserved;
  const bool born_so = world.leading_since && request.created > *world.leading_since;
  return memory.met_waiting || seen_waiting || born_so;
}

void decide_running(Decision& decision, const World& world, const Memory& memory, io::Wall now) {
  const Request& request = *world.request;
  const bool approved = request.state == State::approved;
  const bool unapproved = never_approved(world, memory);
  Status& status = decision.status;
  status.position = 0;
  if (!unapproved) keep_time(status.approved, memory.approved);
  decision.why = {Verdict::yes, fmt::format("MaintenanceRequest {}: {}", request.name, name_of(request.state)), {}};
  if (unapproved) {
    say(decision, phase_of(request.state), reasons::kUnapproved,
        fmt::format("it was set to {} without having been approved; it counts all the same", name_of(request.state)));
  } else if (approved) {
    say(decision, Phase::approved, reasons::kApproved, "the work may begin");
  } else {
    say(decision, Phase::in_progress, reasons::kInProgress, "the work has begun");
  }
  status.set_condition(conditions::kApproved, !unapproved, status.reason, status.message, now);
  status.set_condition(conditions::kFinished, false, name_of(request.state), status.message, now);

  const io::Duration evidence = evidence_span(world);
  if (approved) {
    if (passed(decision, memory.approved, timeout_of(world, &limits::Timeouts::approved), now)) {
      return end(decision, reasons::kApprovalExpired, "it was approved, and nobody has begun");
    }
    // Whoever asked may have had it replaced, and forgotten the rest.
    const auto gone = world.node ? std::nullopt : memory.evidence.gone_since;
    if (passed(decision, gone, evidence, now)) {
      return end(decision, reasons::kTargetNotFound, fmt::format("node {} is gone", request.node));
    }
    return;
  }
  keep_time(status.started, memory.started);
  // Not anew for as long as it shows the same.
  const Evidence& shown = memory.evidence;
  if (shown.seen && (!status.work_seen || shown.quiet_since)) status.work_seen = io::whole_seconds(*shown.seen);
  if (status.boot_id.empty()) status.boot_id = memory.evidence.boot_id;
  if (passed(decision, memory.started, timeout_of(world, &limits::Timeouts::in_progress), now)) {
    return end(decision, reasons::kTimedOut, "the work has taken too long; the node is left as it is");
  }
  if (!world.node) {
    if (passed(decision, memory.evidence.gone_since, evidence, now)) {
      end(decision, reasons::kFinishedByEvidence, fmt::format("node {} is gone", request.node));
    }
    return;
  }
  const auto quiet = memory.evidence.quiet_since && memory.started
                         ? std::optional(std::max(*memory.evidence.quiet_since, *memory.started))
                         : std::nullopt;
  if (!quiet) decision.why.add(Verdict::note, memory.evidence.sign);
  if (!passed(decision, quiet, evidence, now)) return;
  const std::string span = io::format_duration(evidence);
  if (memory.evidence.seen) {
    return end(decision, reasons::kFinishedByEvidence,
               fmt::format("the node ({}) has been back for {}, and nobody said so", memory.evidence.sign, span));
  }
  end(decision, reasons::kNoWorkSeen,
      fmt::format("for {} the node was ready, schedulable and running as before: nobody works on it", span));
}

// A foreign cordon is told of, and never undone unasked.
void look_at_cordon(Decision& decision, const World& world, const Memory& memory, io::Wall now) {
  const Request& request = *world.request;
  Status& status = decision.status;
  if (request.state != State::completed || !memory.finished || status.condition(conditions::kNodeReleased)) return;
  if (now >= io::add(*memory.finished, kLateLook)) return;
  if (!passed(decision, memory.finished, kStillCordoned, now)) return;
  if (!world.node || !world.node->unschedulable || sign_of_work(world.node, request.owner()) != "cordoned") return;
  status.set_condition(conditions::kNodeReleased, false, reasons::kNodeStillCordoned,
                       fmt::format("node {} is still cordoned, {} after the maintenance was completed; "
                                   "\"careen uncordon {}\" ends that",
                                   request.node, io::format_duration(kStillCordoned), request.node),
                       now);
}

void decide_finished(Decision& decision, const World& world, const Memory& memory, io::Wall now) {
  const Request& request = *world.request;
  Status& status = decision.status;
  decision.why = {Verdict::note, fmt::format("MaintenanceRequest {}: {}", request.name, name_of(request.state)), {}};
  const bool of_careen = memory.status.phase != Phase::none || request.approved_at || request.ended || memory.started;
  if (of_careen) {
    const bool told = memory.status.phase == phase_of(request.state);
    status.phase = phase_of(request.state);
    status.position = 0;
    keep_time(status.finished, memory.finished);
    if (request.ended && (request.state == State::rejected || !request.ended->rejects())) {
      status.reason = request.ended->reason;
      status.message = request.ended->message;
    } else if (!told) {
      status.reason = name_of(request.state);
      status.message = request.state == State::completed ? "the work is done" : "somebody has rejected it";
    }
    status.set_condition(conditions::kFinished, true, status.reason, status.message, now);
    look_at_cordon(decision, world, memory, now);
  }
  const auto ttl = time_to_live(request, world.limits);
  // What its node is held for is undone first, by what the request says.
  const bool holds = world.node && holds_node(*world.node, request);
  if (ttl && memory.finished && !holds) {
    const io::Wall when = io::add(*memory.finished, *ttl);
    if (when <= now) {
      decision.effect = Remove{};
    } else {
      wake_at(decision, when);
    }
  }
  decision.settled = !decision.effect && !decision.wake && !(ttl && holds) && status == memory.status;
}

// An age that has grown is not worth a write: of both texts what lies between "since " and the next comma or bracket is
// left out.
bool differ_in_ages_alone(std::string_view a, std::string_view b) {
  const auto without_ages = [](std::string_view text) {
    constexpr std::string_view kSince = " since ";
    std::string out;
    for (size_t at = text.find(kSince); at != std::string_view::npos; at = text.find(kSince)) {
      out += text.substr(0, at);
      text.remove_prefix(std::min(text.find_first_of(",;)", at), text.size()));
    }
    return out.append(text);
  };
  return without_ages(a) == without_ages(b);
}

// Pending, and without a place.
void ask_for_place(Decision& decision, const World& world, const Memory& memory, io::Wall now) {
  const Request& request = *world.request;
  Status& status = decision.status;
  const auto wait = [&](std::string_view reason, std::string message, Why::Code code = Why::Code::none) {
    decision.why.add(Verdict::no, message, code);
    say(decision, Phase::waiting, reason, std::move(message));
    status.set_condition(conditions::kApproved, false, reason, status.message, now);
  };
  status.position = 0;
  if (world.pause) return wait(reasons::kPaused, world.pause->text(), Why::Code::paused);
  if (!world.busy_with.empty()) {
    return wait(reasons::kTargetBusy,
                fmt::format("request {} is about the same node, and comes first", world.busy_with));
  }
  if (world.limits.empty() && world.options.require_limit) {
    return wait(reasons::kLimitRequired,
                "no MaintenanceLimit is about the node, and one is required (--require-limit)");
  }
  const limits::Asking asking{request.node, request.owner(), request.actor(), limits::Rank::campaign, request.created};
  using Detail = limits::Desk::Detail;
  const bool tells = memory.wants_text || memory.status.reason != reasons::kWaiting || memory.status.message.empty();
  limits::Desk::Answer answer = world.ask(asking, tells ? Detail::text : Detail::verdict);
  if (answer.allowed && world.ledger_fits) {
    decision.takes = true;
    decision.why.add(Verdict::yes, "it has a place");
    say(decision, Phase::reserved, reasons::kReserved, "it has a place, and is being approved");
    return;
  }
  decision.waits = asking;
  if (answer.changes_at) wake_at(decision, *answer.changes_at);
  if (answer.allowed) answer.text = "the record of places is full: others have to end first";
  status.position = tells ? world.position : memory.status.position;
  const bool says_more = tells && !differ_in_ages_alone(answer.text, memory.status.message);
  wait(reasons::kWaiting, says_more || answer.allowed ? std::move(answer.text) : memory.status.message);
}

void decide_pending(Decision& decision, const World& world, const Memory& memory, io::Wall now) {
  const Request& request = *world.request;
  Status& status = decision.status;
  decision.why = {Verdict::no, fmt::format("MaintenanceRequest {}: Pending", request.name), {}};
  if (world.claim == Claim::inherited || world.claim == Claim::stale) {
    decision.effect = Touch{};
    return;
  }
  keep_time(status.pending_since, memory.pending);
  status.approved.reset();
  status.started.reset();
  status.finished.reset();
  if (request.type.empty()) {
    say(decision, Phase::waiting, reasons::kTypeMissing, "spec.type is missing: node is the only one there is");
    decision.why.add(Verdict::error, status.message);
    status.set_condition(conditions::kApproved, false, status.reason, status.message, now);
    return;
  }
  if (request.type != "node") {
    return end(decision, reasons::kUnsupportedType, "spec.type: node is the only one there is");
  }
  if (request.node.empty()) return end(decision, reasons::kTargetNotFound, "spec.name is missing");
  if (!world.node) {
    return end(decision, reasons::kTargetNotFound, fmt::format("there is no node {}", request.node));
  }
  if (passed(decision, memory.pending, timeout_of(world, &limits::Timeouts::pending), now)) {
    return end(decision, reasons::kPendingExpired, "it has waited for too long");
  }
  if (!world.has_place || world.claim != Claim::ours) return ask_for_place(decision, world, memory, now);
  status.position = 0;
  take_next_step(decision, world, memory, now);
}

}  // namespace

void Memory::clock_stepped(io::Duration by) {
  for (auto* const time : {&pending, &approved, &started, &finished, &held, &drained, &infra, &detached}) {
    if (*time) **time += by;
  }
  trouble.retry_at += by;
  status_trouble.retry_at += by;
  evidence.clock_stepped(by);
}

void observe(const World& world, Memory& memory, io::Wall now) {
  const Request& request = *world.request;
  const Status& status = memory.status;
  const auto begun = [&](std::optional<io::Wall>& time, const std::optional<io::Wall>& said) {
    if (!time) time = said ? *said : now;
  };
  if (request.state == State::pending) {
    memory.met_waiting = true;
    begun(memory.pending, status.pending_since);
    memory.approved.reset();
    memory.started.reset();
    memory.finished.reset();
    return observe_steps(world, memory, now);
  }
  if (request.finished()) return begun(memory.finished, status.finished);
  memory.finished.reset();
  begun(memory.approved, request.approved_at ? request.approved_at : status.approved);
  if (request.state == State::approved) {
    memory.started.reset();
    const auto gone_since = memory.evidence.gone_since;
    memory.evidence = {};
    if (!world.node) memory.evidence.gone_since = gone_since.value_or(now);
    return;
  }
  if (!memory.started) {
    begun(memory.started, status.started);
    memory.evidence.begin(status.boot_id, status.work_seen);
  }
  memory.evidence.look(world.node, request.owner(), now);
}

Decision decide(const World& world, const Memory& memory, io::Wall now) {
  Decision decision;
  if (!world.request) {
    decision.gone = true;
    return decision;
  }
  const Request& request = *world.request;
  decision.status = memory.status;
  if (request.deleting) {
    decision.why = {Verdict::note, fmt::format("MaintenanceRequest {}: it is being deleted", request.name), {}};
    decision.settled = true;
    return decision;
  }
  const bool was_rejected = request.ended && request.ended->rejects();
  if (request.finished()) {
    decide_finished(decision, world, memory, now);
  } else if (was_rejected) {
    decision.why = {Verdict::error, fmt::format("MaintenanceRequest {} was rejected", request.name), {}};
    decision.effect = TurnAway{*request.ended};
  } else if (request.running()) {
    decide_running(decision, world, memory, now);
  } else {
    decide_pending(decision, world, memory, now);
  }
  decision.status.message = kube::cut_text(decision.status.message, kLongestMessage);
  // A write that failed is not tried before its time.
  if (decision.effect && memory.trouble.retry_at > now) {
    wake_at(decision, memory.trouble.retry_at);
    decision.effect.reset();
  }
  if (!decision.effect && decision.status != memory.status) {
    const bool urgent = decision.status.phase != memory.status.phase && decision.status.phase != Phase::waiting;
    if (memory.status_trouble.retry_at > now) {
      wake_at(decision, memory.status_trouble.retry_at);
    } else {
      decision.effect = WriteStatus{decision.status, urgent};
    }
  }
  return decision;
}

bool is_settled(const Request& request, io::Wall now) {
  if (!request.finished()) return false;
  const Status& status = request.status;
  const bool of_careen = status.phase != Phase::none || request.approved_at || request.ended;
  if (!of_careen) return true;
  if (status.phase != phase_of(request.state) || !status.finished) return false;
  return request.state != State::completed || now >= io::add(*status.finished, kStillCordoned + io::minutes{1});
}

std::optional<io::Duration> time_to_live(const Request& request, const std::vector<const Limit*>& limits) {
  std::optional<io::Duration> found;
  for (const Limit* const limit : limits) {
    if (limit->ttl && (!found || *limit->ttl < *found)) found = *limit->ttl;
  }
  // Old clients take one that was rejected for one that lives: their next try makes a new one only when it is gone.
  if (!found && request.state == State::rejected) return kRejectedStays;
  return found;
}

}  // namespace careen::requests
