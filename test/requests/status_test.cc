// What limits say of themselves, and requests that selectors ask for.
#include "test_requests.h"

namespace careen::requests {
namespace {

using io::minutes;
using io::seconds;
using testing::HasSubstr;

class LimitStatusTest : public RequestsTest {
 protected:
  int64_t number(const char* field) const { return limit_status()[field].integer().value_or(0); }
  std::string condition(std::string_view type) const {
    std::string out;
    const kube::Json status = limit_status();
    status["conditions"].for_each_element([&](kube::JsonView one) {
      if (one["type"].text() == type)
        out = std::string(*one["status"].text()) + " " + std::string(*one["reason"].text());
    });
    return out;
  }
};

// Section 9 of the original's behaviour: 50 percent.
TEST_F(LimitStatusTest, AsInTheOriginalsTests) {
  launch();
  limit(R"({"limit":50})");
  int nodes = 0;
  for (const auto& [count, expected] : std::vector<std::pair<int, int>>{{1, 1}, {2, 1}, {4, 2}, {10, 5}}) {
    add_nodes(count - nodes, nodes + 1);
    nodes = count;
    run(seconds{40});
    EXPECT_EQ(number("limit"), expected) << count << " nodes";
    EXPECT_EQ(number("total"), count);
  }
  EXPECT_GE(events("UpdatedLimits", "node"), 3);
  for (int i = 1; i <= 10; ++i) ask("DELETE", node_path(fmt::format("n{}", i)));
  run(seconds{5});
  EXPECT_EQ(number("limit"), 0);
}

TEST_F(LimitStatusTest, PoliciesTellWhoIsUnavailable) {
  add_nodes(2);
  limit(R"({"limit":50,"policies":["Unschedulable"]})");
  launch();
  EXPECT_EQ(number("limit"), 1);
  cordon("n2");
  run(seconds{3});
  EXPECT_EQ(number("limit"), 0);
  EXPECT_EQ(kube::Json(limit_status()["unavailable"]).dump(), R"({"n2":"Unschedulable"})");
  cordon("n2", false);
  run(seconds{3});
  EXPECT_EQ(number("limit"), 1);
  EXPECT_EQ(limit_status()["unavailable"].size(), 0u);
  limit(R"({"policies":["NotReady"]})");
  cordon("n2");
  run(seconds{3});
  EXPECT_EQ(number("limit"), 1);
}

TEST_F(LimitStatusTest, NothingIsWrittenThatIsThereAlready) {
  add_nodes(4);
  limit(R"({"limit":50})");
  launch();
  const size_t before = sent.size();
  run(minutes{30});
  EXPECT_EQ(sent.size(), before);
}

TEST_F(LimitStatusTest, WhoIsOutAndWhoWaits) {
  add_nodes(4);
  limit(R"({"maxUnavailable":1})");
  launch();
  request("a", "n1");
  run(seconds{1});
  request("b", "n2");
  run(seconds{5});
  EXPECT_EQ(number("running"), 1);
  EXPECT_EQ(number("pending"), 1);
  EXPECT_TRUE(limit_status()["lastApprovalTime"].exists());
  EXPECT_THAT(limit_status()["queue"].dump(), HasSubstr(R"("node":"n2")"));
  EXPECT_THAT(limit_status()["groups"].dump(), HasSubstr(R"("usedBy":[{"actor":"request/rebooter","nodes":1)"));
  EXPECT_EQ(condition("Valid"), "True Valid");
  EXPECT_EQ(condition("WithinBudget"), "True WithinBudget");
  cordon("n3");
  run(seconds{5});
  EXPECT_EQ(condition("WithinBudget"), "False BeyondBudget");
  set_state("a", "Completed");
  run(seconds{5});
  EXPECT_TRUE(limit_status()["lastFinishTime"].exists());
}

TEST_F(LimitStatusTest, AMistakeIsSaidAndApprovesNothing) {
  add_nodes(1);
  limit(R"({"limit":50,"infraDrain":{"enabled":true}})");
  launch();
  EXPECT_EQ(condition("Valid"), "False InfraDrainNeedsDrain");
  request("a", "n1");
  run(seconds{5});
  EXPECT_EQ(state("a"), "Pending");
  EXPECT_THAT(message("a"), HasSubstr("infraDrain"));
  limit(R"({"infraDrain":null})");
  run(seconds{5});
  EXPECT_EQ(state("a"), "Approved");
}

class SelectorTest : public RequestsTest {
 protected:
  static constexpr const char* kSelectors = "/apis/repairman.k8s.io/v1/namespaces/shop/maintenanceselectors";
  void label(std::string_view node, bool on) {
    merge(node_path(node), fmt::format(R"({{"metadata":{{"labels":{{"reboot":{}}}}}}})", on ? R"("yes")" : "null"));
  }
  void select(std::string_view spec) {
    ASSERT_EQ(ask("POST", kSelectors,
                  fmt::format(R"({{"apiVersion":"repairman.k8s.io/v1","kind":"MaintenanceSelector","metadata":)"
                              R"({{"name":"s"}},"spec":{}}})",
                              spec)),
              201)
        << said;
  }
  kube::Json status() const { return kube::Json(cluster.api.object(std::string(kSelectors) + "/s")["status"]); }
  std::vector<std::string> on(std::string_view node) const {
    std::vector<std::string> found;
    cluster.api.for_each(kResource.path(), [&](const std::string&, const sim::Text& text) {
      const auto json = kube::Json::parse(*text);
      if ((*json)["spec"]["name"].text() == node) found.emplace_back((*json)["spec"]["state"].text().value_or(""));
    });
    return found;
  }
};

constexpr const char* kReboot =
    R"({"selector":{"matchLabels":{"reboot":"yes"}},"clientName":"rebooter","type":"node"})";

TEST_F(SelectorTest, ARequestForEachNodeThatMatches) {
  add_nodes(3);
  limit(R"({"maxUnavailable":1})");
  launch();
  label("n1", true);
  label("n2", true);
  select(kReboot);
  run(seconds{5});
  EXPECT_EQ(on("n1").size(), 1u);
  EXPECT_EQ(on("n2").size(), 1u);
  EXPECT_EQ(on("n3").size(), 0u);
  EXPECT_EQ(running.size(), 1u);
  EXPECT_EQ(status()["matched"].integer(), 2);
  EXPECT_EQ(status()["created"].integer(), 2);
  const std::string waits = running.begin()->second == "n1" ? "n2" : "n1";
  label(waits, false);
  run(seconds{5});
  EXPECT_EQ(on(waits).size(), 0u) << "it waited, and is not wanted any more";
  EXPECT_EQ(running.size(), 1u);
  label(running.begin()->second, false);
  run(seconds{5});
  EXPECT_EQ(running.size(), 1u) << "what has begun is its actor's";
  careen.reset();
  launch({}, {.name = "careen-1"});
  run(seconds{20});
  size_t all = 0;
  cluster.api.for_each(kResource.path(), [&](const std::string&, const sim::Text&) { ++all; });
  EXPECT_EQ(all, 1u);
}

TEST_F(SelectorTest, OneOfThatClientIsEnough) {
  add_nodes(1);
  launch();
  label("n1", true);
  request("mine", "n1");
  run(seconds{2});
  select(kReboot);
  run(seconds{5});
  EXPECT_EQ(on("n1").size(), 1u);
  set_state("mine", "Completed");
  run(seconds{5});
  EXPECT_EQ(on("n1").size(), 2u);
}

// Of the original's definitions somebody may have left out this one, which does nothing there.
TEST_F(SelectorTest, NotEveryClusterServesThem) {
  const std::string definition = std::string(controllers::kDefinitionsPath) + "/maintenanceselectors.repairman.k8s.io";
  ASSERT_EQ(ask("DELETE", definition), 200) << said;
  add_nodes(2);
  launch();
  request("a", "n1");
  run(minutes{5});
  EXPECT_EQ(state("a"), "Approved");
  EXPECT_THAT(careen->replica().problems().open(), IsEmpty());
  ASSERT_EQ(ask("POST", controllers::kDefinitionsPath, kind().definitions().back().dump()), 201) << said;
  label("n2", true);
  select(kReboot);
  ASSERT_TRUE(until([&] { return on("n2").size() == 1; }, minutes{1}));
}

TEST_F(SelectorTest, WithoutASelectorItDoesNothing) {
  add_nodes(1);
  launch();
  select("{}");
  run(seconds{5});
  EXPECT_EQ(on("n1").size(), 0u);
  EXPECT_FALSE(status()["matched"].exists());
}

TEST_F(SelectorTest, AMistakeIsSaid) {
  add_nodes(1);
  launch();
  select(R"({"selector":{}})");
  run(seconds{5});
  EXPECT_EQ(on("n1").size(), 0u);
  EXPECT_THAT(status()["message"].dump(), HasSubstr("clientName"));
}

}  // namespace
}  // namespace careen::requests
