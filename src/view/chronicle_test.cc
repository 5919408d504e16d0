#include "view/chronicle.h"

#include "kube/events.h"
#include "view/test_cluster.h"

namespace careen::view {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ChronicleTest : public ViewTest {
 protected:
  std::vector<std::string> texts() {
    std::vector<std::string> all;
    for (const Entry* entry : chronicle->timeline().latest(1000)) {
      all.push_back(std::string(name_of(entry->kind)) + " " + entry->text);
    }
    return all;
  }
};

TEST_F(ChronicleTest, TellsOfLeadershipConfigurationAndTransitions) {
  add_four();
  start();
  lead();
  run(io::seconds{5});
  EXPECT_THAT(texts(), AllOf(Contains("careen The configuration was loaded"), Contains(HasSubstr("became leader")),
                             Contains("transition a1: operational → maintenance-required (p)"),
                             Contains("transition a1: maintenance-required → in-maintenance (p)")));
  const auto of_node = chronicle->timeline().of_node("a1");
  ASSERT_EQ(of_node.size(), 2u);
  EXPECT_EQ(of_node[1]->from, "maintenance-required");
  EXPECT_EQ(of_node[1]->to, "in-maintenance");
  EXPECT_EQ(of_node[1]->profile, "p");
  careen->set_config("nonsense: [");
  run(io::minutes{1});
  EXPECT_THAT(texts(), Contains(AllOf(HasSubstr("error "), HasSubstr("config"))));
}

// A leader that comes later finds what its predecessor recorded in the cluster's events.
TEST_F(ChronicleTest, ThePastComesFromTheEvents) {
  add_four();
  start();
  lead();
  run(io::seconds{30});
  chronicle.reset();
  careen.reset();
  run(io::minutes{1});
  start({.name = "careen-1", .seed = 2});
  lead();
  run(io::seconds{5});
  EXPECT_THAT(texts(), AllOf(Contains("transition a1 is now maintenance-required (p)"),
                             Contains("transition a1 is now in-maintenance (p)")));
}

TEST_F(ChronicleTest, WithoutTheRightToListEventsItBeginsNow) {
  cluster.network.treat = [](const sim::Sending& sending) {
    sim::Treatment treatment;
    const bool list = sending.request.method == "GET" && sending.request.path.find("/events") != std::string::npos;
    if (list) treatment.refuse = kube::Response{403, R"({"kind":"Status","code":403,"reason":"Forbidden"})", {}};
    return treatment;
  };
  add_four();
  start();
  lead();
  run(io::seconds{5});
  EXPECT_THAT(texts(), Contains(HasSubstr("in-maintenance (p)")));
  EXPECT_THAT(replica().problems().open(), IsEmpty());
}

TEST_F(ChronicleTest, AReplicaMayOutliveIt) {
  add_four();
  start();
  chronicle.reset();
  lead();
  run(io::seconds{5});
  EXPECT_TRUE(replica().running());
}

TEST(EntryTest, OfAnEvent) {
  kube::EventRecord event;
  event.regarding.kind = "Node";
  event.regarding.name = "n";
  event.reason = "ChangeMaintenanceStateFailed";
  event.note = "At least one check plugin failed for profile p: Will stay in operational state";
  auto entry = entry_of(event, {});
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->kind, Entry::Kind::error);
  EXPECT_EQ(entry->node, "n");
  EXPECT_THAT(entry->text, AllOf(HasSubstr("n: "), HasSubstr(event.note)));

  event.reason = "ChangedMaintenanceState";
  event.note = "somebody else's words";
  EXPECT_FALSE(entry_of(event, {}));
  event.reason = "Unheard";
  EXPECT_FALSE(entry_of(event, {}));
}

}  // namespace
}  // namespace careen::view
