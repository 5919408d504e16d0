#include "view/story.h"

#include "budget/pause.h"
#include "view/test_cluster.h"
#include "view/waiting.h"

namespace careen::view {
namespace {

using kube::Json;
using kube::JsonView;
using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

class StoryTest : public ViewTest {
 protected:
  static std::string text(JsonView value) { return std::string(value.text().value_or("<none>")); }
};

TEST_F(StoryTest, SaysWhatItWaitsForAndWhoHasThePlaces) {
  add_four();
  start();
  lead();
  run(io::seconds{10});
  const Json story = story_of("a3");
  EXPECT_EQ(story["node"].text(), "a3");
  EXPECT_TRUE(story["uid"].text());
  EXPECT_EQ(story["labels"]["go"].text(), "");
  const JsonView profile = story["profiles"][k0];
  EXPECT_EQ(profile["state"].text(), "maintenance-required");
  EXPECT_EQ(profile["next"].text(), "maintenance-required");
  EXPECT_EQ(profile["summary"].text(), "waits for a place in `few` (2 of 2 taken: a1, a2)");
  const JsonView transition = profile["transitions"][k0];
  EXPECT_EQ(transition["target"].text(), "in-maintenance");
  EXPECT_EQ(transition["passed"].boolean(), false);
  EXPECT_EQ(transition["expression"].text(), "few");
  EXPECT_FALSE(transition["blocked"]);
  EXPECT_EQ(transition["triggers"].text(), "");
  EXPECT_EQ(transition["why"]["verdict"].text(), "no");
  EXPECT_THAT(text(transition["why"]["children"][k0]["text"]), HasSubstr("few: 2 of 2"));
  EXPECT_EQ(story["timeline"].size(), 1u);
  EXPECT_EQ(story_of("a1")["profiles"][k0]["transitions"][k0]["triggers"].text(), "clean");
  EXPECT_FALSE(view::story(shown(), "nobody"));
}

TEST_F(StoryTest, TheExpressionIsATree) {
  add_node("n", {{"cloud.sap/maintenance-profile", "nightly"}, {"go", ""}});
  start();
  lead();
  run(io::seconds{5});
  const Json story = story_of("n");
  const JsonView profile = story["profiles"][k0];
  const JsonView why = profile["transitions"][k0]["why"];
  ASSERT_EQ(why["children"].size(), 2u) << why.dump();
  EXPECT_EQ(why["children"][k0]["verdict"].text(), "yes");
  const JsonView either = why["children"][1u];
  EXPECT_EQ(either["verdict"].text(), "no");
  EXPECT_EQ(either["text"].text(), "one of");
  ASSERT_EQ(either["children"].size(), 2u);
  EXPECT_THAT(text(either["children"][k0]["text"]), HasSubstr("night: "));
  // The model's clock begins at midnight.
  EXPECT_THAT(text(profile["summary"]), AllOf(HasSubstr("waits for `night` ("), HasSubstr(" or `done` ("),
                                              HasSubstr("; can next change at 22:00 UTC when window `night` opens")));
  EXPECT_THAT(text(profile["wake"]), HasSubstr("T22:00:00Z"));
}

TEST_F(StoryTest, APauseIsShownWhereItConcerns) {
  add_four();
  start();
  lead();
  run(io::seconds{5});
  auto lease = Json::object({{"apiVersion", "coordination.k8s.io/v1"}, {"kind", "Lease"}});
  lease.set({"metadata", "annotations", budget::PauseRecord::kAnnotation},
            R"({"profiles":{"p":{"by":"ana@host","since":"2026-01-01T00:00:00Z","reason":"broken"}}})");
  cluster.api.put("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/careen-pause", std::move(lease));
  run(io::seconds{5});
  const Json story = story_of("a3");
  ASSERT_EQ(story["pauses"].size(), 1u);
  EXPECT_EQ(story["pauses"][k0]["profile"].text(), "p");
  EXPECT_EQ(story["pauses"][k0]["by"].text(), "ana@host");
  EXPECT_THAT(text(story["profiles"][k0]["summary"]), HasSubstr("ana@host"));
  const Json document = fleet();
  EXPECT_EQ(document["pauses"].size(), 1u);
  EXPECT_TRUE(with(document["timeline"], "text", "Profile p is paused by ana@host: broken")) << document.dump();
}

TEST(ClockTextTest, SaysTheDayOnlyWhenItIsAnother) {
  const io::Wall now = *io::parse_rfc3339("2026-03-01T10:00:00Z");
  EXPECT_EQ(clock_text(*io::parse_rfc3339("2026-03-01T14:00:00Z"), now), "14:00 UTC");
  EXPECT_EQ(clock_text(*io::parse_rfc3339("2026-03-01T14:00:07Z"), now), "14:00:07 UTC");
  EXPECT_EQ(clock_text(*io::parse_rfc3339("2026-03-02T00:00:00Z"), now), "2026-03-02 00:00 UTC");
}

}  // namespace
}  // namespace careen::view
