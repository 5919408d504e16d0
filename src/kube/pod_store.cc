#include "kube/pod_store.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <unordered_map>

#include "kube/objects.h"
#include "kube/pod_record.h"
#include "kube/sink.h"

namespace careen::kube {

namespace {

// Records in blocks that are given back when they are empty. The lowest free slot is used first, so that the blocks
// at the end run empty when pods go.
class Slabs {
 public:
  PodRecord& operator[](SlotId id) { return blocks_[id / kBlock]->records[id % kBlock]; }
  const PodRecord& operator[](SlotId id) const { return blocks_[id / kBlock]->records[id % kBlock]; }

  SlotId add(PodRecord record, PodRecord::Use use) {
    const uint32_t number = roomy_.empty() ? new_block() : *roomy_.begin();
    Block& block = *blocks_[number];
    const uint32_t place = block.first_free;
    PodRecord& slot = block.records[place];
    block.first_free = slot.next;
    if (++block.used == kBlock) roomy_.erase(number);
    slot = std::move(record);
    slot.use = use;
    slot.next = slot.previous = kNoSlot;
    return number * kBlock + place;
  }

  void drop(SlotId id) {
    const uint32_t number = id / kBlock;
    Block& block = *blocks_[number];
    if (--block.used == 0) {
      blocks_[number].reset();
      roomy_.erase(number);
      absent_.insert(number);
      return;
    }
    PodRecord& slot = block.records[id % kBlock];
    slot = PodRecord{};
    slot.next = block.first_free;
    block.first_free = id % kBlock;
    roomy_.insert(number);
  }

  // visit(SlotId) for each record of that use, which it may drop.
  template <class F>
  void for_each(PodRecord::Use use, F&& visit) const {
    for (uint32_t number = 0; number < blocks_.size(); ++number) {
      for (uint32_t place = 0; place < kBlock && blocks_[number]; ++place) {
        if (blocks_[number]->records[place].use == use) visit(number * kBlock + place);
      }
    }
  }

  size_t bytes() const {
    const size_t present = blocks_.size() - absent_.size();
    return present * sizeof(Block) + blocks_.capacity() * sizeof(blocks_[0]);
  }

 private:
  static constexpr uint32_t kBlock = 512;
  struct Block {
    std::array<PodRecord, kBlock> records;
    uint32_t used = 0;
    uint32_t first_free = 0;  // number inside the block
  };

  uint32_t new_block() {
    uint32_t number = static_cast<uint32_t>(blocks_.size());
    if (absent_.empty()) {
      blocks_.emplace_back();
    } else {
      number = *absent_.begin();
      absent_.erase(absent_.begin());
    }
    blocks_[number] = std::make_unique<Block>();
    for (uint32_t i = 0; i < kBlock; ++i) blocks_[number]->records[i].next = i + 1;
    roomy_.insert(number);
    return number;
  }

  std::vector<std::unique_ptr<Block>> blocks_;
  std::set<uint32_t> roomy_;   // blocks with a free slot
  std::set<uint32_t> absent_;  // given back
};

// Slots by namespace and name: open addressing with linear probing, without markers for what was erased.
class NameIndex {
 public:
  explicit NameIndex(const Slabs& slabs) : slabs_(slabs) {}

  // same(const PodRecord&) tells whether it is the one.
  template <class F>
  SlotId find(uint32_t hash, F&& same) const {
    for (size_t i = hash & mask(); places_[i] != kNoSlot; i = (i + 1) & mask()) {
      const PodRecord& record = slabs_[places_[i]];
      if (record.hash == hash && same(record)) return places_[i];
    }
    return kNoSlot;
  }

  void insert(SlotId id) {
    if ((used_ + 1) * 4 > places_.size() * 3) resize(places_.size() * 2);
    place(id);
    ++used_;
  }

  void erase(SlotId id) {
    size_t hole = slabs_[id].hash & mask();
    while (places_[hole] != id) hole = (hole + 1) & mask();
    for (size_t i = (hole + 1) & mask(); places_[i] != kNoSlot; i = (i + 1) & mask()) {
      const size_t home = slabs_[places_[i]].hash & mask();
      if (((i - home) & mask()) < ((i - hole) & mask())) continue;
      places_[hole] = places_[i];
      hole = i;
    }
    places_[hole] = kNoSlot;
    --used_;
    if (places_.size() > kSmallest && used_ < places_.size() / 8) resize(places_.size() / 4);
  }

  size_t size() const { return used_; }
  size_t bytes() const { return places_.size() * sizeof(SlotId); }

 private:
  static constexpr size_t kSmallest = 256;
  size_t mask() const { return places_.size() - 1; }

  void place(SlotId id) {
    size_t i = slabs_[id].hash & mask();
    while (places_[i] != kNoSlot) i = (i + 1) & mask();
    places_[i] = id;
  }

  void resize(size_t size) {
    std::vector<SlotId> old(size, kNoSlot);
    old.swap(places_);
    for (const SlotId id : old) {
      if (id != kNoSlot) place(id);
    }
  }

  const Slabs& slabs_;
  std::vector<SlotId> places_ = std::vector<SlotId>(kSmallest, kNoSlot);
  size_t used_ = 0;
};

struct OnNode {
  SlotId first = kNoSlot;
  uint32_t count = 0;
  uint32_t marked = 0;
};

}  // namespace

std::optional<std::string_view> Pod::label(std::string_view key) const {
  std::optional<std::string_view> found;
  for_each_label([&](std::string_view k, std::string_view v) {
    if (k == key) found = v;
  });
  return found;
}

void Pod::for_each_owner(const std::function<void(std::string_view, std::string_view)>& visit) const {
  if (!owner_kind.empty()) visit(owner_kind, owner_name);
  for (std::string_view left = other_owners; !left.empty();) {
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(line.size() + 1, left.size()));
    const size_t slash = line.find('/');
    if (slash != std::string_view::npos) visit(line.substr(0, slash), line.substr(slash + 1));
  }
}

void Pod::for_each_label(const std::function<void(std::string_view, std::string_view)>& visit) const {
  const auto cut = [](std::string_view& text) {
    const size_t end = std::min(text.find('\0'), text.size());
    const std::string_view piece = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return piece;
  };
  for (std::string_view left = label_set; !left.empty();) {
    const std::string_view key = cut(left);
    const std::string_view value = cut(left);
    visit(key, value);
  }
}

struct PodStore::Core {
  Core(AtomPool& pool, std::optional<NodePreference> preference) : atoms(pool), marking(std::move(preference)) {}

  // A live pod's new state, and its former one if it had any; or the last state of one that is gone.
  struct Change {
    std::optional<PodRecord> before;
    SlotId after;
  };
  using Changes = std::vector<Change>;

  SlotId find(const PodRecord& record) const {
    return names.find(record.hash, [&](const PodRecord& other) { return record.same_name(other); });
  }

  void link_to_node(SlotId id) {
    PodRecord& record = slabs[id];
    if (record.node.empty()) return;
    OnNode& list = nodes[record.node];
    record.previous = kNoSlot;
    record.next = list.first;
    if (list.first != kNoSlot) slabs[list.first].previous = id;
    list.first = id;
    ++list.count;
    list.marked += record.flags.marked;
  }

  void unlink_from_node(SlotId id) {
    PodRecord& record = slabs[id];
    if (record.node.empty()) return;
    const auto it = nodes.find(record.node);
    (record.previous == kNoSlot ? it->second.first : slabs[record.previous].next) = record.next;
    if (record.next != kNoSlot) slabs[record.next].previous = record.previous;
    record.next = record.previous = kNoSlot;
    it->second.marked -= record.flags.marked;
    if (--it->second.count == 0) nodes.erase(it);
  }

  void note(std::optional<PodRecord> before, SlotId after, Changes& changes) {
    if (listeners.empty() && node_listeners.empty()) return;
    changes.push_back({std::move(before), after});
  }

  // Whether no later version has reported the record's deletion.
  bool may_be_new(const PodRecord& record) {
    if (record.version <= position) return false;
    if (tombstones.empty()) return true;
    const auto dead = tombstones.find(object_key(record.ns.view(), record.name()));
    if (dead == tombstones.end()) return true;
    if (record.version <= dead->second) return false;
    tombstones.erase(dead);
    return true;
  }

  void replace(SlotId id, PodRecord fresh, Changes& changes) {
    PodRecord& known = slabs[id];
    if (known.same_facts(fresh)) {
      known.version = fresh.version;
      return;
    }
    unlink_from_node(id);
    fresh.use = known.use;
    fresh.listed = known.listed;
    PodRecord before = std::exchange(known, std::move(fresh));
    link_to_node(id);
    note(std::move(before), id, changes);
  }

  void erase(SlotId id, Changes& changes) {
    names.erase(id);
    unlink_from_node(id);
    note(std::move(slabs[id]), kNoSlot, changes);
    slabs.drop(id);
  }

  void announce(const Changes& changes) {
    if (changes.empty()) return;
    announcing = true;
    if (!listeners.empty()) announce_pods(changes);
    if (!node_listeners.empty()) announce_nodes(changes);
    announcing = false;
  }

  void announce_pods(const Changes& changes) {
    for (const Change& change : changes) {
      std::optional<Pod> before, after;
      if (change.before) before = change.before->view();
      if (change.after != kNoSlot) after = slabs[change.after].view();
      const bool made_again = before && after && before->uid != after->uid;
      if (made_again) {
        listeners.tell(&*before, nullptr);
        before.reset();
      }
      listeners.tell(before ? &*before : nullptr, after ? &*after : nullptr);
    }
  }

  void announce_nodes(const Changes& changes) {
    std::vector<Atom> concerned;
    for (const Change& change : changes) {
      const PodRecord* before = change.before ? &*change.before : nullptr;
      const PodRecord* after = change.after == kNoSlot ? nullptr : &slabs[change.after];
      const bool stays = before && after && before->node == after->node && before->same_uid(*after) &&
                         before->flags.marked == after->flags.marked;
      if (stays) continue;
      if (before && !before->node.empty()) concerned.push_back(before->node);
      if (after && !after->node.empty()) concerned.push_back(after->node);
    }
    // By text and not by address: listeners are called in the same order in every run.
    std::sort(concerned.begin(), concerned.end(), [](const Atom& a, const Atom& b) { return a.view() < b.view(); });
    concerned.erase(std::unique(concerned.begin(), concerned.end()), concerned.end());
    for (const Atom& node : concerned) {
      node_listeners.tell(node.view());
    }
  }

  void must_not_be_called_by_a_listener() const {
    if (!announcing) return;
    std::fputs("careen: bug: a listener of the pod store changes it\n", stderr);
    std::abort();
  }

  void forget_passed_tombstones() {
    if (tombstones.empty()) return;
    std::erase_if(tombstones, [this](const auto& dead) { return dead.second <= position; });
  }

  AtomPool& atoms;
  std::optional<NodePreference> marking;
  Slabs slabs;
  NameIndex names{slabs};
  std::unordered_map<Atom, OnNode> nodes;
  std::map<std::string, uint64_t, std::less<>> tombstones;
  std::vector<SlotId> staged;
  uint64_t newest = 0;
  uint64_t newest_before_list = 0;
  uint64_t position = 0;
  bool announcing = false;
  std::string scratch;
  io::Hub<const Pod*, const Pod*> listeners;
  io::Hub<std::string_view> node_listeners;
};

PodStore::PodStore(AtomPool& atoms, std::optional<NodePreference> marking)
    : core_(std::make_unique<Core>(atoms, std::move(marking))) {}
PodStore::~PodStore() = default;

io::Subscription PodStore::subscribe(Listener listener) { return core_->listeners.subscribe(std::move(listener)); }

io::Subscription PodStore::subscribe_nodes(NodeListener listener) {
  return core_->node_listeners.subscribe(std::move(listener));
}

std::optional<Pod> PodStore::find(std::string_view ns, std::string_view name) const {
  const SlotId id = core_->names.find(hash_of_name(ns, name), [&](const PodRecord& r) { return r.named(ns, name); });
  if (id == kNoSlot) return std::nullopt;
  return core_->slabs[id].view();
}

size_t PodStore::size() const { return core_->names.size(); }

size_t PodStore::count_on(std::string_view node) const {
  const auto it = core_->nodes.find(core_->atoms.find(node));
  return it == core_->nodes.end() ? 0 : it->second.count;
}

size_t PodStore::marked_on(std::string_view node) const {
  const auto it = core_->nodes.find(core_->atoms.find(node));
  return it == core_->nodes.end() ? 0 : it->second.marked;
}

void PodStore::for_each(const std::function<void(const Pod&)>& visit) const {
  core_->slabs.for_each(PodRecord::Use::live, [&](SlotId id) { visit(core_->slabs[id].view()); });
}

void PodStore::for_each_on(std::string_view node, const std::function<void(const Pod&)>& visit) const {
  const auto it = core_->nodes.find(core_->atoms.find(node));
  if (it == core_->nodes.end()) return;
  for (SlotId id = it->second.first; id != kNoSlot; id = core_->slabs[id].next) visit(core_->slabs[id].view());
}

uint64_t PodStore::newest_version() const { return core_->newest; }
uint64_t PodStore::position() const { return core_->position; }

const NodePreference* PodStore::marking() const { return core_->marking ? &*core_->marking : nullptr; }

bool PodStore::put(const PodFacts& facts) {
  Core& p = *core_;
  p.must_not_be_called_by_a_listener();
  p.newest = std::max(p.newest, facts.version);
  PodRecord record = make_record(facts, p.atoms, p.scratch);
  Core::Changes changes;
  SlotId id = p.find(record);
  if (id == kNoSlot) {
    if (!p.may_be_new(record)) return false;
    id = p.slabs.add(std::move(record), PodRecord::Use::live);
    p.names.insert(id);
    p.link_to_node(id);
    p.note(std::nullopt, id, changes);
  } else {
    if (record.version <= p.slabs[id].version) return false;
    p.replace(id, std::move(record), changes);
  }
  p.announce(changes);
  return true;
}

void PodStore::remove(std::string_view ns, std::string_view name, uint64_t version) {
  Core& p = *core_;
  p.must_not_be_called_by_a_listener();
  p.newest = std::max(p.newest, version);
  const SlotId id = p.names.find(hash_of_name(ns, name), [&](const PodRecord& r) { return r.named(ns, name); });
  if (id != kNoSlot && p.slabs[id].version > version) return;
  if (version > p.position) {
    uint64_t& dead = p.tombstones[object_key(ns, name)];
    dead = std::max(dead, version);
  }
  if (id == kNoSlot) return;
  Core::Changes changes;
  p.erase(id, changes);
  p.announce(changes);
}

void PodStore::progress(uint64_t version) {
  Core& p = *core_;
  p.newest = std::max(p.newest, version);
  if (version <= p.position) return;
  p.position = version;
  p.forget_passed_tombstones();
}

void PodStore::begin_list() {
  drop_list();
  core_->newest_before_list = core_->newest;
}

void PodStore::stage(const PodFacts& facts) {
  Core& p = *core_;
  p.staged.push_back(p.slabs.add(make_record(facts, p.atoms, p.scratch), PodRecord::Use::staged));
}

void PodStore::drop_list() {
  for (const SlotId id : core_->staged) core_->slabs.drop(id);
  std::vector<SlotId>().swap(core_->staged);
}

// See Store::end_list for the reasons; here the records of the list become the store's own where they are.
void PodStore::end_list(uint64_t list_version) {
  Core& p = *core_;
  p.must_not_be_called_by_a_listener();
  Core::Changes changes;
  if (list_version < p.newest_before_list) {
    p.tombstones.clear();
    p.newest = 0;
    p.slabs.for_each(PodRecord::Use::live, [&](SlotId id) { p.slabs[id].version = 0; });
  }
  p.position = 0;
  for (const SlotId fresh : p.staged) {
    const SlotId known = p.find(p.slabs[fresh]);
    if (known != kNoSlot) {
      p.slabs[known].listed = true;
      if (p.slabs[fresh].version > p.slabs[known].version) p.replace(known, std::move(p.slabs[fresh]), changes);
      p.slabs.drop(fresh);
    } else if (!p.may_be_new(p.slabs[fresh])) {
      p.slabs.drop(fresh);
    } else {
      p.slabs[fresh].use = PodRecord::Use::live;
      p.slabs[fresh].listed = true;
      p.names.insert(fresh);
      p.link_to_node(fresh);
      p.note(std::nullopt, fresh, changes);
    }
  }
  std::vector<SlotId>().swap(p.staged);
  p.position = list_version;
  p.newest = std::max(p.newest, list_version);
  p.slabs.for_each(PodRecord::Use::live, [&](SlotId id) {
    PodRecord& record = p.slabs[id];
    const bool listed = record.listed;
    record.listed = false;
    if (!listed && record.version <= list_version) p.erase(id, changes);
  });
  p.forget_passed_tombstones();
  p.announce(changes);
}

namespace {

class PodSink final : public Sink {
 public:
  explicit PodSink(PodStore& store) : store_(store) {}

  void begin_list() override { store_.begin_list(); }
  io::Result<bool> listed(RawObject& object) override {
    if (auto ok = decode_pod(object, facts_, store_.marking()); !ok) return ok;
    store_.stage(facts_);
    return true;
  }
  void end_list(uint64_t version) override { store_.end_list(version); }
  void drop_list() override { store_.drop_list(); }
  io::Result<uint64_t> event(EventType type, RawObject& object) override {
    if (auto ok = decode_pod(object, facts_, store_.marking()); !ok) return tl::make_unexpected(std::move(ok.error()));
    if (type == EventType::deleted) {
      store_.remove(facts_.ns, facts_.name, facts_.version);
    } else {
      store_.put(facts_);
    }
    store_.progress(facts_.version);
    return facts_.version;
  }
  void bookmark(uint64_t version) override { store_.progress(version); }
  size_t size() const override { return store_.size(); }
  uint64_t newest_version() const override { return store_.newest_version(); }

 private:
  PodStore& store_;
  PodFacts facts_;
};

}  // namespace

std::unique_ptr<Sink> make_sink(PodStore& store) { return std::make_unique<PodSink>(store); }

size_t PodStore::bytes() const {
  const Core& p = *core_;
  size_t far = 0;
  p.slabs.for_each(PodRecord::Use::live, [&](SlotId id) { far += p.slabs[id].rest.heap_bytes(); });
  return p.slabs.bytes() + p.names.bytes() + far +
         p.nodes.size() * (sizeof(Atom) + sizeof(OnNode) + 2 * sizeof(void*)) + p.nodes.bucket_count() * sizeof(void*);
}

}  // namespace careen::kube
