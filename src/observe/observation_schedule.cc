#include "observe/observation_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "io/metrics.h"
#include "io/random.h"

namespace careen::observe {

namespace {
// Whatever is configured, a server is not asked in a tight loop, and sums of times stay in range.
io::Duration sensible(io::Duration interval) {
  return std::clamp<io::Duration>(interval, io::milliseconds{100}, io::hours{24 * 365});
}
}  // namespace

ObservationSchedule::Interest::Interest(ObservationSchedule& schedule, SourceId id) : schedule_(&schedule), id_(id) {
  schedule.start_following(id);
}

ObservationSchedule::Interest::~Interest() {
  if (schedule_) schedule_->stop_following(id_);
}

ObservationSchedule::ObservationSchedule(io::Loop& loop, io::Metrics& metrics, ObservationOptions options,
                                         Sources& sources)
    : loop_(loop),
      metrics_(metrics),
      options_(std::move(options)),
      sources_(sources),
      alarm_(loop, [this] { on_due(); }),
      asking_(loop) {
  options_.interval = sensible(options_.interval);
  options_.in_flight_per_endpoint = std::max(1, options_.in_flight_per_endpoint);
}

ObservationSchedule::~ObservationSchedule() = default;

void ObservationSchedule::set_interval(io::Duration interval) {
  interval = sensible(interval);
  const io::Duration change = interval - options_.interval;
  options_.interval = interval;
  for (auto& [id, entry] : entries_) {
    if (entry.due != io::kNever) entry.due += change;
  }
  rearm();
}

std::optional<SourceId> ObservationSchedule::add(const std::string& endpoint) {
  if (entries_.size() >= options_.most_sources) return std::nullopt;
  const auto at = endpoints_.try_emplace(endpoint, loop_, options_.in_flight_per_endpoint).first;
  ++at->second.sources;
  const SourceId id{++ids_};
  entries_.try_emplace(id, at);
  return id;
}

void ObservationSchedule::forget(std::map<SourceId, Entry>::iterator at) {
  const Endpoints::iterator endpoint = at->second.endpoint;
  sources_.forgotten(at->first);
  entries_.erase(at);
  // Whoever has a turn there, or waits for one, would be asking for a source that is known.
  if (--endpoint->second.sources == 0) endpoints_.erase(endpoint);
}

void ObservationSchedule::want(SourceId id) {
  Entry& entry = entries_.at(id);
  const bool news = !std::exchange(entry.wanted, true);
  ask_if_needed(id, entry);
  if (news) rearm();
}

void ObservationSchedule::start_following(SourceId id) {
  if (!options_.standing) {
    std::fprintf(stderr, "careen: bug: a source is followed without a pace\n");
    std::abort();
  }
  Entry& entry = entries_.at(id);
  ++entry.followers;
  // With an answer it is due at its time, also if it was not followed for a while.
  if (entry.asking == Asking::no && entry.latest_request == 0) ask(id, entry);
  rearm();
}

void ObservationSchedule::stop_following(SourceId id) {
  --entries_.at(id).followers;
  rearm();
}

ObservationState<void> ObservationSchedule::state(SourceId id, io::Wall now) const {
  const Entry& entry = entries_.at(id);
  ObservationState<void> state;
  if (!entry.users.empty() || !is_fresh(entry)) {
    state.why = why_pending(entry);
    return state;
  }
  state.kind = entry.error.empty() ? ObservationKind::usable : ObservationKind::failed;
  state.observation = observation(entry);
  state.usable_until = io::add(now, options_.interval - state.observation->age);
  return state;
}

std::optional<Observation<void>> ObservationSchedule::latest(SourceId id) const {
  const Entry& entry = entries_.at(id);
  if (entry.latest_request == 0) return std::nullopt;
  return observation(entry);
}

Observation<void> ObservationSchedule::observation(const Entry& entry) const {
  return {.value = entry.value,
          .value_age = entry.value ? loop_.now() - entry.value_answered : io::Duration{},
          .error = entry.error,
          .age = loop_.now() - entry.answered,
          .asked_at = entry.asked_at,
          .answered_at = entry.answered_at,
          .serial = entry.serial};
}

void ObservationSchedule::use_up(SourceId id, std::string_view node) { entries_.at(id).users.emplace(node); }

void ObservationSchedule::settled(std::string_view node, bool acknowledged) {
  std::vector<SourceId> changed;
  for (auto& [id, entry] : entries_) {
    const auto user = entry.users.find(node);
    if (user == entry.users.end()) continue;
    entry.users.erase(user);
    // Nor does the answer to a request that is under way count.
    if (acknowledged) entry.outdated_to = requests_;
    if (entry.wanted) ask_if_needed(id, entry);
    changed.push_back(id);
  }
  // An interval may have passed while nothing could be asked.
  rearm();
  for (const SourceId id : changed) sources_.changed(id);
}

bool ObservationSchedule::is_fresh(const Entry& entry) const {
  return entry.latest_request > entry.outdated_to && loop_.now() - entry.answered <= options_.interval;
}

std::string ObservationSchedule::why_unknown() const {
  if (entries_.size() < options_.most_sources) return "not asked yet";
  return fmt::format("not asked, {} other sources are, which is the most at once", entries_.size());
}

std::string ObservationSchedule::why_pending(const Entry& entry) const {
  if (!entry.users.empty()) return fmt::format("used by node {}, waiting for its write", *entry.users.begin());
  if (entry.asking == Asking::queued && entry.endpoint->second.turns.free() == 0) {
    return fmt::format("waiting for its turn, {} requests to {} are under way", options_.in_flight_per_endpoint,
                       entry.endpoint->first);
  }
  if (const io::Duration since = loop_.now() - entry.sent; entry.asking == Asking::sent && since >= io::seconds{1}) {
    return fmt::format("being asked since {} ago", io::format_duration(std::chrono::floor<io::seconds>(since)));
  }
  if (entry.asking != Asking::no) return "being asked";
  if (entry.latest_request == 0) return "not asked yet";
  if (entry.latest_request <= entry.outdated_to) return "used up by another node";
  return fmt::format("older than {}", io::format_duration(options_.interval));
}

// Not while a write is pending: only its outcome says which answers count.
void ObservationSchedule::ask_if_needed(SourceId id, Entry& entry) {
  if (entry.asking == Asking::no && entry.users.empty() && !is_fresh(entry)) ask(id, entry);
}

void ObservationSchedule::ask(SourceId id, Entry& entry) {
  entry.asking = Asking::queued;
  entry.due = entry.standing_due = io::kNever;
  asking_.spawn(observe(id));
}

io::Task<void> ObservationSchedule::observe(SourceId id) {
  // An entry is never forgotten while it is asked for.
  Entry& entry = entries_.at(id);
  std::optional<Answer> answer = co_await ask_in_turn(id, entry);
  if (answer) {
    answered(id, entry, std::move(*answer));
  } else {
    entry.asking = Asking::no;
    entry.due = loop_.now();
    rearm();
  }
}

// nullopt when nobody was interested any more once it was the source's turn. The turn has ended before anybody is told.
io::Task<std::optional<ObservationSchedule::Answer>> ObservationSchedule::ask_in_turn(SourceId id, Entry& entry) {
  const auto turn = co_await entry.endpoint->second.turns.acquire();
  if (!entry.is_needed()) co_return std::nullopt;
  entry.asking = Asking::sent;
  entry.request = ++requests_;
  entry.sent_at = loop_.wall_now();
  entry.sent = loop_.now();
  std::optional<Answer> answer = co_await io::with_timeout(loop_, options_.longest_answer, sources_.ask(id));
  if (!answer) {
    answer = io::fail(io::ErrorKind::timeout,
                      fmt::format("no answer within {}", io::format_duration(options_.longest_answer)));
  }
  count(entry.endpoint->first, *answer, loop_.now() - entry.sent);
  co_return answer;
}

void ObservationSchedule::answered(SourceId id, Entry& entry, Answer answer) {
  entry.asked_at = entry.sent_at;
  entry.answered_at = loop_.wall_now();
  entry.answered = loop_.now();
  entry.serial = ++answers_;
  entry.latest_request = entry.request;
  if (answer) {
    entry.value = std::move(*answer);
    entry.value_answered = entry.answered;
    entry.error.clear();
    entry.errors = 0;
  } else {
    entry.error = std::move(answer.error().message);
    ++entry.errors;
  }
  entry.asking = Asking::no;
  entry.due = loop_.now() + options_.interval;
  if (options_.standing) entry.standing_due = loop_.now() + standing_pause(entry);
  // Whoever wants it has to say so again, unless nobody can use this answer: asked before an admission of which it may
  // know nothing, or while one is being written.
  if (entry.users.empty() && is_fresh(entry)) {
    entry.wanted = false;
  } else if (entry.wanted) {
    ask_if_needed(id, entry);
  }
  rearm();
  sources_.changed(id);
}

io::Duration ObservationSchedule::standing_pause(const Entry& entry) const {
  const StandingPace& pace = *options_.standing;
  io::Duration pause = sensible(pace.interval);
  const io::Duration longest = std::max(pause, sensible(pace.longest_pause));
  for (int error = 1; error < entry.errors && pause < longest; ++error) pause = std::min(pause * 2, longest);
  const double share = 1 + std::clamp(pace.jitter, 0.0, 1.0) * (2 * pace.random.unit() - 1);
  return sensible(std::chrono::duration_cast<io::Duration>(pause * share));
}

void ObservationSchedule::count(const std::string& endpoint, const Answer& answer, io::Duration took) {
  const bool timed_out = !answer && answer.error().kind == io::ErrorKind::timeout;
  const std::string result = timed_out ? "timeout" : answer ? "success" : "error";
  metrics_
      .counter("careen_observations_total", "Answers about facts that cannot be watched.",
               {{"endpoint", endpoint}, {"result", result}})
      .add();
  metrics_
      .histogram("careen_observation_duration_seconds", "Time until the answer about a fact that cannot be watched.",
                 {0.01, 0.03, 0.1, 0.3, 1, 3, 10}, {{"endpoint", endpoint}})
      .observe(io::to_seconds(took));
}

// When the entry has to be asked again, or forgotten. What is used up waits with that for the outcome of the write, but
// those who follow it see it as ever.
io::Steady ObservationSchedule::next_look(const Entry& entry) const {
  io::Steady next = entry.followers > 0 ? entry.standing_due : io::kNever;
  if (entry.users.empty() && (entry.wanted || entry.followers == 0)) next = std::min(next, entry.due);
  return next;
}

void ObservationSchedule::on_due() {
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto looked_at = at++;
    Entry& entry = looked_at->second;
    if (next_look(entry) > loop_.now()) continue;
    if (entry.is_needed()) {
      ask(looked_at->first, entry);
    } else {
      forget(looked_at);
    }
  }
  rearm();
}

void ObservationSchedule::rearm() {
  io::Steady next = io::kNever;
  for (const auto& [id, entry] : entries_) next = std::min(next, next_look(entry));
  if (next == io::kNever) {
    alarm_.cancel();
  } else {
    alarm_.set(std::max(next, loop_.now()));
  }
}

}  // namespace careen::observe
