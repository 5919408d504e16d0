#include "commands/budget_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/test_screen.h"
#include "commands/test_documents.h"

namespace careen::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const io::Wall kBudgetTime = *io::parse_rfc3339("2026-03-02T10:00:00Z");

std::string text_of(const kube::Json& fleet, const std::vector<std::string>& names = {}, size_t width = 0) {
  std::string out;
  for (const Line& line : budget_lines(fleet["limits"], screen(200), kBudgetTime, names, width))
    out += line.text() + "\n";
  return out;
}

TEST(BudgetText, ARowForEachGroupAndTheQueue) {
  EXPECT_EQ(text_of(parsed(kFleet)),
            R"(! limit workers/eu-de-1b: 3 nodes are out where 2 may be; counted last: kured (node-9)

LIMIT     GROUP      CAP   USED   FREE   MISSING   WAITING   USED BY
workers   eu-de-1a   4     4      0      0         2         profile/os-update 2, karpenter 1 (node-7, 12m), kubectl 1 (node-8, 3h)
workers   eu-de-1b   2     3      -1     1         0         kured 2, missing 1 (node-6)

QUEUE   NODE     ACTOR             RANK       WAITS   EXPECTED                        FOR A PLACE IN
1       node-4   cloud/aws         deadline   5m      2026-03-02T10:20:00Z (in 20m)   workers/eu-de-1a
2       node-5   foreign/kubectl   person     45m     -                               workers/eu-de-1a
)");
}

TEST(BudgetText, OnlyWhatWasAskedFor) {
  const kube::Json fleet = parsed(kFleet);
  EXPECT_EQ(limit_rows(fleet["limits"], kBudgetTime, {"workers"}).size(), 2u);
  EXPECT_EQ(limit_rows(fleet["limits"], kBudgetTime, {"workers/eu-de-1b"}).size(), 1u);
  EXPECT_THAT(queue_rows(fleet["limits"], kBudgetTime, {"workers/eu-de-1b"}), IsEmpty());
  EXPECT_TRUE(is_overshot(fleet["limits"]));
  EXPECT_FALSE(is_overshot(fleet["limits"], {"workers/eu-de-1a"}));
  EXPECT_THAT(limit_rows(fleet["limits"], kBudgetTime, {"other"}), IsEmpty());
}

TEST(BudgetText, FitsTheWidth) {
  for (const size_t width : {10u, 40u, 80u}) {
    for (const Line& line : budget_lines(parsed(kFleet)["limits"], screen(width), kBudgetTime, {}, width)) {
      EXPECT_LE(line.width(), width) << line.text();
    }
  }
}

TEST(BudgetText, SaysWhatIsLeftOutAndWhatIsMistaken) {
  const kube::Json document = parsed(R"({"count": 301, "waiting": 102, "queue": [], "groups": [
    {"limit": "a", "name": "a/x", "values": ["x"], "cap": 1, "used": 0, "mistake": "spec.mode: \"Ask\" is no mode"},
    {"limit": "a", "name": "a/y", "values": ["y"], "cap": 1, "used": 0, "mistake": "spec.mode: \"Ask\" is no mode"}]})");
  EXPECT_THAT(limit_alarms(document.view()),
              ElementsAre("limit a has a mistake, and admits nothing: spec.mode: \"Ask\" is no mode"));
  std::string text;
  for (const Line& line : budget_lines(document.view(), screen(80), kBudgetTime, {}, 0)) text += line.text() + "\n";
  EXPECT_THAT(text, testing::HasSubstr("and 299 more groups"));
  EXPECT_THAT(text, testing::HasSubstr("and 102 more that wait"));
}

}  // namespace
}  // namespace careen::app
