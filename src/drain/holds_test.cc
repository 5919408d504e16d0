#include "drain/holds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "io/random.h"
#include "kube/decode.h"
#include "kube/json.h"

namespace careen::drain {
namespace {

using kube::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const io::Wall kMorning = *io::parse_rfc3339("2026-03-01T10:00:00Z");
const io::Wall kNoon = *io::parse_rfc3339("2026-03-01T12:00:00Z");
const BareTaint kDrain{"medik8s.io/drain", "NoSchedule"};
const BareTaint kUnschedulable{"node.kubernetes.io/unschedulable", "NoSchedule"};
const std::string kExclude = "remediation.medik8s.io/exclude-from-remediation";

// As a JSON merge patch changes an object.
void merge(Json& into, kube::JsonView patch) {
  patch.for_each_member([&](std::string_view key, kube::JsonView value) {
    if (value.is_null()) {
      into.remove({key});
    } else if (value.is_object()) {
      Json member(into[key]);
      if (!member.view().is_object()) member = Json::object();
      merge(member, value);
      into.set({key}, std::move(member));
    } else {
      into.set({key}, Json(value));
    }
  });
}

// A node that changes as the API server would change it.
class HoldsTest : public testing::Test {
 protected:
  kube::Node node() {
    auto decoded = kube::decode_node(object.dump(), atoms);
    EXPECT_TRUE(decoded);
    return std::move(*decoded);
  }
  // False when there was nothing to change.
  bool apply(const NodeChange& change) {
    if (change.empty()) return false;
    merge(object, Json::parse(change.merge_patch(7))->view());
    object.set({"metadata", "resourceVersion"}, "7");
    return true;
  }
  bool take(const std::string& owner, Items items, Found found = Found::foreign, io::Wall since = kMorning,
            bool begun = false) {
    return apply(hold(node(), owner, {"id-" + owner, since, std::move(items), begun}, atoms, found));
  }
  bool let_go(const std::string& owner) { return apply(release(node(), owner, atoms)); }
  bool make_schedulable(std::string_view prefix) { return apply(uncordon(node(), prefix, atoms)); }

  bool cordoned() { return node().unschedulable; }
  std::vector<std::string> taints() {
    std::vector<std::string> texts;
    for (const kube::Taint& taint : node().taints) {
      std::string text(taint.key.view());
      if (!taint.value.empty()) text.append("=").append(taint.value.view());
      texts.push_back(text.append(":").append(taint.effect.view()));
    }
    return texts;
  }
  std::string label(std::string_view key) {
    return std::string(object["metadata"]["labels"][key].text().value_or("(none)"));
  }
  std::string annotation() {
    return std::string(object["metadata"]["annotations"][kHoldsAnnotation].text().value_or("(none)"));
  }
  void set_label(std::string_view key, Json value) { object.set({"metadata", "labels", key}, std::move(value)); }
  void add_taint(std::string_view key, std::string_view effect, std::string_view value = "",
                 std::string_view time = "") {
    Json taint = Json::object({{"key", key}, {"effect", effect}});
    if (!value.empty()) taint.set({"value"}, value);
    if (!time.empty()) taint.set({"timeAdded"}, time);
    Json list(object["spec"]["taints"]);
    object.set({"spec", "taints"}, std::move(list.push_back(std::move(taint))));
  }

  const std::string a = "nodemaintenance/a", b = "nodemaintenance/b";
  kube::AtomPool atoms;
  Json object = Json::object({{"kind", "Node"},
                              {"metadata", Json::object({{"name", "n1"}, {"uid", "u1"}, {"resourceVersion", "5"}})},
                              {"spec", Json::object({{"podCIDR", "10.0.0.0/24"}})}});
};

// Nobody knows in what state the node is: it stays as it is, and whoever holds it next gives it back so.
TEST_F(HoldsTest, WhatIsAbandonedStaysAsIfItHadBeenThereBefore) {
  take("request/a", {.cordon = true});
  take("profile/p", {.cordon = true});
  apply(abandon(node(), "request/a", atoms));
  EXPECT_TRUE(node().unschedulable);
  EXPECT_EQ(holds_of(node()).by_owner.count("request/a"), 0u);
  apply(release(node(), "profile/p", atoms));
  EXPECT_TRUE(node().unschedulable);
  EXPECT_FALSE(node().annotation(kHoldsAnnotation));
  EXPECT_TRUE(abandon(node(), "request/a", atoms).empty());
}

TEST_F(HoldsTest, TheAnnotationIsCompactAndReadsAsItWasWritten) {
  take("nodemaintenance/a", {true, {kUnschedulable, kDrain}, {{kExclude, "true"}}});
  take("profile/p", {.cordon = true}, Found::foreign, kNoon, true);
  EXPECT_EQ(annotation(),
            R"({"holds":{)"
            R"("nodemaintenance/a":{"id":"id-nodemaintenance/a","since":"2026-03-01T10:00:00Z","cordon":true,)"
            R"("taints":["node.kubernetes.io/unschedulable:NoSchedule","medik8s.io/drain:NoSchedule"],)"
            R"("labels":{"remediation.medik8s.io/exclude-from-remediation":"true"}},)"
            R"("profile/p":{"id":"id-profile/p","since":"2026-03-01T12:00:00Z","cordon":true,"begun":true}}})");
  const auto holds = Holds::parse(annotation());
  ASSERT_TRUE(holds);
  EXPECT_EQ(holds->text(), annotation());
  const Hold& p = holds->by_owner.at("profile/p");
  EXPECT_EQ(p, (Hold{"id-profile/p", kNoon, {.cordon = true}, true}));
  EXPECT_EQ(holds->by_owner.at("nodemaintenance/a").items,
            (Items{true, {kUnschedulable, kDrain}, {{kExclude, "true"}}}));
}

TEST_F(HoldsTest, WhatWasThereBeforeIsInTheAnnotation) {
  object.set({"spec", "unschedulable"}, true);
  add_taint("medik8s.io/drain", "NoSchedule");
  set_label(kExclude, "old");
  take(a, {true, {kDrain}, {{kExclude, "true"}}});
  EXPECT_THAT(annotation(), HasSubstr(R"("before":{"cordon":true,"taints":["medik8s.io/drain:NoSchedule"],)"
                                      R"("labels":{"remediation.medik8s.io/exclude-from-remediation":"old"}})"));
  EXPECT_EQ(label(kExclude), "true");
  let_go(a);
  EXPECT_TRUE(cordoned());
  EXPECT_THAT(taints(), ElementsAre("medik8s.io/drain:NoSchedule"));
  EXPECT_EQ(label(kExclude), "old");
  EXPECT_EQ(annotation(), "(none)");
}

TEST_F(HoldsTest, ReadsWhatItUnderstands) {
  const auto holds = Holds::parse(
      R"({"more":1,"holds":{"profile/p":{"cordon":"yes","taints":["bare",7],"labels":{"x":1},"since":"x"},
          "nodemaintenance/a":{"taints":[7,"medik8s.io/drain:NoSchedule","medik8s.io/drain:NoSchedule"]},
          "profile/q":7},"before":[]})");
  ASSERT_TRUE(holds);
  EXPECT_EQ(holds->by_owner.size(), 2u);
  EXPECT_EQ(holds->by_owner.at("profile/p"), Hold{});
  EXPECT_EQ(holds->by_owner.at(a), (Hold{"", {}, {false, {kDrain}, {}}, false}));
  EXPECT_EQ(holds->before, Items{});
  EXPECT_FALSE(Holds::parse(""));
  EXPECT_FALSE(Holds::parse("[]"));
  EXPECT_FALSE(Holds::parse(R"({"holds":[]})"));
}

// A kubelet may write this annotation, but neither taints nor protected labels.
TEST_F(HoldsTest, AForgedRecordReachesNothingThatCareenDoesNotPutThere) {
  for (const std::string owner : {"nodemaintenance/gone", "profile/gone", "terminal/gone", "gone/gone", "gone", ""}) {
    const Json foreign = object;
    add_taint("node-role.kubernetes.io/control-plane", "NoSchedule");
    add_taint("node.kubernetes.io/out-of-service", "NoExecute");
    set_label("node-restriction.kubernetes.io/tenant", "a");
    set_label("rack", "r1");
    Json claim =
        Json::object({{"cordon", true},
                      {"taints", Json::array({"node-role.kubernetes.io/control-plane:NoSchedule",
                                              "node.kubernetes.io/out-of-service:NoExecute"})},
                      {"labels", Json::object({{"node-restriction.kubernetes.io/tenant", "a"}, {"rack", "r1"}})}});
    Json before = Json::object(
        {{"taints", Json::array({"gpu:NoSchedule"})},
         {"labels", Json::object({{"node-restriction.kubernetes.io/tenant", "b"}, {"kubernetes.io/os", "none"}})}});
    Json record = Json::object({{"holds", Json::object()}, {"before", std::move(before)}});
    record.set({"holds", owner}, std::move(claim));
    object.set({"metadata", "annotations", kHoldsAnnotation}, record.dump());
    const auto left = taints();
    take(a, {true, {kDrain}, {{kExclude, "true"}}});
    let_go(a);
    let_go(owner);
    make_schedulable("");
    EXPECT_EQ(taints(), left) << owner;
    EXPECT_EQ(label("node-restriction.kubernetes.io/tenant"), "a") << owner;
    EXPECT_EQ(label("rack"), "r1") << owner;
    EXPECT_EQ(label("kubernetes.io/os"), "(none)") << owner;
    object = foreign;
  }
}

TEST_F(HoldsTest, OwnersHoldWhatTheirKindHoldsAndNothingElse) {
  const Items everything{true, {kUnschedulable, kDrain, {"gpu", "NoSchedule"}}, {{kExclude, "true"}, {"rack", "r1"}}};
  take("profile/p", everything);
  take("terminal/me", everything);
  take("request/mr-x7k2p", everything);
  EXPECT_THAT(taints(), IsEmpty());
  EXPECT_EQ(holds_of(node()).by_owner.at("profile/p").items, Items{.cordon = true});
  EXPECT_EQ(holds_of(node()).by_owner.at("terminal/me").items, Items{.cordon = true});
  EXPECT_EQ(holds_of(node()).by_owner.at("request/mr-x7k2p").items, Items{.cordon = true});
  take(a, everything);
  EXPECT_EQ(holds_of(node()).by_owner.at(a).items, may_hold(a));
  EXPECT_EQ(label("rack"), "(none)");
  EXPECT_FALSE(take("somebody", everything));
}

// A label that careen could not write back would keep it from ever releasing the node.
TEST_F(HoldsTest, AForgedValueThatTheServerRefusesIsNotRestored) {
  Json record = Json::object({{"holds", Json::object()}});
  record.set({"holds", a, "labels", kExclude}, "true");
  record.set({"before", "labels", kExclude}, "no value!");
  object.set({"metadata", "annotations", kHoldsAnnotation}, record.dump());
  set_label(kExclude, "true");
  let_go(a);
  EXPECT_EQ(label(kExclude), "(none)");
}

TEST_F(HoldsTest, OwnersOfAnotherVersionStayAsTheyAreAndHoldNothing) {
  object.set({"spec", "unschedulable"}, true);
  object.set({"metadata", "annotations", kHoldsAnnotation},
             R"({"holds":{"reboot/x":{"cordon":true,"drift":[1,{"a":null}]}}})");
  EXPECT_TRUE(holds_of(node()).empty());
  take(a, {true, {kDrain}, {}});
  EXPECT_THAT(annotation(), HasSubstr(R"("reboot/x":{"cordon":true,"drift":[1,{"a":null}]})"));
  let_go(a);
  EXPECT_EQ(annotation(), R"({"holds":{"reboot/x":{"cordon":true,"drift":[1,{"a":null}]}}})");
  EXPECT_TRUE(cordoned()) << "as it was before";
  EXPECT_TRUE(make_schedulable("profile/"));
  EXPECT_FALSE(cordoned());
  EXPECT_THAT(annotation(), HasSubstr("reboot/x"));
}

TEST_F(HoldsTest, ARecordIsBoundedInEveryDirection) {
  const auto with = [](const std::string& owner, Json hold) {
    Json record = Json::object({{"holds", Json::object()}});
    record.set({"holds", owner}, std::move(hold));
    return Holds::parse(record.dump());
  };
  EXPECT_TRUE(with("profile/" + std::string(Holds::kLongestOwner, 'x'), Json::object())->by_owner.empty());
  EXPECT_TRUE(with("profile/\x1b[2J", Json::object())->by_owner.empty());
  EXPECT_EQ(
      with("profile/p", Json::object({{"id", std::string(Holds::kLongestId + 1, 'x')}}))->by_owner.begin()->second.id,
      "");
  EXPECT_TRUE(with("x/y", Json::object({{"z", std::string(Holds::kLongestUnknown, 'x')}}))->unknown.empty());
  EXPECT_FALSE(with("x/y", Json::object({{"z", std::string(Holds::kMostBytes, 'x')}})));
}

// Who fills the record up keeps nobody from holding the node.
TEST_F(HoldsTest, AFullRecordBeginsAnew) {
  for (const char* kind : {"terminal/", "unknown/"}) {
    Json record = Json::object();
    for (size_t i = 0; i < Holds::kMostOwners; ++i) {
      record.set({"holds", kind + std::to_string(i)}, Json::object({{"cordon", true}}));
    }
    object.set({"metadata", "annotations", kHoldsAnnotation}, record.dump());
    EXPECT_TRUE(take(a, {true, {kDrain}, {}}));
    EXPECT_EQ(holds_of(node()).owners(), 1u);
    EXPECT_FALSE(take(a, {true, {kDrain}, {}}));
    record.set({"holds", "terminal/one-more"}, Json::object({{"cordon", true}}));
    EXPECT_FALSE(Holds::parse(record.dump()));
  }
}

TEST_F(HoldsTest, AnUnreadableAnnotationIsToldAndOverwritten) {
  object.set({"metadata", "annotations", kHoldsAnnotation}, "{garbled");
  std::string unreadable;
  EXPECT_TRUE(holds_of(node(), &unreadable).empty());
  EXPECT_NE(unreadable, "");
  EXPECT_FALSE(let_go(a));
  EXPECT_TRUE(take(a, {.cordon = true}));
  EXPECT_EQ(holds_of(node(), &unreadable).by_owner.size(), 1u);
  EXPECT_EQ(unreadable, "");
  let_go(a);
  EXPECT_FALSE(cordoned());
}

TEST_F(HoldsTest, OneWriteCarriesEverythingAndItsPrecondition) {
  const NodeChange change =
      hold(node(), a, {"", kMorning, {true, {kDrain}, {{kExclude, "true"}}}, false}, atoms, Found::foreign);
  EXPECT_EQ(
      change.merge_patch(5),
      R"({"metadata":{"resourceVersion":"5","labels":{"remediation.medik8s.io/exclude-from-remediation":"true"},"annotations":{"careen.dev/holds":)"
      R"("{\"holds\":{\"nodemaintenance/a\":{\"since\":\"2026-03-01T10:00:00Z\",\"cordon\":true,)"
      R"(\"taints\":[\"medik8s.io/drain:NoSchedule\"],)"
      R"(\"labels\":{\"remediation.medik8s.io/exclude-from-remediation\":\"true\"}}}}"}},)"
      R"("spec":{"unschedulable":true,"taints":[{"key":"medik8s.io/drain","effect":"NoSchedule"}]}})");
  apply(change);
  EXPECT_EQ(
      release(node(), a, atoms).merge_patch(9),
      R"({"metadata":{"resourceVersion":"9","labels":{"remediation.medik8s.io/exclude-from-remediation":null},"annotations":{"careen.dev/holds":null}},)"
      R"("spec":{"unschedulable":null,"taints":null}})");
}

TEST_F(HoldsTest, NothingToDoIsAnEmptyChange) {
  EXPECT_FALSE(let_go(a));
  EXPECT_FALSE(make_schedulable("profile/"));
  EXPECT_TRUE(take(a, {true, {kDrain}, {{kExclude, "true"}}}));
  EXPECT_FALSE(take(a, {true, {kDrain}, {{kExclude, "true"}}}, Found::foreign, kNoon)) << "held all along";
  EXPECT_FALSE(take(a, {true, {kDrain, kDrain}, {{kExclude, "true"}}}));
  EXPECT_EQ(holds_of(node()).by_owner.at(a).since, kMorning);
}

TEST_F(HoldsTest, AnotherMaintenanceOfTheSameOwnerBeginsAnew) {
  take(a, {.cordon = true});
  apply(hold(node(), a, {"another", kNoon, {.cordon = true}, false}, atoms));
  EXPECT_EQ(holds_of(node()).by_owner.at(a), (Hold{"another", kNoon, {.cordon = true}, false}));
  let_go(a);
  EXPECT_FALSE(cordoned());
}

TEST_F(HoldsTest, WhatHasBegunBecomesAPlainHold) {
  take(a, {.cordon = true}, Found::foreign, kMorning, true);
  EXPECT_TRUE(take(a, {.cordon = true}, Found::foreign, kNoon, false));
  EXPECT_EQ(holds_of(node()).by_owner.at(a), (Hold{"id-nodemaintenance/a", kMorning, {.cordon = true}, false}));
}

TEST_F(HoldsTest, TheLastHolderUndoes) {
  take(a, {.cordon = true});
  take(b, {true, {kDrain}, {}});
  let_go(a);
  EXPECT_TRUE(cordoned());
  EXPECT_THAT(taints(), ElementsAre("medik8s.io/drain:NoSchedule"));
  let_go(b);
  EXPECT_FALSE(cordoned());
  EXPECT_THAT(taints(), IsEmpty());
  EXPECT_EQ(annotation(), "(none)");
}

TEST_F(HoldsTest, ThingsAreCountedOneByOne) {
  object.set({"spec", "unschedulable"}, true);
  take(a, {false, {kDrain}, {}});
  object.remove({"spec", "unschedulable"});
  take(b, {.cordon = true});
  let_go(b);
  EXPECT_FALSE(cordoned()) << "was schedulable when the cordon was first held";
  EXPECT_THAT(taints(), ElementsAre("medik8s.io/drain:NoSchedule"));
}

TEST_F(HoldsTest, WhatAnOwnerNoLongerWantsIsUndone) {
  take(a, {true, {kUnschedulable, kDrain}, {{kExclude, "true"}}});
  take(a, {false, {kDrain}, {}});
  EXPECT_FALSE(cordoned());
  EXPECT_THAT(taints(), ElementsAre("medik8s.io/drain:NoSchedule"));
  EXPECT_EQ(label(kExclude), "(none)");
}

TEST_F(HoldsTest, ThePredecessorsWorkIsNotWhatWasThereBefore) {
  object.set({"spec", "unschedulable"}, true);
  add_taint("node.kubernetes.io/unschedulable", "NoSchedule");
  add_taint("medik8s.io/drain", "NoSchedule");
  add_taint("foreign", "NoSchedule");
  set_label(kExclude, "true");
  take(a, {true, {kUnschedulable, kDrain}, {{kExclude, "true"}}}, Found::own);
  EXPECT_EQ(holds_of(node()).before, Items{});
  let_go(a);
  EXPECT_FALSE(cordoned());
  EXPECT_THAT(taints(), ElementsAre("foreign:NoSchedule"));
  EXPECT_EQ(label(kExclude), "(none)");
}

TEST_F(HoldsTest, TaintsGoInFrontInTheirOrder) {
  add_taint("foreign", "NoExecute", "v", "2026-01-01T00:00:00Z");
  add_taint("medik8s.io/drain", "NoExecute");
  take(a, {false, {kUnschedulable, kDrain}, {}});
  EXPECT_THAT(taints(), ElementsAre("node.kubernetes.io/unschedulable:NoSchedule", "medik8s.io/drain:NoSchedule",
                                    "foreign=v:NoExecute", "medik8s.io/drain:NoExecute"));
  EXPECT_EQ(node().taints[2].time_added.view(), "2026-01-01T00:00:00Z");
  EXPECT_TRUE(node().taints[0].time_added.empty());
  let_go(a);
  EXPECT_THAT(taints(), ElementsAre("foreign=v:NoExecute", "medik8s.io/drain:NoExecute"));
  EXPECT_EQ(node().taints[0].time_added.view(), "2026-01-01T00:00:00Z");
}

TEST_F(HoldsTest, ATaintThatIsThereAlreadyKeepsItsValueAndTimeAndStays) {
  add_taint("foreign", "NoSchedule");
  add_taint("node.kubernetes.io/unschedulable", "NoSchedule", "", "2026-01-01T00:00:00Z");
  take(a, {false, {kUnschedulable, kDrain}, {}});
  EXPECT_THAT(taints(), ElementsAre("node.kubernetes.io/unschedulable:NoSchedule", "medik8s.io/drain:NoSchedule",
                                    "foreign:NoSchedule"));
  EXPECT_EQ(node().taints[0].time_added.view(), "2026-01-01T00:00:00Z");
  let_go(a);
  EXPECT_THAT(taints(), ElementsAre("node.kubernetes.io/unschedulable:NoSchedule", "foreign:NoSchedule"));
}

// A taint with a value of its own is somebody else's mark: maintenance needs the bare one, and gives it back.
TEST_F(HoldsTest, ATaintWithAValueIsReplacedByTheBareOneAndComesBack) {
  add_taint("foreign", "NoSchedule");
  add_taint("medik8s.io/drain", "NoSchedule", "storage", "2026-01-01T00:00:00Z");
  add_taint("node.kubernetes.io/unschedulable", "NoSchedule", "by-hand");
  take(a, {true, {kUnschedulable, kDrain}, {}});
  EXPECT_THAT(taints(), ElementsAre("node.kubernetes.io/unschedulable:NoSchedule", "medik8s.io/drain:NoSchedule",
                                    "foreign:NoSchedule"));
  EXPECT_TRUE(node().taints[1].time_added.empty());
  EXPECT_THAT(annotation(), HasSubstr(R"("taints":["node.kubernetes.io/unschedulable=by-hand:NoSchedule",)"
                                      R"("medik8s.io/drain=storage:NoSchedule"])"));
  EXPECT_FALSE(take(a, {true, {kUnschedulable, kDrain}, {}})) << "all is as it shall be";
  take(b, {true, {kUnschedulable, kDrain}, {}});
  let_go(a);
  EXPECT_THAT(taints(), testing::Contains("medik8s.io/drain:NoSchedule")) << "another one still holds it";
  let_go(b);
  EXPECT_THAT(taints(), ElementsAre("node.kubernetes.io/unschedulable=by-hand:NoSchedule",
                                    "medik8s.io/drain=storage:NoSchedule", "foreign:NoSchedule"));
  EXPECT_EQ(annotation(), "(none)");
}

TEST_F(HoldsTest, AValueThatComesWhileTheTaintIsHeldIsForeignTooAlsoForAPredecessor) {
  take(a, {false, {kDrain}, {}});
  object.set({"spec", "taints"}, Json::array());
  add_taint("medik8s.io/drain", "NoSchedule", "late");
  EXPECT_TRUE(take(a, {false, {kDrain}, {}}, Found::own));
  EXPECT_THAT(taints(), ElementsAre("medik8s.io/drain:NoSchedule"));
  let_go(a);
  EXPECT_THAT(taints(), ElementsAre("medik8s.io/drain=late:NoSchedule"));
}

TEST_F(HoldsTest, ATaintThatWasTakenAwayOrRevaluedMeanwhileIsNotGivenBack) {
  add_taint("medik8s.io/drain", "NoSchedule", "storage");
  take(a, {false, {kDrain}, {}});
  object.set({"spec", "taints"}, Json::array());
  take(a, {false, {kDrain}, {}});
  let_go(a);
  EXPECT_THAT(taints(), IsEmpty()) << "whoever took it away does not want it back";

  add_taint("medik8s.io/drain", "NoSchedule", "storage");
  take(a, {false, {kDrain}, {}});
  object.set({"spec", "taints"}, Json::array());
  add_taint("medik8s.io/drain", "NoSchedule", "other");
  let_go(a);
  EXPECT_THAT(taints(), ElementsAre("medik8s.io/drain=other:NoSchedule"));
}

// Values are given back to the two taints that maintenances hold, and only if the API server would take them.
TEST_F(HoldsTest, AForgedValueOfATaintReachesNoOtherTaint) {
  add_taint("node-role.kubernetes.io/control-plane", "NoSchedule");
  add_taint("medik8s.io/drain", "NoSchedule");
  add_taint("node.kubernetes.io/unschedulable", "NoSchedule");
  add_taint("medik8s.io/drain", "NoExecute");
  const auto all = taints();
  Json record = Json::object({{"holds", Json::object()}});
  record.set({"holds", a, "taints"}, Json::array({"medik8s.io/drain:NoSchedule", "medik8s.io/drain:NoExecute",
                                                  "node-role.kubernetes.io/control-plane:NoSchedule"}));
  record.set({"holds", "profile/p", "taints"}, Json::array({"node.kubernetes.io/unschedulable:NoSchedule"}));
  record.set({"before", "taints"},
             Json::array({"node-role.kubernetes.io/control-plane=x:NoSchedule", "medik8s.io/drain=x:NoExecute",
                          "medik8s.io/drain=no value!:NoSchedule", "node.kubernetes.io/unschedulable=x:NoSchedule"}));
  object.set({"metadata", "annotations", kHoldsAnnotation}, record.dump());
  let_go(a);
  let_go("profile/p");
  EXPECT_EQ(taints(), all);
}

TEST_F(HoldsTest, AnEarlierCordonEndsIfThatIsWanted) {
  object.set({"spec", "unschedulable"}, true);
  add_taint("node.kubernetes.io/unschedulable", "NoSchedule");
  add_taint("medik8s.io/drain", "NoSchedule", "storage");
  take(a, {true, {kUnschedulable, kDrain}, {}});
  take("profile/p", {.cordon = true});
  apply(release(node(), a, atoms, EarlierCordon::ends));
  EXPECT_TRUE(cordoned()) << "the profile holds it";
  EXPECT_THAT(taints(), ElementsAre("medik8s.io/drain=storage:NoSchedule")) << "that is no cordon's";
  let_go("profile/p");
  EXPECT_FALSE(cordoned());
}

TEST_F(HoldsTest, WhatSomebodyTookAwayIsPutBackAndUndoneInTheEnd) {
  object.set({"spec", "unschedulable"}, true);
  add_taint("medik8s.io/drain", "NoSchedule");
  set_label(kExclude, "old");
  const Items items{true, {kUnschedulable, kDrain}, {{kExclude, "true"}}};
  take(a, items);
  object.remove({"spec", "unschedulable"});
  object.remove({"spec", "taints"});
  object.remove({"metadata", "labels", kExclude});
  EXPECT_TRUE(take(a, items));
  EXPECT_TRUE(cordoned());
  EXPECT_THAT(taints(), ElementsAre("node.kubernetes.io/unschedulable:NoSchedule", "medik8s.io/drain:NoSchedule"));
  EXPECT_EQ(label(kExclude), "true");
  let_go(a);
  EXPECT_FALSE(cordoned()) << "whoever uncordoned it by hand gets it";
  EXPECT_THAT(taints(), IsEmpty());
  EXPECT_EQ(label(kExclude), "(none)");
}

TEST_F(HoldsTest, WhatSomebodyTookAwayAndNobodyPutBackStaysAway) {
  object.set({"spec", "unschedulable"}, true);
  set_label(kExclude, "old");
  take(a, {true, {kDrain}, {{kExclude, "true"}}});
  object.remove({"spec", "unschedulable"});
  object.remove({"metadata", "labels", kExclude});
  let_go(a);
  EXPECT_FALSE(cordoned());
  EXPECT_EQ(label(kExclude), "(none)");
}

TEST_F(HoldsTest, AChangedValueIsSomebodyElses) {
  take(a, {false, {kDrain}, {{kExclude, "true"}}});
  set_label(kExclude, "mine");
  object.remove({"spec", "taints"});
  add_taint("medik8s.io/drain", "NoSchedule", "mine");
  let_go(a);
  EXPECT_EQ(label(kExclude), "mine");
  EXPECT_THAT(taints(), ElementsAre("medik8s.io/drain=mine:NoSchedule"));
}

TEST_F(HoldsTest, AChangedLabelIsSetAgainAndGivenBack) {
  take(a, {false, {}, {{kExclude, "true"}}});
  set_label(kExclude, "mine");
  EXPECT_TRUE(take(a, {false, {}, {{kExclude, "true"}}}));
  EXPECT_EQ(label(kExclude), "true");
  let_go(a);
  EXPECT_EQ(label(kExclude), "mine");
}

TEST_F(HoldsTest, ALabelThatTwoHoldIsGivenBackByTheLast) {
  set_label(kExclude, "old");
  take(a, {false, {}, {{kExclude, "true"}}});
  take(b, {false, {}, {{kExclude, "true"}}});
  let_go(a);
  EXPECT_EQ(label(kExclude), "true");
  let_go(b);
  EXPECT_EQ(label(kExclude), "old");
}

TEST_F(HoldsTest, UncordonEndsTheCordonsOfItsOwnersOnly) {
  take("profile/p", {.cordon = true});
  take(a, {true, {kDrain}, {}});
  EXPECT_TRUE(make_schedulable("profile/"));
  EXPECT_TRUE(cordoned());
  EXPECT_FALSE(holds_of(node()).by_owner.contains("profile/p"));
  EXPECT_TRUE(make_schedulable(""));
  EXPECT_FALSE(cordoned());
  const Holds holds = holds_of(node());
  EXPECT_EQ(holds.by_owner.size(), 1u);
  EXPECT_EQ(holds.by_owner.at(a).items, (Items{false, {kDrain}, {}}));
}

TEST_F(HoldsTest, UncordonMakesANodeSchedulableThatNobodyHolds) {
  object.set({"spec", "unschedulable"}, true);
  EXPECT_TRUE(make_schedulable("profile/"));
  EXPECT_FALSE(cordoned());
}

TEST_F(HoldsTest, UncordonWaitsForOtherHolders) {
  object.set({"spec", "unschedulable"}, true);
  take("nodemaintenance/m", {.cordon = true});
  take("profile/p", {.cordon = true});
  EXPECT_TRUE(make_schedulable("profile/"));
  EXPECT_TRUE(cordoned());
  EXPECT_FALSE(make_schedulable("profile/"));
  let_go("nodemaintenance/m");
  EXPECT_FALSE(cordoned()) << "although it was cordoned before";
}

// Several owners, and somebody who edits by hand, against a model that keeps for each thing what there would be
// without any holds.
class HoldsModelTest : public HoldsTest {
 protected:
  struct Model {
    std::map<std::string, Items> owners;
    bool cordon = false;
    std::map<BareTaint, std::string> taints;  // with their values
    std::map<std::string, std::string> labels;
  };

  bool anybody(const std::function<bool(const Items&)>& holds) const {
    return std::any_of(model.owners.begin(), model.owners.end(), [&](const auto& one) { return holds(one.second); });
  }
  bool cordon_held() const {
    return anybody([](const Items& items) { return items.cordon; });
  }
  bool taint_held(const BareTaint& taint) const {
    return anybody([&](const Items& items) {
      return std::find(items.taints.begin(), items.taints.end(), taint) != items.taints.end();
    });
  }
  bool label_held(const std::string& key) const {
    return anybody([&](const Items& items) { return items.labels.contains(key); });
  }

  Items some_items(io::Random& random) {
    Items items;
    items.cordon = random.next() % 2 == 0;
    for (const BareTaint& taint : kTaints) {
      if (random.next() % 2 == 0) items.taints.push_back(taint);
    }
    if (random.next() % 2 == 0) items.labels[kExclude] = "true";
    return items;
  }
  void edit_cordon() {
    model.cordon = !cordoned();
    object.set({"spec", "unschedulable"}, model.cordon);
  }
  // Takes it away, or puts it there; with a value it takes the place of a bare one.
  void edit_taint(const BareTaint& taint, uint64_t choice) {
    const std::string value = choice == 0 ? "" : "by-hand-" + std::to_string(choice);
    bool there = false;
    Json left;
    object["spec"]["taints"].for_each_element([&](kube::JsonView one) {
      const bool is_it = one["key"].text() == taint.key;
      there |= is_it;
      if (!is_it) left.push_back(Json(one));
    });
    object.set({"spec", "taints"}, std::move(left));
    model.taints.erase(taint);
    if (there && value.empty()) return;
    add_taint(taint.key, taint.effect, value);
    model.taints[taint] = value;
  }
  void edit_label(const std::string& key, uint64_t choice) {
    if (choice == 0) {
      object.remove({"metadata", "labels", key});
      model.labels.erase(key);
      return;
    }
    const std::string value = "by-hand-" + std::to_string(choice);
    set_label(key, value);
    model.labels[key] = value;
  }
  // As each owner's controller does after every change.
  void everybody_again() {
    for (const auto& [owner, items] : std::map(model.owners)) take(owner, items);
  }
  void check(uint64_t seed, int step) {
    const std::string where = "seed " + std::to_string(seed) + " step " + std::to_string(step) + ": " + object.dump();
    ASSERT_EQ(cordoned(), cordon_held() || model.cordon) << where;
    for (const BareTaint& taint : kTaints) {
      std::vector<std::string> values;
      for (const kube::Taint& one : node().taints) {
        if (one.key.view() == taint.key) values.emplace_back(one.value.view());
      }
      std::vector<std::string> wanted;
      const auto own = model.taints.find(taint);
      if (taint_held(taint)) wanted = {""};
      if (!taint_held(taint) && own != model.taints.end()) wanted = {own->second};
      ASSERT_EQ(values, wanted) << where;
    }
    const auto all = taints();
    ASSERT_EQ(std::count(all.begin(), all.end(), "untouched=v:NoExecute"), 1) << where;
    const auto own = model.labels.find(kExclude);
    ASSERT_EQ(label(kExclude), label_held(kExclude)        ? "true"
                               : own == model.labels.end() ? "(none)"
                                                           : own->second)
        << where;
    ASSERT_EQ(annotation() == "(none)", model.owners.empty()) << where;
    for (const auto& [owner, items] : model.owners) ASSERT_FALSE(take(owner, items)) << where;
  }

  const std::vector<BareTaint> kTaints{kUnschedulable, kDrain};
  Model model;
};

TEST_F(HoldsModelTest, WhatIsForeignIsInTheEndAsPeopleLeftIt) {
  const Json fresh = object;
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    io::Random random(seed);
    object = fresh;
    model = {};
    add_taint("untouched", "NoExecute", "v");
    for (int step = 0; step < 40; ++step) {
      const std::string owner = "nodemaintenance/" + std::to_string(random.next() % 3);
      switch (random.next() % 6) {
        case 0:
        case 1:
          model.owners[owner] = some_items(random);
          take(owner, model.owners[owner]);
          break;
        case 2:
          model.owners.erase(owner);
          let_go(owner);
          break;
        case 3:
          // By hand, a cordon on top of a hold cannot be told from the hold: it leaves no trace.
          if (!cordon_held() || cordoned()) edit_cordon();
          break;
        case 4:
          edit_taint(kTaints[random.next() % 2], random.next() % 3);
          break;
        case 5:
          edit_label(kExclude, random.next() % 3);
          break;
      }
      everybody_again();
      ASSERT_NO_FATAL_FAILURE(check(seed, step));
    }
    for (const auto& [owner, items] : std::map(model.owners)) {
      model.owners.erase(owner);
      let_go(owner);
      ASSERT_NO_FATAL_FAILURE(check(seed, -1));
    }
  }
}

}  // namespace
}  // namespace careen::drain
