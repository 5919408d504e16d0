// MachineDrainRules: how they are read, which Machines and pods they are about, and what a drain makes of them.
#include "drain/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drain/filter.h"
#include "kube/atoms.h"
#include "kube/cache.h"
#include "kube/decode.h"
#include "kube/objects.h"
#include "kube/pod_store.h"

namespace careen::drain {
namespace {

using testing::HasSubstr;

// Labels as the pod store has them.
class Labels {
 public:
  Labels(std::initializer_list<std::pair<std::string, std::string>> labels) {
    for (const auto& [key, value] : labels) text_ += key + '\0' + value + '\0';
  }
  std::string_view text() const { return text_; }

 private:
  std::string text_;
};

kube::LabelSelector::Lookup lookup(const std::string& key, const std::string& value) {
  return [key, value](std::string_view asked) {
    return asked == key ? std::optional<std::string_view>(value) : std::nullopt;
  };
}
kube::LabelSelector::Lookup no_labels() { return lookup("", ""); }

io::Result<Rule> read(const std::string& spec, const std::string& name = "rule") {
  kube::Object object;
  object.ns = "fleet";
  object.name = name;
  object.document = *kube::Json::parse(R"({"spec":)" + spec + "}");
  return read_rule(object);
}

class RulesTest : public testing::Test {
 protected:
  RulesTest() {
    pod.ns = "shop";
    pod.name = "db-0";
    pod.owner_kind = "StatefulSet";
    pod.owner_name = "db";
    pod.phase = kube::PodPhase::running;
    pod.label_set = labels.text();
    rules.namespaces = &namespaces;
    options.force = options.ignore_daemon_sets = options.delete_emptydir_data = true;
  }
  void add(const std::string& spec, const std::string& name = "rule") {
    auto rule = read(spec, name);
    ASSERT_TRUE(rule) << rule.error().message;
    rules.rules.push_back(std::make_shared<const Rule>(std::move(*rule)));
  }
  void add_namespace(const std::string& json) { namespaces.put(*kube::decode_namespace(json, atoms)); }
  Verdict verdict() { return judge(pod, options, DaemonSetState::exists, {}, &rules); }
  Fate fate() { return verdict().fate; }

  const Labels labels{{"app", "db"}};
  kube::AtomPool atoms;
  kube::Store<kube::Namespace> namespaces;
  kube::Pod pod;
  Options options;
  NodeRules rules;
};

TEST_F(RulesTest, WhatIsNotGivenMatchesEverything) {
  const auto rule = read(R"({"drain":{"behavior":"Drain","order":-7}})");
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->name, "MachineDrainRule fleet/rule");
  EXPECT_EQ(rule->behavior, Rule::Behavior::drain);
  EXPECT_EQ(rule->order, -7);
  EXPECT_TRUE(applies(*rule, no_labels(), no_labels()));
  EXPECT_EQ(ruling_for(pod, rules).rule, nullptr);
  add(R"({"drain":{"behavior":"Skip"},"pods":[{"selector":{}}]})");
  EXPECT_EQ(fate(), Fate::leave);
}

TEST_F(RulesTest, AMachineIsChosenByItsLabelsAndThoseOfItsClusterTogether) {
  const auto rule = read(R"({"drain":{"behavior":"Skip"},"machines":[
      {"selector":{"matchLabels":{"os":"linux"}},"clusterSelector":{"matchLabels":{"stage":"prod"}}},
      {"selector":{"matchExpressions":[{"key":"control-plane","operator":"Exists"}]}}]})");
  ASSERT_TRUE(rule);
  EXPECT_TRUE(applies(*rule, lookup("os", "linux"), lookup("stage", "prod")));
  EXPECT_FALSE(applies(*rule, lookup("os", "linux"), lookup("stage", "test")));
  EXPECT_FALSE(applies(*rule, lookup("os", "windows"), lookup("stage", "prod")));
  EXPECT_TRUE(applies(*rule, lookup("control-plane", ""), no_labels()));
}

TEST_F(RulesTest, APodIsChosenByItsLabelsAndThoseOfItsNamespaceTogether) {
  add(R"({"drain":{"behavior":"Skip"},"pods":[
      {"selector":{"matchLabels":{"app":"db"}},"namespaceSelector":{"matchLabels":{"tier":"prod"}}}]})");
  EXPECT_EQ(fate(), Fate::await) << "nothing is evicted as long as the namespace is not known";
  EXPECT_THAT(verdict().message, HasSubstr("its namespace is not known yet"));
  EXPECT_FALSE(verdict().told);
  add_namespace(R"({"metadata":{"name":"shop","uid":"s","resourceVersion":"1","labels":{"tier":"test"}}})");
  EXPECT_EQ(fate(), Fate::take);
  add_namespace(R"({"metadata":{"name":"shop","uid":"s","resourceVersion":"2","labels":{"tier":"prod"}}})");
  EXPECT_EQ(fate(), Fate::leave);
  EXPECT_EQ(verdict().message, "left alone: MachineDrainRule fleet/rule says Skip");
  const Labels other{{"app", "web"}};
  pod.label_set = other.text();
  EXPECT_EQ(fate(), Fate::take);
}

TEST_F(RulesTest, ANamespaceIsLookedAtOnlyIfThePodsLabelsFit) {
  add(R"({"drain":{"behavior":"Skip"},"pods":[
      {"selector":{"matchLabels":{"app":"web"}},"namespaceSelector":{"matchLabels":{"tier":"prod"}}}]})");
  EXPECT_EQ(fate(), Fate::take);
}

TEST_F(RulesTest, TheFirstThatIsAboutThePodCounts) {
  add(R"({"drain":{"behavior":"Skip"},"pods":[{"selector":{"matchLabels":{"app":"web"}}}]})", "a");
  add(R"({"drain":{"behavior":"WaitCompleted"},"pods":[{"selector":{"matchLabels":{"app":"db"}}}]})", "b");
  add(R"({"drain":{"behavior":"Skip"}})", "c");
  EXPECT_EQ(fate(), Fate::await);
  EXPECT_EQ(verdict().message, "left to end by itself: MachineDrainRule fleet/b says WaitCompleted");
  EXPECT_TRUE(verdict().told);
  pod.phase = kube::PodPhase::succeeded;
  EXPECT_EQ(fate(), Fate::take) << "it has ended";
}

TEST_F(RulesTest, TheDrainsOwnOptionsAndThePodsLabelComeFirst) {
  add(R"({"drain":{"behavior":"Skip"}})");
  options.wait_for = {*kube::LabelSelector::parse("app=db")};
  EXPECT_EQ(fate(), Fate::await);
  EXPECT_EQ(verdict().message, "");
  options.wait_for.clear();
  const Labels waits{{"cluster.x-k8s.io/drain", "wait-completed"}};
  pod.label_set = waits.text();
  EXPECT_EQ(fate(), Fate::await);
  EXPECT_THAT(verdict().message, HasSubstr("label"));
  const Labels garbled{{"cluster.x-k8s.io/drain", "please"}};
  pod.label_set = garbled.text();
  EXPECT_EQ(fate(), Fate::leave) << "it says nothing, so the rule does";
}

TEST_F(RulesTest, APodThatARuleLeavesAloneRefusesNothing) {
  options.force = options.delete_emptydir_data = false;
  pod.flags.local_storage = true;
  pod.owner_kind = "";
  add(R"({"drain":{"behavior":"Skip"}})");
  EXPECT_EQ(fate(), Fate::leave);
  rules.rules.clear();
  add(R"({"drain":{"behavior":"Drain","order":5}})");
  EXPECT_EQ(fate(), Fate::refuse);
}

TEST_F(RulesTest, MirrorPodsAndThoseOfDaemonSetsAreNoBusinessOfRules) {
  add(R"({"drain":{"behavior":"WaitCompleted"}})");
  pod.flags.mirror = true;
  EXPECT_EQ(fate(), Fate::leave);
  pod.flags = {};
  pod.flags.daemon_set = true;
  EXPECT_EQ(fate(), Fate::leave);
}

TEST_F(RulesTest, AnOrderIsOfThoseThatAreEvicted) {
  add(R"({"drain":{"behavior":"Drain","order":100}})");
  EXPECT_EQ(fate(), Fate::take);
  EXPECT_EQ(verdict().order, 100);
  EXPECT_EQ(verdict().by, "MachineDrainRule fleet/rule");
  rules.rules.clear();
  add(R"({"drain":{"behavior":"Skip","order":100}})");
  EXPECT_EQ(verdict().order, 0);
}

TEST_F(RulesTest, AnUnknownBehaviorConcernsThePodsThatTheRuleIsAbout) {
  add(R"({"drain":{"behavior":"Freeze"},"pods":[{"selector":{"matchLabels":{"app":"db"}}}]})");
  EXPECT_EQ(fate(), Fate::refuse);
  EXPECT_EQ(verdict().message, "Pods of which MachineDrainRule fleet/rule says \"Freeze\", which careen does not know");
  const Labels other{{"app", "web"}};
  pod.label_set = other.text();
  EXPECT_EQ(fate(), Fate::take);
}

TEST_F(RulesTest, AMistakeRefusesTheDrain) {
  rules.mistake = read(R"({"drain":{"behavior":"Skip"},"pods":[{"selector":{"matchExpressions":[
      {"key":"app","operator":"Near","values":["db"]}]}}]})")
                      .error()
                      .message;
  EXPECT_EQ(rules.mistake,
            "MachineDrainRule fleet/rule: spec.pods[0].selector: \"Near\" is not a valid label selector operator");
  EXPECT_EQ(fate(), Fate::refuse);
  EXPECT_THAT(verdict().message, HasSubstr(rules.mistake));
  pod.flags.mirror = true;
  EXPECT_EQ(fate(), Fate::leave);
}

TEST_F(RulesTest, MistakesAreNamedWithTheirPlace) {
  const auto mistake = [](const std::string& spec) {
    const auto rule = read(spec);
    return rule ? std::string() : rule.error().message;
  };
  EXPECT_THAT(mistake(R"({"drain":{"behavior":"Drain","order":2147483648}})"), HasSubstr("spec.drain.order"));
  EXPECT_THAT(mistake(R"({"drain":{"behavior":"Drain","order":"1"}})"), HasSubstr("spec.drain.order"));
  EXPECT_THAT(mistake(R"({"drain":{"behavior":"Drain"},"machines":{}})"), HasSubstr("spec.machines: must be a list"));
  EXPECT_THAT(mistake(R"({"drain":{"behavior":"Drain"},"machines":[{},{"clusterSelector":[]}]})"),
              HasSubstr("spec.machines[1].clusterSelector"));
  EXPECT_THAT(mistake(R"({"drain":{"behavior":"Drain"},"pods":[{"namespaceSelector":{"matchLabels":{"a b":"c"}}}]})"),
              HasSubstr("spec.pods[0].namespaceSelector"));
  EXPECT_THAT(mistake(R"({"drain":{"behavior":"Drain"},"pods":[{"selector":{"matchLabels":{"a":"b c"}}}]})"),
              HasSubstr("spec.pods[0].selector"));
  EXPECT_EQ(mistake(R"({"drain":{"behavior":"Drain","order":-2147483648},"machines":null,"pods":[]})"), "");
}

}  // namespace
}  // namespace careen::drain
