// NodeHealthChecks of workload clusters stand back while Machines are out.
#include "test_machines.h"

namespace careen::machines {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kOurs(kPauseRequest);

class HealthChecksTest : public MachinesTest {
 protected:
  HealthChecksTest() {
    add_cluster("w1");
    serve_checks("fleet/w1");
    for (const char* name : {"m1", "m2"}) {
      add_node(name);
      add_machine(name);
    }
    label_node("m1", "pool", "a");
    label_node("m2", "pool", "b");
  }
  void serve_checks(const std::string& cluster) {
    define_in(workload(cluster).api, "Cluster", "nodehealthchecks", "NodeHealthCheck", "remediation.medik8s.io",
              R"({"name":"v1alpha1","served":true,"storage":true})");
  }
  static std::string check_path(const std::string& name) { return kHealthChecks.path("", name); }
  void add_check(const std::string& name, const std::string& selector = "{}", const std::string& requests = "[]",
                 const std::string& cluster = "fleet/w1") {
    workload(cluster).api.put(
        check_path(name),
        *kube::Json::parse(fmt::format(
            R"({{"apiVersion":"remediation.medik8s.io/v1alpha1","kind":"NodeHealthCheck","spec":{{"minHealthy":"51%",)"
            R"("selector":{},"pauseRequests":{}}}}})",
            selector, requests)));
  }
  std::vector<std::string> requests(const std::string& name, const std::string& cluster = "fleet/w1") {
    std::vector<std::string> found;
    const kube::Json check = workload(cluster).api.object(check_path(name));
    check["spec"]["pauseRequests"].for_each_element(
        [&](kube::JsonView one) { found.emplace_back(one.text().value_or("")); });
    return found;
  }
  void approve(const std::string& name) {
    label_machine(name, kMaintenance, kRequested);
    label_node(name, kApproveMaintenance, "true");
    run();
    ASSERT_EQ(asked(name), kApproved);
  }
  void finish(const std::string& name) {
    label_node(name, kApproveMaintenance, "");
    label_machine(name, kMaintenance, "");
    run();
  }
  static constexpr ControllerOptions kPausing{.relay = {}, .pause_health_checks = true};
};

TEST_F(HealthChecksTest, WhileAMachineIsOut) {
  add_check("all", "{}", R"(["somebody"])");
  start(kPausing);
  run();
  label_machine("m1", kMaintenance, kRequested);
  run();
  EXPECT_THAT(requests("all"), ElementsAre("somebody"));
  approve("m1");
  EXPECT_THAT(requests("all"), ElementsAre("somebody", kOurs));
  set_ready("m1", false);
  finish("m1");
  EXPECT_THAT(requests("all"), ElementsAre("somebody", kOurs)) << "it is not back";
  set_ready("m1", true);
  run();
  EXPECT_THAT(requests("all"), ElementsAre("somebody"));
}

TEST_F(HealthChecksTest, AFieldThatWasNotThereIsNotThereAfterwards) {
  add_check("all");
  workload("fleet/w1").api.merge(check_path("all"), *kube::Json::parse(R"({"spec":{"pauseRequests":null}})"));
  start(kPausing);
  run();
  approve("m1");
  EXPECT_THAT(requests("all"), ElementsAre(kOurs));
  finish("m1");
  EXPECT_FALSE(workload("fleet/w1").api.object(check_path("all"))["spec"]["pauseRequests"].exists());
}

TEST_F(HealthChecksTest, WithoutTheSwitchNothingHappens) {
  add_check("all");
  start();
  approve("m1");
  EXPECT_THAT(requests("all"), IsEmpty());
  EXPECT_EQ(workload("fleet/w1").api.count("GET nodehealthchecks"), 0);
}

TEST_F(HealthChecksTest, OnlyThoseOfItsNode) {
  add_check("a", R"({"matchLabels":{"pool":"a"}})");
  add_check("b", R"({"matchLabels":{"pool":"b"}})");
  start(kPausing);
  approve("m1");
  EXPECT_THAT(requests("a"), ElementsAre(kOurs));
  EXPECT_THAT(requests("b"), IsEmpty());
  label_node("m1", "pool", "b");
  run();
  EXPECT_THAT(requests("a"), IsEmpty());
  EXPECT_THAT(requests("b"), ElementsAre(kOurs));
}

// A Node that is gone may come back under whatever selector.
TEST_F(HealthChecksTest, OfANodeThatIsNotThereAllOfThem) {
  add_check("a", R"({"matchLabels":{"pool":"a"}})");
  add_check("b", R"({"matchLabels":{"pool":"b"}})");
  start(kPausing);
  approve("m1");
  workload("fleet/w1").api.erase(node_path("m1"));
  run();
  EXPECT_THAT(requests("a"), ElementsAre(kOurs));
  EXPECT_THAT(requests("b"), ElementsAre(kOurs));
}

TEST_F(HealthChecksTest, UntilTheLastMachineIsBack) {
  add_check("all");
  start(kPausing);
  approve("m1");
  approve("m2");
  finish("m1");
  EXPECT_THAT(requests("all"), ElementsAre(kOurs));
  finish("m2");
  EXPECT_THAT(requests("all"), IsEmpty());
}

TEST_F(HealthChecksTest, NewOnesAndChangedOnesToo) {
  start(kPausing);
  approve("m1");
  add_check("late");
  run();
  EXPECT_THAT(requests("late"), ElementsAre(kOurs));
  workload("fleet/w1").api.merge(check_path("late"), *kube::Json::parse(R"({"spec":{"pauseRequests":["theirs"]}})"));
  run();
  EXPECT_THAT(requests("late"), ElementsAre("theirs", kOurs));
  workload("fleet/w1").api.erase(check_path("late"));
  run();
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(HealthChecksTest, WhereTheKindIsNotServedNothingIsWrong) {
  add_cluster("w2");
  add_node("m3", "fleet/w2");
  add_machine("m3", "w2");
  start(kPausing);
  run();
  label_machine("m3", kMaintenance, kRequested);
  label_node("m3", kApproveMaintenance, "true", "fleet/w2");
  run(io::minutes{10});
  EXPECT_EQ(asked("m3"), kApproved);
  EXPECT_THAT(problems(), IsEmpty());
  serve_checks("fleet/w2");
  add_check("all", "{}", "[]", "fleet/w2");
  run(io::minutes{1});
  EXPECT_THAT(requests("all", "fleet/w2"), ElementsAre(kOurs)) << "it is installed later";
}

// Somebody else writes the list meanwhile; neither entry is lost.
TEST_F(HealthChecksTest, AConflictIsDecidedAgain) {
  add_check("all");
  start(kPausing);
  run();
  treat_workload = [this](const sim::Sending& sending) {
    sim::Treatment treatment;
    if (!sending.writes() || sending.request.path.find("nodehealthchecks") == std::string::npos) return treatment;
    treat_workload = {};
    workload("fleet/w1").api.merge(check_path("all"), *kube::Json::parse(R"({"spec":{"pauseRequests":["theirs"]}})"));
    return treatment;
  };
  approve("m1");
  EXPECT_THAT(requests("all"), ElementsAre("theirs", kOurs));
}

// What is left by a predecessor goes, but not before all Machines are known; what is meant stays without a gap.
TEST_F(HealthChecksTest, ASuccessorGoesOn) {
  add_check("all");
  add_check("b", R"({"matchLabels":{"pool":"b"}})");
  start(kPausing);
  approve("m1");
  approve("m2");
  careen.reset();
  label_machine("m2", kMaintenance, "");
  const size_t before = writes();
  start(kPausing, "careen-1");
  run(io::minutes{1});
  EXPECT_THAT(requests("all"), ElementsAre(kOurs));
  EXPECT_THAT(requests("b"), IsEmpty());
  size_t written = 0;
  for (size_t i = before; i < sent.size(); ++i) written += sent[i].find("nodehealthchecks") != std::string::npos;
  EXPECT_EQ(written, 1u);
}

TEST_F(HealthChecksTest, AMachineThatIsNotBackStaysKnownToASuccessor) {
  add_check("all");
  start(kPausing);
  approve("m1");
  set_ready("m1", false);
  finish("m1");
  careen.reset();
  const size_t before = writes();
  start(kPausing, "careen-1");
  run(io::minutes{5});
  EXPECT_THAT(requests("all"), ElementsAre(kOurs));
  EXPECT_EQ(writes(), before);
}

// With the last Machine goes the connection, and before it careen's entry.
TEST_F(HealthChecksTest, TheLastMachineLeavesNothing) {
  add_check("all");
  start(kPausing);
  approve("m1");
  management.api.erase(machine_path("m1"));
  management.api.erase(machine_path("m2"));
  run(io::seconds{40});
  EXPECT_THAT(requests("all"), IsEmpty());
  EXPECT_EQ(workload("fleet/w1").network.open_streams(), 0u);
}

TEST_F(HealthChecksTest, ADisabledMachineLetsThemGo) {
  add_check("all");
  start(kPausing);
  approve("m1");
  label_machine("m1", kEnabled, "");
  run();
  EXPECT_THAT(requests("all"), IsEmpty());
}

// Its host is powered off, so it is out, although nobody asked careen to look after its cluster.
TEST_F(HealthChecksTest, AHostThatIsPoweredOffIsOut) {
  add_check("all");
  for (const char* name : {"m1", "m2"}) label_machine(name, kEnabled, "");
  ControllerOptions options = kPausing;
  options.relay.metal3 = true;
  start(options);
  run();
  EXPECT_EQ(workload("fleet/w1").network.open_streams(), 0u);
  label_machine("m1", kMaintenance, kApproved);
  run();
  EXPECT_THAT(requests("all"), ElementsAre(kOurs));
  label_machine("m1", kMaintenance, "");
  run(io::seconds{30});
  EXPECT_THAT(requests("all"), IsEmpty());
  EXPECT_EQ(workload("fleet/w1").network.open_streams(), 0u);
}

// Nothing is decided on the word of a cluster that has not been heard of.
TEST_F(HealthChecksTest, ASilentClusterIsWrittenWhenItIsBack) {
  add_check("all");
  start(kPausing);
  approve("m1");
  treat_workload = [](const sim::Sending&) { return sim::Treatment{.lost = true}; };
  workload("fleet/w1").network.end_streams("", true);
  run(io::minutes{2});
  label_machine("m1", kMaintenance, "");
  run(io::minutes{2});
  EXPECT_THAT(requests("all"), ElementsAre(kOurs));
  treat_workload = {};
  run(io::minutes{1});
  EXPECT_THAT(requests("all"), IsEmpty());
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(HealthChecksTest, WhatCannotBeWrittenIsAProblemAndHoldsUpNobody) {
  add_check("all");
  treat_workload = [](const sim::Sending& sending) {
    sim::Treatment treatment;
    if (sending.writes() && sending.request.path.find("nodehealthchecks") != std::string::npos) {
      treatment.refuse = sim::ApiServer::refusal(403, "Forbidden", "not for you");
    }
    return treatment;
  };
  start(kPausing);
  approve("m1");
  run(io::minutes{1});
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("health check fleet/w1/all cannot be written: not for you")));
  treat_workload = {};
  run(io::minutes{2});
  EXPECT_THAT(requests("all"), ElementsAre(kOurs));
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(HealthChecksTest, ItIsShown) {
  add_check("all");
  start(kPausing);
  approve("m1");
  const auto clusters = controller().picture()->documents();
  ASSERT_EQ(clusters.size(), 1u);
  EXPECT_THAT(clusters.front(), HasSubstr(R"("pausedHealthChecks":["all"])"));
}

}  // namespace

}  // namespace careen::machines
