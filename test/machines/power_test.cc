// Hosts of Metal3: off while a maintenance is approved, on again afterwards.
#include "test_machines.h"

namespace careen::machines {

namespace {

using testing::HasSubstr;

class PowerTest : public MachinesTest {
 protected:
  PowerTest() {
    add_cluster("w1");
    add_node("m1");
    add_machine("m1", "w1", "fleet", true, "metal3://fleet/h1/i-m1");
    add_host("h1");
  }
  static std::string host_path(const std::string& name) { return kHosts.path("fleet", name); }
  void add_host(const std::string& name) {
    management.api.put(host_path(name), *kube::Json::parse(R"({"apiVersion":"metal3.io/v1alpha1","kind":"BareMetalHost",
      "spec":{"online":true,"consumerRef":{"kind":"Metal3Machine","name":"i-m1","namespace":"fleet"}},
      "status":{"poweredOn":true,"operationalStatus":"OK","provisioning":{"state":"provisioned"}}})"));
  }
  void merge_host(std::string_view patch, const std::string& name = "h1") {
    management.api.merge(host_path(name), *kube::Json::parse(patch));
  }
  std::string held(const std::string& name = "h1") const {
    return text_of(management.api.object(host_path(name)), "annotations", kPowerOff);
  }
  void approve() {
    label_machine("m1", kMaintenance, kRequested);
    label_node("m1", kApproveMaintenance, "true");
    run();
    ASSERT_EQ(asked("m1"), kApproved);
  }
  std::vector<std::string> told() const {
    std::vector<std::string> reasons;
    management.api.for_each("/api/v1/events", [&](const std::string&, const sim::Text& text) {
      reasons.emplace_back((*kube::Json::parse(*text))["reason"].text().value_or(""));
    });
    return reasons;
  }
  static constexpr ControllerOptions kMetal3{.relay = {.metal3 = true}};
};

TEST_F(PowerTest, OffWhenApprovedAndOnWhenOver) {
  start(kMetal3);
  label_machine("m1", kMaintenance, kRequested);
  run();
  EXPECT_EQ(held(), "-");
  approve();
  EXPECT_EQ(held(), "");
  label_machine("m1", kMaintenance, "");
  run();
  EXPECT_EQ(held(), "-");
}

TEST_F(PowerTest, WithoutTheSwitchNothingIsPowered) {
  start();
  approve();
  EXPECT_EQ(held(), "-");
}

// Also one that was held for a Machine that went while nobody looked.
TEST_F(PowerTest, AHostWhoseMachineIsGoneComesBack) {
  start(kMetal3);
  approve();
  careen.reset();
  management.api.erase(machine_path("m1"));
  start(kMetal3, "careen-1");
  run(io::minutes{1});
  EXPECT_EQ(held(), "-");
}

TEST_F(PowerTest, TheOlderFormOfAProviderId) {
  const std::string uid(management.api.object(host_path("h1"))["metadata"]["uid"].text().value_or(""));
  merge_machine("m1", fmt::format(R"({{"spec":{{"providerID":"metal3://{}"}}}})", uid));
  start(kMetal3);
  approve();
  EXPECT_EQ(held(), "");
}

// Whoever can write a Machine of one namespace cannot power off the hosts of another one.
TEST_F(PowerTest, AHostOfAnotherIsLeftAlone) {
  merge_host(R"({"spec":{"consumerRef":{"namespace":"others"}}})");
  start(kMetal3);
  approve();
  EXPECT_EQ(held(), "-");
  EXPECT_THAT(told(), testing::Contains("HostOfAnother"));
}

TEST_F(PowerTest, AHostThatKeepsItsPowerIsNotRebootedAgainAndAgain) {
  merge_host(R"({"spec":{"disablePowerOff":true}})");
  start(kMetal3);
  approve();
  run(io::minutes{10});
  EXPECT_EQ(held(), "-");
  EXPECT_THAT(told(), testing::Contains("PowerOffDisabled").Times(1));
}

// But once, if somebody wants it.
TEST_F(PowerTest, AHostThatKeepsItsPowerIsRebootedOnceOnRequest) {
  merge_host(R"({"spec":{"disablePowerOff":true}})");
  merge_machine("m1", fmt::format(R"({{"metadata":{{"annotations":{{"{}":"requested"}}}}}})", kRebootHost));
  start(kMetal3);
  approve();
  const auto reboots = [&] { return text_of(management.api.object(host_path("h1")), "annotations", kReboot); };
  EXPECT_EQ(reboots(), "");
  EXPECT_EQ(on_machine("annotations", kRebootHost, "m1"), kDone);
  merge_host(fmt::format(R"({{"metadata":{{"annotations":{{"{}":null}}}}}})", kReboot));
  run(io::minutes{10});
  EXPECT_EQ(reboots(), "-");
}

TEST_F(PowerTest, WhatKeepsAHostOnIsSaid) {
  merge_host(R"({"metadata":{"annotations":{"baremetalhost.metal3.io/paused":""}}})");
  start(kMetal3);
  approve();
  EXPECT_THAT(told(), testing::Contains("HostPaused"));
  EXPECT_THAT(controller().document_of("fleet/m1").value_or(""), HasSubstr("fleet/h1: Stuck"));
  EXPECT_EQ(asked("m1"), kApproved);
}

// Nobody looks for its Node any more, so nobody waits for it, either.
TEST_F(PowerTest, AMachineThatIsDisabledBeforeItIsBackIsNotProtectedForEver) {
  start(kMetal3);
  approve();
  set_ready("m1", false);
  label_machine("m1", kMaintenance, "");
  run();
  EXPECT_EQ(on_machine("annotations", kSkipRemediation, "m1"), kOwnValue);
  label_machine("m1", kEnabled, "false");
  run(io::minutes{2});
  EXPECT_EQ(on_machine("annotations", kSkipRemediation, "m1"), "-");
}

// Firmware is changed while the host is off: it is not back before that is through.
TEST_F(PowerTest, AHostThatIsServicedIsNotBack) {
  start(kMetal3);
  approve();
  merge_host(R"({"status":{"poweredOn":false,"operationalStatus":"servicing"}})");
  set_ready("m1", false);
  label_machine("m1", kMaintenance, "");
  run();
  EXPECT_EQ(held(), "-");
  merge_host(R"({"status":{"poweredOn":true}})");
  set_ready("m1", true);
  run(io::minutes{5});
  EXPECT_EQ(on_machine("annotations", kSkipRemediation, "m1"), kOwnValue);
  EXPECT_THAT(controller().document_of("fleet/m1").value_or(""), HasSubstr("\"Returning\""));
  merge_host(R"({"status":{"operationalStatus":"OK"}})");
  run();
  EXPECT_EQ(on_machine("annotations", kSkipRemediation, "m1"), "-");
}

// Its operator goes on trying, also when nobody holds the host off any more.
TEST_F(PowerTest, AHostThatCannotBeServicedIsTold) {
  start(kMetal3);
  approve();
  label_machine("m1", kMaintenance, "");
  merge_host(R"({"status":{"operationalStatus":"error","errorType":"servicing error","errorMessage":"no disk"}})");
  run();
  EXPECT_EQ(held(), "-");
  EXPECT_THAT(told(), testing::Contains("HostServicingFailed"));
}

}  // namespace

}  // namespace careen::machines
