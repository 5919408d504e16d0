#include "kube/election.h"

#include <algorithm>
#include <utility>

#include "io/loop.h"
#include "kube/client.h"
#include "kube/error.h"
#include "kube/json.h"
#include "kube/stream.h"

namespace careen::kube {

namespace {

constexpr size_t kOpenAttempts = 16;

}  // namespace

struct Election::Record : LockRecord {
  Json object;
  std::string version;
};

Election::Election(io::Loop& loop, Client& client, io::Random& random, io::Problems& problems, io::Log log,
                   ElectionOptions options)
    : Lock(loop, client, random, problems, std::move(log),
           {lock_object(options.kind).resource(), std::string(lock_object(options.kind).noun()), options.ns,
            options.name},
           options.timing, options.identity, options.problem),
      object_(lock_object(options.kind)) {}

Election::~Election() = default;

io::Result<std::unique_ptr<Election::Record>> Election::parse(std::string_view body) const {
  io::Result<Json> object = Json::parse(body);
  if (!object || !object->view().is_object()) return io::refuse("what the server sent is no " + place_.resource.kind);
  io::Result<LockRecord> read = object_.read(*object);
  if (!read) return tl::make_unexpected(std::move(read.error()));
  auto record = std::make_unique<Record>();
  static_cast<LockRecord&>(*record) = std::move(*read);
  record->object = std::move(*object);
  record->version = record->object.at("/metadata/resourceVersion").text().value_or("");
  return record;
}

io::Task<Lock::Outcome> Election::attempt(bool look) {
  if (look) {
    if (const auto trouble = co_await read()) {
      complain(*trouble);
      co_return Outcome::failed;
    }
  }
  const bool foreign = !holder_.empty() && holder_ != identity_;
  // Who leads and finds another holder has lost, whether or not that one's time is up.
  if (leading() ? foreign : loop_.now() < claimable_at()) co_return Outcome::taken;
  co_return co_await claim();
}

// Reads the object afresh; that there is none is no trouble.
io::Task<std::optional<Lock::Trouble>> Election::read() {
  const Result<std::string> body = co_await client_.get(place_.resource, place_.ns, place_.name, call_options());
  if (!body) {
    if (!body.error().not_found()) co_return trouble_of(body.error());
    vanish();
    co_return std::nullopt;
  }
  auto record = parse(*body);
  if (!record) co_return unreadable(record.error().message);
  observe(std::move(*record));
  // A write that was based on another version than the present one cannot take effect any more.
  std::erase_if(open_attempts_, [&](const Attempt& a) { return a.base_version != record_->version; });
  co_return std::nullopt;
}

// Writes the record with us as its holder, into a new object or over the version we know.
io::Task<Lock::Outcome> Election::claim() {
  const std::string now = stamp();
  LockTerm term{identity_, timing_.lease_duration, now};
  if (!record_ || record_->holder != identity_) {
    term.transitions = record_ ? std::min<int64_t>(record_->transitions + 1, INT32_MAX) : 0;
    term.acquired = now;
  }
  const Resource& resource = place_.resource;
  Json object;
  if (record_) {
    object = record_->object;
  } else {
    object = Json::object({{"apiVersion", resource.api_version()},
                           {"kind", resource.kind},
                           {"metadata", Json::object({{"name", place_.name}, {"namespace", place_.ns}})}});
  }
  object_.write(object, term);

  const CallOptions options = call_options();
  // Noted before it is sent: if we are cancelled meanwhile, its fate is open.
  const io::Steady sent = loop_.now();
  if (open_attempts_.size() >= kOpenAttempts) open_attempts_.erase(open_attempts_.begin());
  open_attempts_.push_back({now, record_ ? record_->version : std::string(), sent});
  const Result<std::string> answer =
      record_ ? co_await client_.update(resource, place_.ns, place_.name, object.dump(), {}, options)
              : co_await client_.create(resource, place_.ns, object.dump(), options);
  if (answer) {
    auto record = parse(*answer);
    if (!record) {
      complain(unreadable(record.error().message));
      co_return Outcome::failed;
    }
    // The watch may already show what came after our write.
    if (!older_than_known(**record)) observe(std::move(*record));
    proven(sent);
    open_attempts_.clear();
    co_return Outcome::held;
  }
  const ApiError& error = answer.error();
  if (!error.ambiguous()) std::erase_if(open_attempts_, [&](const Attempt& a) { return a.renew_time == now; });
  if (error.conflict() || error.already_exists()) co_return Outcome::conflict;
  // The object we knew is gone; one that cannot be made (its namespace is missing) stays an error.
  if (error.not_found() && record_) {
    vanish();
    co_return Outcome::conflict;
  }
  complain(trouble_of(error));
  co_return Outcome::failed;
}

// Empties the record. It always reads first: a renewal that was cut off may have changed the version, and one that
// still hangs conflicts with what we write.
io::Task<bool> Election::hand_back() {
  if (co_await read()) co_return false;
  if (!record_ || holder_ != identity_) co_return true;
  const std::string now = stamp();
  Json object = record_->object;
  object_.write(object, {"", io::seconds{1}, now, now});
  const Result<std::string> answer =
      co_await client_.update(place_.resource, place_.ns, place_.name, object.dump(), {}, call_options());
  if (!answer) co_return false;
  if (auto record = parse(*answer)) observe(std::move(*record));
  co_return true;
}

void Election::take_event(EventType type, std::string_view object) {
  auto record = parse(object);
  if (!record) return seen(true);
  if (older_than_known(**record)) return;
  if (type == EventType::deleted) {
    vanish();
  } else {
    observe(std::move(*record));
  }
  seen(holder_ != identity_);
}

// Whoever holds the lock renews it.
io::Duration Election::longest_silence() const {
  return std::max(timing_.lease_duration, record_ ? record_->duration : io::Duration::zero());
}

// Or just as old: own writes are mostly known from their answers before the watch shows them.
bool Election::older_than_known(const Record& record) const {
  const uint64_t version = as_number(record.version);
  return record_ && version != 0 && version <= as_number(record_->version);
}

void Election::observe(std::unique_ptr<Record> record) {
  if (!record_ || record_->whole != record->whole) observed_ = loop_.now();
  record_ = std::move(record);
  holder_ = record_->holder;
  uid_ = record_->object.at("/metadata/uid").text().value_or("");
  if (holder_ != identity_) return;
  for (const Attempt& open : open_attempts_) {
    if (open.renew_time == record_->renew_time) proven(open.sent);
  }
}

void Election::vanish() {
  guarded_until_ = std::max(guarded_until_, claimable_at());
  record_.reset();
  holder_.clear();
}

// Only our own clock counts: a holder that did not renew for its whole lease since we first saw that record has lost
// it, whatever times the record names.
io::Steady Election::claimable_at() const {
  if (!record_) return guarded_until_;
  if (holder_.empty() || holder_ == identity_) return io::Steady{};
  return observed_ + std::max(record_->duration, timing_.lease_duration);
}

// Now as renewTime has it; never the same twice in a row, for it also tells our writes apart.
std::string Election::stamp() {
  io::Wall now = std::chrono::floor<io::microseconds>(loop_.wall_now());
  if (now == last_stamp_) now += io::microseconds{1};
  last_stamp_ = now;
  return io::format_micro_time(now);
}

}  // namespace careen::kube
