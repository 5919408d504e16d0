// A drain is about one node, not about its name: pods of a node that was created again under it stay where they are.
#include "drain/test_cluster.h"

namespace careen::drain {
namespace {

using io::minutes;
using io::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class EngineNodeTest : public EngineTest {
 protected:
  void make_anew(const std::string& node) {
    cluster.api.erase("/api/v1/nodes/" + node);
    add_node(node);
  }
  size_t looks() const { return requests("GET", "/api/v1/nodes/").size(); }
};

TEST_F(EngineNodeTest, TheNodeIsReadBeforeTheFirstPodIsEvicted) {
  add_node("n1");
  for (const char* name : {"a", "b", "c"}) add_pod(name);
  launch();
  begin();
  ASSERT_TRUE(drains_within(seconds{5}));
  EXPECT_EQ(looks(), 1U) << "once for all";
  const auto all = sent;
  const auto first = std::find_if(all.begin(), all.end(), [](const Sent& one) { return one.method == "POST"; });
  EXPECT_TRUE(std::any_of(all.begin(), first, [](const Sent& one) { return one.path == "/api/v1/nodes/n1"; }));
}

TEST_F(EngineNodeTest, AnotherNodeOfThatNameKeepsItsPods) {
  add_node("n1");
  add_pod("web");
  add_budget("web", "web", 1);
  launch();
  begin();
  time.run_for(minutes{1});
  sent.clear();
  make_anew("n1");
  set_minimum("web", 0);
  time.run_for(minutes{5});
  EXPECT_THAT(evicted(), IsEmpty());
  EXPECT_EQ(progress().phase, Progress::Phase::failed);
  EXPECT_THAT(progress().errors, ElementsAre(HasSubstr("node n1 was made anew")));
  EXPECT_THAT(reason("web"), HasSubstr("not there any more"));
  begin();
  ASSERT_TRUE(drains_within(seconds{5})) << "asked for by its UID it is drained like any other";
}

TEST_F(EngineNodeTest, ANodeThatIsGoneIsNotDrained) {
  add_node("n1");
  add_pod("web");
  launch();
  const std::string uid = uid_of("n1");
  cluster.api.erase("/api/v1/nodes/n1");
  engine().begin(key(), uid, usual());
  time.run_for(minutes{1});
  EXPECT_THAT(evicted(), IsEmpty());
  EXPECT_EQ(progress().phase, Progress::Phase::failed);
  EXPECT_THAT(progress().errors, ElementsAre(HasSubstr("node n1 is gone")));
}

TEST_F(EngineNodeTest, NothingIsEvictedWhileTheNodeCannotBeRead) {
  add_node("n1");
  add_pod("web");
  launch();
  treat = [](const kube::Request& request) {
    sim::Treatment out;
    if (request.path == "/api/v1/nodes/n1") out.refuse = sim::ApiServer::refusal(403, "Forbidden", "no roles yet");
    return out;
  };
  begin();
  time.run_for(seconds{10});
  EXPECT_THAT(evicted(), IsEmpty());
  EXPECT_THAT(progress().errors, ElementsAre("node n1 cannot be read: no roles yet"));
  EXPECT_EQ(reason("web"), "waits until node n1 can be read");
  EXPECT_LE(looks(), 4U) << "with growing pauses";
  treat = nullptr;
  ASSERT_TRUE(drains_within(seconds{20}));
  EXPECT_THAT(progress().errors, IsEmpty());
}

TEST_F(EngineNodeTest, AfterAPauseTheNodeIsReadAgain) {
  add_node("n1");
  add_pod("web");
  add_budget("web", "web", 1);
  launch();
  engine().begin(key("n1", "profile/p"), uid_of("n1"), usual());
  time.run_for(seconds{2});
  budget::PauseRecord record;
  record.pauses[""] = {"", "ana@host", process->loop->wall_now(), ""};
  process->pauses.set(record);
  sent.clear();
  make_anew("n1");
  set_minimum("web", 0);
  time.run_for(seconds{2});
  process->pauses.set({});
  time.run_for(minutes{1});
  EXPECT_THAT(evicted(), IsEmpty());
}

}  // namespace
}  // namespace careen::drain
