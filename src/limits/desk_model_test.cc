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
  int64_t cap = 0, parallel = 0, lacking = 0;
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
  // What is said of a node elsewhere.
  struct OneMachine {
    std::string set;
    bool works = false;
    bool foreign = false;  // of another cluster, whose node has the same name
  };

  bool is_worked_on(const std::string& node) const {
    const auto it = machines.find(node);
    return it != machines.end() && it->second.works && !it->second.foreign;
  }
  std::string set_of(const std::string& node) const {
    const auto it = machines.find(node);
    return it == machines.end() || it->second.foreign ? std::string() : it->second.set;
  }
  int64_t lacking_of(const std::string& set) const {
    const auto wanted = replicas.find(set);
    if (wanted == replicas.end()) return 0;
    const auto there = std::ranges::count_if(known, [&](const auto& one) { return set_of(one.first) == set; });
    return std::max<int64_t>(wanted->second - there, 0);
  }
  // A set is at home in the groups of its nodes, and as long as it lacks any also where it had some.
  void find_homes() {
    for (auto& [key, groups] : homes) {
      if (lacking_of(key.second) == 0) groups.clear();
    }
    desk->for_each_limit([&](const Limit& limit) {
      if (limit.subject != Subject::node) return;
      for (const auto& [name, node] : known) {
        const std::string set = set_of(name);
        if (!set.empty() && limit.selects(*nodes.find(name))) homes[{limit.name, set}].insert(group_of(limit, name));
      }
    });
  }
  int64_t lacking_in(const Limit& limit, const std::string& group) const {
    int64_t lacking = 0;
    if (limit.count != Count::all) return 0;
    for (const auto& [key, groups] : homes) {
      if (key.first == limit.name && groups.contains(group)) lacking += lacking_of(key.second);
    }
    return lacking;
  }

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
      counted |= !node.spec.cordoned_by.empty() || !node.spec.taint.empty() || is_worked_on(name);
      working |= !node.spec.taint.empty() || is_worked_on(name);
    }
    for (auto& [name, group] : groups) {
      const auto total = static_cast<int64_t>(group.units.size());
      group.lacking = lacking_in(limit, name);
      const int64_t all = total + missing_in(name) - group.lacking + std::min(group.lacking, total);
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

  static int64_t lacking(const GroupState& group) {
    return std::ranges::count_if(
        group.holders, [](const Holder& one) { return one.actor == "missing" && one.what.ends_with("are there"); });
  }

  void compare_numbers() {
    size_t expected = 0;
    find_homes();
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
        EXPECT_EQ(lacking(*theirs), mine.lacking) << name;
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
  void change_machine() {
    const std::string name = any_node();
    if (draws.next() % 6 == 0) {
      if (machines.erase(name) > 0) remove_machine("of-" + name);
      return;
    }
    OneMachine& one = machines[name];
    one.set = any<std::string>({"", "s1", "s1", "s2", "s3"});
    one.works = draws.next() % 5 == 0;
    one.foreign = draws.next() % 6 == 0;
    kube::Machine said;
    said.name = "of-" + name;
    said.node = name;
    said.set = atoms.intern(one.set);
    if (one.works) (draws.next() % 2 ? said.deleting : said.worked_on) = loop->wall_now();
    if (one.foreign) said.node_uid = "elsewhere";
    machine(std::move(said));
  }
  void change_set() {
    const auto name = any<std::string>({"s1", "s2", "s3"});
    if (draws.next() % 4 == 0) {
      if (replicas.erase(name) > 0) remove_machine_set(name);
      return;
    }
    // Most often as many as there are, or about.
    const auto there = std::ranges::count_if(known, [&](const auto& one) { return set_of(one.first) == name; });
    replicas[name] = std::max<int64_t>(there + static_cast<int64_t>(draws.next() % 4) - 2, 0);
    machine_set(name, replicas[name]);
  }
  void delete_node() {
    const std::string name = any_node();
    if (known.erase(name) > 0) remove_node(name);
  }
  void change_limit() {
    const std::string name = fmt::format("l{}", draws.next() % 4);
    const Limit* const is = desk->find(name);
    const Limit was = is ? *is : Limit{};
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
    const Limit* const now = desk->find(name);
    if (now && now->group_by == was.group_by && now->selector == was.selector) return;
    std::erase_if(homes, [&](const auto& one) { return one.first.first == name; });
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
  std::map<std::string, OneMachine> machines;                                  // by node
  std::map<std::string, int64_t> replicas;                                     // by set
  std::map<std::pair<std::string, std::string>, std::set<std::string>> homes;  // groups, by limit and set
  int uids = 0;
};

TEST_P(DeskModelTest, AgreesWithACountFromScratch) {
  open();
  for (int step = 0; step < 400 && !HasFailure(); ++step) {
    SCOPED_TRACE(fmt::format("step {}", step));
    switch (draws.next() % 12) {
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
        change_machine();
        break;
      case 4:
        change_set();
        break;
      case 5:
      case 6:
      case 7:
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
