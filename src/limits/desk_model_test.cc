// Random lives of a desk against a count of everything from scratch: after each step both have to agree on numbers, on
// who is allowed, and on nobody being left waiting who could go.
#include <algorithm>

#include "limits/desk.h"
#include "limits/facts.h"
#include "limits/limit.h"
#include "limits/test_desk.h"

namespace careen::limits {
namespace {

using io::seconds;

constexpr const char* kSpecs[] = {
    R"({"type":"node","maxUnavailable":2})",
    R"({"type":"node","maxUnavailable":"30%","maxParallel":2})",
    R"({"type":"node","groupBy":["zone"],"maxUnavailable":1})",
    R"({"type":"node","groupBy":["zone"],"unit":"rack","maxUnavailable":2,"maxParallel":1})",
    R"({"type":"node","selector":{"matchLabels":{"zone":"a"}},"maxUnavailable":"50%"})",
    R"({"type":"node","maxUnavailable":3,"reserve":[{"actor":"karpenter","nodes":1},{"actor":"profile/q","nodes":1}]})",
    R"({"type":"node","maxUnavailable":2,"mode":"Queue","unit":"rack"})",
    R"({"limit":40,"type":"node","policies":["NotReady","Unschedulable"]})",
    R"({"type":"node","maxUnavailable":"no"})",
};
constexpr const char* kWhos[] = {"profile/p", "profile/q", "nodemaintenance/m", "request/r", "foreign/karpenter"};

// The rules, read once more, on all nodes and all limits.
struct Counted {
  int64_t cap = 0, parallel = 0;
  std::map<std::string, std::pair<bool, bool>> units;  // counted, working; by key
  int64_t used() const {
    return std::ranges::count_if(units, [](const auto& one) { return one.second.first; });
  }
  int64_t working() const {
    return std::ranges::count_if(units, [](const auto& one) { return one.second.second; });
  }
};

class DeskModelTest : public testing::TestWithParam<int>, protected DeskWorld {
 protected:
  struct OneNode {
    NodeSpec spec;
    std::map<std::string, std::string> places;  // who, uid
    std::string uid;
  };

  std::string value(const std::string& node, const std::string& key) const {
    const auto& labels = known.at(node).spec.labels;
    const auto it = labels.find(key);
    return it == labels.end() ? std::string() : it->second;
  }
  std::string group_of(const Limit& limit, const std::string& node) const {
    std::string name = limit.name;
    for (const std::string& key : limit.group_by) name += "/" + value(node, key);
    return name;
  }
  std::string unit_of(const Limit& limit, const std::string& node) const {
    const std::string unit = limit.unit.empty() ? "" : value(node, limit.unit);
    return unit.empty() ? "node " + node : "unit " + unit;
  }
  bool has_place(const std::string& name) const {
    const OneNode& node = known.at(name);
    return std::ranges::any_of(node.places, [&](const auto& place) { return place.second == node.uid; });
  }
  bool down(const Limit& limit, const std::string& name) const {
    const OneNode& node = known.at(name);
    if (limit.count == Count::all) return !node.spec.ready;
    return std::ranges::any_of(limit.policies, [&](Policy policy) {
      return policy == Policy::not_ready ? !node.spec.ready : !node.spec.cordoned_by.empty();
    });
  }
  std::map<std::string, Counted> count(const Limit& limit) const {
    std::map<std::string, Counted> groups;
    std::map<std::string, int64_t> totals;
    for (const auto& [name, node] : known) {
      if (!limit.selects(*nodes.find(name))) continue;
      auto& [counted, working] = groups[group_of(limit, name)].units[unit_of(limit, name)];
      counted |= has_place(name) || down(limit, name);
      working |= has_place(name);
      // Who stands in line for a place serves on.
      if (limit.count == Count::policies || (limit.mode != Mode::observe && !has_place(name) && in_line.contains(name)))
        continue;
      counted |= !node.spec.cordoned_by.empty() || !node.spec.taint.empty();
      working |= !node.spec.taint.empty();
    }
    for (auto& [name, group] : groups) {
      const auto total = static_cast<int64_t>(group.units.size());
      const int64_t all = total + missing_in(name);
      group.cap = limit.nominal(all);
      group.parallel = limit.parallel(all);
    }
    return groups;
  }
  // Whom the desk takes for missing is tested elsewhere; here it has to count them right.
  int64_t missing_in(const std::string& group) const {
    const auto it = missing.find(group);
    return it == missing.end() ? 0 : it->second;
  }

  void compare_numbers() {
    size_t expected = 0;
    const auto groups = desk->groups();
    in_line.clear();
    for (const Waiting& one : desk->queue()) {
      if (one.asking.who.starts_with("foreign/")) in_line.insert(one.asking.node);
    }
    missing.clear();
    for (const GroupState& group : groups) missing[group.name()] = group.missing;
    desk->for_each_limit([&](const Limit& limit) {
      if (limit.subject != Subject::node) return;
      for (const auto& [name, mine] : count(limit)) {
        ++expected;
        const auto theirs = std::ranges::find(groups, name, &GroupState::name);
        ASSERT_NE(theirs, groups.end()) << name;
        EXPECT_EQ(theirs->used, mine.used() + missing_in(name)) << name;
        EXPECT_EQ(theirs->working, mine.working()) << name;
        EXPECT_EQ(theirs->cap, mine.cap) << name;
        EXPECT_EQ(theirs->parallel, mine.parallel) << name;
        EXPECT_EQ(theirs->total, static_cast<int64_t>(mine.units.size())) << name;
        const int64_t used = mine.used() + missing_in(name);
        if (limit.count == Count::all && used > mine.cap) over.insert(name);
        if (used < mine.cap) over.erase(name);
      }
    });
    const auto with_nodes = std::ranges::count_if(groups, [](const GroupState& one) { return one.total > 0; });
    EXPECT_EQ(static_cast<size_t>(with_nodes), expected);
  }

  // Rule 1, where nobody has been offered anything and no limit has reserves.
  std::optional<bool> may(const std::string& node, const std::string& who) const {
    if (has_place(node)) return true;
    bool allowed = true, known_answer = true;
    desk->for_each_limit([&](const Limit& limit) {
      if (limit.subject != Subject::node || !limit.selects(*nodes.find(node))) return;
      if (who.starts_with("foreign/") && limit.mode == Mode::observe) return;
      if (!limit.mistake.empty()) {
        allowed = false;
        return;
      }
      if (!limit.reserve.empty()) known_answer = false;
      auto groups = count(limit);
      Counted& group = groups[group_of(limit, node)];
      auto& [counted, working] = group.units[unit_of(limit, node)];
      counted = working = false;
      const int64_t lost = missing_in(group_of(limit, node));
      if (!down(limit, node) && (over.contains(group_of(limit, node)) || group.used() + lost + 1 > group.cap))
        allowed = false;
      if (group.working() + 1 > group.parallel) allowed = false;
    });
    return known_answer ? std::optional(allowed) : std::nullopt;
  }

  io::Random draws{static_cast<uint64_t>(GetParam())};
  template <class T>
  T any(std::initializer_list<T> of) {
    return *(of.begin() + draws.next() % of.size());
  }
  std::string any_node() { return fmt::format("n{}", draws.next() % 12); }

  void change_node() {
    const std::string name = any_node();
    auto [it, is_new] = known.try_emplace(name);
    OneNode& one = it->second;
    NodeSpec& spec = one.spec;
    if (is_new) one.uid = spec.uid = fmt::format("uid-{}", ++uids);
    if (is_new || draws.next() % 4 == 0) {
      spec.labels["zone"] = any<std::string>({"a", "b"});
      spec.labels["rack"] = fmt::format("r{}", draws.next() % 4);
      if (draws.next() % 8 == 0) spec.labels.erase("rack");
    }
    spec.ready = draws.next() % 4 != 0;
    spec.cordoned_by = draws.next() % 4 == 0 ? "kubectl" : "";
    spec.taint = draws.next() % 6 == 0 ? "karpenter.sh/disrupted" : "";
    node(name, spec);
  }
  void delete_node() {
    const std::string name = any_node();
    if (known.erase(name) > 0) remove_node(name);
  }
  void change_limit() {
    const std::string name = fmt::format("l{}", draws.next() % 4);
    if (draws.next() % 4 == 0) {
      if (limits.find(name)) remove_limit(name);
      std::erase_if(over, [&](const std::string& group) { return group.starts_with(name); });
    } else {
      limit(name, *(std::begin(kSpecs) + draws.next() % std::size(kSpecs)));
      // Groups of another shape are new ones.
      std::erase_if(over, [&](const std::string& group) { return group.starts_with(name) && !has_group(group); });
      desk->for_each_limit([&](const Limit& one) {
        if (one.name == name && one.count == Count::policies)
          std::erase_if(over, [&](const std::string& group) { return group.starts_with(name); });
      });
    }
  }
  bool has_group(const std::string& name) const {
    return std::ranges::any_of(desk->groups(), [&](const GroupState& group) { return group.name() == name; });
  }
  void take_place(const std::string& node_name, const std::string& who) {
    take(node_name, who);
    known.at(node_name).places[who] = known.at(node_name).uid;
  }
  void give_back() {
    const std::string name = any_node();
    const std::string who = *(std::begin(kWhos) + draws.next() % std::size(kWhos));
    desk->release(name, who);
    if (const auto it = known.find(name); it != known.end()) it->second.places.erase(who);
  }
  void ask_once() {
    const std::string name = any_node();
    const std::string who = *(std::begin(kWhos) + draws.next() % std::size(kWhos));
    if (!known.contains(name)) return;
    if (const auto mine = may(name, who)) {
      EXPECT_EQ(allows(name, who), *mine) << name << " " << who << ": " << why_not(name, who);
    }
    if (allows(name, who)) {
      if (draws.next() % 2) take_place(name, who);
    } else {
      desk->wait(asking(name, who, any<Rank>({Rank::campaign, Rank::person, Rank::repair, Rank::deadline})));
    }
  }
  // Whoever is told that it is its turn asks, and takes its place or does not want it any more.
  void answer_turns() {
    for (int round = 0; round < 100; ++round) {
      const auto told_now = whose_turn();
      if (told_now.empty()) return;
      for (const std::string& one : told_now) {
        const size_t space = one.find(' ');
        const std::string name = one.substr(0, space), who = one.substr(space + 1);
        if (!known.contains(name)) continue;
        if (draws.next() % 5 == 0) {
          desk->leave(name, who);
          continue;
        }
        EXPECT_TRUE(allows(name, who)) << one << ": " << why_not(name, who);
        take_place(name, who);
      }
    }
    FAIL() << "turns without an end";
  }
  void nobody_is_forgotten() {
    for (const Waiting& one : desk->queue()) {
      if (!known.contains(one.asking.node)) continue;
      const auto mine = may(one.asking.node, one.asking.who);
      EXPECT_TRUE(!mine || !*mine) << one.asking.node << " " << one.asking.who << " could go";
      EXPECT_FALSE(desk->ask(one.asking).allowed) << one.asking.node << " " << one.asking.who << " is not told";
    }
  }
  void everybody_leaves() {
    for (const Waiting& one : desk->queue()) desk->leave(one.asking.node, one.asking.who);
  }

  std::map<std::string, OneNode> known;
  std::map<std::string, int64_t> missing;
  std::set<std::string> over, in_line;
  int uids = 0;
};

TEST_P(DeskModelTest, AgreesWithACountFromScratch) {
  open();
  for (int step = 0; step < 400 && !HasFailure(); ++step) {
    SCOPED_TRACE(fmt::format("step {}", step));
    switch (draws.next() % 10) {
      case 0:
        change_limit();
        break;
      case 1:
        delete_node();
        break;
      case 2:
        give_back();
        break;
      case 3:
      case 4:
      case 5:
        ask_once();
        break;
      default:
        change_node();
        break;
    }
    answer_turns();
    // By then it shows whether who begins to take a node out stands in line.
    time.run_for(seconds{5});
    answer_turns();
    compare_numbers();
    // Longer than a group that had too much out has to wait.
    time.run_for(seconds{40});
    answer_turns();
    compare_numbers();
    nobody_is_forgotten();
    // Before anybody has been passed over for an hour: that is tested by itself.
    if (step % 60 == 59) everybody_leaves();
  }
}

INSTANTIATE_TEST_SUITE_P(Lives, DeskModelTest, testing::Range(1, 13));

}  // namespace
}  // namespace careen::limits
