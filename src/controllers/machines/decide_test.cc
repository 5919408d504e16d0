// What follows from a Machine and its Node, over all that the table of the replaced program knows, and what careen has
// besides.
#include "controllers/machines/decide.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "budget/pause.h"
#include "controllers/machines/names.h"
#include "kube/json.h"

namespace careen::machines {

namespace {

using kube::Json;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr io::Wall kNow{std::chrono::hours{24 * 365 * 56}};
using Texts = std::map<std::string, std::string>;

Json object_of(const Texts& texts) {
  Json out = Json::object();
  for (const auto& [key, value] : texts) out.set({key}, value);
  return out;
}

// A Machine and its Node as documents, which decisions change until they have nothing to change any more.
struct Pair {
  Texts labels{{std::string(kEnabled), "true"}};
  Texts annotations;
  Texts node_labels{{std::string(kMaintenanceState), "operational"}};
  bool deleting = false, has_node = true, ready = true;
  std::string uid = "u1";
  RelayOptions options;
  std::optional<Sight> sight;  // usually that of whether there is a Node
  const budget::Pause* pause = nullptr;
  const Host* host = nullptr;
  Memory memory;
  io::Wall now = kNow;

  Machine machine() {
    Json document =
        Json::object({{"spec", Json::object({{"clusterName", "w1"}})},
                      {"metadata", Json::object({{"name", "m1"}, {"namespace", "fleet"}, {"resourceVersion", "7"}})}});
    document.set({"metadata", "uid"}, uid);
    document.set({"metadata", "labels"}, object_of(labels));
    document.set({"metadata", "annotations"}, object_of(annotations));
    if (deleting) document.set({"metadata", "deletionTimestamp"}, "2026-01-01T00:00:00Z");
    if (has_node) document.set({"status", "nodeRef", "name"}, "n1");
    return *read_machine(document.dump(), atoms());
  }
  Node node() {
    Json document =
        Json::object({{"metadata", Json::object({{"name", "n1"}, {"uid", "un"}, {"resourceVersion", "8"}})}});
    document.set({"metadata", "labels"}, object_of(node_labels));
    document.set({"status", "conditions"},
                 Json::array({Json::object({{"type", "Ready"}, {"status", ready ? "True" : "False"}})}));
    return *read_node(document.dump(), atoms());
  }
  Decision step() {
    const Machine one = machine();
    const Node its = node();
    World world;
    world.machine = &one;
    world.sight = sight.value_or(has_node ? Sight::seen : Sight::no_node);
    if (world.sight == Sight::seen) world.node = &its;
    world.trouble = "connection refused";
    world.host = host;
    world.pause = pause;
    observe(world, memory, now);
    return decide(world, memory, options, now);
  }
  static void put(Texts& texts, std::string_view key, bool wanted, std::string_view value) {
    texts.erase(std::string(key));
    if (wanted) texts.emplace(key, value);
  }
  void apply(const Decision& decision) {
    if (decision.node) {
      for (const auto& [label, wanted] : decision.node->labels) put(node_labels, label, wanted, kTrue);
    }
    if (!decision.machine) return;
    const MachineWrite& write = *decision.machine;
    if (write.hook) put(annotations, kPreDrainHook, *write.hook, kOwnValue);
    if (write.skip_remediation) put(annotations, kSkipRemediation, *write.skip_remediation, kOwnValue);
    if (write.approve) put(labels, kMaintenance, true, kApproved);
  }
  // The last decision, which writes nothing.
  Decision settle() {
    for (int i = 0; i < 4; ++i) {
      Decision decision = step();
      EXPECT_FALSE(decision.node && decision.machine);
      if (!decision.node && !decision.machine) return decision;
      EXPECT_FALSE(decision.node && decision.node->labels.empty());
      apply(decision);
    }
    ADD_FAILURE() << "it never comes to rest";
    return step();
  }
  bool hooked() const { return annotations.contains(std::string(kPreDrainHook)); }
  std::string asked() const { return value_in(labels, kMaintenance); }
  std::string skips() const { return value_in(annotations, kSkipRemediation); }
  std::string on_node(std::string_view label) const { return value_in(node_labels, label); }
  static std::string value_in(const Texts& texts, std::string_view key) {
    const auto found = texts.find(std::string(key));
    return found == texts.end() ? "-" : found->second;
  }
  static kube::AtomPool& atoms() {
    static kube::AtomPool pool;
    return pool;
  }
};

// One row of the table, in the words of the specification.
struct Row {
  bool s, e, a, d, q, r, g;

  std::string name() const {
    std::string out;
    for (const auto& [is, letter] : {std::pair{s, 'S'}, {e, 'E'}, {a, 'A'}, {d, 'D'}, {q, 'Q'}, {r, 'R'}, {g, 'G'}}) {
      out += is ? letter : '-';
    }
    return out;
  }
  bool has_hook() const { return s && e && !a; }
  bool is_told_of_deletion() const { return s && e && d; }
  bool is_told_of_maintenance() const { return s && e && q; }
  std::string asked() const {
    if (s && e && r && g) return "approved";
    return r ? "requested" : q ? "approved" : "-";
  }
};

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (int bits = 0; bits < 128; ++bits) {
    const auto bit = [bits](int i) { return (bits >> i & 1) != 0; };
    // Who has requested one is in one.
    if (!bit(4) && bit(5)) continue;
    rows.push_back({bit(0), bit(1), bit(2), bit(3), bit(4), bit(5), bit(6)});
  }
  return rows;
}

// What stands there already, of what careen writes.
enum class Before { nothing, everything, garbage };

Pair pair_of(const Row& row, Before before) {
  Pair pair;
  pair.labels.clear();
  pair.node_labels.clear();
  const auto put = [](Texts& texts, std::string_view key, bool wanted, std::string_view value) {
    if (wanted) texts.emplace(key, value);
  };
  put(pair.labels, kEnabled, row.e, "true");
  put(pair.labels, kMaintenance, row.q, row.r ? "requested" : "approved");
  put(pair.node_labels, kMaintenanceState, row.s, "");
  put(pair.node_labels, kApproveDeletion, row.a, "true");
  put(pair.node_labels, kApproveMaintenance, row.g, "true");
  pair.deleting = row.d;
  if (before == Before::nothing) return pair;
  const char* const value = before == Before::garbage ? "soon" : "true";
  put(pair.node_labels, kMachineDeleted, true, value);
  put(pair.node_labels, kMachineMaintenance, true, value);
  put(pair.annotations, kPreDrainHook, true, before == Before::garbage ? "by hand" : kOwnValue);
  // Whatever is not exactly the word counts as nothing.
  if (before == Before::garbage) {
    put(pair.labels, kEnabled, !row.e, "True");
    put(pair.labels, kMaintenance, !row.q, "Requested");
    put(pair.node_labels, kApproveDeletion, !row.a, "");
    put(pair.node_labels, kApproveMaintenance, !row.g, "yes");
  }
  return pair;
}

TEST(RelayTableTest, EveryRowComesOutAsSpecified) {
  const std::vector<Row> rows = all_rows();
  ASSERT_EQ(rows.size(), 96u);
  for (const Row& row : rows) {
    for (const Before before : {Before::nothing, Before::everything, Before::garbage}) {
      SCOPED_TRACE(fmt::format("{}, before: {}", row.name(), static_cast<int>(before)));
      Pair pair = pair_of(row, before);
      pair.options.skip_remediation = false;
      pair.settle();
      EXPECT_EQ(pair.hooked(), row.has_hook());
      EXPECT_EQ(pair.on_node(kMachineDeleted), row.is_told_of_deletion() ? "true" : "-");
      EXPECT_EQ(pair.on_node(kMachineMaintenance), row.is_told_of_maintenance() ? "true" : "-");
      const std::string untouched = before == Before::garbage && !row.q ? "Requested" : row.asked();
      EXPECT_EQ(pair.asked(), row.q ? row.asked() : untouched);
      EXPECT_EQ(pair.skips(), "-");
      EXPECT_EQ(pair.on_node(kApproveDeletion) == "true", row.a) << "approvals are others'";
      EXPECT_EQ(pair.on_node(kApproveMaintenance) == "true", row.g);
    }
  }
}

// A write to the Machine is computed only when there is nothing to write to the Node.
TEST(RelayTableTest, TheNodeComesFirst) {
  for (const Row& row : all_rows()) {
    Pair pair = pair_of(row, Before::everything);
    const Decision first = pair.step();
    const bool node_fits = row.is_told_of_deletion() && row.is_told_of_maintenance();
    EXPECT_EQ(first.node.has_value(), !node_fits) << row.name();
    if (first.node) EXPECT_FALSE(first.machine) << row.name();
  }
}

// Without a Node nothing is written at all, whatever else there is, but what careen itself has left on a Machine that
// is not enabled any more.
TEST(RelayTableTest, WithoutANodeNothingChanges) {
  for (const Row& row : all_rows()) {
    Pair pair = pair_of(row, Before::everything);
    pair.has_node = false;
    pair.options.skip_remediation = false;
    pair.settle();
    EXPECT_EQ(pair.hooked(), row.e) << row.name();
    EXPECT_EQ(pair.asked(), row.r ? "requested" : row.q ? "approved" : "-") << row.name();
  }
}

// The table again, with the maintenance's state taken for granted.
TEST(RelayTableTest, TheStrictModeNeedsNoState) {
  for (const Row& row : all_rows()) {
    Pair pair = pair_of(row, Before::nothing);
    pair.options = {.hook_without_state = true, .skip_remediation = false};
    pair.settle();
    Row kept = row;
    kept.s = true;
    EXPECT_EQ(pair.hooked(), kept.has_hook()) << row.name();
    EXPECT_EQ(pair.on_node(kMachineDeleted), kept.is_told_of_deletion() ? "true" : "-") << row.name();
    EXPECT_EQ(pair.on_node(kMachineMaintenance), kept.is_told_of_maintenance() ? "true" : "-") << row.name();
    EXPECT_EQ(pair.asked(), kept.asked()) << row.name();
  }
}

TEST(RelayTableTest, ApprovalsThatNobodyAskedForAreCleared) {
  for (const Row& row : all_rows()) {
    Pair pair = pair_of(row, Before::nothing);
    pair.options.clear_approvals = true;
    pair.settle();
    const bool stays_alone = !row.e;  // nothing of the Node of a Machine that is not enabled is careen's business
    EXPECT_EQ(pair.on_node(kApproveDeletion), row.a && (row.d || stays_alone) ? "true" : "-") << row.name();
    EXPECT_EQ(pair.on_node(kApproveMaintenance), row.g && (row.q || stays_alone) ? "true" : "-") << row.name();
    EXPECT_EQ(pair.hooked(), row.s && row.e && (!row.a || !row.d)) << row.name();
  }
}

// A pause holds what would let others go on, and nothing else.
TEST(DecideTest, APauseApprovesAndReleasesNothing) {
  const budget::Pause everything;
  for (const Row& row : all_rows()) {
    for (const Before before : {Before::nothing, Before::everything}) {
      Pair pair = pair_of(row, before);
      pair.pause = &everything;
      const bool hooked_before = pair.hooked();
      pair.settle();
      SCOPED_TRACE(row.name());
      EXPECT_EQ(pair.hooked(), row.has_hook() || (hooked_before && row.e));
      EXPECT_EQ(pair.asked(), row.r ? "requested" : row.q ? "approved" : "-");
      EXPECT_EQ(pair.on_node(kMachineMaintenance), row.is_told_of_maintenance() ? "true" : "-");
    }
  }
}

TEST(DecideTest, WhatCannotBeSeenIsLeftAsItIs) {
  for (const Sight sight : {Sight::connecting, Sight::unseen, Sight::disputed}) {
    for (const bool hooked : {false, true}) {
      Pair pair;
      pair.sight = sight;
      pair.deleting = true;
      pair.labels[std::string(kMaintenance)] = kRequested;
      pair.node_labels[std::string(kApproveDeletion)] = "true";
      pair.node_labels[std::string(kApproveMaintenance)] = "true";
      if (hooked) pair.annotations[std::string(kPreDrainHook)] = kOwnValue;
      const Decision decision = pair.step();
      EXPECT_FALSE(decision.node);
      EXPECT_FALSE(decision.machine);
    }
  }
}

// There to hold is safe whatever the Node says, but not once it may be going already.
TEST(DecideTest, TheStrictModeHoldsWhatItCannotSee) {
  Pair pair;
  pair.sight = Sight::unseen;
  pair.options.hook_without_state = true;
  pair.settle();
  EXPECT_TRUE(pair.hooked());
  Pair late = pair;
  late.annotations.clear();
  late.deleting = true;
  late.settle();
  EXPECT_FALSE(late.hooked());
}

TEST(DecideTest, ADeletionWhoseNodeIsGoneIsLetGo) {
  Pair pair;
  pair.settle();
  pair.sight = Sight::gone;
  pair.settle();
  EXPECT_TRUE(pair.hooked()) << "nobody deletes it";
  pair.deleting = true;
  const Decision decision = pair.step();
  ASSERT_TRUE(decision.machine);
  EXPECT_TRUE(decision.machine->lets_go);
  EXPECT_THAT(decision.machine->reason, HasSubstr("no Node any more"));
}

TEST(DecideTest, WhoDisablesAMachineWaitsALittleForItsNode) {
  Pair pair;
  pair.settle();
  pair.labels.clear();
  pair.sight = Sight::connecting;
  Decision decision = pair.step();
  EXPECT_FALSE(decision.machine);
  EXPECT_EQ(decision.wake, kNow + kPatience);
  pair.now += kPatience;
  pair.settle();
  EXPECT_FALSE(pair.hooked());
}

TEST(DecideTest, ANodeThatCannotBeWrittenHoldsUpNobody) {
  Pair pair;
  pair.deleting = true;
  pair.settle();
  pair.labels.clear();
  pair.memory.node_failures = kTries - 1;
  EXPECT_TRUE(pair.step().node);
  pair.memory.node_failures = kTries;
  EXPECT_TRUE(pair.step().machine);
}

Pair approved() {
  Pair pair;
  pair.labels[std::string(kMaintenance)] = kRequested;
  pair.node_labels[std::string(kApproveMaintenance)] = "true";
  pair.settle();
  EXPECT_EQ(pair.asked(), kApproved);
  EXPECT_EQ(pair.skips(), kOwnValue);
  return pair;
}

TEST(ReturnTest, AMachineIsOutFromItsApprovalUntilItsNodeIsReady) {
  Pair pair;
  pair.labels[std::string(kMaintenance)] = kRequested;
  EXPECT_FALSE(pair.settle().out);
  pair.node_labels[std::string(kApproveMaintenance)] = "true";
  EXPECT_TRUE(pair.step().out) << "with the approval, and not after it";
  EXPECT_TRUE(pair.settle().out);
  pair.ready = false;
  pair.labels.erase(std::string(kMaintenance));
  const Decision returning = pair.settle();
  EXPECT_TRUE(returning.out);
  EXPECT_EQ(returning.phase, Phase::returning);
  EXPECT_EQ(returning.wake, kNow + kLongestReturn);
  EXPECT_EQ(pair.skips(), kOwnValue);
  pair.ready = true;
  EXPECT_FALSE(pair.settle().out);
  EXPECT_EQ(pair.skips(), "-");
}

TEST(ReturnTest, NotForEver) {
  Pair pair = approved();
  pair.ready = false;
  pair.labels.erase(std::string(kMaintenance));
  pair.settle();
  pair.now += kLongestReturn;
  const Decision late = pair.settle();
  EXPECT_FALSE(late.out);
  EXPECT_EQ(late.phase, Phase::guarded);
  EXPECT_EQ(pair.skips(), "-");
}

// The whole cluster may be down with its Node, and careen may have been started anew meanwhile.
TEST(ReturnTest, AClusterThatCannotBeAskedIsNotBack) {
  for (const Sight sight : {Sight::connecting, Sight::unseen, Sight::gone}) {
    Pair pair = approved();
    pair.labels.erase(std::string(kMaintenance));
    pair.sight = sight;
    pair.memory = {};
    EXPECT_TRUE(pair.settle().out);
    EXPECT_EQ(pair.skips(), kOwnValue) << "Sight " << static_cast<int>(sight);
    pair.sight.reset();
    EXPECT_FALSE(pair.settle().out);
    EXPECT_EQ(pair.skips(), "-");
  }
}

// Who protects it by hand, or not at all, has a maintenance with an end all the same.
TEST(ReturnTest, ItNeedsNoAnnotationOfCareens) {
  Pair by_hand;
  by_hand.annotations[std::string(kSkipRemediation)] = "by hand";
  Pair without;
  without.options.skip_remediation = false;
  for (Pair* pair : {&by_hand, &without}) {
    const std::string before = pair->skips();
    pair->labels[std::string(kMaintenance)] = kRequested;
    pair->node_labels[std::string(kApproveMaintenance)] = "true";
    EXPECT_TRUE(pair->settle().out);
    pair->ready = false;
    pair->labels.erase(std::string(kMaintenance));
    EXPECT_TRUE(pair->settle().out);
    EXPECT_EQ(pair->skips(), before);
    pair->ready = true;
    EXPECT_FALSE(pair->settle().out);
    EXPECT_EQ(pair->skips(), before);
    pair->ready = false;
    EXPECT_FALSE(pair->settle().out) << "it was back";
  }
}

TEST(ReturnTest, AnotherMachineOfThatNameInheritsNothing) {
  Pair pair;
  pair.options.skip_remediation = false;
  pair.labels[std::string(kMaintenance)] = kApproved;
  EXPECT_TRUE(pair.settle().out);
  pair.labels.erase(std::string(kMaintenance));
  pair.ready = false;
  pair.uid = "u2";
  EXPECT_FALSE(pair.settle().out);
}

TEST(ReturnTest, OneThatIsDeletedOrDisabledIsNotWaitedFor) {
  Pair deleted = approved();
  deleted.ready = false;
  deleted.labels.erase(std::string(kMaintenance));
  deleted.deleting = true;
  EXPECT_FALSE(deleted.settle().out);
  EXPECT_EQ(deleted.skips(), "-");
  Pair disabled = approved();
  disabled.ready = false;
  disabled.labels.clear();
  EXPECT_FALSE(disabled.settle().out);
  EXPECT_EQ(disabled.skips(), "-");
}

TEST(ReturnTest, AStepOfTheClockMovesNoLimit) {
  Pair pair = approved();
  pair.ready = false;
  pair.labels.erase(std::string(kMaintenance));
  pair.settle();
  pair.now += io::hours{5};
  pair.memory.clock_stepped(io::hours{5});
  EXPECT_TRUE(pair.settle().out);
}

// Of a Machine that is not enabled the power of its host counts alone.
TEST(ReturnTest, AHostHasToBeThrough) {
  Host host;
  host.powered = false;
  host.operational = Pair::atoms().intern("OK");
  Pair pair;
  pair.labels = {{std::string(kMaintenance), std::string(kApproved)}};
  pair.options.metal3 = true;
  pair.sight = Sight::connecting;
  pair.host = &host;
  pair.step();
  pair.now += kPatience;  // it has not been enabled for long
  EXPECT_TRUE(pair.settle().out);
  EXPECT_EQ(pair.skips(), kOwnValue);
  pair.labels.clear();
  EXPECT_TRUE(pair.settle().out);
  host.powered = true;
  host.operational = Pair::atoms().intern("servicing");
  EXPECT_TRUE(pair.settle().out);
  host.operational = Pair::atoms().intern("OK");
  EXPECT_FALSE(pair.settle().out);
  EXPECT_EQ(pair.skips(), "-");
}

TEST(DecideTest, TheReasonsNameWhatIsWaitedFor) {
  Pair pair;
  pair.annotations["pre-drain.delete.hook.machine.cluster.x-k8s.io/other"] = "x";
  pair.deleting = true;
  pair.settle();
  EXPECT_THAT(to_text(pair.step().why),
              testing::AllOf(HasSubstr("DeletionHeld"), HasSubstr("another hook holds its deletion, too"),
                             HasSubstr("the Node has no label")));
  pair.sight = Sight::unseen;
  EXPECT_THAT(to_text(pair.step().why), HasSubstr("connection refused"));
}

TEST(DecideTest, ANodeThatIsNobodysIsTidied) {
  Pair pair;
  EXPECT_FALSE(tidy(pair.node()));
  pair.node_labels[std::string(kMachineDeleted)] = "";
  const auto write = tidy(pair.node());
  ASSERT_TRUE(write);
  EXPECT_THAT(write->labels, testing::ElementsAre(testing::Pair(kMachineDeleted, false)));
}

TEST(DecideTest, EveryPhaseHasAName) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kPhases; ++i) names.insert(name_of(static_cast<Phase>(i)));
  EXPECT_EQ(names.size(), kPhases);
  EXPECT_FALSE(names.contains(""));
}

}  // namespace

}  // namespace careen::machines
