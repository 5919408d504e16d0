#include "kube/lock.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "io/metrics.h"
#include "io/problems.h"
#include "io/random.h"
#include "kube/client.h"
#include "kube/error.h"
#include "kube/events.h"
#include "kube/stream.h"
#include "kube/transport.h"

namespace careen::kube {

namespace {

constexpr io::Duration kLongestCall = io::seconds{5};
constexpr io::Duration kShortestCall = io::seconds{1};
// Of a call whose deadline is upon us.
constexpr io::Duration kLastCall = io::milliseconds{50};
// After a renewal that failed.
constexpr io::Duration kQuickRetry = io::seconds{1};
// Followers that see the lock become free do not all come in the same moment.
constexpr io::Duration kSpread = io::milliseconds{50};
// Somebody else writes the object too; after so many conflicts in a row we are not quick any more.
constexpr int kQuickConflicts = 3;
// A write has to be over this long before the lock can be taken, and is not begun with less than a second to go.
constexpr io::Duration kMargin = io::milliseconds{500};
constexpr io::Duration kShortestWindow = io::seconds{1};
constexpr io::Duration kReleaseLimit = io::seconds{5};
constexpr io::Duration kReleaseRetry = io::milliseconds{200};
constexpr io::Duration kForbiddenWatchRetry = io::minutes{1};
constexpr size_t kLongestLockEvent = 2 << 20;

}  // namespace

// While run() runs, release() can end it.
struct Lock::Running {
  Running(Lock& l, io::Scope& scope) : lock(l) { lock.running_ = &scope; }
  ~Running() {
    lock.running_ = nullptr;
    lock.watching_ = false;
  }
  Lock& lock;
};

Lock::Lock(io::Loop& loop, Client& client, io::Random& random, io::Problems& problems, io::Log log, Place place,
           LockTiming timing, std::string identity, std::string problem)
    : loop_(loop),
      client_(client),
      log_(log.with(place.noun, place.ns + "/" + place.name)),
      place_(std::move(place)),
      timing_(timing),
      identity_(std::move(identity)),
      random_(random),
      problems_(problems),
      problem_(std::move(problem)),
      leading_gate_(loop),
      ended_(loop),
      changed_(loop) {
  if (identity_.empty() || timing_.retry_period <= io::Duration::zero() ||
      timing_.renew_deadline <= timing_.retry_period ||
      timing_.lease_duration < timing_.renew_deadline + kMargin + kShortestWindow) {
    std::fputs("careen: bug: a lock needs an identity and retry period < renew deadline < lease duration\n", stderr);
    std::abort();
  }
}

Lock::~Lock() = default;

ObjectReference Lock::reference() const {
  return {place_.resource.api_version(), place_.resource.kind, place_.ns, place_.name, uid_, ""};
}

// A Lease and a ConfigMap of one name are two locks.
void Lock::report_to(io::Metrics& metrics) {
  const std::string name =
      place_.resource.kind == resources::leases.kind ? place_.name : place_.resource.plural + "/" + place_.name;
  master_status_ = &metrics.gauge("leader_election_master_status",
                                  "Gauge of if the reporting system is master of the relevant lease, 0 indicates "
                                  "backup, 1 indicates master. 'name' is the string used to identify the lease.",
                                  {{"name", name}});
  master_status_->set(leading() ? 1 : 0);
  slow_path_ = &metrics.counter("leader_election_slowpath_total",
                                "Renewals that had to read the lease first. 'name' is the string used to identify the "
                                "lease.",
                                {{"name", name}});
}

std::optional<io::Duration> Lock::write_window() const {
  // The watch may show another holder before the renewal finds out.
  if (!leading() || holder_ != identity_) return std::nullopt;
  const io::Duration age = loop_.now() - proven_;
  if (age >= timing_.renew_deadline) return std::nullopt;
  const io::Duration window = timing_.lease_duration - age - kMargin;
  if (window < kShortestWindow) return std::nullopt;
  return window;
}

io::Task<void> Lock::run() {
  if (state_ == State::released) co_return;
  state_ = State::standby;
  io::Scope scope(loop_);
  const Running running(*this, scope);
  scope.spawn(follow());
  scope.spawn(work());
  co_await ended_.wait();
}

io::Task<void> Lock::work() {
  co_await campaign();
  co_await keep();
  ended_.open();
}

void Lock::become(State next, std::string_view why) {
  const bool led = leading();
  state_ = next;
  if (leading() == led) return;
  if (master_status_) master_status_->set(leading() ? 1 : 0);
  if (leading()) {
    leading_gate_.open();
    log_.info("became leader", "identity", identity_, "why", why);
    if (on_event_) on_event_(identity_ + " became leader");
    return;
  }
  leading_gate_.close();
  if (next == State::lost) {
    log_.error("leadership is lost", "identity", identity_, "why", why, "holder", holder_);
  } else {
    log_.info("stopped leading", "identity", identity_, "why", why);
  }
  if (on_event_) on_event_(identity_ + " stopped leading");
}

// standby: until the lock is ours.
io::Task<void> Lock::campaign() {
  for (int conflicts = 0;;) {
    doubtful_ = false;
    switch (co_await attempt(true)) {
      case Outcome::held:
        content();
        co_return become(State::leading, fmt::format("the {} is ours", place_.noun));
      case Outcome::taken:
        content();
        conflicts = 0;
        co_await chance();
        break;
      case Outcome::conflict:
        if (++conflicts < kQuickConflicts) break;
        [[fallthrough]];
      case Outcome::failed:
        conflicts = 0;
        co_await io::sleep_for(loop_, jittered(timing_.retry_period));
    }
    co_await io::sleep_for(loop_, std::chrono::duration_cast<io::Duration>(kSpread * random_.unit()));
  }
}

// Waits until the lock may be free, as far as the watch tells; without a watch, until it is time to ask.
io::Task<void> Lock::chance() {
  const io::Steady poll = loop_.now() + jittered(timing_.retry_period);
  for (;;) {
    const io::Steady when = watching_ ? claimable_at() : std::min(claimable_at(), poll);
    if (loop_.now() >= when) co_return;
    co_await changed_or(when);
  }
}

// leading: until the lock is lost.
io::Task<void> Lock::keep() {
  io::Steady next = proven_ + timing_.retry_period;
  bool reread = false;
  for (int conflicts = 0;;) {
    // A renewal whose answer got lost may turn up in the watch, so the deadline can move while we wait.
    while (!doubtful_ && loop_.now() < std::min(next, proven_ + timing_.renew_deadline)) {
      co_await changed_or(std::min(next, proven_ + timing_.renew_deadline));
    }
    if (loop_.now() >= proven_ + timing_.renew_deadline) {
      co_return become(State::lost, "no renewal succeeded in time");
    }
    const bool look = std::exchange(doubtful_, false) || reread;
    if (look && slow_path_) slow_path_->add();
    switch (co_await attempt(look)) {
      case Outcome::held:
        content();
        conflicts = 0;
        reread = false;
        next = proven_ + timing_.retry_period;
        break;
      case Outcome::taken:
        content();
        co_return become(State::lost, holder_.empty() ? fmt::format("the {} is gone", place_.noun)
                                                      : fmt::format("another holds the {}", place_.noun));
      case Outcome::conflict:
        reread = true;
        next = loop_.now() + (++conflicts < kQuickConflicts ? io::Duration::zero() : kQuickRetry);
        break;
      case Outcome::failed:
        reread = true;
        next = loop_.now() + kQuickRetry;
    }
  }
}

io::Task<void> Lock::changed_or(io::Steady when) {
  co_await io::race(loop_, io::wait_for(changed_), io::wait_until(loop_, when));
}

io::Task<void> Lock::release() {
  if (running_) running_->cancel();
  const bool perhaps_ours = leading() || (state_ == State::standby && may_be_held());
  if (state_ != State::lost) become(State::released, "released");
  ended_.open();
  if (!perhaps_ours) co_return;
  const io::Steady limit = loop_.now() + kReleaseLimit;
  while (loop_.now() < limit && !co_await hand_back()) co_await io::sleep_for(loop_, kReleaseRetry);
}

// The watch on the one object. A new one begins with the object as it is, so nothing is missed between two.
io::Task<void> Lock::follow() {
  bool told = false;
  for (;;) {
    io::Duration pause = kQuickRetry;
    auto stream = co_await client_.watch(place_.resource, place_.ns, "fieldSelector=metadata.name%3D" + place_.name);
    if (stream) {
      told = false;
      watching_ = true;
      co_await read_events(**stream);
      stream->reset();
      watching_ = false;
      changed_.notify();
    } else {
      if (!told) {
        log_.info(fmt::format("the {} cannot be watched; it is read from time to time instead", place_.noun), "error",
                  stream.error().message);
      }
      told = true;
      pause = stream.error().forbidden() ? kForbiddenWatchRetry : timing_.retry_period;
    }
    co_await io::sleep_for(loop_, jittered(pause));
  }
}

// Until the stream ends, breaks, or is silent for so long that it must have.
io::Task<void> Lock::read_events(Stream& stream) {
  WatchDecoder events;
  for (;;) {
    const auto more = co_await io::with_timeout(loop_, longest_silence(), stream.read(events.buffer()));
    if (!more || !*more || !**more) co_return;
    const io::Result<bool> useful = events.drain([this](EventType type, RawObject& object) -> io::Result<bool> {
      if (type == EventType::bookmark) return true;
      if (type == EventType::error) return false;
      return decode_text(object).map([&](const std::string& text) {
        take_event(type, text);
        return true;
      });
    });
    if (!useful || !*useful || events.buffer().size() > kLongestLockEvent) co_return;
  }
}

void Lock::seen(bool doubtful) {
  doubtful_ = doubtful;
  // A follower that sees somebody hold the lock has nothing to complain about.
  if (!leading() && loop_.now() < claimable_at()) content();
  changed_.notify();
}

void Lock::proven(io::Steady sent) { proven_ = std::max(proven_, sent); }

// Renewals leave room for a second try before the deadline.
CallOptions Lock::call_options() const {
  CallOptions options;
  options.attempts = 1;
  options.timeout = kLongestCall;
  if (leading()) {
    const io::Duration left = proven_ + timing_.renew_deadline - loop_.now();
    options.timeout = std::clamp(left / 2, std::clamp(left, kLastCall, kShortestCall), kLongestCall);
  }
  return options;
}

io::Duration Lock::jittered(io::Duration d) {
  return d + std::chrono::duration_cast<io::Duration>(d * (0.2 * random_.unit()));
}

// One server that does not answer does so in many words.
Lock::Trouble Lock::trouble_of(const ApiError& error) {
  const int kind = !error.network ? error.code : *error.network == io::ErrorKind::tls ? -2 : -1;
  return {kind, error.message};
}

Lock::Trouble Lock::unreadable(std::string message) { return {-3, std::move(message)}; }

void Lock::complain(const Trouble& trouble) {
  if (std::exchange(complained_, trouble.kind) == trouble.kind && problems_.open().contains(problem_)) return;
  problems_.raise(problem_, fmt::format("the {} {}/{} cannot be used: {}; trying again", place_.noun, place_.ns,
                                        place_.name, trouble.message));
}

void Lock::content() { problems_.clear(problem_); }

uint64_t Lock::as_number(std::string_view version) {
  uint64_t out = 0;
  const auto [end, failed] = std::from_chars(version.data(), version.data() + version.size(), out);
  return failed == std::errc{} && end == version.data() + version.size() ? out : 0;
}

}  // namespace careen::kube
