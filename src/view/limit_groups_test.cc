// MaintenanceLimits in the Fleet document, and what they mean for one node.
#include "view/limit_groups.h"

#include "limits/test_desk.h"

namespace careen::view {
namespace {

using io::minutes;
using io::seconds;
using kube::Json;
using kube::JsonView;
using limits::Rank;
using testing::HasSubstr;

class LimitGroups : public testing::Test, protected limits::DeskWorld {
 protected:
  Json document() {
    std::string out;
    append_limits(out, desk ? &*desk : nullptr, loop->wall_now());
    auto parsed = Json::parse(out);
    EXPECT_TRUE(parsed) << out;
    return parsed ? std::move(*parsed) : Json();
  }
  std::string reasons(const std::string& name) {
    std::string text;
    for (const Why& why : limit_reasons(&*desk, *nodes.find(name), loop->wall_now())) text += to_text(why);
    return text;
  }
};

TEST_F(LimitGroups, WithoutADeskThereIsNothing) {
  EXPECT_EQ(document().dump(), R"({"count":0,"groups":[],"waiting":0,"queue":[]})");
}

TEST_F(LimitGroups, EachGroupWithWhoeverHasItsNodesOut) {
  for (const char* zone : {"a", "b"}) {
    for (int i = 0; i < 3; ++i) node(fmt::format("{}{}", zone, i), {.labels = {{"zone", zone}}});
  }
  node("a3", {.labels = {{"zone", "a"}}, .cordoned_by = "kubectl"});
  limit("workers", R"({"type":"node","maxUnavailable":2,"groupBy":["zone"],"mode":"Queue"})");
  open();
  take("a0", "profile/os-update");
  desk->wait(asking("a1", "profile/os-update"));
  desk->wait(asking("a2", "nodemaintenance/disk", Rank::person));
  time.run_for(seconds{60});
  const Json all = document();
  EXPECT_EQ(all["count"].integer(), 2);
  const JsonView a = all.at("/groups/0"), b = all.at("/groups/1");
  EXPECT_EQ(a["name"].text(), "workers/a");
  EXPECT_EQ(a["mode"].text(), "Queue");
  EXPECT_EQ(a["values"].dump(), R"(["a"])");
  EXPECT_EQ(a["cap"].integer(), 2);
  EXPECT_EQ(a["used"].integer(), 2);
  EXPECT_EQ(a["free"].integer(), 0);
  EXPECT_EQ(a["total"].integer(), 4);
  EXPECT_EQ(a["waiting"].integer(), 2);
  EXPECT_EQ(a["usedBy"].size(), 2u);
  EXPECT_EQ(a.at("/usedBy/0/actor").text(), "kubectl");
  EXPECT_EQ(a.at("/usedBy/0/nodes/0/node").text(), "a3");
  EXPECT_EQ(a.at("/usedBy/1/actor").text(), "profile/os-update");
  EXPECT_EQ(b["used"].integer(), 0);
  // A person's wish comes before a campaign's, although it is younger.
  EXPECT_EQ(all["waiting"].integer(), 2);
  EXPECT_EQ(all.at("/queue/0/node").text(), "a2");
  EXPECT_EQ(all.at("/queue/0/rank").text(), "person");
  EXPECT_EQ(all.at("/queue/0/place").integer(), 1);
  EXPECT_EQ(all.at("/queue/1/who").text(), "profile/os-update");
  EXPECT_EQ(all.at("/queue/1/limits").dump(), R"(["workers/a"])");
}

TEST_F(LimitGroups, ADocumentIsBounded) {
  for (int i = 0; i < 400; ++i) node(fmt::format("n{}", i), {.labels = {{"rack", std::to_string(i)}}});
  limit("racks", R"({"type":"node","maxUnavailable":0,"groupBy":["rack"]})");
  open();
  for (int i = 0; i < 400; ++i) desk->wait(asking(fmt::format("n{}", i), "profile/a"));
  time.run_for(seconds{5});
  const Json all = document();
  EXPECT_EQ(all["count"].integer(), 400);
  EXPECT_EQ(all["groups"].size(), kMostGroups);
  EXPECT_EQ(all["waiting"].integer(), 400);
  EXPECT_EQ(all["queue"].size(), kMostQueued);
}

TEST_F(LimitGroups, ANodeThatWaitsIsToldWhoHasThePlaces) {
  node("n1", {.cordoned_by = "kubectl"});
  node("n2");
  limit("workers", R"({"type":"node","maxUnavailable":1})");
  open();
  time.run_for(minutes{3});
  desk->wait(asking("n2", "profile/os-update"));
  time.run_for(seconds{5});
  const std::string told = reasons("n2");
  EXPECT_THAT(told, HasSubstr("- profile os-update waits for place 1 in limit workers (1 of 1: 1 kubectl on n1"));
  EXPECT_THAT(told, HasSubstr("  limit workers: 1 of 2 nodes may be out, 1 is\n    1 kubectl on n1 for 3m5s\n"));
  EXPECT_THAT(reasons("n1"), HasSubstr("counts for kubectl: cordoned"));
}

TEST_F(LimitGroups, ANodeOfNoLimitHasNothingToSay) {
  node("n1");
  limit("others", R"({"type":"node","maxUnavailable":1,"selector":{"matchLabels":{"a":"b"}}})");
  open();
  EXPECT_EQ(reasons("n1"), "");
}

}  // namespace
}  // namespace careen::view
