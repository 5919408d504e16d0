#include "replica/pause_watch.h"

#include <fmt/format.h>

#include "kube/url.h"

namespace careen::replica {

using budget::Pause;
using budget::PauseRecord;
using io::Task;

namespace {

constexpr const char* kProblem = "pause";
constexpr const char* kMetric = "careen_paused";
constexpr io::Duration kLookEvery = io::seconds{3};
// How long the known pauses count while no changes can be heard of.
constexpr io::Duration kTrusted = io::seconds{30};

Task<void> listed_anew(kube::Watch& watch) { co_await watch.refresh(); }

std::string encoded(std::string_view text) {
  std::string out;
  kube::append_encoded(out, text);
  return out;
}

std::string subject(const Pause& pause) { return pause.profile.empty() ? "everything" : "profile " + pause.profile; }

}  // namespace

PauseWatch::PauseWatch(PauseWatchParts parts, PauseWatchOptions options, std::function<bool()> writes_events)
    : p_(std::move(parts)),
      loop_(p_.cluster.loop()),
      options_(std::move(options)),
      writes_events_(std::move(writes_events)),
      lease_(p_.cluster.watch_parts("pause"),
             kube::ReflectorOptions::of_one(kube::resources::leases, options_.ns, std::string(PauseRecord::kLease),
                                            std::string(PauseRecord::kLease)),
             p_.cluster.atoms()),
      known_(loop_),
      refused_(loop_) {
  pauses_.unknown("it is not known yet whether somebody has paused anything", loop_.wall_now());
  lease_changes_ = lease_.store().subscribe([this](const kube::Lease*, const kube::Lease* after) { take(after); });
  lease_.on_synced([this] { read_anew(); });
}

std::string PauseWatch::place() const { return fmt::format("Lease {}/{}", options_.ns, PauseRecord::kLease); }

const kube::Lease* PauseWatch::known_lease() const {
  return lease_.store().find(kube::object_key(options_.ns, PauseRecord::kLease));
}

Task<void> PauseWatch::run() {
  lease_.start();
  co_await look_why_not();
}

// That there is none is no change of anything.
void PauseWatch::read_anew() {
  refusals_.granted();
  refused_.close();
  unread_ = false;
  take(known_lease());
  known_.open();
}

Task<void> PauseWatch::fresh() {
  co_await known_.wait();
  co_await io::race(loop_, listed_anew(lease_), io::wait_for(refused_));
}

// The reflector reports whatever keeps it from its list; a missing right is the one thing that we do not wait for, and
// it keeps trying.
Task<void> PauseWatch::look_why_not() {
  for (;;) {
    co_await io::sleep_for(loop_, kLookEvery);
    const auto is_current = [this] { return lease_.synced() && lease_.blind_for() < kTrusted; };
    if (is_current()) {
      if (unread_) read_anew();
      continue;
    }
    unread_ = true;
    if (refused_.is_open()) continue;
    kube::CallOptions call;
    call.query = "limit=1&fieldSelector=" + encoded(fmt::format("metadata.name={}", PauseRecord::kLease));
    const auto answer = co_await p_.cluster.client().list(kube::resources::leases, options_.ns, std::move(call));
    if (is_current()) continue;
    if (answer) {
      refusals_.granted();
      // Watches may be refused where lists are not.
      lease_.request_relist();
    } else if (refusals_.missing(answer.error(), loop_.now()) || (!options_.patient && answer.error().code == 403)) {
      go_on_without(answer.error());
    } else {
      stand_still(answer.error());
    }
  }
}

void PauseWatch::stand_still(const kube::ApiError& error) {
  p_.cluster.problems().raise(
      kProblem,
      fmt::format(
          "{} cannot be read: {}; nothing is begun, moved or evicted until it can be{}", place(), error.message,
          error.code != 403 ? "" : ", or has been refused for " + io::format_duration(kube::SteadyRefusal::kPatience)));
  pauses_.unknown(fmt::format("it is not known whether somebody has paused anything: {} cannot be read", place()),
                  loop_.wall_now());
}

// What was paused when it was last read stays so: whoever takes the right away resumes nothing.
void PauseWatch::go_on_without(const kube::ApiError& error) {
  take(known_lease());
  p_.cluster.problems().raise(
      kProblem, fmt::format("{} cannot be read: {}; careen goes on {}, and \"careen pause\" and \"careen "
                            "resume\" have no effect until it may list and watch leases in namespace {}",
                            place(), error.message,
                            pauses_.all().empty() ? "as if nothing were paused" : "with what it knew", options_.ns));
  // The reflector has reported the same, but not what it means.
  p_.cluster.problems().clear(fmt::format("watch {}", PauseRecord::kLease));
  refused_.open();
  known_.open();
}

void PauseWatch::take(const kube::Lease* lease) {
  if (lease) uid_ = lease->uid;
  const std::string* text = lease ? lease->annotation(PauseRecord::kAnnotation) : nullptr;
  auto record = text ? PauseRecord::parse(*text) : PauseRecord{};
  if (record) {
    p_.cluster.problems().clear(kProblem);
    pauses_.set(std::move(*record));
  } else {
    const std::string wrong =
        fmt::format("annotation {} of {} cannot be read: {}", PauseRecord::kAnnotation, place(), record.error());
    p_.cluster.problems().raise(kProblem,
                                wrong + "; everything is paused until it is mended, or \"careen resume\" removes it");
    pauses_.unknown(wrong, loop_.wall_now());
  }
  announce();
}

// What is news compared with what was told last.
void PauseWatch::announce() {
  std::map<std::string, Pause> now;
  for (Pause& pause : pauses_.all()) now.emplace(pause.profile, std::move(pause));
  const std::map<std::string, Pause> before = std::exchange(told_, now);
  for (const auto& [profile, pause] : before) {
    if (!now.contains(profile)) tell_resumed(pause);
  }
  for (const auto& [profile, pause] : now) {
    const auto known = before.find(profile);
    if (known == before.end() || known->second != pause) tell(pause);
  }
}

void PauseWatch::tell(const Pause& pause) {
  p_.cluster.metrics()
      .gauge(kMetric, "1 for what somebody has paused: a profile, or everything.", {{"profile", pause.profile}})
      .set(1);
  p_.log.warn("nothing is begun, moved or evicted", "what", subject(pause), "why", pause.text());
  record("Paused", fmt::format("{} is {}", subject(pause), pause.text()));
}

void PauseWatch::tell_resumed(const Pause& pause) {
  p_.cluster.metrics().drop_gauge(kMetric, {{"profile", pause.profile}});
  p_.log.info("the pause is over", "what", subject(pause), "it was", pause.text());
  record("Resumed", fmt::format("{} goes on; it was {}", subject(pause), pause.text()));
}

// What was found at the beginning is no event: the replica that decided then has reported it.
void PauseWatch::record(std::string reason, std::string note) {
  if (!known_.is_open() || !writes_events_()) return;
  kube::EventRecord event;
  event.api = kube::EventRecord::Api::core_v1;
  event.regarding = {"coordination.k8s.io/v1", "Lease", options_.ns, std::string(PauseRecord::kLease), uid_, ""};
  event.reason = std::move(reason);
  event.note = std::move(note);
  event.controller = options_.identity;
  p_.events.record(std::move(event));
}

}  // namespace careen::replica
