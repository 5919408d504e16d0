#include "kube/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace careen::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

io::Result<std::vector<std::string>> names_of(std::string body, Page* out = nullptr) {
  std::vector<std::string> names;
  auto page = read_page(body, [&](RawObject& raw) -> io::Result<bool> {
    auto identity = decode_identity(raw);
    if (!identity) return tl::make_unexpected(identity.error());
    names.push_back(identity->name);
    return true;
  });
  if (!page) return tl::make_unexpected(page.error());
  if (out) *out = *page;
  return names;
}

TEST(PageTest, HandsOutItsItems) {
  Page page;
  const auto names = names_of(
      R"({"kind":"NodeList","metadata":{"resourceVersion":"77","continue":"to/ken=","remainingItemCount":4},
          "items":[{"metadata":{"name":"a","resourceVersion":"1"},"spec":{"x":[{}]}},
                   {"metadata":{"name":"b","resourceVersion":"2"}}]})",
      &page);
  ASSERT_TRUE(names) << names.error().message;
  EXPECT_THAT(*names, ElementsAre("a", "b"));
  EXPECT_EQ(page.version, 77u);
  EXPECT_EQ(page.continue_token, "to/ken=");
  EXPECT_EQ(page.items, 2u);
}

TEST(PageTest, MetadataMayComeLastAndItemsBeNull) {
  Page page;
  EXPECT_THAT(
      *names_of(R"({"items":[{"metadata":{"name":"a","resourceVersion":"1"}}],"metadata":{"resourceVersion":"7"}})",
                &page),
      ElementsAre("a"));
  EXPECT_EQ(page.version, 7u);
  EXPECT_EQ(page.continue_token, "");
  EXPECT_THAT(*names_of(R"({"items":null,"metadata":{"resourceVersion":"7"}})"), IsEmpty());
}

TEST(PageTest, RefusesWhatIsNoList) {
  EXPECT_THAT(names_of(R"({"items":[],"metadata":{}})").error().message, HasSubstr("without a resource version"));
  EXPECT_FALSE(
      names_of(R"({"items":[{"metadata":{"name":"a","resourceVersion":"x"}}],"metadata":{"resourceVersion":"7"}})"));
  EXPECT_FALSE(names_of(R"({"items":[1],"metadata":{"resourceVersion":"7"}})"));
  EXPECT_FALSE(names_of(R"({"items":[{"metadata":{"name":"a","resourceVersion":"1"}},)"));
  EXPECT_FALSE(names_of("<html>"));
  EXPECT_FALSE(names_of(""));
}

std::string named_event(std::string_view type, std::string_view name, int version) {
  return R"({"type":")" + std::string(type) + R"(","object":{"metadata":{"name":")" + std::string(name) +
         R"(","resourceVersion":")" + std::to_string(version) + "\"}}}\n";
}

// Feeds the text in pieces of that size; what was seen, "!" and the message for an error.
std::vector<std::string> decode(std::string_view text, size_t piece) {
  WatchDecoder decoder;
  std::vector<std::string> seen;
  for (size_t at = 0; at < text.size(); at += piece) {
    decoder.buffer() += text.substr(at, piece);
    const auto result = decoder.drain([&](EventType type, RawObject& raw) -> io::Result<bool> {
      auto identity = decode_identity(raw);
      if (!identity) return tl::make_unexpected(identity.error());
      seen.push_back(std::string(to_string(type)) + " " + identity->name);
      return identity->name != "stop";
    });
    if (!result) {
      seen.push_back("!" + result.error().message);
      break;
    }
    if (!*result) break;
  }
  return seen;
}

TEST(WatchDecoderTest, ReadsEventsHoweverTheyAreCut) {
  std::string text;
  std::vector<std::string> expected;
  for (int i = 0; i < 40; ++i) {
    const std::string name = "node-" + std::string(static_cast<size_t>(i * 7 % 90), 'x') + std::to_string(i);
    text += named_event(i % 3 == 0 ? "ADDED" : i % 3 == 1 ? "MODIFIED" : "DELETED", name, i + 1);
    expected.push_back((i % 3 == 0 ? "added " : i % 3 == 1 ? "modified " : "deleted ") + name);
  }
  for (const size_t piece :
       {size_t{1}, size_t{2}, size_t{7}, size_t{63}, size_t{64}, size_t{65}, size_t{1000}, text.size()}) {
    EXPECT_EQ(decode(text, piece), expected) << piece;
  }
}

TEST(WatchDecoderTest, KeepsHalfALineForLater) {
  const std::string text = named_event("ADDED", "a", 1) + named_event("ADDED", "b", 2);
  EXPECT_THAT(decode(text.substr(0, text.size() - 1), 10), ElementsAre("added a"));
}

TEST(WatchDecoderTest, StopsWhenTheVisitorSaysSo) {
  EXPECT_THAT(decode(named_event("ADDED", "stop", 1) + named_event("ADDED", "b", 2), 1000), ElementsAre("added stop"));
}

TEST(WatchDecoderTest, EmptyLinesAreNothing) {
  EXPECT_THAT(decode("\n\n" + named_event("ADDED", "a", 1) + "\n", 3), ElementsAre("added a"));
}

TEST(WatchDecoderTest, TheTypeMayComeAfterTheObject) {
  EXPECT_THAT(decode(R"({"object":{"metadata":{"name":"a","resourceVersion":"1"}},"type":"DELETED"})"
                     "\n",
                     1000),
              ElementsAre("deleted a"));
}

TEST(WatchDecoderTest, AnUnreadableLineIsAnErrorAndTheEarlierOnesCount) {
  for (const char* bad :
       {"{\n", "{}\n", "garbage\n", "{\"type\":\"ADDED\"}\n", "{\"type\":\"STRANGE\",\"object\":{}}\n",
        "{\"type\":\"ADDED\",\"object\":[]}\n", "{\"type\":\"ADDED\",\"object\":{\"metadata\":\n"}) {
    const auto seen = decode(named_event("ADDED", "a", 1) + bad + named_event("ADDED", "b", 2), 1000);
    ASSERT_EQ(seen.size(), 2u) << bad;
    EXPECT_EQ(seen[0], "added a");
    EXPECT_EQ(seen[1][0], '!');
  }
}

TEST(WatchDecoderTest, GivesTheMemoryOfALargeEventBack) {
  WatchDecoder decoder;
  const auto visit = [](EventType, RawObject&) -> io::Result<bool> { return true; };
  decoder.buffer() += named_event("ADDED", std::string(4 << 20, 'x'), 1);
  ASSERT_TRUE(decoder.drain(visit));
  EXPECT_GT(decoder.capacity(), size_t{4} << 20);
  decoder.buffer() += R"({"type":"ADD)";
  ASSERT_TRUE(decoder.drain(visit));
  decoder.shrink();
  EXPECT_LT(decoder.capacity(), size_t{1} << 20);
  decoder.buffer() += R"(ED","object":{}})"
                      "\n";
  EXPECT_TRUE(decoder.drain(visit));
}

}  // namespace
}  // namespace careen::kube
