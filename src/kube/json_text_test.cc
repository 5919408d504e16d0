#include "kube/json_text.h"

#include <gtest/gtest.h>

#include "kube/json.h"

namespace careen::kube {
namespace {

std::string written(std::string_view text) {
  std::string out = ">";
  append_json_text(out, text);
  return out;
}

TEST(JsonTextTest, EscapesWhatJsonForbids) {
  EXPECT_EQ(written(""), ">\"\"");
  EXPECT_EQ(written("a \"b\" \\ /"), ">\"a \\\"b\\\" \\\\ /\"");
  EXPECT_EQ(written("\n\r\t\x01\x1f"), ">\"\\n\\r\\t\\u0001\\u001f\"");
  EXPECT_EQ(written(std::string_view("\0", 1)), ">\"\\u0000\"");
}

TEST(JsonTextTest, KeepsCharactersAndReplacesEveryOtherByte) {
  const std::string good = "\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x9A\xA2 \xED\x9F\xBF \xF4\x8F\xBF\xBF";
  EXPECT_EQ(written(good), ">\"" + good + "\"");
  const std::string lost = "\xEF\xBF\xBD";
  EXPECT_EQ(written("\xFF"), ">\"" + lost + "\"");
  EXPECT_EQ(written("\xC3"), ">\"" + lost + "\"");             // cut off
  EXPECT_EQ(written("\xC0\x80"), ">\"" + lost + lost + "\"");  // longer than needed
  EXPECT_EQ(written("\xE0\x9F\xBF"), ">\"" + lost + lost + lost + "\"");
  EXPECT_EQ(written("\xED\xA0\x80"), ">\"" + lost + lost + lost + "\"");  // a surrogate
  EXPECT_EQ(written("\xF4\x90\x80\x80"), ">\"" + lost + lost + lost + lost + "\"");
  EXPECT_EQ(written("\xE2\x82x"), ">\"" + lost + lost + "x\"");
}

TEST(JsonTextTest, IsReadBackAsItWas) {
  std::string all;
  for (int c = 0; c < 0x80; ++c) all += static_cast<char>(c);
  const auto back = Json::parse(written(all).substr(1));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->view().text(), all);
}

}  // namespace
}  // namespace careen::kube
