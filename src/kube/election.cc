#include "kube/election.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "io/metrics.h"
#include "io/problems.h"
#include "io/random.h"
#include "io/task.h"
#include "kube/client.h"
#include "kube/error.h"
#include "kube/json.h"
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
// Somebody else writes the Lease too; after this many conflicts in a row we are no longer quick.
constexpr int kQuickConflicts = 3;
// A write has to be over this long before the lock can be taken, and is not begun with less than a second to go.
constexpr io::Duration kMargin = io::milliseconds{500};
constexpr io::Duration kShortestWindow = io::seconds{1};
constexpr io::Duration kReleaseLimit = io::seconds{5};
constexpr io::Duration kReleaseRetry = io::milliseconds{200};
constexpr io::Duration kForbiddenWatchRetry = io::minutes{1};
constexpr size_t kLongestLeaseEvent = 1 << 20;
constexpr size_t kOpenAttempts = 16;

std::string text(JsonView value) { return std::string(value.text().value_or("")); }

// Resource versions of one server grow. Zero for one that is no number: it cannot be compared.
uint64_t as_number(std::string_view version) {
  uint64_t out = 0;
  const auto [end, failed] = std::from_chars(version.data(), version.data() + version.size(), out);
  return failed == std::errc{} && end == version.data() + version.size() ? out : 0;
}

}  // namespace

struct Election::Record {
  Json lease;
  std::string version;
  std::string holder;
  std::string renew_time;
  io::Duration duration{};
  std::string spec;  // whole: as long as it stays the same, nobody has renewed

  // Null when the text is no object.
  static std::unique_ptr<Record> parse(std::string_view body) {
    io::Result<Json> lease = Json::parse(body);
    if (!lease || !lease->view().is_object()) return nullptr;
    auto record = std::make_unique<Record>();
    record->lease = std::move(*lease);
    const JsonView spec = record->lease["spec"];
    record->version = text(record->lease.at("/metadata/resourceVersion"));
    record->holder = text(spec["holderIdentity"]);
    record->renew_time = text(spec["renewTime"]);
    record->duration =
        io::seconds{std::clamp<int64_t>(spec["leaseDurationSeconds"].integer().value_or(0), 0, INT32_MAX)};
    record->spec = spec.exists() ? spec.dump() : "";
    return record;
  }
};

// While run() runs, release() can end it.
struct Election::Running {
  Running(Election& e, io::Scope& scope) : election(e) { election.running_ = &scope; }
  ~Running() {
    election.running_ = nullptr;
    election.watching_ = false;
  }
  Election& election;
};

Election::Election(io::Loop& loop, Client& client, io::Random& random, io::Problems& problems, io::Log log,
                   ElectionOptions options)
    : loop_(loop),
      client_(client),
      random_(random),
      problems_(problems),
      log_(log.with("lease", options.ns + "/" + options.name)),
      options_(std::move(options)),
      leading_gate_(loop),
      ended_(loop),
      changed_(loop) {
  if (options_.identity.empty() || options_.retry_period <= io::Duration::zero() ||
      options_.renew_deadline <= options_.retry_period ||
      options_.lease_duration < options_.renew_deadline + kMargin + kShortestWindow) {
    std::fputs("careen: bug: leader election needs an identity and retry period < renew deadline < lease duration\n",
               stderr);
    std::abort();
  }
}

Election::~Election() = default;

void Election::report_to(io::Metrics& metrics) {
  master_status_ = &metrics.gauge("leader_election_master_status",
                                  "Gauge of if the reporting system is master of the relevant lease, 0 indicates "
                                  "backup, 1 indicates master. 'name' is the string used to identify the lease.",
                                  {{"name", options_.name}});
  master_status_->set(leading() ? 1 : 0);
  slow_path_ = &metrics.counter("leader_election_slowpath_total",
                                "Renewals that had to read the lease first. 'name' is the string used to identify the "
                                "lease.",
                                {{"name", options_.name}});
}

std::optional<io::Duration> Election::write_window() const {
  // The watch may show another holder before the renewal finds out.
  if (!leading() || holder_ != options_.identity) return std::nullopt;
  const io::Duration age = loop_.now() - renewed_sent_;
  if (age >= options_.renew_deadline) return std::nullopt;
  const io::Duration window = options_.lease_duration - age - kMargin;
  if (window < kShortestWindow) return std::nullopt;
  return window;
}

io::Task<void> Election::run() {
  if (state_ == State::released) co_return;
  state_ = State::standby;
  io::Scope scope(loop_);
  const Running running(*this, scope);
  scope.spawn(follow());
  scope.spawn(work());
  co_await ended_.wait();
}

io::Task<void> Election::work() {
  co_await campaign();
  co_await keep();
  ended_.open();
}

void Election::become(State next, std::string_view why) {
  const bool led = leading();
  state_ = next;
  if (leading() == led) return;
  if (master_status_) master_status_->set(leading() ? 1 : 0);
  if (leading()) {
    leading_gate_.open();
    log_.info("became leader", "identity", options_.identity, "why", why);
    if (on_event_) on_event_(options_.identity + " became leader");
    return;
  }
  leading_gate_.close();
  if (next == State::lost) {
    log_.error("leadership is lost", "identity", options_.identity, "why", why, "holder", holder_);
  } else {
    log_.info("stopped leading", "identity", options_.identity, "why", why);
  }
  if (on_event_) on_event_(options_.identity + " stopped leading");
}

// standby: until the lock is ours.
io::Task<void> Election::campaign() {
  for (int conflicts = 0;;) {
    switch (co_await attempt(true)) {
      case Outcome::held:
        co_return become(State::leading, "the lease is ours");
      case Outcome::taken:
        conflicts = 0;
        co_await chance();
        break;
      case Outcome::conflict:
        if (++conflicts < kQuickConflicts) break;
        [[fallthrough]];
      case Outcome::failed:
        conflicts = 0;
        co_await io::sleep_for(loop_, jittered(options_.retry_period));
    }
    co_await io::sleep_for(loop_, std::chrono::duration_cast<io::Duration>(kSpread * random_.unit()));
  }
}

// Waits until the lock may be free, as far as the watch tells; without a watch, until it is time to ask.
io::Task<void> Election::chance() {
  const io::Steady poll = loop_.now() + jittered(options_.retry_period);
  for (;;) {
    const io::Steady when = watching_ ? claimable_at() : std::min(claimable_at(), poll);
    if (loop_.now() >= when) co_return;
    co_await changed_or(when);
  }
}

// leading: until the lock is lost.
io::Task<void> Election::keep() {
  io::Steady next = renewed_sent_ + options_.retry_period;
  bool reread = false;
  for (int conflicts = 0;;) {
    // A renewal whose answer got lost may turn up in the watch, so the deadline can move while we wait.
    while (!doubtful_ && loop_.now() < std::min(next, renewed_sent_ + options_.renew_deadline)) {
      co_await changed_or(std::min(next, renewed_sent_ + options_.renew_deadline));
    }
    if (loop_.now() >= renewed_sent_ + options_.renew_deadline) {
      co_return become(State::lost, "no renewal succeeded in time");
    }
    const bool look = reread || doubtful_;
    if (look && slow_path_) slow_path_->add();
    switch (co_await attempt(look)) {
      case Outcome::held:
        conflicts = 0;
        reread = false;
        next = renewed_sent_ + options_.retry_period;
        break;
      case Outcome::taken:
        co_return become(State::lost, "another holds the lease");
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

io::Task<void> Election::changed_or(io::Steady when) {
  co_await io::race(loop_, io::wait_for(changed_), io::wait_until(loop_, when));
}

// One try: looks at the lock (or trusts what we know of it), and writes it if it is ours to take.
io::Task<Election::Outcome> Election::attempt(bool look) {
  if (look) {
    doubtful_ = false;
    if (const auto error = co_await read()) {
      complain(*error);
      co_return Outcome::failed;
    }
  }
  const bool foreign = !holder_.empty() && holder_ != options_.identity;
  // Who leads and finds another holder has lost, whether or not that one's time is up.
  if (leading() ? foreign : loop_.now() < claimable_at()) {
    problems_.clear(options_.problem);
    co_return Outcome::taken;
  }
  const Outcome outcome = co_await claim();
  if (outcome == Outcome::held) problems_.clear(options_.problem);
  co_return outcome;
}

// Reads the Lease afresh; that there is none is no error.
io::Task<std::optional<ApiError>> Election::read() {
  CallOptions options;
  options.timeout = call_limit();
  options.attempts = 1;
  const Result<std::string> body = co_await client_.get(resources::leases, options_.ns, options_.name, options);
  if (!body) {
    if (!body.error().not_found()) co_return body.error();
    vanish();
    co_return std::nullopt;
  }
  auto record = Record::parse(*body);
  if (!record) {
    ApiError error;
    error.message = "the answer is no Lease";
    co_return error;
  }
  observe(std::move(record));
  // A write that was based on another version than the present one cannot take effect any more.
  std::erase_if(open_attempts_, [&](const Attempt& a) { return a.base_version != record_->version; });
  co_return std::nullopt;
}

// Writes the Lease with us as its holder, new or over the version we know.
io::Task<Election::Outcome> Election::claim() {
  Json lease;
  if (record_) {
    lease = record_->lease;
  } else {
    lease = Json::object({{"apiVersion", "coordination.k8s.io/v1"},
                          {"kind", "Lease"},
                          {"metadata", Json::object({{"name", options_.name}, {"namespace", options_.ns}})}});
  }
  const std::string now = stamp();
  if (!record_ || record_->holder != options_.identity) {
    const int64_t before = lease.at("/spec/leaseTransitions").integer().value_or(0);
    lease.set({"spec", "leaseTransitions"}, record_ ? std::min<int64_t>(before + 1, INT32_MAX) : 0);
    lease.set({"spec", "acquireTime"}, now);
  }
  lease.set({"spec", "holderIdentity"}, options_.identity);
  lease.set({"spec", "leaseDurationSeconds"}, std::chrono::ceil<io::seconds>(options_.lease_duration).count());
  lease.set({"spec", "renewTime"}, now);

  CallOptions options;
  options.timeout = call_limit();
  options.attempts = 1;
  // Noted before it is sent: if we are cancelled meanwhile, its fate is open.
  const io::Steady sent = loop_.now();
  if (open_attempts_.size() >= kOpenAttempts) open_attempts_.erase(open_attempts_.begin());
  open_attempts_.push_back({now, record_ ? record_->version : std::string(), sent});
  const Result<std::string> answer =
      record_ ? co_await client_.update(resources::leases, options_.ns, options_.name, lease.dump(), {}, options)
              : co_await client_.create(resources::leases, options_.ns, lease.dump(), options);
  if (answer) {
    auto record = Record::parse(*answer);
    if (!record) {
      ApiError error;
      error.message = "the answer to a write is no Lease";
      complain(error);
      co_return Outcome::failed;
    }
    // The watch may already show what came after our write.
    if (!older_than_known(*record)) observe(std::move(record));
    renewed_sent_ = std::max(renewed_sent_, sent);
    open_attempts_.clear();
    co_return Outcome::held;
  }
  const ApiError& error = answer.error();
  if (!error.ambiguous()) std::erase_if(open_attempts_, [&](const Attempt& a) { return a.renew_time == now; });
  if (error.conflict() || error.already_exists()) co_return Outcome::conflict;
  // The Lease we knew is gone; one that cannot be made (its namespace is missing) stays an error.
  if (error.not_found() && record_) {
    vanish();
    co_return Outcome::conflict;
  }
  complain(error);
  co_return Outcome::failed;
}

io::Task<void> Election::release() {
  if (running_) running_->cancel();
  const bool perhaps_ours = leading() || (state_ == State::standby && !open_attempts_.empty());
  if (state_ != State::lost) become(State::released, "released");
  ended_.open();
  if (!perhaps_ours) co_return;
  const io::Steady limit = loop_.now() + kReleaseLimit;
  while (loop_.now() < limit && !co_await hand_back()) co_await io::sleep_for(loop_, kReleaseRetry);
}

// One try to empty the lock; true when there is nothing left to do. It always reads first: a renewal that was cut
// off may have changed the version, and one that still hangs conflicts with what we write.
io::Task<bool> Election::hand_back() {
  if (co_await read()) co_return false;
  if (!record_ || holder_ != options_.identity) co_return true;
  Json lease = record_->lease;
  const std::string now = stamp();
  lease.set({"spec", "holderIdentity"}, "");
  lease.set({"spec", "leaseDurationSeconds"}, 1);
  lease.set({"spec", "acquireTime"}, now);
  lease.set({"spec", "renewTime"}, now);
  CallOptions options;
  options.timeout = call_limit();
  options.attempts = 1;
  const Result<std::string> answer =
      co_await client_.update(resources::leases, options_.ns, options_.name, lease.dump(), {}, options);
  if (!answer) co_return false;
  if (auto record = Record::parse(*answer)) observe(std::move(record));
  co_return true;
}

// The watch on the one Lease. A new one begins with the Lease as it is, so nothing is missed between two.
io::Task<void> Election::follow() {
  bool told = false;
  for (;;) {
    io::Duration pause = kQuickRetry;
    auto stream =
        co_await client_.watch(resources::leases, options_.ns, "fieldSelector=metadata.name%3D" + options_.name);
    if (stream) {
      told = false;
      watching_ = true;
      co_await read_events(**stream);
      stream->reset();
      watching_ = false;
      changed_.notify();
    } else {
      if (!told) {
        log_.info("the lease cannot be watched; it is read from time to time instead", "error", stream.error().message);
      }
      told = true;
      pause = stream.error().forbidden() ? kForbiddenWatchRetry : options_.retry_period;
    }
    co_await io::sleep_for(loop_, jittered(pause));
  }
}

// Until the stream ends, breaks, or is silent for so long that it must have: the holder of the lock renews it.
io::Task<void> Election::read_events(Stream& stream) {
  WatchDecoder events;
  for (;;) {
    const io::Duration patience = std::max(options_.lease_duration, record_ ? record_->duration : io::Duration::zero());
    const auto more = co_await io::with_timeout(loop_, patience, stream.read(events.buffer()));
    if (!more || !*more || !**more) co_return;
    const io::Result<bool> useful = events.drain([this](EventType type, RawObject& object) -> io::Result<bool> {
      if (type == EventType::bookmark) return true;
      if (type == EventType::error) return false;
      return decode_text(object).map([&](const std::string& lease) { return take_event(type, lease); });
    });
    if (!useful || !*useful || events.buffer().size() > kLongestLeaseEvent) co_return;
  }
}

// false when the stream is of no more use.
bool Election::take_event(EventType type, std::string_view lease) {
  auto record = Record::parse(lease);
  if (!record) return false;
  if (older_than_known(*record)) return true;
  if (type == EventType::deleted) {
    vanish();
  } else {
    observe(std::move(record));
  }
  doubtful_ = holder_ != options_.identity;
  // A follower that sees somebody hold the lock has nothing to complain about.
  if (!leading() && loop_.now() < claimable_at()) problems_.clear(options_.problem);
  changed_.notify();
  return true;
}

// Or just as old: own writes are mostly known from their answers before the watch shows them.
bool Election::older_than_known(const Record& record) const {
  const uint64_t version = as_number(record.version);
  return record_ && version != 0 && version <= as_number(record_->version);
}

void Election::observe(std::unique_ptr<Record> record) {
  if (!record_ || record_->spec != record->spec) observed_ = loop_.now();
  record_ = std::move(record);
  holder_ = record_->holder;
  uid_ = text(record_->lease.at("/metadata/uid"));
  if (holder_ != options_.identity) return;
  for (const Attempt& open : open_attempts_) {
    if (open.renew_time == record_->renew_time) renewed_sent_ = std::max(renewed_sent_, open.sent);
  }
}

void Election::vanish() {
  guarded_until_ = std::max(guarded_until_, claimable_at());
  record_.reset();
  holder_.clear();
}

// From when on the lock may be taken by us. Only our own clock counts: a holder that did not renew for its whole
// lease since we first saw that record has lost it, whatever times the record names.
io::Steady Election::claimable_at() const {
  if (!record_) return guarded_until_;
  if (holder_.empty() || holder_ == options_.identity) return io::Steady{};
  return observed_ + std::max(record_->duration, options_.lease_duration);
}

// Renewals leave room for a second try before the deadline.
io::Duration Election::call_limit() const {
  if (!leading()) return kLongestCall;
  const io::Duration left = renewed_sent_ + options_.renew_deadline - loop_.now();
  return std::clamp(left / 2, std::clamp(left, kLastCall, kShortestCall), kLongestCall);
}

io::Duration Election::jittered(io::Duration d) {
  return d + std::chrono::duration_cast<io::Duration>(d * (0.2 * random_.unit()));
}

// Now as renewTime has it; never the same twice in a row, for it also tells our writes apart.
std::string Election::stamp() {
  io::Wall now = std::chrono::floor<io::microseconds>(loop_.wall_now());
  if (now == last_stamp_) now += io::microseconds{1};
  last_stamp_ = now;
  return io::format_micro_time(now);
}

void Election::complain(const ApiError& error) {
  // Reported again only when the trouble is of another kind: one server that does not answer does so in many words.
  const int kind = !error.network ? error.code : *error.network == io::ErrorKind::tls ? -2 : -1;
  if (std::exchange(complained_, kind) == kind && problems_.open().contains(options_.problem)) return;
  problems_.raise(options_.problem, fmt::format("the lease {}/{} cannot be used: {}; trying again", options_.ns,
                                                options_.name, error.message));
}

}  // namespace careen::kube
