#include "web/view_token.h"

#include <gtest/gtest.h>

#include <string>

#include "kube/base64.h"

namespace careen::web {
namespace {

std::string token(std::string_view claims) {
  std::string part = kube::base64_encode(claims);
  while (part.ends_with('=')) part.pop_back();
  for (char& c : part) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return "e30." + part + ".c2ln";
}

TEST(ViewToken, ForTheViewAlone) {
  EXPECT_TRUE(is_for_the_view_alone(token(R"({"aud":["careen.dev/view"]})")));
  EXPECT_TRUE(is_for_the_view_alone(token(R"({"aud":"careen.dev/view"})")));
  EXPECT_TRUE(is_for_the_view_alone(token(R"({"sub":"\u00ff~~???>>>","aud":["careen.dev/view"]})")));
}

TEST(ViewToken, OneThatMayBeGoodForMoreIsNot) {
  for (const char* claims : {R"({"aud":["careen.dev/view","https://kubernetes.default.svc"]})",
                             R"({"aud":["https://kubernetes.default.svc"]})", R"({"aud":["careen.dev/view",1]})",
                             R"({"aud":[]})", R"({"aud":{"careen.dev/view":1}})", R"({})", R"([])", "no json"}) {
    EXPECT_FALSE(is_for_the_view_alone(token(claims))) << claims;
  }
  for (const char* text : {"", "opaque", "a.b", "..", "a.*.c"}) EXPECT_FALSE(is_for_the_view_alone(text)) << text;
}

}  // namespace
}  // namespace careen::web
