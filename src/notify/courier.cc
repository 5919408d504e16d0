#include "notify/courier.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/metrics.h"
#include "io/random.h"

namespace careen::notify {

// A parcel on its way. It is in its lane's queue unless it is set aside.
struct Courier::Entry {
  Parcel parcel;
  Endpoint* endpoint = nullptr;
  std::unique_ptr<io::Scope> flight;  // while it is being sent
  std::optional<Sent> outcome;        // of a flight that has ended
  std::optional<io::Steady> aside_until;
  uint64_t round = 0;  // of the endpoint when the flight began
  int attempts = 0;
  int refusals = 0;
};

struct Courier::Endpoint {
  struct Lane {
    std::deque<std::string> ids;
    bool flying = false;   // the first is being sent
    bool in_turn = false;  // it is in `turns`
  };
  std::map<std::string, Lane> lanes;  // none is empty
  std::deque<std::string> turns;      // the lanes with nothing in flight; longest waiting first
  int flying = 0;
  int failures = 0;       // in a row
  uint64_t round = 0;     // grows with each counted failure
  io::Steady retry_at{};  // while failures > 0

  // After each change of the lane: it waits for its turn, or goes when it is empty.
  void tidy(const std::string& name) {
    const auto it = lanes.find(name);
    Lane& lane = it->second;
    if (lane.ids.empty()) {
      if (lane.in_turn) std::erase(turns, name);
      lanes.erase(it);
    } else if (!lane.flying && !std::exchange(lane.in_turn, true)) {
      turns.push_back(name);
    }
  }
};

Courier::Courier(Outside& outside, io::Metrics& metrics, io::Random& random, Listener listener, CourierOptions options)
    : outside_(outside),
      metrics_(metrics),
      random_(random),
      listener_(std::move(listener)),
      options_(options),
      pending_(metrics.gauge("careen_notifications_pending", "Notifications that are due and not sent yet.")),
      wake_(outside.loop),
      alarm_(outside.loop, [this] { wake_.notify(); }) {
  pending_.set(0);
}

Courier::~Courier() = default;

bool Courier::add(Parcel parcel) {
  if (has(parcel.id)) return false;
  Endpoint& endpoint = endpoints_[std::string(parcel.sender->endpoint())];
  endpoint.lanes[parcel.lane].ids.push_back(parcel.id);
  endpoint.tidy(parcel.lane);
  const std::string id = parcel.id;
  Entry& entry = entries_[id];
  entry.parcel = std::move(parcel);
  entry.endpoint = &endpoint;
  pending_.set(static_cast<double>(entries_.size()));
  wake_.notify();
  return true;
}

void Courier::forget(const std::string& id) {
  if (!has(id)) return;
  drop(id);
  wake_.notify();
}

io::Task<void> Courier::run() {
  for (;;) {
    settle_finished();
    readmit_refused();
    start_due();
    arm();
    co_await wake_.wait();
  }
}

io::Task<void> Courier::fly(std::string id, std::shared_ptr<const Sender> sender, Message message) {
  auto sent = co_await io::with_timeout(outside_.loop, options_.send_limit, sender->send(std::move(message), outside_));
  if (!sent) {
    const std::string error =
        fmt::format("{}: not sent within {}", sender->endpoint(), io::format_duration(options_.send_limit));
    sent.emplace(tl::make_unexpected(SendError{SendError::Blame::endpoint, error, std::nullopt}));
  }
  entries_.at(id).outcome = std::move(*sent);
  finished_.push_back(id);
  wake_.notify();
}

void Courier::settle_finished() {
  // What listeners do may end further ones, but no flight ends while they run.
  for (const std::string& id : std::exchange(finished_, {})) {
    const auto it = entries_.find(id);
    if (it != entries_.end() && it->second.outcome) settle(id);
  }
}

void Courier::settle(const std::string& id) {
  Entry& entry = entries_.at(id);
  const Sent sent = *std::exchange(entry.outcome, std::nullopt);
  const std::string instance = entry.parcel.instance;
  land(entry);
  ++entry.attempts;
  if (sent) {
    entry.endpoint->failures = 0;
    drop(id);
    count(instance, "sent");
    if (listener_.on_sent) listener_.on_sent(id);
    return;
  }
  const SendError& error = sent.error();
  const bool endpoint_failed = error.blame == SendError::Blame::endpoint;
  const io::Wall next_try = endpoint_failed ? back_off(entry, error) : set_aside(id, entry, error);
  count(instance, "failed");
  if (listener_.on_failed) listener_.on_failed(id, Failure{error.text, entry.attempts, next_try});
}

// The flight is over. Its lane waits for the next turn once it is tidied.
void Courier::land(Entry& entry) {
  entry.flight.reset();
  --flying_;
  --entry.endpoint->flying;
  entry.endpoint->lanes.at(entry.parcel.lane).flying = false;
}

// The endpoint is in trouble: everybody waits.
io::Wall Courier::back_off(Entry& entry, const SendError& error) {
  Endpoint& endpoint = *entry.endpoint;
  endpoint.tidy(entry.parcel.lane);
  // Flights that were under way together fail together: that is one failure.
  const bool counts = endpoint.failures == 0 || entry.round == endpoint.round;
  if (counts) {
    ++endpoint.failures;
    ++endpoint.round;
    endpoint.retry_at = outside_.loop.now() + pause(endpoint.failures, error.retry_after);
  } else if (error.retry_after) {
    endpoint.retry_at =
        std::max(endpoint.retry_at, outside_.loop.now() + std::min(*error.retry_after, options_.longest_asked_pause));
  }
  return wall_at(endpoint.retry_at);
}

// The endpoint works but does not want this parcel: it waits alone and others may overtake it.
io::Wall Courier::set_aside(const std::string& id, Entry& entry, const SendError& error) {
  Endpoint& endpoint = *entry.endpoint;
  endpoint.failures = 0;
  endpoint.lanes.at(entry.parcel.lane).ids.pop_front();
  endpoint.tidy(entry.parcel.lane);
  ++entry.refusals;
  const io::Steady when = outside_.loop.now() + pause(entry.refusals, error.retry_after);
  set_aside_.emplace(when, id);
  entry.aside_until = when;
  return wall_at(when);
}

void Courier::readmit_refused() {
  const io::Steady now = outside_.loop.now();
  while (!set_aside_.empty() && set_aside_.begin()->first <= now) {
    const std::string id = std::move(set_aside_.extract(set_aside_.begin()).mapped());
    Entry& entry = entries_.at(id);
    entry.aside_until.reset();
    Endpoint::Lane& lane = entry.endpoint->lanes[entry.parcel.lane];
    // Before those that were added later, but the one that flies stays the first.
    lane.ids.insert(lane.ids.begin() + (lane.flying ? 1 : 0), id);
    entry.endpoint->tidy(entry.parcel.lane);
  }
}

// Removes every trace of it.
void Courier::drop(const std::string& id) {
  Entry& entry = entries_.at(id);
  Endpoint& endpoint = *entry.endpoint;
  if (entry.flight) land(entry);
  if (entry.aside_until) {
    const auto [begin, end] = set_aside_.equal_range(*entry.aside_until);
    set_aside_.erase(std::find_if(begin, end, [&](const auto& waiting) { return waiting.second == id; }));
  } else {
    std::erase(endpoint.lanes.at(entry.parcel.lane).ids, id);
    endpoint.tidy(entry.parcel.lane);
  }
  entries_.erase(id);
  pending_.set(static_cast<double>(entries_.size()));
}

bool Courier::has(const std::string& id) const { return entries_.contains(id); }
bool Courier::is_flying(const std::string& id) const {
  const auto entry = entries_.find(id);
  return entry != entries_.end() && entry->second.flight;
}
size_t Courier::pending() const { return entries_.size(); }

io::Task<void> Courier::drain() {
  draining_ = true;
  while (flying_ > 0 || !finished_.empty()) co_await io::sleep_for(outside_.loop, io::milliseconds{20});
}

// One each in turn, so that no endpoint keeps others from flying.
void Courier::start_due() {
  if (draining_) return;
  size_t passed_over = 0;
  while (flying_ < options_.in_all && passed_over < endpoints_.size()) {
    auto next = endpoints_.upper_bound(last_served_);
    if (next == endpoints_.end()) next = endpoints_.begin();
    last_served_ = next->first;
    passed_over = start_one(next->second) ? 0 : passed_over + 1;
  }
}

bool Courier::start_one(Endpoint& endpoint) {
  const bool probing = endpoint.failures > 0;
  if (probing && outside_.loop.now() < endpoint.retry_at) return false;
  if (endpoint.turns.empty() || endpoint.flying >= (probing ? 1 : options_.per_endpoint)) return false;
  Endpoint::Lane& lane = endpoint.lanes.at(endpoint.turns.front());
  endpoint.turns.pop_front();
  lane.in_turn = false;
  lane.flying = true;
  ++endpoint.flying;
  ++flying_;
  Entry& entry = entries_.at(lane.ids.front());
  entry.round = endpoint.round;
  entry.flight = std::make_unique<io::Scope>(outside_.loop);
  entry.flight->spawn(fly(entry.parcel.id, entry.parcel.sender, entry.parcel.message));
  return true;
}

// Wakes run() at the end of the next pause.
void Courier::arm() {
  io::Steady next = set_aside_.empty() ? io::kNever : set_aside_.begin()->first;
  for (const auto& [name, endpoint] : endpoints_) {
    const bool waits = endpoint.failures > 0 && endpoint.flying == 0 && !endpoint.turns.empty();
    // One whose pause is over waits for a free place, not for the time.
    if (waits && endpoint.retry_at > outside_.loop.now()) next = std::min(next, endpoint.retry_at);
  }
  if (next == io::kNever) {
    alarm_.cancel();
  } else {
    alarm_.set(next);
  }
}

// Doubles with each failure up to the longest, and up to a quarter more, so that not everybody comes back at once.
io::Duration Courier::pause(int failures, const std::optional<io::Duration>& asked) {
  io::Duration own = options_.first_pause;
  for (int i = 1; i < failures && own < options_.longest_pause; ++i) own *= 2;
  own = std::min(own, options_.longest_pause);
  own += std::chrono::duration_cast<io::Duration>(own * (random_.unit() / 4));
  return asked ? std::max(own, std::min(*asked, options_.longest_asked_pause)) : own;
}

void Courier::count(const std::string& instance, const char* result) {
  metrics_
      .counter("careen_notifications_total", "Attempts to send a notification.",
               {{"instance", instance}, {"result", result}})
      .add();
}

io::Wall Courier::wall_at(io::Steady when) const {
  return io::add(outside_.loop.wall_now(), when - outside_.loop.now());
}

}  // namespace careen::notify
