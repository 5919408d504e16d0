#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/needs.h"
#include "controllers/profiles/node_draft.h"
#include "controllers/profiles/plugins/plugin_fixture.h"

namespace careen::profiles {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class HypervisorPluginsTest : public PluginFixture {
 protected:
  HypervisorPluginsTest() { hypervisors.set_known(); }

  void put(std::string_view name, std::string_view spec, std::string_view status) {
    const std::string json =
        fmt::format(R"({{"metadata":{{"name":"{}","uid":"u","resourceVersion":"{}"}},"spec":{},"status":{}}})", name,
                    ++version, spec, status);
    auto object = kube::decode_object(json);
    ASSERT_TRUE(object) << object.error().message;
    hypervisor_objects.put(std::move(*object));
  }
  // What the trigger wants of the hypervisor, as JSON; or its error.
  std::string alter(std::string_view settings, std::string_view node = "a") {
    const auto trigger = make_trigger("alterHypervisor", settings);
    const kube::Node object = node_called(node);
    NodeDraft draft(object);
    TriggerContext context{draft, hypervisors, wanted};
    const TriggerResult result = trigger->apply(context);
    if (result.pending) return "pending";
    if (!result.error.empty()) return result.error;
    kube::Json spec = kube::Json::object();
    for (const auto& [field, wish] : wanted) spec.set({field}, wish.value);
    return spec.dump();
  }

  HypervisorDraft wanted;
};

TEST_F(HypervisorPluginsTest, ComparesFieldsOfTheStatus) {
  put("a", "{}", R"({"evicted":true,"hypervisorId":"17","numInstances":3,"libVirtVersion":"8.0"})");
  EXPECT_TRUE(ask("checkHypervisor", "{evicted: true}").passed);
  EXPECT_FALSE(ask("checkHypervisor", "{evicted: false}").passed);
  EXPECT_TRUE(ask("checkHypervisor", "{hypervisorId: '17', numInstances: 3}").passed);
  EXPECT_FALSE(ask("checkHypervisor", "{hypervisorId: '17', numInstances: 0}").passed);
  EXPECT_EQ(ask("checkHypervisor", "{evicted: true, numInstances: 0}").reason,
            "evicted is true; numInstances is 3, not 0");
  EXPECT_THAT(ask("checkHypervisor", "{evicted: false}").info, IsEmpty());
}

TEST_F(HypervisorPluginsTest, AFieldThatIsAbsentIsTheEmptyValueOfItsType) {
  put("a", "{}", "{}");
  EXPECT_TRUE(ask("checkHypervisor", "{evicted: false, numInstances: 0, serviceId: ''}").passed);
  EXPECT_FALSE(ask("checkHypervisor", "{evicted: true}").passed);
  put("a", "{}", "null");
  EXPECT_TRUE(ask("checkHypervisor", "{evicted: false}").passed);
}

TEST_F(HypervisorPluginsTest, WithoutFieldsTheHypervisorHasToBeThere) {
  put("a", "{}", "{}");
  EXPECT_TRUE(ask("checkHypervisor", "{}").passed);
  EXPECT_EQ(ask("checkHypervisor", "{}", "b").error, "there is no hypervisor b");
}

TEST_F(HypervisorPluginsTest, WithoutItsHypervisorANodeHasNoAnswer) {
  EXPECT_EQ(ask("checkHypervisor", "{evicted: true}").error, "there is no hypervisor a");
  EXPECT_EQ(ask("hypervisorCondition", "{type: Ready, status: 'True'}").error, "there is no hypervisor a");
  EXPECT_EQ(alter("{reboot: true}"), "there is no hypervisor a");
}

TEST_F(HypervisorPluginsTest, NothingIsSaidBeforeTheHypervisorsAreKnown) {
  const Hypervisors unknown{hypervisor_objects};
  const Facts before{occupancy, fleet, lease_facts, unknown, observations, topics};
  const kube::Node node = node_called("a");
  NodeDraft draft(node);
  const ProfileData data{};
  for (const auto& check : {make_check("checkHypervisor", "{evicted: true}"),
                            make_check("hypervisorCondition", "{type: Ready, status: 'True'}")}) {
    const CheckResult result = check->run({draft, "p", data, before, now});
    EXPECT_TRUE(result.pending);
    EXPECT_EQ(result.error, "");
    Needs needs;
    check->add_needs(needs);
    EXPECT_TRUE(needs.hypervisors);
  }
  const auto trigger = make_trigger("alterHypervisor", "{reboot: true}");
  TriggerContext context{draft, unknown, wanted};
  EXPECT_TRUE(trigger->apply(context).pending);
  EXPECT_THAT(wanted, IsEmpty());
  Needs needs;
  trigger->add_needs(needs);
  EXPECT_TRUE(needs.hypervisors);
}

TEST_F(HypervisorPluginsTest, UnknownFieldsAreRefusedWithASuggestion) {
  EXPECT_THAT(refused("check", "checkHypervisor", "{evictd: true}"),
              HasSubstr("\"evictd\" is not known as a field of the status of a hypervisor; did you mean \"evicted\"?"));
  EXPECT_THAT(refused("trigger", "alterHypervisor", "{rebot: true}"),
              HasSubstr("\"rebot\" is not known as a field of the spec of a hypervisor; did you mean \"reboot\"?"));
  // The fields of one are not those of the other.
  EXPECT_THAT(refused("trigger", "alterHypervisor", "{evicted: true}"), HasSubstr("\"evicted\" is not known"));
  EXPECT_THAT(refused("check", "checkHypervisor", "{reboot: true}"), HasSubstr("\"reboot\" is not known"));
}

TEST_F(HypervisorPluginsTest, ValuesOfAnotherTypeAreRefused) {
  EXPECT_THAT(refused("check", "checkHypervisor", "{evicted: 'true'}"),
              HasSubstr("\"evicted\" must be true or false, but is read as a text; write it without quotes"));
  EXPECT_THAT(refused("check", "checkHypervisor", "{evicted: 1}"),
              HasSubstr("\"evicted\" must be true or false, but is read as an integer"));
  EXPECT_THAT(refused("check", "checkHypervisor", "{hypervisorId: 17}"),
              HasSubstr("\"hypervisorId\" must be a text, but is read as an integer; put it in quotes"));
  EXPECT_THAT(refused("check", "checkHypervisor", "{libVirtVersion: 8.0}"), HasSubstr("is read as a fraction"));
  EXPECT_THAT(refused("check", "checkHypervisor", "{numInstances: '3'}"), HasSubstr("must be an integer"));
  EXPECT_THAT(refused("check", "checkHypervisor", "{numInstances: 0.5}"), HasSubstr("must be an integer"));
  EXPECT_THAT(refused("check", "checkHypervisor", "{evicted: [true]}"), HasSubstr("\"evicted\""));
  EXPECT_THAT(refused("trigger", "alterHypervisor", "{maintenance: true}"),
              HasSubstr("\"maintenance\" must be a text, but is read as a boolean; put it in quotes"));
  EXPECT_EQ(refused("trigger", "alterHypervisor", "{maintenance: 'true'}"), "");
}

TEST_F(HypervisorPluginsTest, WhatAVariableSaysIsReadAsAValue) {
  environment = {{"YES", "true"}, {"WORD", "auto"}};
  EXPECT_EQ(refused("check", "checkHypervisor", "{evicted: '${YES}'}"), "");
  EXPECT_EQ(refused("trigger", "alterHypervisor", "{maintenance: '${WORD}'}"), "");
  EXPECT_THAT(refused("trigger", "alterHypervisor", "{maintenance: '${YES}'}"),
              HasSubstr("\"maintenance\" must be a text, but is read as a boolean\n"));
  EXPECT_THAT(refused("check", "checkHypervisor", "{evicted: '${WORD}'}"),
              HasSubstr("\"evicted\" must be true or false, but is read as a text\n"));
}

TEST_F(HypervisorPluginsTest, AnOddKindOfMaintenanceIsWarnedOf) {
  EXPECT_THAT(warnings("trigger", "alterHypervisor", "{maintenance: 'true'}"), HasSubstr("is none of manual"));
  for (const char* kind : {"''", "manual", "auto", "ha", "termination"}) {
    EXPECT_EQ(warnings("trigger", "alterHypervisor", fmt::format("{{maintenance: {}}}", kind)), "") << kind;
  }
}

TEST_F(HypervisorPluginsTest, Conditions) {
  put("a", "{}", R"({"conditions":[{"type":"Ready","status":"True"},{"type":"Ready","status":"False"},
                                   {"type":"Onboarding"}]})");
  const CheckResult ready = ask("hypervisorCondition", "{type: Ready, status: 'True'}");
  EXPECT_TRUE(ready.passed);
  EXPECT_EQ(info_text(ready, "current"), "True");
  EXPECT_EQ(info_text(ready, "expected"), "True");
  const CheckResult not_ready = ask("hypervisorCondition", "{type: Ready, status: 'False'}");
  EXPECT_FALSE(not_ready.passed);
  EXPECT_EQ(not_ready.reason, "condition Ready of the hypervisor is True, not False");
  EXPECT_FALSE(ask("hypervisorCondition", "{type: Ready, status: 'true'}").passed);
  EXPECT_FALSE(ask("hypervisorCondition", "{type: Onboarding, status: 'True'}").passed);
}

TEST_F(HypervisorPluginsTest, AConditionThatIsMissingIsFalseWithTheReason) {
  for (const char* status : {"{}", R"({"conditions":[]})", R"({"conditions":null})"}) {
    put("a", "{}", status);
    const CheckResult result = ask("hypervisorCondition", "{type: Evicting, status: 'False'}");
    EXPECT_FALSE(result.passed);
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(info_text(result, "reason"), "condition Evicting not present");
  }
  EXPECT_THAT(refused("check", "hypervisorCondition", "{type: Ready}"), HasSubstr("\"status\" is required"));
  EXPECT_THAT(refused("check", "hypervisorCondition", "{status: 'True'}"), HasSubstr("\"type\" is required"));
}

TEST_F(HypervisorPluginsTest, OnlyFieldsThatDifferAreAltered) {
  put("a", R"({"maintenance":"auto","reboot":false,"version":"1"})", "{}");
  EXPECT_EQ(alter("{maintenance: auto, reboot: true, version: '1', skipTests: false}"), R"({"reboot":true})");
  wanted.clear();
  EXPECT_EQ(alter("{maintenance: '', skipTests: true}"), R"({"maintenance":"","skipTests":true})");
}

TEST_F(HypervisorPluginsTest, TheLastTriggerOfAChainCounts) {
  put("a", R"({"maintenance":"auto"})", "{}");
  EXPECT_EQ(alter("{maintenance: manual, reboot: true}"), R"({"maintenance":"manual","reboot":true})");
  EXPECT_EQ(alter("{maintenance: ha}"), R"({"maintenance":"ha","reboot":true})");
  EXPECT_EQ(alter("{maintenance: auto}"), R"({"reboot":true})");
}

}  // namespace
}  // namespace careen::profiles
