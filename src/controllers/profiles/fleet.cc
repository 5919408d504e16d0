#include "controllers/profiles/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "budget/key.h"
#include "controllers/profiles/data.h"
#include "controllers/profiles/names.h"
#include "kube/cache.h"
#include "kube/node.h"
#include "windows/semver.h"

namespace careen::profiles {

kube::NodePreference prefers_operational() {
  return {std::string(kStateLabel), "In", std::string(name_of(State::operational))};
}

namespace {

// Nodes are numbered densely, and the number of one that is gone is given to another. Facts keep what a node
// contributes to them by its number, so that telling them of a node twice does no harm.
using NodeId = uint32_t;
using Told = std::vector<budget::Topic>;

template <class T>
class ByNode {
 public:
  T get(NodeId id) const { return id < values_.size() ? values_[id] : T{}; }
  // Returns what it was before.
  T exchange(NodeId id, T value) {
    if (id >= values_.size()) values_.resize(id + 1);
    const T before = values_[id];
    values_[id] = value;
    return before;
  }

 private:
  std::vector<T> values_;
};

bool has_profile(const kube::Node& node, std::string_view profile) {
  const kube::Atom* label = node.label(kProfileLabel);
  return label && names_profile(label->view(), profile);
}

// A fact that the nodes' labels make.
class LabelFact {
 public:
  LabelFact() = default;
  LabelFact(const LabelFact&) = delete;
  LabelFact& operator=(const LabelFact&) = delete;
  virtual ~LabelFact() = default;

  // The node is this now; null: it is gone.
  virtual void look_at(NodeId id, const kube::Node* node, Told& told) = 0;
  // The keys of the labels it looks at; none: it only matters which nodes there are.
  virtual std::vector<std::string> keys() const = 0;
};

class AnyLabel final : public LabelFact {
 public:
  AnyLabel(std::string key, std::string value, budget::Topic topic)
      : key_(std::move(key)), value_(std::move(value)), topic_(topic) {}

  void look_at(NodeId id, const kube::Node* node, Told& told) override {
    const kube::Atom* label = node ? node->label(key_) : nullptr;
    const bool has = label && (value_.empty() || label->view() == value_);
    const bool had = counted_.exchange(id, has);
    if (had == has) return;
    count_ += has ? 1 : -1;
    if (count_ == (has ? 1 : 0)) told.push_back(topic_);
  }
  std::vector<std::string> keys() const override { return {key_}; }

  Fleet::Yes answer() const { return {count_ > 0, topic_}; }

 private:
  std::string key_, value_;
  budget::Topic topic_;
  ByNode<bool> counted_;
  int64_t count_ = 0;
};

class ScopeSize final : public LabelFact {
 public:
  explicit ScopeSize(budget::Scope scope) : scope_(std::move(scope)) {}

  void look_at(NodeId id, const kube::Node* node, Told& told) override {
    const bool in = node && contains(*node);
    if (counted_.exchange(id, in) == in) return;
    count_ += in ? 1 : -1;
    for (auto& [percent, share] : shares_) {
      share.nodes = count_;
      const int64_t places = places_of(percent);
      if (std::exchange(share.places, places) != places) told.push_back(share.topic);
    }
  }
  std::vector<std::string> keys() const override {
    std::vector<std::string> keys;
    if (!scope_.subset.empty()) keys.emplace_back(kProfileLabel);
    for (const auto& [key, value] : scope_.labels) keys.push_back(key);
    return keys;
  }

  const Fleet::Share& share(int64_t percent, budget::Topics& topics) {
    const auto known = shares_.find(percent);
    if (known != shares_.end()) return known->second;
    std::string name = fmt::format("{}% of {} with profile {}", percent, scope_.text(), scope_.subset);
    return shares_.emplace(percent, Fleet::Share{places_of(percent), count_, topics.of(name)}).first->second;
  }

 private:
  bool contains(const kube::Node& node) const {
    if (!scope_.subset.empty() && !has_profile(node, scope_.subset)) return false;
    return std::all_of(scope_.labels.begin(), scope_.labels.end(), [&](const auto& want) {
      const kube::Atom* label = node.label(want.first);
      return label && label->view() == want.second;
    });
  }
  int64_t places_of(int64_t percent) const { return std::max<int64_t>(1, count_ * percent / 100); }

  budget::Scope scope_;
  ByNode<bool> counted_;
  int64_t count_ = 0;
  std::map<int64_t, Fleet::Share> shares_;  // by percentage
};

class NewestVersion final : public LabelFact {
 public:
  NewestVersion(std::string label, std::string profile) : label_(std::move(label)), profile_(std::move(profile)) {}

  void look_at(NodeId id, const kube::Node* node, Told& told) override {
    const std::string_view shown = node ? shown_by(*node) : std::string_view{};
    const Shown* before = shown_.get(id);
    if (before && before->first.text == shown) return;
    if (!before && shown.empty()) return;
    shown_.exchange(id, add(shown));
    if (before) drop(*before);
    compare_again(told);
  }
  std::vector<std::string> keys() const override {
    if (profile_.empty()) return {label_};
    return {label_, std::string(kProfileLabel)};
  }

  // For an own version; nothing if it is none.
  std::optional<Fleet::Newer> answer(std::string_view own, budget::Topics& topics) {
    auto known = owns_.find(own);
    if (known == owns_.end()) {
      auto parsed = windows::parse_semver(own);
      if (!parsed) return std::nullopt;
      const budget::Topic topic =
          topics.of(fmt::format("version newer than {} in label {} of {}", own, label_, profile_));
      const bool newer = precedence(*parsed, newest().version) < 0;
      known = owns_.emplace(own, Own{std::move(*parsed), newer, topic}).first;
    }
    return Fleet::Newer{known->second.newer, newest().text, known->second.topic};
  }

 private:
  struct Version {
    windows::Semver version;
    std::string text;
  };
  // Versions that differ in build metadata alone are told apart by their text, so that always the same is shown.
  struct Less {
    bool operator()(const Version& a, const Version& b) const {
      const auto order = precedence(a.version, b.version);
      return order != 0 ? order < 0 : a.text < b.text;
    }
  };
  using Versions = std::map<Version, int64_t, Less>;  // with the number of nodes that show it
  using Shown = Versions::value_type;
  struct Own {
    windows::Semver version;
    bool newer = false;
    budget::Topic topic{};
  };

  // Empty: does not count.
  std::string_view shown_by(const kube::Node& node) const {
    const kube::Atom* label = node.label(label_);
    if (!label || (!profile_.empty() && !has_profile(node, profile_))) return {};
    return label->view();
  }

  const Shown* add(std::string_view text) {
    auto parsed = windows::parse_semver(text);
    if (!parsed) return nullptr;
    const auto it = versions_.try_emplace(Version{std::move(*parsed), std::string(text)}, 0).first;
    ++it->second;
    return &*it;
  }
  void drop(const Shown& shown) {
    const auto it = versions_.find(shown.first);
    if (--it->second == 0) versions_.erase(it);
  }

  const Version& newest() const {
    if (versions_.empty()) return floor_;
    const Version& greatest = versions_.rbegin()->first;
    return precedence(greatest.version, floor_.version) > 0 ? greatest : floor_;
  }

  void compare_again(Told& told) {
    for (auto& [text, own] : owns_) {
      const bool newer = precedence(own.version, newest().version) < 0;
      if (std::exchange(own.newer, newer) != newer) told.push_back(own.topic);
    }
  }

  std::string label_, profile_;
  const Version floor_{*windows::parse_semver("0.1.0"), "0.1.0"};
  Versions versions_;
  ByNode<const Shown*> shown_;  // null: the node does not count
  std::map<std::string, Own, std::less<>> owns_;
};

// A number of which checks only ask whether it is at least some threshold.
class Thresholds {
 public:
  explicit Thresholds(std::string name) : name_(std::move(name)) {}

  budget::Topic topic(int64_t threshold, budget::Topics& topics) {
    const auto known = topics_.find(threshold);
    if (known != topics_.end()) return known->second;
    return topics_.emplace(threshold, topics.of(fmt::format("{} at least {}", name_, threshold))).first->second;
  }
  void changed(int64_t from, int64_t to, Told& told) const {
    const auto end = topics_.upper_bound(std::max(from, to));
    for (auto it = topics_.upper_bound(std::min(from, to)); it != end; ++it) told.push_back(it->second);
  }

 private:
  std::string name_;
  std::map<int64_t, budget::Topic> topics_;
};

// What the data annotations say about one profile.
class ProfileFacts {
 public:
  ProfileFacts(const std::string& name, budget::Topics& topics)
      : operational_thresholds_("operational nodes of " + name),
        some_blocker_(topics.of("some node of " + name + " required without affinity")),
        second_blocker_(topics.of("another node of " + name + " required without affinity")) {}

  // `state` is nothing for a node that does not have the profile, or is gone. The name lives as long as the node.
  void look_at(NodeId id, std::string_view name, std::optional<State> state, bool has_affinity_pod, Told& told) {
    const auto before = states_.exchange(id, state);
    count_operational((state == State::operational) - (before == State::operational), told);
    place(name, state == State::maintenance_required && !has_affinity_pod, told);
  }
  void pods_changed(NodeId id, std::string_view name, bool has_affinity_pod, Told& told) {
    look_at(id, name, states_.get(id), has_affinity_pod, told);
  }

  Fleet::Number operational(int64_t threshold, budget::Topics& topics) {
    return {operational_, operational_thresholds_.topic(threshold, topics)};
  }

  // An asker that is a blocker itself looks for a second one; all others for any.
  Fleet::Blocker blocker_besides(std::string_view asking) const {
    if (blockers_.empty()) return {{}, some_blocker_};
    if (!blockers_.contains(asking)) return {*blockers_.begin(), some_blocker_};
    if (blockers_.size() == 1) return {{}, second_blocker_};
    const auto first = blockers_.begin();
    return {*first == asking ? *std::next(first) : *first, second_blocker_};
  }

 private:
  void count_operational(int64_t change, Told& told) {
    if (change == 0) return;
    operational_thresholds_.changed(operational_, operational_ + change, told);
    operational_ += change;
  }
  void place(std::string_view name, bool blocks, Told& told) {
    const auto it = blockers_.find(name);
    if (blocks == (it != blockers_.end())) return;
    if (blocks) {
      blockers_.insert(name);
    } else {
      blockers_.erase(it);
    }
    const size_t greater = blockers_.size() + (blocks ? 0 : 1);
    if (greater == 1) told.push_back(some_blocker_);
    if (greater == 2) told.push_back(second_blocker_);
  }

  ByNode<std::optional<State>> states_;
  int64_t operational_ = 0;
  Thresholds operational_thresholds_;
  std::set<std::string_view> blockers_;
  budget::Topic some_blocker_, second_blocker_;
};

// The label keys in which two nodes differ: f(std::string_view key).
template <class F>
void for_each_changed_label(const kube::Node& before, const kube::Node& after, F&& f) {
  auto a = before.labels.begin(), b = after.labels.begin();
  while (a != before.labels.end() && b != after.labels.end()) {
    if (a->first == b->first) {
      if (a->second != b->second) f(a->first.view());
      ++a, ++b;
    } else if (a->first.view() < b->first.view()) {
      f((a++)->first.view());
    } else {
      f((b++)->first.view());
    }
  }
  for (; a != before.labels.end(); ++a) f(a->first.view());
  for (; b != after.labels.end(); ++b) f(b->first.view());
}

std::string_view data_text(const kube::Node& node) {
  const std::string* text = node.annotation(kDataAnnotation);
  return text ? std::string_view(*text) : std::string_view{};
}

// Two texts as a key that is found without making strings.
using TextPair = std::pair<std::string, std::string>;
struct TextPairLess {
  using is_transparent = void;
  using Views = std::pair<std::string_view, std::string_view>;
  static Views views(const TextPair& pair) { return {pair.first, pair.second}; }
  static const Views& views(const Views& pair) { return pair; }
  bool operator()(const auto& a, const auto& b) const { return views(a) < views(b); }
};

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

void once_each(Told& topics) {
  std::sort(topics.begin(), topics.end());
  topics.erase(std::unique(topics.begin(), topics.end()), topics.end());
}

}  // namespace

struct Fleet::Parts {
  Parts(const kube::Store<kube::Node>& node_store, const kube::PodStore& pod_store, budget::Topics& numbers)
      : nodes(node_store), pods(pod_store), topics(numbers), pods_topic(numbers.of("pods are known")) {}

  struct Row {
    NodeId id = 0;
    bool has_affinity_pod = false;
  };
  using Rows = std::unordered_map<std::string, Row, TextHash, std::equal_to<>>;

  // Before anybody asks there is nothing to keep.
  void begin() {
    if (begun) return;
    begun = true;
    pods_were_known = pods_are_known();
    nodes.for_each([this](const kube::Node& node) { row_of(node.name); });
  }

  Rows::iterator row_of(std::string_view name) {
    const auto known = rows.find(name);
    if (known != rows.end()) return known;
    const size_t size = rows.size();
    Row row{static_cast<NodeId>(size), pods.marked_on(name) > 0};
    if (!free_ids.empty()) {
      row.id = free_ids.back();
      free_ids.pop_back();
    }
    return rows.emplace(name, row).first;
  }

  bool pods_are_known() const { return pods.position() > 0; }

  // Counts a new fact, of which nobody can have heard yet.
  template <class Fact>
  Fact& count(Fact& fact) {
    Told nobody;
    nodes.for_each([&](const kube::Node& node) { fact.look_at(row_of(node.name)->second.id, &node, nobody); });
    all_label_facts.push_back(&fact);
    for (std::string& key : fact.keys()) facts_of_label[std::move(key)].push_back(&fact);
    return fact;
  }

  AnyLabel& any_label(std::string_view key, std::string_view value) {
    const auto known = any_labels.find(TextPairLess::Views(key, value));
    if (known != any_labels.end()) return known->second;
    begin();
    const budget::Topic topic = topics.of(fmt::format("any node with label {}={}", key, value));
    return count(any_labels
                     .emplace(std::piecewise_construct, std::forward_as_tuple(key, value),
                              std::forward_as_tuple(std::string(key), std::string(value), topic))
                     .first->second);
  }

  ScopeSize& scope_size(const budget::Scope& scope) {
    const auto known = scope_sizes.find(scope);
    if (known != scope_sizes.end()) return known->second;
    begin();
    return count(scope_sizes.try_emplace(scope, scope).first->second);
  }

  NewestVersion& newest_version(std::string_view label, std::string_view profile) {
    const auto known = newest_versions.find(TextPairLess::Views(label, profile));
    if (known != newest_versions.end()) return known->second;
    begin();
    return count(newest_versions
                     .emplace(std::piecewise_construct, std::forward_as_tuple(label, profile),
                              std::forward_as_tuple(std::string(label), std::string(profile)))
                     .first->second);
  }

  ProfileFacts& profile(std::string_view name) {
    const auto known = profiles.find(name);
    if (known != profiles.end()) return known->second;
    begin();
    const auto made = profiles.try_emplace(std::string(name), std::string(name), topics).first;
    Told nobody;
    nodes.for_each([&](const kube::Node& node) {
      const auto row = row_of(node.name);
      made->second.look_at(row->second.id, row->first, state_in(parse_node_data(data_text(node)), name),
                           row->second.has_affinity_pod, nobody);
    });
    return made->second;
  }

  // Nothing for data that cannot be read, a profile that is not in it, and a state nobody knows.
  static std::optional<State> state_in(const io::Result<NodeData>& data, std::string_view profile) {
    if (!data) return std::nullopt;
    const auto entry = data->profiles.find(profile);
    return entry == data->profiles.end() ? std::nullopt : entry->second.current.known();
  }

  void add_or_alter(const kube::Node* before, const kube::Node& after, Told& told) {
    const size_t count_before = rows.size();
    const auto row = row_of(after.name);
    const bool is_new = rows.size() != count_before;
    if (is_new) node_thresholds.changed(static_cast<int64_t>(count_before), static_cast<int64_t>(rows.size()), told);

    if (!before || is_new) {
      for (LabelFact* fact : all_label_facts) fact->look_at(row->second.id, &after, told);
    } else {
      for_each_changed_label(*before, after, [&](std::string_view key) {
        const auto found = facts_of_label.find(key);
        if (found == facts_of_label.end()) return;
        for (LabelFact* fact : found->second) fact->look_at(row->second.id, &after, told);
      });
    }

    if (profiles.empty()) return;
    if (before && !is_new && data_text(*before) == data_text(after)) return;
    const auto data = parse_node_data(data_text(after));
    for (auto& [name, facts] : profiles) {
      facts.look_at(row->second.id, row->first, state_in(data, name), row->second.has_affinity_pod, told);
    }
  }

  void drop(std::string_view name, Told& told) {
    const auto row = rows.find(name);
    if (row == rows.end()) return;
    const NodeId id = row->second.id;
    for (LabelFact* fact : all_label_facts) fact->look_at(id, nullptr, told);
    for (auto& [profile, facts] : profiles) facts.look_at(id, row->first, std::nullopt, false, told);
    free_ids.push_back(id);
    rows.erase(row);
    node_thresholds.changed(static_cast<int64_t>(rows.size()) + 1, static_cast<int64_t>(rows.size()), told);
  }

  const kube::Store<kube::Node>& nodes;
  const kube::PodStore& pods;
  budget::Topics& topics;
  bool begun = false;
  bool pods_were_known = false;
  budget::Topic pods_topic;
  Rows rows;  // by name
  std::vector<NodeId> free_ids;
  Thresholds node_thresholds{"nodes"};
  std::map<TextPair, AnyLabel, TextPairLess> any_labels;            // by key and value
  std::map<budget::Scope, ScopeSize> scope_sizes;                   //
  std::map<TextPair, NewestVersion, TextPairLess> newest_versions;  // by label and profile
  std::vector<LabelFact*> all_label_facts;                          // of the three above
  std::map<std::string, std::vector<LabelFact*>, std::less<>> facts_of_label;
  std::map<std::string, ProfileFacts, std::less<>> profiles;
};

Fleet::Fleet(const kube::Store<kube::Node>& nodes, const kube::PodStore& pods, budget::Topics& topics)
    : parts_(std::make_unique<Parts>(nodes, pods, topics)) {}
Fleet::~Fleet() = default;

Fleet::Number Fleet::nodes(int64_t threshold) const {
  parts_->begin();
  return {static_cast<int64_t>(parts_->rows.size()), parts_->node_thresholds.topic(threshold, parts_->topics)};
}

Fleet::Yes Fleet::any_label(std::string_view key, std::string_view value) const {
  return parts_->any_label(key, value).answer();
}

Fleet::Share Fleet::share(const budget::Scope& scope, int64_t percent) const {
  return parts_->scope_size(scope).share(percent, parts_->topics);
}

std::optional<Fleet::Newer> Fleet::newer_version(std::string_view label, std::string_view profile,
                                                 std::string_view own) const {
  return parts_->newest_version(label, profile).answer(own, parts_->topics);
}

Fleet::Number Fleet::operational(std::string_view profile, int64_t threshold) const {
  return parts_->profile(profile).operational(threshold, parts_->topics);
}

Fleet::Blocker Fleet::required_without_affinity(std::string_view profile, std::string_view asking) const {
  return parts_->profile(profile).blocker_besides(asking);
}

bool Fleet::has_affinity_pod(std::string_view node) const {
  parts_->begin();
  const auto row = parts_->rows.find(node);
  return row == parts_->rows.end() ? parts_->pods.marked_on(node) > 0 : row->second.has_affinity_pod;
}

Fleet::Yes Fleet::pods_known() const {
  parts_->begin();
  return {parts_->pods_are_known(), parts_->pods_topic};
}

std::vector<budget::Topic> Fleet::node_changed(const kube::Node* before, const kube::Node* after) {
  Told told;
  if (!parts_->begun) return told;
  if (after) {
    parts_->add_or_alter(before, *after, told);
  } else if (before) {
    parts_->drop(before->name, told);
  }
  once_each(told);
  return told;
}

bool Fleet::pods_changed(std::string_view node, std::vector<budget::Topic>& topics) {
  Parts& p = *parts_;
  if (!p.begun) return false;
  if (!p.pods_were_known && p.pods_are_known()) {
    p.pods_were_known = true;
    topics.push_back(p.pods_topic);
  }
  const auto row = p.rows.find(node);
  if (row == p.rows.end()) return false;
  const bool has = p.pods.marked_on(node) > 0;
  if (std::exchange(row->second.has_affinity_pod, has) == has) return false;
  for (auto& [name, facts] : p.profiles) facts.pods_changed(row->second.id, row->first, has, topics);
  return true;
}

}  // namespace careen::profiles
