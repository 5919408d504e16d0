#include "words.h"

#include <gmock/gmock.h>

namespace careen::scenarios {
namespace {

using ::testing::ElementsAre;

TEST(Words, NamesComeInRanges) {
  EXPECT_THAT(expand("node-1..3 db"), ElementsAre("node-1", "node-2", "node-3", "db"));
  EXPECT_THAT(expand("n-08..10"), ElementsAre("n-08", "n-09", "n-10"));
  EXPECT_THAT(expand("r1..2-n1..2"), ElementsAre("r1-n1", "r1-n2", "r2-n1", "r2-n2"));
  EXPECT_THAT(expand("all"), ElementsAre("*"));
}

TEST(Words, GlobsMatchWholeTexts) {
  EXPECT_TRUE(matches("*in-maintenance*", "The node is now in the in-maintenance state"));
  EXPECT_TRUE(matches("a*b*c", "a-b-b-c"));
  EXPECT_TRUE(matches("node-?", "node-1"));
  EXPECT_FALSE(matches("node-?", "node-12"));
  EXPECT_FALSE(matches("a*b", "a-b-c"));
  EXPECT_FALSE(matches("", "x"));
}

TEST(Words, ValuesTakeTurns) {
  EXPECT_EQ(in_turn("a|b|c", 4), "b");
  EXPECT_EQ(in_turn("alone", 4), "alone");
}

TEST(Words, AmountsAreReadAsPeopleSayThem) {
  EXPECT_TRUE(parse_amount("3")->admits(3));
  EXPECT_FALSE(parse_amount("at most 3")->admits(4));
  EXPECT_TRUE(parse_amount("more than 3")->admits(4));
  EXPECT_FALSE(parse_amount("more than 3")->admits(3));
  EXPECT_FALSE(parse_amount("fewer than 3")->admits(3));
  EXPECT_TRUE(parse_amount("0.5")->admits(0.5));
  EXPECT_FALSE(parse_amount("some"));
  EXPECT_FALSE(parse_amount("more than 1.5"));
}

TEST(Words, TheOppositeAdmitsWhatTheAmountDoesNot) {
  for (const char* text : {"3", "at least 3", "at most 3", "more than 3"}) {
    const Amount amount = *parse_amount(text);
    for (int i = 0; i < 7; ++i) EXPECT_NE(amount.admits(i), amount.opposite().admits(i)) << text << " " << i;
  }
}

TEST(Words, CountsNameAStateAGroupAndNodes) {
  const auto count = parse_count("more than 1 in-maintenance per topology.kubernetes.io/zone among node-1..2");
  ASSERT_TRUE(count);
  EXPECT_EQ(count->state, "in-maintenance");
  EXPECT_EQ(count->per, "topology.kubernetes.io/zone");
  EXPECT_THAT(count->among, ElementsAre("node-1", "node-2"));
  EXPECT_TRUE(count->amount.admits(2));
  EXPECT_TRUE(parse_count("2 cordoned"));
  EXPECT_EQ(parse_count("at most 2 example.com/lit")->state, "example.com/lit");
  EXPECT_FALSE(parse_count("more than 1 in-maintenence"));
  EXPECT_FALSE(parse_count("in-maintenance"));
  EXPECT_FALSE(parse_count(""));
}

TEST(Words, SpansHaveDays) {
  EXPECT_EQ(parse_span("1d2h"), io::hours{26});
  EXPECT_EQ(parse_span("7d"), io::hours{168});
  EXPECT_EQ(parse_span("90s"), io::seconds{90});
  EXPECT_FALSE(parse_span("-1s"));
  EXPECT_FALSE(parse_span("1d-2h"));
  EXPECT_FALSE(parse_span("soon"));
  EXPECT_EQ(format_span(io::hours{26} + io::milliseconds{100}), "1d2h0.1s");
}

}  // namespace
}  // namespace careen::scenarios
