// The desk in metrics, and in events on nodes.
#include "limits/report.h"

#include "kube/events.h"
#include "limits/test_desk.h"

namespace careen::limits {
namespace {

using io::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class ReportTest : public testing::Test, protected DeskWorld {
 protected:
  void report() {
    open();
    events.on_record([this](const kube::EventRecord& event) { recorded.push_back(event); });
    reporter.emplace(*desk, metrics, events, nodes, [this] { return leads; });
  }
  kube::EventRecorder events{*loop, client, metrics, problems, "host"};
  std::vector<kube::EventRecord> recorded;
  bool leads = true;
  std::optional<Report> reporter;
};

TEST_F(ReportTest, CapsUsesAndThoseThatWaitAreSeries) {
  for (const char* const name : {"a1", "a2", "a3"}) node(name, {.labels = {{"zone", "a"}}});
  limit("workers", R"({"type":"node","groupBy":["zone"],"maxUnavailable":1})");
  report();
  take("a1", "profile/p");
  desk->wait(asking("a2", "profile/p"));
  const std::string text = metrics.expose();
  EXPECT_THAT(text, HasSubstr(R"(careen_limit_cap{group="a",limit="workers"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(careen_limit_used{actor="profile/p",group="a",limit="workers"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(careen_limit_waiting{group="a",limit="workers"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(careen_limit_missing{group="a",limit="workers"} 0)"));
  EXPECT_THAT(text, Not(HasSubstr("careen_limit_overshoot{")));
  desk->release("a1", "profile/p");
  EXPECT_THAT(metrics.expose(), Not(HasSubstr("careen_limit_used{")));
  remove_limit("workers");
  EXPECT_THAT(metrics.expose(), Not(HasSubstr("careen_limit_cap{")));
}

TEST_F(ReportTest, WhoTakesANodeOutBeyondALimitIsToldOnceOnTheNode) {
  for (const char* const name : {"n1", "n2", "n3"}) node(name);
  limit("workers", R"({"type":"node","maxUnavailable":1})");
  report();
  take("n1", "profile/p");
  time.settle();
  EXPECT_THAT(recorded, IsEmpty());
  node("n2", {.taint = "karpenter.sh/disrupted"});
  time.settle();
  ASSERT_THAT(recorded, SizeIs(1));
  EXPECT_EQ(recorded[0].regarding.name, "n2");
  EXPECT_EQ(recorded[0].type, "Warning");
  EXPECT_EQ(recorded[0].note,
            "karpenter has taken this node out beyond MaintenanceLimit workers: 2 are out, and 1 may be");
  EXPECT_THAT(metrics.expose(), HasSubstr(R"(careen_limit_overshoot{actor="karpenter",group="",limit="workers"} 1)"));
  node("n2", {.labels = {{"x", "y"}}, .taint = "karpenter.sh/disrupted"});
  node("n3", {.ready = false});
  time.settle();
  EXPECT_THAT(recorded, SizeIs(1)) << "failures are nobody's doing";
  // Another episode.
  node("n2");
  node("n3");
  time.settle();
  node("n2", {.taint = "karpenter.sh/disrupted"});
  time.settle();
  EXPECT_THAT(recorded, SizeIs(2));
}

TEST_F(ReportTest, WhoDoesNotLeadTellsNothing) {
  node("n1", {.cordoned_by = "kubectl"});
  limit("workers", R"({"type":"node","maxUnavailable":0})");
  leads = false;
  report();
  time.settle();
  EXPECT_THAT(recorded, IsEmpty());
  leads = true;
  node("n1", {.labels = {{"x", "y"}}, .cordoned_by = "kubectl"});
  node("n2", {.cordoned_by = "kubectl"});
  time.settle();
  EXPECT_THAT(recorded, SizeIs(2));
}

TEST_F(ReportTest, ActorsThatAnybodyCanNameAreBounded) {
  for (int i = 0; i < 50; ++i) node(fmt::format("n{}", i), {.cordoned_by = fmt::format("actor-{}", i)});
  limit("workers", R"({"type":"node","maxUnavailable":100})");
  report();
  const std::string text = metrics.expose();
  size_t series = 0;
  for (size_t at = text.find("careen_limit_used{"); at != std::string::npos;
       at = text.find("careen_limit_used{", at + 1))
    ++series;
  EXPECT_EQ(series, 17u);
  EXPECT_THAT(text, HasSubstr(R"(careen_limit_used{actor="others",group="",limit="workers"} 34)"));
}

}  // namespace
}  // namespace careen::limits
