// What counts for a node that the node does not say itself, and which nodes are missing because there should be more.
#include "limits/other_objects.h"

#include <limits>

#include "limits/test_desk.h"

namespace careen::limits {
namespace {

using io::minutes;
using io::seconds;
using kube::MachineKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class OtherObjectsTest : public testing::Test, protected DeskWorld {
 protected:
  kube::Machine machine_of(const std::string& node_name, const std::string& set = {}) {
    kube::Machine machine;
    machine.name = "of-" + node_name;
    machine.node = node_name;
    machine.set = atoms.intern(set);
    return machine;
  }
  void nodes_in(const std::string& set, std::initializer_list<const char*> names, const NodeSpec& spec = {}) {
    for (const char* const name : names) {
      node(name, spec);
      machine(machine_of(name, set));
    }
  }
  std::vector<std::string> actors(const std::string& name = "workers") {
    std::vector<std::string> found;
    for (const Holder& holder : group(name).holders) found.push_back(holder.actor + ": " + holder.what);
    return found;
  }
  // "2 of 2, 1 missing": so many are out of so many that may be.
  std::string numbers(const std::string& name = "workers") {
    const GroupState state = group(name);
    return fmt::format("{} of {}, {} missing", state.used, state.cap, state.missing);
  }
  void workers(const std::string& maximum = "2") {
    limit("workers", fmt::format(R"({{"type":"node","maxUnavailable":{}}})", maximum));
    open();
  }
};

TEST_F(OtherObjectsTest, AMachineThatGoesIsWorkedOn) {
  nodes_in("", {"n1", "n2", "n3"});
  workers("1");
  EXPECT_TRUE(allows("n2", "profile/p"));
  kube::Machine going = machine_of("n1");
  going.deleting = loop->wall_now();
  machine(going);
  EXPECT_THAT(actors(), ElementsAre("cluster-api: Machine of-n1 is being deleted"));
  EXPECT_EQ(group("workers").working, 1);
  EXPECT_FALSE(allows("n2", "profile/p"));
  remove_machine("of-n1");
  EXPECT_TRUE(allows("n2", "profile/p"));
  kube::Machine updated = machine_of("n1");
  updated.worked_on = loop->wall_now();
  machine(updated);
  EXPECT_THAT(actors(), ElementsAre("cluster-api: Machine of-n1 is updated"));
}

TEST_F(OtherObjectsTest, WhatIsKnownBeforeTheNodeCountsOnceItComes) {
  kube::Machine going = machine_of("n1");
  going.deleting = loop->wall_now();
  machine(going);
  workers();
  node("n1");
  EXPECT_THAT(actors(), SizeIs(1));
}

// Management clusters have Machines of many clusters.
TEST_F(OtherObjectsTest, AMachineOfAnotherClusterWhoseNodeHasTheSameNameDoesNotCount) {
  node("n1", {.uid = "ours", .provider_id = "aws:///a/i-1"});
  node("n2");
  workers();
  kube::Machine foreign = machine_of("n1");
  foreign.deleting = loop->wall_now();
  const auto counts = [&](const std::string& uid, const std::string& provider_id) {
    foreign.node_uid = uid;
    foreign.provider_id = provider_id;
    machine(foreign);
    return group("workers").used == 1;
  };
  EXPECT_TRUE(counts("", ""));
  EXPECT_TRUE(counts("ours", ""));
  EXPECT_TRUE(counts("", "aws:///a/i-1"));
  EXPECT_TRUE(counts("before it was registered again", "aws:///a/i-1"));
  EXPECT_FALSE(counts("theirs", ""));
  EXPECT_FALSE(counts("", "aws:///a/i-2"));
  EXPECT_FALSE(counts("ours", "aws:///a/i-2"));
  foreign.node = "n2";
  EXPECT_TRUE(counts("", "aws:///a/i-2")) << "where the node does not say what it is, the name has to do";
}

TEST_F(OtherObjectsTest, WhoWorksOnItIsNamed) {
  for (const char* const name : {"n1", "n2", "n3", "n4"}) node(name);
  workers();
  const auto add = [&](MachineKind kind, const char* of, bool goes, const char* requestor = "") {
    kube::Machine one = machine_of(of);
    one.kind = kind;
    one.requestor = atoms.intern(requestor);
    (goes ? one.deleting : one.worked_on) = loop->wall_now();
    machine(one);
    time.run_for(seconds{1});
  };
  add(MachineKind::machine_api, "n1", true);
  add(MachineKind::node_claim, "n2", false);
  add(MachineKind::nvidia_maintenance, "n3", false, "gpu.example.com");
  add(MachineKind::nvidia_maintenance, "n4", true, "gpu.example.com");
  EXPECT_THAT(actors(), ElementsAre("machine-api: Machine of-n1 is being deleted", "karpenter: NodeClaim of-n2 reboots",
                                    "gpu.example.com: NodeMaintenance of-n3 is under way"))
      << "one that goes before it has begun lets its node be";
}

// KubeVirt goes on moving virtual machines when the drain that evicted them has been given up.
TEST_F(OtherObjectsTest, ANodeThatWasOutCountsUntilItsVirtualMachinesHaveLeft) {
  node("n1");
  node("n2");
  workers("1");
  kube::Machine leaving = machine_of("n1");
  leaving.kind = MachineKind::virtual_machine;
  leaving.worked_on = io::Wall{};
  machine(leaving);
  leaving.name = "another";
  machine(leaving);
  EXPECT_EQ(group("workers").used, 0) << "a single eviction moves one, too";
  take("n1", "nodemaintenance/m");
  desk->release("n1", "nodemaintenance/m");
  EXPECT_THAT(actors(), ElementsAre("kubevirt: virtual machines leave it"));
  EXPECT_FALSE(allows("n2", "profile/p"));
  remove_machine("another", MachineKind::virtual_machine);
  EXPECT_EQ(group("workers").used, 1);
  remove_machine("of-n1", MachineKind::virtual_machine);
  EXPECT_EQ(group("workers").used, 0);
}

TEST_F(OtherObjectsTest, AVirtualMachineThatNeverLeavesKeepsNoPlaceForEver) {
  node("n1");
  node("n2");
  workers("1");
  kube::Machine leaving = machine_of("n1");
  leaving.kind = MachineKind::virtual_machine;
  leaving.worked_on = io::Wall{};
  machine(leaving);
  take("n1", "nodemaintenance/m");
  desk->release("n1", "nodemaintenance/m");
  time.run_for(minutes{59});
  EXPECT_EQ(group("workers").used, 1);
  time.run_for(minutes{2});
  EXPECT_EQ(group("workers").used, 0);
  EXPECT_TRUE(allows("n2", "profile/p"));
}

TEST_F(OtherObjectsTest, KuredWorksWithItsLockAlone) {
  const NodeSpec wants{.annotation = "weave.works/kured-reboot-in-progress"};
  node("n1", wants);
  node("n2", wants);
  node("n3");
  workers();
  const auto lock = [&](const std::string& text) {
    auto document = kube::Json::object();
    document.set({"metadata", "annotations", "weave.works/kured-node-lock"}, text);
    others.kured().put({.name = "kured", .ns = "system", .uid = "d", .version = ++version, .document = document});
    std::vector<std::string> out;
    for (const Holder& holder : group("workers").holders) out.push_back(holder.node);
    return out;
  };
  EXPECT_THAT(lock(R"({"nodeID":"n1","metadata":{},"created":"2025-01-01T00:00:00Z","TTL":0})"), ElementsAre("n1"));
  EXPECT_THAT(lock(R"({"nodeID":"n3"})"), IsEmpty()) << "it does not reboot";
  EXPECT_THAT(lock(R"({"maxOwners":2,"locks":[{"nodeID":"n1"},{"nodeID":"n2"}]})"), ElementsAre("n1", "n2"));
  EXPECT_THAT(lock("{"), IsEmpty());
  const std::string now = io::format_whole_seconds(loop->wall_now());
  EXPECT_THAT(lock(fmt::format(R"({{"nodeID":"n1","created":"{}","TTL":60000000000}})", now)), ElementsAre("n1"));
  time.run_for(minutes{2});
  EXPECT_EQ(group("workers").used, 0) << "the lock has run out";
}

TEST_F(OtherObjectsTest, WhatASetLacksIsMissing) {
  nodes_in("blue", {"n1", "n2", "n3"});
  machine_set("blue", 3);
  workers("2");
  EXPECT_EQ(numbers(), "0 of 2, 0 missing");
  machine_set("blue", 5);
  EXPECT_EQ(numbers(), "2 of 2, 2 missing");
  EXPECT_EQ(group("workers").expected, 5);
  EXPECT_THAT(actors(), ElementsAre("missing: 3 of 5 nodes are there", "missing: 3 of 5 nodes are there"));
  EXPECT_THAT(why_not("n1", "profile/p"), HasSubstr("2 missing"));
  nodes_in("blue", {"n4", "n5"});
  EXPECT_EQ(numbers(), "0 of 2, 0 missing");
  // That is no maintenance.
  machine_set("blue", 4);
  remove_node("n5");
  EXPECT_EQ(numbers(), "0 of 2, 0 missing");
  remove_node("n4");
  EXPECT_EQ(numbers(), "1 of 2, 1 missing");
  remove_machine_set("blue");
  EXPECT_EQ(numbers(), "0 of 2, 0 missing");
}

TEST_F(OtherObjectsTest, WhoWaitsForAMissingNodeIsToldWhenTheSetIsComplete) {
  nodes_in("blue", {"n1", "n2", "n3"});
  machine_set("blue", 4);
  workers();
  take("n1", "profile/p");
  desk->wait(asking("n2", "profile/p"));
  EXPECT_THAT(whose_turn(), IsEmpty());
  machine_set("blue", 3);
  EXPECT_THAT(whose_turn(), ElementsAre("n2 profile/p"));
}

TEST_F(OtherObjectsTest, ANodeThatIsDeletedWhileItIsOutIsNotMissingTwice) {
  nodes_in("blue", {"n1", "n2"});
  machine_set("blue", 2);
  node("n3", {.ready = false});
  workers();
  node("n1", {.ready = false});
  remove_node("n1");
  EXPECT_EQ(numbers(), "2 of 2, 1 missing");
  machine_set("blue", 1);
  EXPECT_EQ(numbers(), "1 of 2, 0 missing");
  remove_node("n3");
  EXPECT_EQ(numbers(), "1 of 2, 1 missing") << "of no set";
}

TEST_F(OtherObjectsTest, AGroupThatLostItsLastNodeLacksIt) {
  nodes_in("blue", {"a1"}, {.labels = {{"zone", "a"}}});
  nodes_in("blue", {"b1", "b2"}, {.labels = {{"zone", "b"}}});
  machine_set("blue", 3);
  limit("workers", R"({"type":"node","groupBy":["zone"],"maxUnavailable":2})");
  open();
  remove_node("a1");
  EXPECT_EQ(group("workers/a").missing, 1);
  EXPECT_EQ(group("workers/b").missing, 1) << "who knows where the new one comes";
  limit("workers", R"({"type":"node","groupBy":["zone"],"maxUnavailable":3})");
  EXPECT_EQ(group("workers/a").missing, 1);
  node("a2", {.labels = {{"zone", "b"}}});
  machine(machine_of("a2", "blue"));
  EXPECT_THAT(desk->groups(), SizeIs(1)) << "it has come, elsewhere";
  EXPECT_EQ(group("workers/b").missing, 0);
}

TEST_F(OtherObjectsTest, AnAbsurdNumberAllowsNothing) {
  nodes_in("blue", {"n1", "n2", "n3", "n4"});
  workers(R"("50%","maxParallel":"50%")");
  EXPECT_EQ(numbers(), "0 of 2, 0 missing");
  machine_set("blue", std::numeric_limits<int64_t>::max());
  const GroupState state = group("workers");
  EXPECT_EQ(state.missing, OtherObjects::kMostWanted - 4);
  EXPECT_EQ(state.cap, 4) << "of twice of what there is";
  EXPECT_EQ(state.parallel, 4);
  EXPECT_FALSE(allows("n1", "profile/p"));
}

TEST_F(OtherObjectsTest, ANodeThatChangesItsSetCountsThere) {
  nodes_in("blue", {"n1", "n2"});
  machine_set("blue", 2);
  machine_set("green", 1);
  workers();
  machine(machine_of("n2", "green"));
  EXPECT_EQ(group("workers").missing, 1) << "blue lacks one";
  machine_set("blue", 1);
  EXPECT_EQ(group("workers").missing, 0);
  machine(machine_of("n1"));
  EXPECT_EQ(group("workers").missing, 1) << "blue has none any more";
  remove_machine_set("blue");
  machine_set("blue", 7);
  EXPECT_EQ(group("workers").missing, 0) << "nobody knows where its nodes would be";
}

}  // namespace
}  // namespace careen::limits
