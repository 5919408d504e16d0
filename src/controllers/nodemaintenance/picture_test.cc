#include "controllers/nodemaintenance/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "drain/holds.h"
#include "kube/cache.h"
#include "kube/decode.h"
#include "kube/events.h"
#include "kube/json.h"
#include "kube/node.h"
#include "kube/objects.h"

namespace careen::nodemaintenance {
namespace {

using controllers::Entry;

TEST(ToldTest, AnEventTellsOfTheNodeAlsoWhenTheObjectIsGone) {
  Told told;
  kube::EventRecord event;
  event.regarding.kind = "NodeMaintenance";
  event.regarding.name = "m";
  event.reason = "BeginMaintenance";
  const auto entry = told.entry_of(event, {}, [](const std::string&) { return std::optional<std::string>("n"); });
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->kind, Entry::Kind::maintenance);
  EXPECT_EQ(entry->text, "NodeMaintenance m of n begins");
  EXPECT_EQ(entry->node, "n");

  const auto gone = [](const std::string&) { return std::optional<std::string>(); };
  event.reason = "RemovedMaintenance";
  EXPECT_EQ(told.entry_of(event, {}, gone)->text, "NodeMaintenance m of n is over");
  EXPECT_EQ(told.entry_of(event, {}, gone)->text, "NodeMaintenance m is over") << "it is remembered for ever";
}

TEST(ToldTest, OtherEventsAreNotItsOwn) {
  Told told;
  const auto known = [](const std::string&) { return std::optional<std::string>("n"); };
  kube::EventRecord event;
  event.regarding.kind = "Node";
  event.regarding.name = "m";
  event.reason = "BeginMaintenance";
  EXPECT_FALSE(told.entry_of(event, {}, known));
  event.regarding.kind = "NodeMaintenance";
  event.reason = "Unheard";
  EXPECT_FALSE(told.entry_of(event, {}, known));
}

class ClaimsTest : public testing::Test {
 protected:
  using Stage = budget::Claim::Stage;
  void maintain(const std::string& name, const std::string& node, const std::string& phase) {
    kube::Json object = kube::Json::object({{"apiVersion", "nodemaintenance.medik8s.io/v1beta1"}});
    object.set({"kind"}, "NodeMaintenance").set({"metadata", "name"}, name).set({"metadata", "uid"}, "uid-" + name);
    object.set({"metadata", "resourceVersion"}, std::to_string(++version_));
    object.set({"metadata", "creationTimestamp"}, "2026-03-01T09:00:00Z").set({"spec", "nodeName"}, node);
    if (!phase.empty()) object.set({"status", "phase"}, phase);
    maintenances_.put(*kube::decode_object(object.dump()));
  }
  void put(const std::string& name, const std::string& holds = {}) {
    kube::Json node = kube::Json::object({{"kind", "Node"}, {"apiVersion", "v1"}});
    node.set({"metadata", "name"}, name).set({"metadata", "uid"}, "uid-" + name);
    node.set({"metadata", "resourceVersion"}, std::to_string(++version_));
    if (!holds.empty()) node.set({"metadata", "annotations", drain::kHoldsAnnotation}, holds);
    nodes_.put(*kube::decode_node(node.dump(), atoms_));
  }
  std::vector<budget::Claim> claims() const { return picture_of(maintenances_, nodes_)->claims(); }
  static budget::Claim claim(std::string name, std::string node, std::string_view since, Stage stage) {
    std::string uid = "uid-" + node;
    return {"nodemaintenance/" + name, std::move(node), std::move(uid), io::parse_rfc3339(since), stage, {}};
  }

 private:
  kube::AtomPool atoms_;
  kube::Store<kube::Node> nodes_;
  kube::Store<kube::Object> maintenances_;
  uint64_t version_ = 10;
};

TEST_F(ClaimsTest, ANodeIsClaimedFromTheHoldOnAndIsOutWhenItIsDrained) {
  put("n");
  maintain("m", "n", "");
  EXPECT_THAT(claims(), testing::IsEmpty());
  put("n", R"({"holds":{"nodemaintenance/m":{"id":"uid-m","since":"2026-03-01T10:00:00Z","cordon":true}}})");
  maintain("m", "n", "Running");
  EXPECT_THAT(claims(), testing::ElementsAre(claim("m", "n", "2026-03-01T10:00:00Z", Stage::begun)));
  maintain("m", "n", "Succeeded");
  EXPECT_THAT(claims(), testing::ElementsAre(claim("m", "n", "2026-03-01T10:00:00Z", Stage::out)));
}

// Its predecessor began it, or a kubelet has removed the hold.
TEST_F(ClaimsTest, WithoutAHoldItsPhaseTells) {
  put("n");
  maintain("m", "n", "Running");
  EXPECT_THAT(claims(), testing::ElementsAre(claim("m", "n", "2026-03-01T09:00:00Z", Stage::begun)));
  maintain("m", "n", "Failed");
  EXPECT_THAT(claims(), testing::IsEmpty());
}

TEST_F(ClaimsTest, AForgedHoldClaimsNothing) {
  put("n", R"({"holds":{"nodemaintenance/m":{"id":"another","cordon":true},"nodemaintenance/gone":{"cordon":true}}})");
  maintain("m", "n", "");
  EXPECT_THAT(claims(), testing::IsEmpty());
}

TEST_F(ClaimsTest, ANodeThatIsGoneHasNoUid) {
  maintain("m", "gone", "Running");
  ASSERT_EQ(claims().size(), 1u);
  EXPECT_EQ(claims().front().uid, "");
}

}  // namespace
}  // namespace careen::nodemaintenance
