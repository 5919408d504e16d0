#include "observe/observations.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/http.h"
#include "io/metrics.h"

namespace careen::observe {

namespace {
// Whatever is configured, a server is not asked in a tight loop, and sums of times stay in range.
io::Duration sensible(io::Duration interval) {
  return std::clamp<io::Duration>(interval, io::milliseconds{100}, io::hours{24 * 365});
}
}  // namespace

Observations::Observations(io::Loop& loop, io::HttpClient& http, io::Metrics& metrics, Options options,
                           OnChange on_change)
    : loop_(loop),
      http_(http),
      metrics_(metrics),
      options_(options),
      on_change_(std::move(on_change)),
      alarm_(loop, [this] { on_due(); }),
      asking_(loop) {
  options_.interval = sensible(options_.interval);
}

Observations::~Observations() = default;

void Observations::set_interval(io::Duration interval) {
  interval = sensible(interval);
  const io::Duration change = interval - options_.interval;
  options_.interval = interval;
  for (auto& [source, entry] : entries_) {
    if (entry.due != io::kNever) entry.due += change;
  }
  rearm();
}

void Observations::want(const Source& source) {
  Entry& entry = entries_[source];
  entry.wanted = true;
  ask_if_needed(source, entry);
}

ObservationState Observations::state(const Source& source, io::Wall now) const {
  ObservationState state;
  const auto found = entries_.find(source);
  if (found == entries_.end()) {
    state.why = "not asked yet";
    return state;
  }
  const Entry& entry = found->second;
  if (!entry.users.empty() || !is_fresh(entry)) {
    state.why = why_pending(source, entry);
    return state;
  }
  using Kind = ObservationState::Kind;
  state.kind = entry.latest.error.empty() ? Kind::usable : Kind::failed;
  state.observation = &entry.latest;
  state.usable_until = io::add(now, options_.interval - age(entry));
  return state;
}

const Observation* Observations::latest(const Source& source) const {
  const auto found = entries_.find(source);
  return found == entries_.end() || found->second.latest_request == 0 ? nullptr : &found->second.latest;
}

void Observations::use_up(const Source& source, std::string_view node) {
  if (const auto found = entries_.find(source); found != entries_.end()) found->second.users.emplace(node);
}

void Observations::settled(std::string_view node, bool acknowledged) {
  std::vector<Source> changed;
  for (auto& [source, entry] : entries_) {
    const auto user = entry.users.find(node);
    if (user == entry.users.end()) continue;
    entry.users.erase(user);
    // Nor does the answer to a request that is under way count.
    if (acknowledged) entry.outdated_to = requests_;
    if (entry.wanted) ask_if_needed(source, entry);
    changed.push_back(source);
  }
  // An interval may have passed while nothing could be asked.
  rearm();
  for (const Source& source : changed) on_change_(source);
}

io::Duration Observations::age(const Entry& entry) const { return loop_.now() - entry.answered; }

bool Observations::is_fresh(const Entry& entry) const {
  return entry.latest_request > entry.outdated_to && age(entry) <= options_.interval;
}

std::string Observations::why_pending(const Source& source, const Entry& entry) const {
  if (!entry.users.empty()) return fmt::format("used by node {}, waiting for its write", *entry.users.begin());
  if (entry.asking == Asking::queued && !has_free_turn(source)) {
    return fmt::format("waiting for its turn, {} requests to {} are under way", options_.in_flight_per_endpoint,
                       endpoint_of(source.url));
  }
  if (const io::Duration since = loop_.now() - entry.sent; entry.asking == Asking::sent && since >= io::seconds{1}) {
    return fmt::format("being asked since {} ago", io::format_duration(std::chrono::floor<io::seconds>(since)));
  }
  if (entry.asking != Asking::no) return "being asked";
  if (entry.latest_request == 0) return "not asked yet";
  if (entry.latest_request <= entry.outdated_to) return "used up by another node";
  return fmt::format("older than {}", io::format_duration(options_.interval));
}

// Not while a write is pending: its outcome tells from when on an answer counts.
void Observations::ask_if_needed(const Source& source, Entry& entry) {
  if (entry.asking == Asking::no && entry.users.empty() && !is_fresh(entry)) ask(source, entry);
}

void Observations::ask(const Source& source, Entry& entry) {
  entry.asking = Asking::queued;
  entry.due = io::kNever;
  asking_.spawn(observe(source));
}

io::Task<void> Observations::observe(Source source) {
  const auto turn = co_await turns(source).acquire();
  // An entry is never forgotten while it is asked for.
  Entry& entry = entries_.at(source);
  entry.asking = Asking::sent;
  entry.request = ++requests_;
  entry.asked_at = loop_.wall_now();
  entry.sent = loop_.now();
  InstantAnswer answer = co_await ask_instant(loop_, http_, source, entry.asked_at);
  count(source, answer, loop_.now() - entry.sent);
  answered(source, std::move(answer));
}

void Observations::answered(const Source& source, InstantAnswer answer) {
  Entry& entry = entries_.at(source);
  entry.latest = {.value = answer.value,
                  .warnings = std::move(answer.warnings),
                  .error = std::move(answer.error),
                  .asked_at = entry.asked_at,
                  .answered_at = loop_.wall_now(),
                  .serial = ++answers_};
  entry.answered = loop_.now();
  entry.latest_request = entry.request;
  entry.asking = Asking::no;
  entry.due = loop_.now() + options_.interval;
  // A node that wants a value has to say so again, unless no node can use this answer: one requested before an
  // admission that it may not reflect, or while one is being written.
  if (entry.users.empty() && is_fresh(entry)) {
    entry.wanted = false;
  } else if (entry.wanted) {
    ask_if_needed(source, entry);
  }
  rearm();
  on_change_(source);
}

void Observations::count(const Source& source, const InstantAnswer& answer, io::Duration took) {
  const std::string endpoint = endpoint_of(source.url);
  const std::string result = answer.timed_out ? "timeout" : answer.error.empty() ? "success" : "error";
  metrics_
      .counter("careen_observations_total", "Answers about facts that cannot be watched.",
               {{"endpoint", endpoint}, {"result", result}})
      .add();
  metrics_
      .histogram("careen_observation_duration_seconds", "Time until the answer about a fact that cannot be watched.",
                 {0.01, 0.03, 0.1, 0.3, 1, 3, 10}, {{"endpoint", endpoint}})
      .observe(io::to_seconds(took));
}

io::Semaphore& Observations::turns(const Source& source) {
  auto& semaphore = turns_[endpoint_of(source.url)];
  if (!semaphore) semaphore = std::make_unique<io::Semaphore>(loop_, options_.in_flight_per_endpoint);
  return *semaphore;
}

bool Observations::has_free_turn(const Source& source) const {
  const auto found = turns_.find(endpoint_of(source.url));
  return found == turns_.end() || found->second->free() > 0;
}

void Observations::on_due() {
  for (auto at = entries_.begin(); at != entries_.end();) {
    Entry& entry = at->second;
    if (entry.due > loop_.now() || !entry.users.empty()) {
      ++at;
    } else if (entry.wanted) {
      ask(at->first, entry);
      ++at;
    } else {
      at = entries_.erase(at);
    }
  }
  rearm();
}

void Observations::rearm() {
  io::Steady next = io::kNever;
  for (const auto& [source, entry] : entries_) {
    if (entry.users.empty()) next = std::min(next, entry.due);
  }
  if (next == io::kNever) {
    alarm_.cancel();
  } else {
    alarm_.set(std::max(next, loop_.now()));
  }
}

}  // namespace careen::observe
