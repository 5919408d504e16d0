#include "io/query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace careen::io {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(QueryTest, ReadsNamesAndValues) {
  const Query query("a=1&verbose&b=two%20words+more&a=2&=x&&c=");
  EXPECT_THAT(query.all("a"), ElementsAre("1", "2"));
  EXPECT_TRUE(query.has("verbose"));
  EXPECT_EQ(query["verbose"], "");
  EXPECT_EQ(query["b"], "two words more");
  EXPECT_TRUE(query.has("c"));
  EXPECT_FALSE(query.has("d"));
  EXPECT_THAT(query.all("d"), IsEmpty());
}

TEST(QueryTest, TakesWhatIsNotEncodedAsItStands) {
  EXPECT_EQ(Query("a=%")["a"], "%");
  EXPECT_EQ(Query("a=%4")["a"], "%4");
  EXPECT_EQ(Query("a=%zz")["a"], "%zz");
  EXPECT_EQ(Query("a=x%41")["a"], "xA");
  EXPECT_EQ(Query("a=b=c")["a"], "b=c");
  EXPECT_FALSE(Query("").has(""));
}

}  // namespace
}  // namespace careen::io
