#include "view/changes.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "io/http_server.h"
#include "io/sync.h"
#include "kube/cache.h"
#include "kube/json_writer.h"
#include "kube/name_order.h"
#include "kube/node.h"
#include "replica/replica.h"
#include "view/chronicle.h"
#include "view/fleet.h"
#include "view/row.h"
#include "view/timeline.h"

namespace careen::view {

namespace {

using io::Task;
using kube::append_json;
using kube::Members;

constexpr io::Duration kGap = io::milliseconds{250};
// What depends on the time alone (how long a pod has been waiting) is looked at this often.
constexpr io::Duration kSlow = io::seconds{5};
// All rows are rebuilt this often, whatever happens.
constexpr io::Duration kRound = io::minutes{1};
constexpr io::Duration kHeartbeat = io::seconds{15};
// Others have their turn after this long.
constexpr io::Duration kMostTime = io::milliseconds{10};
constexpr size_t kRowsInTurn = 200;
constexpr size_t kMostBacklog = 4 << 20;
constexpr const char* kRetry = "retry: 2000\n";

using Frame = std::shared_ptr<const std::string>;

// What one listener has not read yet.
struct Feed {
  explicit Feed(io::Loop& loop) : news(loop) {}
  void put(const Frame& frame) {
    if (cut) return;
    if (bytes + frame->size() > kMostBacklog) {
      cut = true;
      frames.clear();
    } else {
      frames.push_back(frame);
      bytes += frame->size();
    }
    news.notify();
  }
  std::deque<Frame> frames;
  size_t bytes = 0;
  bool cut = false;
  io::Signal news;
};

Task<void> pause(io::Loop& loop, io::Duration span) { co_await io::sleep_for(loop, span); }

}  // namespace

struct Changes::Core {
  Core(io::Loop& l, Shown s) : loop(l), shown(std::move(s)), alarm(l, [this] { tick(); }) {}

  bool heard() const { return !feeds.empty(); }
  void join(Feed& feed);
  void leave(Feed& feed);
  FleetListener snapshot_listener();
  void touched(const std::string& node);
  void world_changed();
  void soon();

  void tick();
  void refresh(const std::string& name);
  void make_rows();
  void in_turn(io::Steady until);
  void look_at_labels();
  std::string change(bool look_at_sections);

  struct Known {
    size_t hash = 0;
    std::vector<std::pair<std::string, std::string>> profiles;
  };
  struct Fresh {
    std::map<std::string, std::string, kube::NameOrder> rows;
    std::vector<std::string> gone;
    bool labels = false;
  };

  io::Loop& loop;
  Shown shown;
  io::Alarm alarm;
  std::set<Feed*> feeds;
  std::map<std::string, Known, std::less<>> rows;
  std::map<std::string, std::string, std::less<>> told;  // sections as they were sent
  std::vector<std::string> labels;
  std::set<std::string, std::less<>> dirty;
  bool parts_dirty = false;
  bool world_dirty = false;
  bool in_round = false;
  std::string cursor;
  int64_t entries_told = 0;
  io::Steady due{}, last_tick{}, last_look{}, last_round{};
  std::optional<Work> work;
  Fresh fresh;
  size_t made = 0;
};

void Changes::Core::join(Feed& feed) {
  if (feeds.empty()) {
    rows.clear();
    told.clear();
    dirty.clear();
    parts_dirty = world_dirty = in_round = false;
    labels = grouping_labels(shown.replica);
    entries_told = shown.chronicle.timeline().next();
    last_look = last_round = loop.now();
    alarm.set(due = loop.now() + kSlow);
  }
  feeds.insert(&feed);
}

void Changes::Core::leave(Feed& feed) {
  feeds.erase(&feed);
  if (!feeds.empty()) return;
  alarm.cancel();
  rows.clear();
  told.clear();
}

// What the first listener has got need not be sent again; what a later one sees change, the others get too.
FleetListener Changes::Core::snapshot_listener() {
  return {[this](const std::string& node, const Row& row) {
            ++made;
            const size_t hash = std::hash<std::string>{}(row.json);
            const auto [known, is_new] = rows.try_emplace(node, Known{hash, row.profiles});
            if (!is_new && known->second.hash != hash) touched(node);
          },
          [this](const std::vector<std::string>& keys) { told.try_emplace("labels", labels_json(keys)); },
          [this](const view::Sections& sections) {
            for (const auto& [name, json] : sections) told.try_emplace(std::string(name), json);
          }};
}

void Changes::Core::touched(const std::string& node) {
  if (!heard()) return;
  dirty.insert(node);
  world_changed();
}

void Changes::Core::world_changed() {
  if (!heard()) return;
  parts_dirty = world_dirty = true;
  soon();
}

void Changes::Core::soon() {
  const io::Steady when = std::max(loop.now(), last_tick + kGap);
  if (!alarm.pending() || when < due) alarm.set(due = when);
}

void Changes::Core::tick() {
  if (!heard()) return;
  const io::Steady now = loop.now();
  last_tick = now;
  const bool slow = now - last_look >= kSlow;
  if (slow) look_at_labels();
  if (!in_round && (world_dirty || now - last_round >= kRound)) {
    in_round = true;
    world_dirty = false;
    cursor.clear();
    last_round = now;
  }
  make_rows();
  const std::string text = change(slow || std::exchange(parts_dirty, false));
  if (slow) last_look = now;
  if (!text.empty()) {
    const auto frame = std::make_shared<const std::string>("event: change\ndata: " + text + "\n\n");
    for (Feed* feed : feeds) feed->put(frame);
  }
  const bool more = in_round || !dirty.empty() || parts_dirty || world_dirty;
  alarm.set(due = now + (more ? kGap : kSlow));
}

void Changes::Core::look_at_labels() {
  auto keys = grouping_labels(shown.replica);
  if (keys == labels) return;
  labels = std::move(keys);
  fresh.labels = true;
  world_dirty = true;
}

void Changes::Core::make_rows() {
  work.emplace(shown.replica);
  const io::Steady until = loop.now() + kMostTime;
  while (!dirty.empty() && loop.now() <= until) {
    const std::string name = std::move(dirty.extract(dirty.begin()).value());
    refresh(name);
  }
  if (in_round) in_turn(until);
  work.reset();
}

void Changes::Core::in_turn(io::Steady until) {
  for (size_t count = 0; count < kRowsInTurn && loop.now() <= until; ++count) {
    const kube::Node* node = shown.replica.nodes().next(cursor);
    if (!node) {
      in_round = false;
      return;
    }
    cursor = node->name;
    refresh(cursor);
  }
}

void Changes::Core::refresh(const std::string& name) {
  const kube::Node* node = shown.replica.nodes().find(name);
  if (!node) {
    if (rows.erase(name) == 0) return;
    fresh.rows.erase(name);
    fresh.gone.push_back(name);
    return;
  }
  Row row = make_row(shown, *node, labels, *work);
  ++made;
  const size_t hash = std::hash<std::string>{}(row.json);
  Known& known = rows[name];
  if (known.hash == hash) return;
  known = {hash, std::move(row.profiles)};
  std::erase(fresh.gone, name);
  fresh.rows.insert_or_assign(name, std::move(row.json));
}

// The Change; empty when there is nothing to tell.
std::string Changes::Core::change(bool look_at_sections) {
  std::string out;
  {
    Members members(out, '{', '}');
    append_json(members.next("time"), shown.replica.now());
    const size_t bare = out.size();
    const auto tell = [&](std::string_view name, std::string json) {
      std::string& before = told[std::string(name)];
      if (before == json) return;
      members.next(name) += json;
      before = std::move(json);
    };
    if (!fresh.rows.empty()) {
      Members array(members.next("nodes"), '[', ']');
      for (const auto& [name, json] : fresh.rows) array.next() += json;
    }
    if (!fresh.gone.empty()) append_json(members.next("gone"), fresh.gone);
    const bool counts = !fresh.rows.empty() || !fresh.gone.empty() || look_at_sections;
    if (counts && !rows.empty()) {
      StateCounts states;
      for (const auto& [name, known] : rows) {
        for (const auto& [profile, state] : known.profiles) states.add(profile, state);
      }
      tell("profiles", states.json(shown.replica));
    }
    if (look_at_sections) {
      tell("labels", labels_json(labels));
      for (auto& [name, json] : make_sections(shown, Work(shown.replica))) tell(name, std::move(json));
    }
    const Timeline& timeline = shown.chronicle.timeline();
    const auto entries = timeline.since(entries_told, kFleetTimeline);
    entries_told = timeline.next();
    if (!entries.empty()) append_entries(members.next("timeline"), entries);
    fresh = {};
    if (out.size() == bare) return {};
  }
  return out;
}

namespace {

// One listener's stream.
template <class Source>
class Events final : public io::BodyStream {
 public:
  Events(std::shared_ptr<Source> source, io::Loop& loop) : source_(std::move(source)), loop_(loop), feed_(loop) {
    const int64_t told = source_->heard() ? source_->entries_told : source_->shown.chronicle.timeline().next();
    source_->join(feed_);
    pieces_.emplace(source_->shown, told, source_->snapshot_listener());
  }
  ~Events() override { source_->leave(feed_); }

  Task<io::Result<bool>> read(std::string& into) override {
    if (pieces_) {
      co_await io::yield_to_others(loop_);
      if (!std::exchange(begun_, true)) into += std::string(kRetry) + "event: fleet\ndata: ";
      if (pieces_->read(into)) co_return true;
      pieces_.reset();
      into += "\n\n";
      co_return true;
    }
    if (feed_.frames.empty() && !feed_.cut) {
      const int first = co_await io::race(loop_, io::wait_for(feed_.news), pause(loop_, kHeartbeat));
      if (first == 1) into += ": still here\n\n";
    }
    if (feed_.cut) co_return io::fail(io::ErrorKind::closed, "the client does not keep up with the changes");
    for (const Frame& frame : feed_.frames) into += *frame;
    feed_.frames.clear();
    feed_.bytes = 0;
    co_return true;
  }

 private:
  std::shared_ptr<Source> source_;
  io::Loop& loop_;
  Feed feed_;
  std::optional<FleetPieces> pieces_;
  bool begun_ = false;
};

}  // namespace

Changes::Changes(io::Loop& loop, Shown shown) : core_(std::make_shared<Core>(loop, std::move(shown))) {
  const std::weak_ptr<Core> still = core_;
  const auto changed = [still](const auto&...) {
    if (const auto core = still.lock()) core->world_changed();
  };
  core_->shown.replica.listen({.event = changed,
                               .told = changed,
                               .drain =
                                   [still](const drain::Key& key) {
                                     if (const auto core = still.lock()) core->touched(key.node);
                                   },
                               .problem = changed,
                               .configured = changed,
                               .node =
                                   [still](const std::string& node) {
                                     if (const auto core = still.lock()) core->touched(node);
                                   },
                               .pauses = changed,
                               .other = changed});
}

Changes::~Changes() = default;

std::unique_ptr<io::BodyStream> Changes::listen() { return std::make_unique<Events<Core>>(core_, core_->loop); }

size_t Changes::listeners() const { return core_->feeds.size(); }
size_t Changes::rows_made() const { return core_->made; }

}  // namespace careen::view
