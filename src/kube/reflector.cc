#include "kube/reflector.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <utility>

#include "io/metrics.h"
#include "io/problems.h"
#include "io/random.h"
#include "kube/client.h"
#include "kube/decode.h"
#include "kube/error.h"
#include "kube/json.h"
#include "kube/sink.h"
#include "kube/stream.h"
#include "kube/url.h"

namespace careen::kube {

namespace {

constexpr io::Duration kFirstBackoff = io::seconds{1};
constexpr io::Duration kLongestBackoff = io::seconds{30};
// A server that restarts is back within seconds; so are we then.
constexpr io::Duration kLongestReconnect = io::seconds{10};
// A server that asks for a longer pause is asked again after this.
constexpr io::Duration kLongestAsked = io::seconds{60};
// The server sends a bookmark about each minute.
constexpr io::Duration kSilence = io::seconds{120};
// A watch that ends earlier without news counts as failed.
constexpr io::Duration kShortWatch = io::seconds{1};
constexpr io::Duration kShortestWatch = io::minutes{5};
constexpr io::Duration kLongestWatch = io::minutes{10};
constexpr io::Duration kPageTimeout = io::seconds{30};
constexpr int kTooNewTries = 3;
constexpr int kGoneTries = 3;

void add_parameter(std::string& query, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  if (!query.empty()) query += '&';
  query += key;
  query += '=';
  append_encoded(query, value);
}

io::Task<void> sleep_task(io::Loop* loop, io::Steady until) { co_await io::sleep_until(*loop, until); }
io::Task<void> signal_task(io::Signal* signal) { co_await signal->wait(); }

}  // namespace

std::string_view to_string(Reflector::State state) {
  switch (state) {
    case Reflector::State::listing:
      return "listing";
    case Reflector::State::watching:
      return "watching";
    case Reflector::State::waiting:
      return "waiting";
  }
  std::abort();
}

struct Reflector::Meters {
  Meters(io::Metrics& metrics, std::string name, const Reflector& reflector)
      : metrics_(metrics),
        name_(std::move(name)),
        objects_(gauge("careen_cache_objects", "Objects in the watch cache.")),
        silent_(
            gauge("careen_cache_silent_seconds", "Time since the last event, bookmark or list of the watch cache.")),
        synced(gauge("careen_cache_synced", "Whether the first list of the watch cache is complete.")) {
    for (size_t i = 0; i < events.size(); ++i) {
      const std::string type(to_string(static_cast<EventType>(i)));
      events[i] = &counter("careen_cache_events_total", "Events of the watch cache's watches.", "type", type);
    }
    synced.set(0);
    hook_ = metrics.before_scrape_while([this, &reflector] {
      objects_.set(static_cast<double>(reflector.sink_.size()));
      silent_.set(io::to_seconds(reflector.silent_for()));
    });
  }
  ~Meters() {
    for (const auto& [name, labels] : gauges_) metrics_.drop_gauge(name, labels);
    for (const auto& [name, labels] : counters_) metrics_.drop_counter(name, labels);
  }

  void count_list(std::string_view cause) {
    counter("careen_cache_relists_total", "Lists of the watch cache, by what made them necessary.", "cause",
            std::string(cause))
        .add();
  }

  using Made = std::set<std::pair<std::string, io::Labels>>;

  io::Gauge& gauge(const std::string& name, const std::string& help) {
    const io::Labels labels{{"resource", name_}};
    gauges_.emplace(name, labels);
    return metrics_.gauge(name, help, labels);
  }
  io::Counter& counter(const std::string& name, const std::string& help, const std::string& label, std::string value) {
    const io::Labels labels{{"resource", name_}, {label, std::move(value)}};
    counters_.emplace(name, labels);
    return metrics_.counter(name, help, labels);
  }

  io::Metrics& metrics_;
  std::string name_;
  Made gauges_, counters_;
  io::Gauge& objects_;
  io::Gauge& silent_;
  std::shared_ptr<void> hook_;
  io::Gauge& synced;
  std::array<io::Counter*, 5> events{};
};

ReflectorOptions ReflectorOptions::of_one(Resource resource, std::string ns, const std::string& object,
                                          std::string name) {
  ReflectorOptions options;
  options.resource = std::move(resource);
  options.ns = std::move(ns);
  options.field_selector = "metadata.name=" + object;
  options.name = std::move(name);
  return options;
}

Reflector::Reflector(io::Loop& loop, Client& client, io::Metrics& metrics, io::Problems& problems, io::Random& random,
                     Sink& sink, ReflectorOptions options, io::Log log)
    : loop_(loop),
      client_(client),
      problems_(problems),
      random_(random),
      sink_(sink),
      options_(std::move(options)),
      log_(std::move(log)),
      synced_(loop),
      heard_(loop.now()),
      wake_(loop),
      answered_gate_(loop) {
  if (options_.name.empty()) options_.name = options_.resource.plural;
  problem_key_ = "watch " + options_.name;
  log_ = log_.with("resource", options_.name);
  meters_ = std::make_unique<Meters>(metrics, options_.name, *this);
}

Reflector::~Reflector() {
  if (problem_) problems_.drop(problem_key_);
}

io::Task<void> Reflector::run() {
  start_list("start");
  for (;;) {
    switch (state_) {
      case State::listing:
        after_list(co_await list());
        break;
      case State::watching:
        after_watch(co_await watch());
        break;
      case State::waiting:
        co_await pause();
        state_ = after_pause_;
        break;
    }
  }
}

// ---- Transitions -------------------------------------------------------------------------------------------------

void Reflector::after_list(const Outcome& outcome) {
  if (outcome.ending != Ending::complete) sink_.drop_list();
  if (outcome.ending != Ending::gone) expired_ = 0;
  if (outcome.ending != Ending::too_new) too_new_ = 0;
  switch (outcome.ending) {
    case Ending::complete:
      if (fresh_list_wanted()) return start_list("requested");
      state_ = State::watching;
      return;
    case Ending::gone:
      // Once more, page by page; a cluster in which that lasts too long is listed in one piece.
      ++expired_;
      if (expired_ <= 2) return start_list("expired");
      return fail_then(State::listing, outcome);
    case Ending::too_new:
      // Another server than the one we heard the newest version from may be a little behind. If it stays so, that
      // version no longer exists: a backup was restored.
      if (++too_new_ < kTooNewTries) {
        return wait_then(State::listing,
                         std::max(backoff(1, kFirstBackoff), outcome.retry_after.value_or(kFirstBackoff)));
      }
      too_new_ = 0;
      consistent_ = true;
      return start_list("behind");
    default:
      return fail_then(State::listing, outcome);
  }
}

void Reflector::after_watch(const Outcome& outcome) {
  if (outcome.ending != Ending::silent) silent_ = 0;
  const bool lasted = loop_.now() - watch_begun_ >= kShortWatch || position_ > watch_from_;
  switch (outcome.ending) {
    case Ending::complete:
    case Ending::broken:
      if (lasted) {
        state_ = State::watching;
        return;
      }
      return fail_then(State::watching, outcome);
    case Ending::wanted:
      return start_list("requested");
    case Ending::silent:
      log_.info("the watch was silent for too long and is opened again", "limit", io::format_duration(kSilence));
      if (++silent_ < 2) {
        state_ = State::watching;
        return;
      }
      // Silent again, although servers send bookmarks: it may be waiting for a version that never comes.
      only_events_heal_ = true;
      tell(outcome);
      return start_list("silent");
    case Ending::gone:
      if (++gone_ < kGoneTries) return start_list("gone");
      meters_->count_list("gone");
      return fail_then(State::listing, outcome);
    case Ending::too_new:
      meters_->count_list("behind");
      return fail_then(State::listing, outcome);
    case Ending::unreadable:
      if (unreadable_at_ == position_) {
        meters_->count_list("unreadable");
        return fail_then(State::listing, outcome);
      }
      log_.warn("a watch event could not be read", "error", outcome.message);
      unreadable_at_ = position_;
      return fail_then(State::watching, outcome);
    case Ending::rejected:
    case Ending::missing:
      meters_->count_list("error");
      return fail_then(State::listing, outcome);
    case Ending::forbidden:
    case Ending::failing:
    case Ending::unknown_user:
      if (blind_for() < kSilence) return fail_then(State::watching, outcome);
      // A server that refuses watches may still answer lists; these end the blindness but not the trouble.
      meters_->count_list("refused");
      return fail_then(State::listing, {outcome.ending, outcome.message, outcome.retry_after, true});
    default:
      return fail_then(State::watching, outcome);
  }
}

void Reflector::start_list(std::string_view cause) {
  meters_->count_list(cause);
  if (cause != "start") log_.info("listing again", "cause", cause);
  state_ = State::listing;
}

void Reflector::wait_then(State next, io::Duration pause) {
  state_ = State::waiting;
  after_pause_ = next;
  pause_ends_ = loop_.now() + pause;
}

void Reflector::fail_then(State next, const Outcome& outcome) {
  ++failures_;
  same_failures_ = last_failure_ == outcome.ending ? same_failures_ + 1 : 1;
  last_failure_ = outcome.ending;
  only_events_heal_ = outcome.only_events_heal;
  // What passes by itself at once is not worth a message.
  if (same_failures_ >= 2 || failures_ >= 3) tell(outcome);
  switch (outcome.ending) {
    case Ending::forbidden:
    case Ending::missing:
      // A server that has just started forbids everything for a moment; else it is people who have to act.
      return wait_then(next, backoff(same_failures_, kLongestBackoff));
    case Ending::unknown_user:
    case Ending::unreachable:
    case Ending::untrusted:
    case Ending::unsendable:
      return wait_then(next, backoff(failures_, kLongestReconnect));
    default: {
      const io::Duration asked = std::min(outcome.retry_after.value_or(io::Duration{}), kLongestAsked);
      return wait_then(next, std::max(backoff(failures_, kLongestBackoff), asked));
    }
  }
}

// One problem reports the failure until it changes or is gone. Its text does not change with each try's message.
void Reflector::tell(const Outcome& outcome) {
  if (problem_ == outcome.ending) return;
  if (options_.optional && outcome.ending == Ending::missing) {
    if (std::exchange(problem_, std::nullopt)) problems_.clear(problem_key_);
    return;
  }
  problem_ = outcome.ending;
  problems_.raise(problem_key_, describe(outcome));
}

io::Task<void> Reflector::pause() {
  // Who newly asks for a fresh list does not wait for it.
  while (loop_.now() < pause_ends_ && asked_ == tried_) {
    co_await io::race(loop_, sleep_task(&loop_, pause_ends_), signal_task(&wake_));
  }
  if (fresh_list_wanted()) after_pause_ = State::listing;
}

// ---- Listing -----------------------------------------------------------------------------------------------------

io::Task<Reflector::Outcome> Reflector::list() {
  const uint64_t asked = tried_ = asked_;
  const uint64_t newest = std::max(position_, sink_.newest_version());
  const bool consistent = consistent_ || fresh_list_wanted() || !synced() || newest == 0;
  const bool in_one_piece = expired_ >= 2;
  uint64_t version = 0;
  std::string token;
  sink_.begin_list();
  do {
    CallOptions call;
    call.timeout = kPageTimeout;
    // The first page is tried again by our own state machine, which reports the failure; a page in the middle is worth
    // more than starting over.
    call.attempts = token.empty() ? 1 : 4;
    if (!in_one_piece && options_.page_size > 0) add_parameter(call.query, "limit", std::to_string(options_.page_size));
    add_parameter(call.query, "labelSelector", options_.label_selector);
    add_parameter(call.query, "fieldSelector", options_.field_selector);
    if (!token.empty()) {
      add_parameter(call.query, "continue", token);
    } else if (!consistent) {
      add_parameter(call.query, "resourceVersion", std::to_string(newest));
      add_parameter(call.query, "resourceVersionMatch", "NotOlderThan");
    }
    auto body = co_await client_.list(options_.resource, options_.ns, std::move(call));
    if (!body) co_return outcome_of(body.error());
    const auto page = read_page(*body, [this](RawObject& object) { return sink_.listed(object); });
    if (!page) co_return Outcome{Ending::unreadable, page.error().message, std::nullopt, false};
    if (token.empty()) version = page->version;
    token = page->continue_token;
  } while (!token.empty());

  if (version < newest) {
    log_.warn("the server's latest version is older than one seen before: its history went back, all is read again",
              "seen", newest, "latest", version);
  }
  sink_.end_list(version);
  position_ = version;
  silent_ = 0;
  unreadable_at_.reset();
  consistent_ = false;
  heard();
  saw_ = loop_.now();
  reached();
  synced_.open();
  meters_->synced.set(1);
  if (consistent) {
    answered_ = asked;
    answered_gate_.open();
    answered_gate_.close();
  }
  co_return Outcome{};
}

void Reflector::request_relist() {
  ++asked_;
  wake_.notify();
}

io::Task<uint64_t> Reflector::refresh() {
  request_relist();
  const uint64_t mine = asked_;
  while (answered_ < mine) co_await answered_gate_.wait();
  co_return position_;
}

// ---- Watching ----------------------------------------------------------------------------------------------------

io::Task<Reflector::Outcome> Reflector::watch() {
  watch_begun_ = alive_ = loop_.now();
  watch_from_ = position_;
  Outcome followed, given_up;
  const int ended = co_await io::race(loop_, follow(&followed), watch_over(&given_up));
  if (std::exchange(open_, false)) saw_ = loop_.now();
  co_return ended == 0 ? std::move(followed) : std::move(given_up);
}

// Ends when the watch does.
io::Task<void> Reflector::follow(Outcome* outcome) {
  std::string query;
  add_parameter(query, "watch", "true");
  add_parameter(query, "allowWatchBookmarks", "true");
  const double span = io::to_seconds(kLongestWatch - kShortestWatch);
  const auto limit = static_cast<int64_t>(io::to_seconds(kShortestWatch) + span * random_.unit());
  add_parameter(query, "timeoutSeconds", std::to_string(limit));
  add_parameter(query, "resourceVersion", std::to_string(position_));
  add_parameter(query, "labelSelector", options_.label_selector);
  add_parameter(query, "fieldSelector", options_.field_selector);
  auto stream = co_await client_.watch(options_.resource, options_.ns, std::move(query));
  if (!stream) {
    *outcome = outcome_of(stream.error());
    outcome->only_events_heal = outcome->ending == Ending::gone;
    co_return;
  }
  reached();
  open_ = true;
  outcome->only_events_heal = true;
  WatchDecoder decoder;
  bool bookmarked = false;
  const WatchDecoder::Visitor visit = [&](EventType type, RawObject& object) {
    bookmarked = bookmarked || type == EventType::bookmark;
    return take(type, object, *outcome);
  };
  for (;;) {
    const auto more = co_await (*stream)->read(decoder.buffer());
    // Half a line at the end is no event: the next watch begins after the last whole one.
    if (!more || !*more) {
      outcome->ending = more ? Ending::complete : Ending::broken;
      outcome->message = more ? "the server ends it at once" : more.error().message;
      co_return;
    }
    const auto drained = decoder.drain(visit);
    if (!drained) {
      outcome->ending = Ending::unreadable;
      outcome->message = drained.error().message;
      co_return;
    }
    if (!*drained) co_return;
    if (std::exchange(bookmarked, false)) decoder.shrink();
  }
}

// Ends when the watch should.
io::Task<void> Reflector::watch_over(Outcome* outcome) {
  for (;;) {
    if (fresh_list_wanted()) {
      outcome->ending = Ending::wanted;
      co_return;
    }
    if (loop_.now() >= alive_ + kSilence) {
      outcome->ending = Ending::silent;
      co_return;
    }
    co_await io::race(loop_, sleep_task(&loop_, alive_ + kSilence), signal_task(&wake_));
  }
}

io::Result<bool> Reflector::take(EventType type, RawObject& object, Outcome& outcome) {
  meters_->events[static_cast<size_t>(type)]->add();
  if (type == EventType::error) {
    const auto status = decode_text(object);
    if (!status) return tl::make_unexpected(status.error());
    const auto document = Json::parse(*status);
    const int64_t code = document ? (*document)["code"].integer().value_or(0) : 0;
    outcome = outcome_of(to_api_error(static_cast<int>(code), *status));
    outcome.only_events_heal = true;
    if (outcome.ending != Ending::gone && outcome.ending != Ending::failing) outcome.ending = Ending::rejected;
    return false;
  }
  const auto version = type == EventType::bookmark ? decode_version(object) : sink_.event(type, object);
  if (!version) return tl::make_unexpected(version.error());
  if (type == EventType::bookmark) sink_.bookmark(*version);
  position_ = std::max(position_, *version);
  gone_ = 0;
  heard();
  healed();
  return true;
}

// ---- What is known of the server ---------------------------------------------------------------------------------

void Reflector::heard() { heard_ = alive_ = loop_.now(); }

void Reflector::healed() {
  failures_ = same_failures_ = 0;
  only_events_heal_ = false;
  if (!problem_) return;
  problem_.reset();
  problems_.clear(problem_key_);
}

// A list or an open watch shows that we may and can; what was wrong with a watch's events shows only in events.
void Reflector::reached() {
  if (!only_events_heal_) healed();
}

// Doubles with each failure in a row; half of it is drawn, so that many replicas do not come back in one moment.
io::Duration Reflector::backoff(int failures, io::Duration longest) {
  const int doublings = std::clamp(failures - 1, 0, 10);
  const io::Duration full = std::min(kFirstBackoff * (int64_t{1} << doublings), longest);
  return std::chrono::duration_cast<io::Duration>(full * (0.5 + 0.5 * random_.unit()));
}

Reflector::Ending Reflector::ending_of(io::ErrorKind kind) {
  switch (kind) {
    case io::ErrorKind::timeout:
    case io::ErrorKind::connect:
    case io::ErrorKind::closed:
    case io::ErrorKind::protocol:
      return Ending::unreachable;
    case io::ErrorKind::tls:
      return Ending::untrusted;
    case io::ErrorKind::file:
    case io::ErrorKind::process:
    case io::ErrorKind::invalid:
      return Ending::unsendable;
  }
  std::abort();
}

Reflector::Outcome Reflector::outcome_of(const ApiError& error) {
  const auto ending = [&error] {
    if (error.network) return ending_of(*error.network);
    if (error.gone()) return Ending::gone;
    if (error.message.find("Too large resource version") != std::string::npos) return Ending::too_new;
    switch (error.code) {
      case 401:
        return Ending::unknown_user;
      case 403:
        return Ending::forbidden;
      case 404:
        return Ending::missing;
      case 408:
      case 429:
        return Ending::failing;
      default:
        return error.code >= 500 ? Ending::failing : Ending::rejected;
    }
  };
  return {ending(), error.message, error.retry_after, false};
}

std::string Reflector::describe(const Outcome& outcome) const {
  const Resource& resource = options_.resource;
  std::string what = resource.plural + (resource.group.empty() ? "" : "." + resource.group);
  if (!options_.ns.empty()) what += " in namespace " + options_.ns;
  const std::string now = synced() ? "what was known of them stays in use meanwhile" : "nothing is known of them yet";
  const auto say = [&](std::string_view wrong) {
    const std::string words = outcome.message.empty() ? "" : " (" + outcome.message + ")";
    return fmt::format("cannot watch {}: {}{}; {}", what, wrong, words, now);
  };
  switch (outcome.ending) {
    case Ending::forbidden:
      return say(fmt::format("forbidden: needs list and watch on {}", what));
    case Ending::missing:
      return say(fmt::format("the server does not know {}/{} {}: is the CustomResourceDefinition installed?",
                             resource.group.empty() ? "core" : resource.group, resource.version, resource.plural));
    case Ending::unknown_user:
      return say("the server does not accept our credentials");
    case Ending::unreachable:
      return say("the server does not answer");
    case Ending::untrusted:
      return say("the server's certificate and the trusted authorities do not fit");
    case Ending::unsendable:
      return say("the request cannot be made");
    case Ending::failing:
      return say("the server fails or asks us to come back later");
    case Ending::unreadable:
      return say("what the server sends cannot be read");
    case Ending::gone:
      return say("the server forgets its lists before they can be used");
    case Ending::silent:
      return say("the server sends neither events nor bookmarks, so the list is repeated every few minutes");
    case Ending::complete:
    case Ending::broken:
      return say("the server closes each watch at once");
    default:
      return say("the server rejects it");
  }
}

}  // namespace careen::kube
