// Random histories against a model: whatever order events, own writes' answers, reconnects and relists come in, a
// cache shows each object as of the newest thing it was told of it.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/random.h"
#include "kube/cache.h"
#include "kube/pod_store.h"

namespace careen::kube {
namespace {

// One change of one object on the server.
struct Write {
  uint64_t version = 0;
  int key = 0;
  bool deletion = false;
  int uid = 0;
  int colour = 0;
};

struct Seen {
  int uid = 0;
  uint64_t version = 0;
  int colour = 0;
  friend bool operator==(const Seen&, const Seen&) = default;
};
using State = std::map<int, Seen>;

// Both caches behind one face.
class ThingCache {
 public:
  struct Thing {
    std::string name, uid;
    uint64_t version = 0;
    int colour = 0;
    const std::string& key() const { return name; }
    bool same_facts(const Thing& other) const { return colour == other.colour && uid == other.uid; }
  };
  explicit ThingCache(State& mirror) {
    changes_ = store_.subscribe([&mirror](const Thing* before, const Thing* after) {
      if (before) {
        const auto it = mirror.find(std::stoi(before->name));
        ASSERT_TRUE(it != mirror.end() && it->second.uid == std::stoi(before->uid));
        ASSERT_EQ(it->second.colour, before->colour);
        mirror.erase(it);
      } else {
        ASSERT_FALSE(mirror.contains(std::stoi(after->name)));
      }
      if (after) mirror[std::stoi(after->name)] = {std::stoi(after->uid), 0, after->colour};
    });
  }
  void put(const Write& w) { store_.put(make(w)); }
  void remove(const Write& w) { store_.remove(std::to_string(w.key), w.version); }
  void progress(uint64_t version) { store_.progress(version); }
  void begin_list() { store_.begin_list(); }
  void stage(const Write& w) { store_.stage(make(w)); }
  void end_list(uint64_t version) { store_.end_list(version); }
  State state() const {
    State out;
    store_.for_each([&](const Thing& t) { out[std::stoi(t.name)] = {std::stoi(t.uid), t.version, t.colour}; });
    return out;
  }

 private:
  static Thing make(const Write& w) { return {std::to_string(w.key), std::to_string(w.uid), w.version, w.colour}; }
  Store<Thing> store_;
  io::Subscription changes_;
};

class PodCache {
 public:
  explicit PodCache(State& mirror) {
    changes_ = store_.subscribe([&mirror](const Pod* before, const Pod* after) {
      if (before) {
        const auto it = mirror.find(key_of(*before));
        ASSERT_TRUE(it != mirror.end() && it->second.uid == std::stoi(before->uid));
        ASSERT_EQ(it->second.colour, before->priority);
        mirror.erase(it);
      } else {
        ASSERT_FALSE(mirror.contains(key_of(*after)));
      }
      if (after) mirror[key_of(*after)] = {std::stoi(after->uid), 0, after->priority};
    });
  }
  void put(const Write& w) {
    with(w, [&](const PodFacts& f) { store_.put(f); });
  }
  void remove(const Write& w) { store_.remove("ns", "pod-" + std::to_string(w.key), w.version); }
  void progress(uint64_t version) { store_.progress(version); }
  void begin_list() { store_.begin_list(); }
  void stage(const Write& w) {
    with(w, [&](const PodFacts& f) { store_.stage(f); });
  }
  void end_list(uint64_t version) { store_.end_list(version); }
  // Also checks that the index by node agrees.
  State state() const {
    State out, by_node;
    const auto add = [](State& to, const Pod& p) { to[key_of(p)] = {std::stoi(p.uid), p.version, p.priority}; };
    store_.for_each([&](const Pod& p) { add(out, p); });
    for (int node = 0; node < 3; ++node) {
      size_t count = 0;
      store_.for_each_on(node_name(node), [&](const Pod& p) {
        EXPECT_EQ(p.node, node_name(node));
        add(by_node, p);
        ++count;
      });
      EXPECT_EQ(store_.count_on(node_name(node)), count);
    }
    EXPECT_EQ(out, by_node);
    EXPECT_EQ(out.size(), store_.size());
    for (const auto& [key, seen] : out) {
      const auto pod = store_.find("ns", "pod-" + std::to_string(key));
      EXPECT_TRUE(pod && pod->version == seen.version);
    }
    return out;
  }

 private:
  static int key_of(const Pod& p) { return std::stoi(p.name.substr(4)); }
  static std::string node_name(int colour) { return "node-" + std::to_string(colour % 3); }
  template <class F>
  static void with(const Write& w, F&& use) {
    const std::string name = "pod-" + std::to_string(w.key), uid = std::to_string(w.uid), node = node_name(w.colour);
    PodFacts f;
    f.ns = "ns";
    f.name = name;
    f.uid = uid;
    f.version = w.version;
    f.node = node;
    f.priority = w.colour;
    if (w.uid % 2 == 0) {
      f.owner_kind = "ReplicaSet";
      f.owner_name = "pod";
    }
    use(f);
  }
  AtomPool atoms_;
  PodStore store_{atoms_};
  io::Subscription changes_;
};

template <class Cache>
class Run {
 public:
  explicit Run(uint64_t seed) : random_(seed) {}

  void go(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
      step();
      const State expected = model();
      ASSERT_EQ(cache_.state(), expected);
      State facts = expected;
      for (auto& [key, seen] : facts) seen.version = 0;
      ASSERT_EQ(mirror_, facts) << "the listeners were told something else";
    }
  }

 private:
  static constexpr int kKeys = 6;
  uint64_t below(uint64_t n) { return random_.next() % n; }

  void step() {
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return write();
      case 4:
      case 5:
      case 6:
        return deliver_next();
      case 7:  // a resumed watch tells again what it told before
        if (position_ > 0) return deliver(history_[below(position_)]);
        return;
      case 8:
      case 9:  // an answer to an own write, early or late
        if (history_.empty()) return;
        return answer(history_[history_.size() - 1 - below(std::min<size_t>(history_.size(), 12))]);
      case 10:
        return bookmark();
      default:
        return listing_ ? end_list() : begin_list();
    }
  }

  void write() {
    const int key = static_cast<int>(below(kKeys));
    Write w{history_.size() + 1, key, false, 0, static_cast<int>(below(4))};
    const State now = server(history_.size());
    if (const auto it = now.find(key); it != now.end()) {
      w.uid = it->second.uid;
      w.deletion = below(3) == 0;
    } else {
      w.uid = ++next_uid_;
    }
    history_.push_back(w);
  }

  // Watching continues only after the list, as in the reflector; what arrives meanwhile are answers.
  void deliver_next() {
    if (listing_ || position_ >= history_.size()) return;
    deliver(history_[position_]);
    position_ = std::max<uint64_t>(position_, history_[position_].version);
  }
  void deliver(const Write& w) {
    w.deletion ? cache_.remove(w) : cache_.put(w);
    cache_.progress(w.version);
  }
  void bookmark() {
    if (!listing_) cache_.progress(position_);
  }
  void answer(const Write& w) {
    w.deletion ? cache_.remove(w) : cache_.put(w);
    auto& told = answered_[w.key];
    if (w.version > told.version) told = w;
    newest_ = std::max(newest_, w.version);
  }
  // A list is at least as new as all that was heard.
  void begin_list() {
    listing_ = true;
    const uint64_t least = std::max(newest_, position_);
    list_version_ = least + below(history_.size() - least + 1);
    if (list_version_ == 0) {
      listing_ = false;
      return;
    }
    cache_.begin_list();
    for (const auto& [key, seen] : server(list_version_)) {
      cache_.stage({seen.version, key, false, seen.uid, seen.colour});
    }
  }
  void end_list() {
    listing_ = false;
    cache_.end_list(list_version_);
    position_ = list_version_;
  }

  State server(uint64_t version) const {
    State state;
    for (const Write& w : history_) {
      if (w.version > version) break;
      if (w.deletion) {
        state.erase(w.key);
      } else {
        state[w.key] = {w.uid, w.version, w.colour};
      }
    }
    return state;
  }

  // What the watch told, but for objects of which an answer told something newer.
  State model() const {
    State state = server(position_);
    for (const auto& [key, w] : answered_) {
      if (w.version <= position_) continue;
      if (w.deletion) {
        state.erase(key);
      } else {
        state[key] = {w.uid, w.version, w.colour};
      }
    }
    return state;
  }

  io::Random random_;
  std::vector<Write> history_;
  uint64_t position_ = 0;  // of the watch
  uint64_t newest_ = 0;    // version of an answer
  uint64_t list_version_ = 0;
  bool listing_ = false;
  int next_uid_ = 0;
  std::map<int, Write> answered_;
  State mirror_;
  Cache cache_{mirror_};
};

template <class Cache>
class CacheModelTest : public testing::Test {};
using Caches = testing::Types<ThingCache, PodCache>;
TYPED_TEST_SUITE(CacheModelTest, Caches);

TYPED_TEST(CacheModelTest, AgreesWithTheModelInAnyOrder) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Run<TypeParam> run(seed);
    run.go(300);
    if (this->HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace careen::kube
