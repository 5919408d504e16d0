#include "web/static_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "web/server.h"

namespace careen::web {
namespace {

using testing::HasSubstr;

constexpr DashboardFile kFiles[] = {{"index.html", "text/html; charset=utf-8", "<p>hello", "\"1\""},
                                    {"app.js", "text/javascript; charset=utf-8", "go()", "\"2\""}};

TEST(StaticFilesTest, AreFoundByTheirPath) {
  EXPECT_EQ(find_file(kFiles, "/"), &kFiles[0]);
  EXPECT_EQ(find_file(kFiles, "/index.html"), &kFiles[0]);
  EXPECT_EQ(find_file(kFiles, "/app.js"), &kFiles[1]);
  for (const char* path : {"", "app.js", "//app.js", "/app", "/../app.js", "/metrics"}) {
    EXPECT_EQ(find_file(kFiles, path), nullptr) << path;
  }
  EXPECT_EQ(find_file({}, "/"), nullptr);
}

TEST(StaticFilesTest, LoadNothingFromElsewhere) {
  const auto page = answer_file({"GET", "/", "", {}, {}}, kFiles[0]);
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.body, "<p>hello");
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_EQ(io::header(page.headers, "Content-Security-Policy"),
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  EXPECT_EQ(io::header(page.headers, "X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(io::header(page.headers, "Referrer-Policy"), "no-referrer");
}

TEST(StaticFilesTest, WhatIsKnownIsNotSentAgain) {
  for (const char* known : {"\"1\"", "W/\"1\"", "\"0\", \"1\"", "*"}) {
    const auto same = answer_file({"GET", "/", "", {{"If-None-Match", known}}, {}}, kFiles[0]);
    EXPECT_EQ(same.status, 304) << known;
    EXPECT_TRUE(same.body.empty());
    EXPECT_EQ(io::header(same.headers, "ETag"), "\"1\"");
  }
  EXPECT_EQ(answer_file({"GET", "/", "", {{"If-None-Match", "\"2\""}}, {}}, kFiles[0]).status, 200);
}

}  // namespace
}  // namespace careen::web
