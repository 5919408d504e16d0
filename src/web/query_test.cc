#include "web/query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace careen::web {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(QueryTest, ReadsNamesAndValues) {
  const Query query("a=1&verbose&b=two%20words+more&a=2&=x&&c=");
  EXPECT_THAT(query.all("a"), ElementsAre("1", "2"));
  EXPECT_TRUE(query.has("verbose"));
  EXPECT_EQ(query.get("verbose"), "");
  EXPECT_EQ(query.get("b"), "two words more");
  EXPECT_TRUE(query.has("c"));
  EXPECT_FALSE(query.has("d"));
  EXPECT_THAT(query.all("d"), IsEmpty());
}

TEST(QueryTest, TakesWhatIsNotEncodedAsItStands) {
  EXPECT_EQ(Query("a=%").get("a"), "%");
  EXPECT_EQ(Query("a=%4").get("a"), "%4");
  EXPECT_EQ(Query("a=%zz").get("a"), "%zz");
  EXPECT_EQ(Query("a=x%41").get("a"), "xA");
  EXPECT_EQ(Query("a=b=c").get("a"), "b=c");
  EXPECT_FALSE(Query("").has(""));
}

}  // namespace
}  // namespace careen::web
