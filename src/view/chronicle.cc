#include "view/chronicle.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "budget/pause.h"
#include "controllers/slot/controller.h"
#include "controllers/slot/kind.h"
#include "drain/engine.h"
#include "drain/key.h"
#include "drain/progress.h"
#include "io/problems.h"
#include "io/sync.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/events.h"
#include "kube/json.h"
#include "kube/lock.h"
#include "kube/objects.h"
#include "replica/replica.h"

namespace careen::view {

namespace {

using Kind = Entry::Kind;
using io::Task;
using Phase = drain::Progress::Phase;

// Of the past this much is enough for a first look, and makes a small answer.
constexpr io::Duration kPast = io::hours{6};
constexpr int kMostEvents = 2000;
// The source of careen's own events of nodes. They and those of controllers lie in the namespace "default".
constexpr std::string_view kNodeEvents = "maintenance";

// "The node is now in the X state caused by profile P": what the event of a transition says.
bool read_transition(std::string_view note, Entry& entry) {
  constexpr std::string_view kBefore = "The node is now in the ", kBetween = " state caused by profile ";
  const size_t between = note.find(kBetween);
  if (!note.starts_with(kBefore) || between == std::string_view::npos) return false;
  entry.to = note.substr(kBefore.size(), between - kBefore.size());
  entry.profile = note.substr(between + kBetween.size());
  return true;
}

std::string pause_text(const budget::Pause& pause) {
  const std::string what = pause.profile.empty() ? "Everything" : "Profile " + pause.profile;
  return fmt::format("{} is paused by {}{}{}", what, pause.by, pause.reason.empty() ? "" : ": ", pause.reason);
}

}  // namespace

std::optional<Entry> entry_of(const kube::EventRecord& event, io::Wall time) {
  Entry entry{.time = time, .text = event.note};
  const std::string& name = event.regarding.name;
  if (event.regarding.kind == "Node") entry.node = name;
  if (event.reason == "ChangedMaintenanceState") {
    entry.kind = Kind::transition;
    if (!read_transition(event.note, entry)) return std::nullopt;
    entry.text = fmt::format("{} is now {} ({})", entry.node, entry.to, entry.profile);
  } else if (event.reason == "ChangeMaintenanceStateFailed") {
    entry.kind = Kind::error;
    entry.text = name + ": " + event.note;
  } else if (event.reason == "NotificationFailed" || event.reason == "NotificationDropped") {
    entry.kind = Kind::notification;
    entry.text = name + ": " + event.note;
  } else if (event.reason == "EvictionBlocked") {
    entry.kind = Kind::drain;
    entry.text = fmt::format("Pod {}/{}: {}", event.regarding.ns, name, event.note);
    constexpr std::string_view kFrom = "Eviction from node ";
    if (event.note.starts_with(kFrom)) {
      const std::string_view rest = std::string_view(event.note).substr(kFrom.size());
      entry.node = rest.substr(0, rest.find(':'));
    }
  } else if (event.reason == "LeaderElection") {
    entry.kind = Kind::careen;
  } else {
    return std::nullopt;
  }
  return entry;
}

struct Chronicle::Core {
  explicit Core(replica::Replica& r) : replica(r), scope(r.loop()) {}

  void say(Kind kind, std::string text, std::string node = {}) {
    timeline.add({.time = replica.now(), .kind = kind, .text = std::move(text), .node = std::move(node)});
  }
  void event(const kube::EventRecord& event);
  void told(const Entry& entry) { timeline.add(entry); }
  void drain(const drain::Key& key);
  void forget_ended_drains();
  void problem(const std::string& key, const std::string* message);
  void configured();
  void pauses_changed();
  std::optional<Entry> told_by(const kube::EventRecord& event, io::Wall time);
  Task<void> read_past();
  Task<std::vector<Entry>> past_of(std::string source);

  replica::Replica& replica;
  Timeline timeline;
  std::map<std::string, io::Wall, std::less<>> problems;
  std::map<drain::Key, Phase> drains;  // as they were reported
  std::map<std::string, budget::Pause> pauses;
  bool has_config = false;
  bool past_is_read = false;
  io::Scope scope;
};

void Chronicle::Core::event(const kube::EventRecord& event) {
  // Its controller has told it, and from where the node came.
  if (event.reason == "ChangedMaintenanceState") return;
  if (auto entry = told_by(event, replica.now())) timeline.add(std::move(*entry));
  const bool begins = event.reason == "LeaderElection" && replica.election().leading();
  if (begins && !std::exchange(past_is_read, true)) scope.spawn(read_past());
}

std::optional<Entry> Chronicle::Core::told_by(const kube::EventRecord& event, io::Wall time) {
  for (const auto& one : replica.hosted()) {
    if (auto entry = one.controller.entry_of(event, time)) return entry;
  }
  return entry_of(event, time);
}

void Chronicle::Core::drain(const drain::Key& key) {
  forget_ended_drains();
  const auto phase = replica.drains().phase(key);
  if (!phase) return;
  const auto [known, fresh] = drains.try_emplace(key, Phase::draining);
  if (fresh) say(Kind::drain, fmt::format("{} is being drained for {}", key.node, key.owner), key.node);
  if (known->second == *phase) return;
  known->second = *phase;
  const drain::Progress* const progress = replica.drains().progress(key);
  const std::string why = progress && !progress->errors.empty() ? ": " + progress->errors.front() : "";
  switch (*phase) {
    case Phase::draining:
      return;
    case Phase::drained:
      return say(Kind::drain, fmt::format("{} is drained for {}", key.node, key.owner), key.node);
    case Phase::refused:
      return say(Kind::error, fmt::format("The drain of {} for {} is refused{}", key.node, key.owner, why), key.node);
    case Phase::failed:
      return say(Kind::error, fmt::format("The drain of {} for {} has failed{}", key.node, key.owner, why), key.node);
  }
}

void Chronicle::Core::forget_ended_drains() {
  std::erase_if(drains, [&](const auto& entry) {
    const auto& [key, phase] = entry;
    if (replica.drains().has(key)) return false;
    if (phase == Phase::draining) {
      say(Kind::drain, fmt::format("The drain of {} for {} has ended early", key.node, key.owner), key.node);
    }
    return true;
  });
}

void Chronicle::Core::problem(const std::string& key, const std::string* message) {
  if (!message) {
    problems.erase(key);
    return say(Kind::careen, fmt::format("The problem is gone: {}", key));
  }
  problems.try_emplace(key, replica.now());
  say(Kind::error, fmt::format("{}: {}", key, *message));
}

void Chronicle::Core::configured() {
  const bool again = std::exchange(has_config, true);
  say(Kind::careen, again ? "The configuration was loaded again" : "The configuration was loaded");
}

void Chronicle::Core::pauses_changed() {
  std::map<std::string, budget::Pause> now;
  for (budget::Pause& pause : replica.pauses().all()) {
    const std::string key = pause.profile;
    now.emplace(key, std::move(pause));
  }
  for (const auto& [key, pause] : pauses) {
    if (now.contains(key)) continue;
    say(Kind::pause, (key.empty() ? "Everything" : "Profile " + key) + " goes on");
  }
  for (const auto& [key, pause] : now) {
    const auto before = pauses.find(key);
    if (before == pauses.end() || before->second != pause) say(Kind::pause, pause_text(pause));
  }
  pauses = std::move(now);
}

Task<void> Chronicle::Core::read_past() {
  std::vector<std::string> sources{std::string(kNodeEvents)};
  for (const auto& one : replica.hosted()) {
    if (one.kind.event_source != kNodeEvents) sources.emplace_back(one.kind.event_source);
  }
  for (const std::string& source : sources) {
    std::vector<Entry> entries = co_await past_of(source);
    timeline.add_past(std::move(entries));
  }
}

Task<std::vector<Entry>> Chronicle::Core::past_of(std::string source) {
  std::vector<Entry> found;
  kube::CallOptions options;
  options.attempts = 1;
  options.query = fmt::format("limit={}&fieldSelector=source%3D{}", kMostEvents, source);
  const auto answer = co_await replica.reader().list(kube::resources::core_events, "default", std::move(options));
  // Without them the timeline begins now.
  if (!answer) co_return found;
  const auto list = kube::Json::parse(*answer);
  if (!list) co_return found;
  const io::Wall oldest = io::add(replica.now(), -kPast);
  (*list)["items"].for_each_element([&](kube::JsonView item) {
    kube::EventRecord event;
    const kube::JsonView about = item["involvedObject"];
    event.regarding.kind = about["kind"].text().value_or("");
    event.regarding.name = about["name"].text().value_or("");
    event.regarding.ns = about["namespace"].text().value_or("");
    event.reason = item["reason"].text().value_or("");
    event.note = item["message"].text().value_or("");
    std::optional<io::Wall> time;
    for (const char* field : {"eventTime", "lastTimestamp", "firstTimestamp"}) {
      if (!time) time = io::parse_rfc3339(item[field].text().value_or(""));
    }
    if (!time) time = io::parse_rfc3339(item["metadata"]["creationTimestamp"].text().value_or(""));
    if (!time || *time < oldest) return;
    if (auto entry = told_by(event, *time)) found.push_back(std::move(*entry));
  });
  co_return found;
}

Chronicle::Chronicle(replica::Replica& replica) : core_(std::make_shared<Core>(replica)) {
  const std::weak_ptr<Core> still = core_;
  const auto told = [still](auto member, const auto&... arguments) {
    if (const auto core = still.lock()) ((*core).*member)(arguments...);
  };
  for (const auto& [key, message] : replica.problems().open()) core_->problems.emplace(key, replica.now());
  if (!replica.options().leader_election) {
    core_->past_is_read = true;
    core_->scope.spawn(core_->read_past());
  }
  replica.listen(
      {.event = [told](const kube::EventRecord& event) { told(&Core::event, event); },
       .told = [told](const Entry& entry) { told(&Core::told, entry); },
       .drain = [told](const drain::Key& key) { told(&Core::drain, key); },
       .problem = [told](const std::string& key, const std::string* message) { told(&Core::problem, key, message); },
       .configured = [told] { told(&Core::configured); },
       .pauses = [told] { told(&Core::pauses_changed); }});
}

Chronicle::~Chronicle() = default;

const Timeline& Chronicle::timeline() const { return core_->timeline; }

io::Wall Chronicle::problem_since(const std::string& key) const {
  const auto found = core_->problems.find(key);
  return found == core_->problems.end() ? core_->replica.now() : found->second;
}

}  // namespace careen::view
