#include "kube/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "io/loop.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/sync.h"
#include "kube/client.h"
#include "kube/error.h"
#include "kube/json.h"
#include "kube/resource.h"

namespace careen::kube {

namespace {

constexpr size_t kLongestNote = 1024;
constexpr size_t kLongestWord = 128;  // action, reason, reportingInstance
constexpr size_t kLongestName = 236;  // leaves room for a dot and 16 digits in 253
constexpr size_t kLongestQueue = 4000;
constexpr size_t kRemembered = 1024;
constexpr int kInFlight = 16;
constexpr double kPerSecond = 500, kBurst = 1000;
constexpr io::Duration kWindow = io::minutes{6};
// Series that ended are tidied up together.
constexpr io::Duration kTidy = io::seconds{15};
constexpr io::Duration kFirstGap = io::minutes{1};
constexpr io::Duration kLongestGap = io::minutes{30};
constexpr io::Duration kCoreGap = io::seconds{1};
// A server that was in trouble and is not asked again is taken to have recovered after this.
constexpr io::Duration kForgiven = io::minutes{10};
// How long the newer API is not tried again in a namespace where it was forbidden.
constexpr io::Duration kForbidden = io::minutes{10};
constexpr std::string_view kProblem = "events";

bool same(const ObjectReference& a, const ObjectReference& b) {
  return a.name == b.name && a.uid == b.uid && a.ns == b.ns && a.kind == b.kind && a.api_version == b.api_version;
}

Json reference(const ObjectReference& object) {
  Json out = Json::object({{"apiVersion", object.api_version}, {"kind", object.kind}, {"name", object.name}});
  if (!object.ns.empty()) out.set({"namespace"}, object.ns);
  if (!object.uid.empty()) out.set({"uid"}, object.uid);
  if (!object.resource_version.empty()) out.set({"resourceVersion"}, object.resource_version);
  return out;
}

std::string whole_seconds(io::Wall t) { return io::format_rfc3339(std::chrono::floor<io::seconds>(t)); }

// One event and its repetitions.
struct Series {
  enum class Stage { idle, queued, sending };
  EventRecord record;
  std::string ns;
  std::string name;
  io::Wall first{}, last{};
  io::Steady seen{};
  int64_t count = 1;
  int64_t written = 0;  // the count that the server knows; zero before the event exists there
  io::Steady next_write{};
  io::Duration gap = kFirstGap;
  Stage stage = Stage::idle;
  bool remembered = true;
  bool falls_back = false;  // to core/v1
  std::list<std::shared_ptr<Series>>::iterator age;

  bool dirty() const { return count > written; }
  bool core() const { return falls_back || record.api == EventRecord::Api::core_v1; }
};
using SeriesPtr = std::shared_ptr<Series>;

struct Hash {
  using is_transparent = void;
  size_t operator()(const EventRecord& r) const {
    size_t out = 0;
    for (const std::string* part : {&r.regarding.name, &r.regarding.uid, &r.regarding.ns, &r.reason, &r.note}) {
      out = out * 31 + std::hash<std::string>{}(*part);
    }
    return out;
  }
  size_t operator()(const SeriesPtr& s) const { return (*this)(s->record); }
};

struct Same {
  using is_transparent = void;
  bool operator()(const EventRecord& a, const EventRecord& b) const {
    return same(a.regarding, b.regarding) && a.note == b.note && a.reason == b.reason && a.type == b.type &&
           a.action == b.action && a.controller == b.controller && a.api == b.api &&
           a.related.has_value() == b.related.has_value() && (!a.related || same(*a.related, *b.related));
  }
  bool operator()(const SeriesPtr& a, const SeriesPtr& b) const { return a == b || (*this)(a->record, b->record); }
  bool operator()(const EventRecord& a, const SeriesPtr& b) const { return (*this)(a, b->record); }
  bool operator()(const SeriesPtr& a, const EventRecord& b) const { return (*this)(a->record, b); }
};

Json series_of(const Series& s) {
  return Json::object({{"count", s.count}, {"lastObservedTime", io::format_micro_time(s.last)}});
}

std::string event_body(const Series& s, const std::string& hostname) {
  const EventRecord& r = s.record;
  Json event = Json::object({{"kind", "Event"},
                             {"metadata", Json::object({{"name", s.name}, {"namespace", s.ns}})},
                             {"type", r.type},
                             {"reason", r.reason},
                             {"reportingInstance", cut_text(r.controller + "-" + hostname, kLongestWord)}});
  if (!r.action.empty()) event.set({"action"}, r.action);
  if (r.related) event.set({"related"}, reference(*r.related));
  if (s.core()) {
    event.set({"apiVersion"}, "v1");
    event.set({"involvedObject"}, reference(r.regarding));
    event.set({"message"}, r.note);
    event.set({"source"}, Json::object({{"component", r.controller}, {"host", hostname}}));
    event.set({"reportingComponent"}, r.controller);
    event.set({"count"}, s.count);
    event.set({"firstTimestamp"}, whole_seconds(s.first));
    event.set({"lastTimestamp"}, whole_seconds(s.last));
  } else {
    event.set({"apiVersion"}, "events.k8s.io/v1");
    event.set({"regarding"}, reference(r.regarding));
    event.set({"note"}, r.note);
    event.set({"reportingController"}, r.controller);
    event.set({"eventTime"}, io::format_micro_time(s.first));
    if (s.count > 1) event.set({"series"}, series_of(s));
  }
  return event.dump();
}

std::string count_patch(const Series& s) {
  if (s.core()) return Json::object({{"count", s.count}, {"lastTimestamp", whole_seconds(s.last)}}).dump();
  return Json::object({{"series", series_of(s)}}).dump();
}

}  // namespace

std::string_view cut_text(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text;
  size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

struct EventRecorder::Core {
  Core(io::Loop& l, Client& c, io::Metrics& metrics, io::Problems& p, std::string host)
      : loop(l),
        client(c),
        problems(p),
        hostname(std::move(host)),
        dropped(metrics.counter("careen_events_dropped_total",
                                "Kubernetes events that were not written: too many waited, or the server refused.")),
        work(loop),
        idle(loop),
        alarm(loop, [this] { sweep(); }),
        forgiven(loop, [this] { healed(""); }),
        refilled(loop.now()) {
    idle.open();
  }

  // A series on its way. When it ends, however it ends, the series may be sent again.
  struct Job {
    Job(Core& p, SeriesPtr s, io::Semaphore::Permit permission)
        : core(&p), series(std::move(s)), permit(std::move(permission)) {
      series->stage = Series::Stage::sending;
      ++core->in_flight;
    }
    Job(Job&& other) noexcept
        : core(std::exchange(other.core, nullptr)), series(std::move(other.series)), permit(std::move(other.permit)) {}
    Job& operator=(Job&&) = delete;
    ~Job() {
      if (core) core->sent(*this);
    }
    Core* core;
    SeriesPtr series;
    io::Semaphore::Permit permit;
  };

  void record(EventRecord event);
  void remember(EventRecord event);
  void forget(const SeriesPtr& series);
  void forget_old();
  void enqueue(const SeriesPtr& series);
  void sweep();
  void wake_by(io::Steady when);
  void sent(Job& job);
  io::Task<void> dispatch();
  io::Task<void> take_token();
  io::Task<void> send(Job job);
  io::Task<Result<std::string>> write(Series& series);
  void note_outcome(Series& series, std::string_view verb, const Result<std::string>& result);
  void healed(const std::string& what);
  std::string new_name(std::string_view object);
  bool is_forbidden(const std::string& ns);

  io::Loop& loop;
  Client& client;
  io::Problems& problems;
  std::string hostname;
  io::Counter& dropped;
  io::Signal work;
  io::Gate idle;
  io::Alarm alarm;
  io::Steady alarm_time{};
  io::Alarm forgiven;  // nothing was dropped for a while because of a server in trouble

  std::unordered_set<SeriesPtr, Hash, Same> known;
  std::list<SeriesPtr> by_age;  // last seen first to go
  std::deque<SeriesPtr> queue;
  int in_flight = 0;
  int flushing = 0;  // counts are written without delay
  double tokens = kBurst;
  io::Steady refilled;
  int64_t last_name = 0;
  std::set<std::string> failing;                // what cannot be written now
  std::map<std::string, io::Steady> forbidden;  // namespaces where events.k8s.io is, until then
};

void EventRecorder::Core::record(EventRecord event) {
  event.note = cut_text(event.note, kLongestNote);
  event.reason = cut_text(event.reason, kLongestWord);
  event.action = cut_text(event.action, kLongestWord);
  forget_old();
  const auto it = known.find(event);
  if (it == known.end()) return remember(std::move(event));
  const SeriesPtr& series = *it;
  ++series->count;
  series->seen = loop.now();
  series->last = loop.wall_now();
  by_age.splice(by_age.end(), by_age, series->age);
  if (series->stage != Series::Stage::idle) return;
  if (series->next_write > loop.now() || queue.size() >= kLongestQueue) {
    wake_by(std::max(series->next_write, loop.now() + kCoreGap));
  } else {
    enqueue(series);
  }
}

void EventRecorder::Core::remember(EventRecord event) {
  if (queue.size() >= kLongestQueue) return dropped.add();
  auto series = std::make_shared<Series>();
  series->ns = event.regarding.ns.empty() ? "default" : event.regarding.ns;
  series->name = new_name(event.regarding.name);
  series->first = series->last = loop.wall_now();
  series->seen = loop.now();
  series->record = std::move(event);
  series->falls_back = is_forbidden(series->ns);
  known.insert(series);
  series->age = by_age.insert(by_age.end(), series);
  enqueue(series);
  if (known.size() > kRemembered) {
    const SeriesPtr oldest = by_age.front();
    forget(oldest);
  }
  wake_by(loop.now() + kWindow + kTidy);
}

// A count that the server does not know yet still goes there.
void EventRecorder::Core::forget(const SeriesPtr& series) {
  if (!std::exchange(series->remembered, false)) return;
  known.erase(known.find(series));
  by_age.erase(series->age);
  if (series->stage != Series::Stage::idle || !series->dirty()) return;
  if (queue.size() >= kLongestQueue) return dropped.add();
  enqueue(series);
}

void EventRecorder::Core::forget_old() {
  while (!by_age.empty() && by_age.front()->seen + kWindow <= loop.now()) {
    const SeriesPtr oldest = by_age.front();
    forget(oldest);
  }
}

void EventRecorder::Core::enqueue(const SeriesPtr& series) {
  series->stage = Series::Stage::queued;
  queue.push_back(series);
  idle.close();
  work.notify();
}

// Writes the counts that are due and forgets what has ended.
void EventRecorder::Core::sweep() {
  forget_old();
  io::Steady next = by_age.empty() ? io::kNever : by_age.front()->seen + kWindow + kTidy;
  for (const SeriesPtr& series : by_age) {
    if (series->stage != Series::Stage::idle || !series->dirty()) continue;
    if (series->next_write > loop.now()) {
      next = std::min(next, series->next_write);
    } else if (queue.size() < kLongestQueue) {
      enqueue(series);
    } else {
      next = std::min(next, loop.now() + kCoreGap);
    }
  }
  if (next != io::kNever) wake_by(next);
}

void EventRecorder::Core::wake_by(io::Steady when) {
  if (!alarm.pending() || when < alarm_time) alarm.set(alarm_time = when);
}

void EventRecorder::Core::sent(Job& job) {
  Series& series = *job.series;
  series.stage = Series::Stage::idle;
  --in_flight;
  if (series.dirty() && series.written > 0) {
    if (flushing > 0 || !series.remembered || series.next_write <= loop.now()) {
      enqueue(job.series);
    } else {
      wake_by(series.next_write);
    }
  }
  if (queue.empty() && in_flight == 0) idle.open();
}

io::Task<void> EventRecorder::Core::take_token() {
  const auto refill = [this] {
    const io::Steady now = loop.now();
    tokens = std::min(kBurst, tokens + io::to_seconds(now - refilled) * kPerSecond);
    refilled = now;
  };
  for (refill(); tokens < 1; refill()) co_await io::sleep_for(loop, io::milliseconds{20});
  tokens -= 1;
}

io::Task<void> EventRecorder::Core::dispatch() {
  io::Semaphore permits(loop, kInFlight);
  io::Scope senders(loop);
  for (;;) {
    while (queue.empty()) co_await work.wait();
    co_await take_token();
    io::Semaphore::Permit permit = co_await permits.acquire();
    SeriesPtr series = std::move(queue.front());
    queue.pop_front();
    senders.spawn(send(Job(*this, std::move(series), std::move(permit))));
  }
}

io::Task<void> EventRecorder::Core::send(Job job) {
  Series& series = *job.series;
  const int64_t count = series.count;
  const bool fresh = series.written == 0;
  Result<std::string> result = co_await write(series);
  if (fresh && !series.core() && !result && result.error().code == 403) {
    series.falls_back = true;
    result = co_await write(series);
    // Only where the older API takes it is it the better one.
    if (result) forbidden[series.ns] = loop.now() + kForbidden;
  }
  if (!fresh && !result && result.error().not_found()) {
    // Events live for an hour; the series goes on under a new name.
    series.written = 0;
    series.name = new_name(series.record.regarding.name);
    result = co_await write(series);
  }
  // The name is our own: if it exists, an attempt before the last one had made it.
  if (!result && result.error().already_exists()) result = std::string();
  note_outcome(series, fresh ? "create" : "patch", result);
  if (!result) {
    dropped.add();
    // The next occurrence is a new event and gets its own chance.
    series.count = series.written;
    forget(job.series);
    co_return;
  }
  series.written = count;
  if (fresh && count == 1) {
    series.next_write = loop.now();
  } else if (series.core()) {
    series.next_write = loop.now() + kCoreGap;
  } else {
    series.next_write = loop.now() + series.gap;
    series.gap = std::min(2 * series.gap, kLongestGap);
  }
}

io::Task<Result<std::string>> EventRecorder::Core::write(Series& series) {
  const Resource& resource = series.core() ? resources::core_events : resources::events;
  CallOptions options;
  // An event's name is used once and a count is absolute.
  options.repeatable = true;
  if (series.written == 0) return client.create(resource, series.ns, event_body(series, hostname), options);
  return client.patch(resource, series.ns, series.name, PatchType::merge, count_patch(series), {}, options);
}

// One problem for whatever fails, closed when each of the things that failed has worked again.
void EventRecorder::Core::note_outcome(Series& series, std::string_view verb, const Result<std::string>& result) {
  // By the API that was asked for: what fell back is well again when either works.
  const bool core = series.record.api == EventRecord::Api::core_v1;
  const std::string what = fmt::format("{} {} {}", verb, core ? "core" : "events", series.ns);
  if (result) {
    if (failing.empty()) return;
    failing.erase("");
    failing.erase(what);
    healed(what + " " + series.record.reason);
    return;
  }
  const ApiError& error = result.error();
  if (error.not_leader()) return;
  if (failing.empty()) {
    problems.raise(kProblem, fmt::format("events in namespace {} cannot be written: {}; they are dropped", series.ns,
                                         error.message));
  }
  const bool refused_itself = error.code == 400 || error.code == 422;
  // Missing rights stay missing until somebody grants them; an unknown identity (401) may be recognised later.
  const bool refused = error.code >= 400 && error.code < 500 && error.code != 429 && error.code != 401;
  failing.insert(refused_itself ? what + " " + series.record.reason : refused ? what : std::string());
  if (!refused) forgiven.set(loop.now() + kForgiven);
}

void EventRecorder::Core::healed(const std::string& what) {
  failing.erase(what);
  if (failing.empty()) problems.clear(kProblem);
}

bool EventRecorder::Core::is_forbidden(const std::string& ns) {
  const auto found = forbidden.find(ns);
  if (found == forbidden.end()) return false;
  if (found->second > loop.now()) return true;
  forbidden.erase(found);
  return false;
}

// Unique for this process even if many are made in one nanosecond.
std::string EventRecorder::Core::new_name(std::string_view object) {
  last_name = std::max(last_name + 1, static_cast<int64_t>(loop.wall_now().time_since_epoch().count()));
  return fmt::format("{}.{:x}", cut_text(object, kLongestName), last_name);
}

EventRecorder::EventRecorder(io::Loop& loop, Client& client, io::Metrics& metrics, io::Problems& problems,
                             std::string hostname)
    : core_(std::make_unique<Core>(loop, client, metrics, problems, std::move(hostname))) {}

EventRecorder::~EventRecorder() = default;

void EventRecorder::record(EventRecord event) {
  if (listener_) listener_(event);
  core_->record(std::move(event));
}

io::Task<void> EventRecorder::run() { return core_->dispatch(); }

io::Task<void> EventRecorder::flush(io::Duration limit) {
  Core& core = *core_;
  struct Flushing {
    explicit Flushing(int& n) : count(n) { ++count; }
    ~Flushing() { --count; }
    int& count;
  } const flushing(core.flushing);
  for (const SeriesPtr& series : core.by_age) {
    if (series->stage == Series::Stage::idle && series->dirty()) core.enqueue(series);
  }
  co_await io::race(core.loop, io::wait_for(core.idle), io::wait_until(core.loop, core.loop.now() + limit));
}

size_t EventRecorder::pending() const { return core_->queue.size() + static_cast<size_t>(core_->in_flight); }

size_t EventRecorder::remembered() const { return core_->known.size(); }

}  // namespace careen::kube
