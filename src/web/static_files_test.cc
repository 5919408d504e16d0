#include "web/static_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "web/test_routes.h"

namespace careen::web {
namespace {

using testing::HasSubstr;

constexpr DashboardFile kFiles[] = {{"index.html", "text/html; charset=utf-8", "<p>hello", "\"1\""},
                                    {"app.js", "text/javascript; charset=utf-8", "go()", "\"2\""}};

io::ServerResponse get_file(std::span<const DashboardFile> files, const std::string& path, io::Headers headers = {}) {
  return answer_of(Routes({}, file_routes(files)), {"GET", path, "", std::move(headers), {}});
}

TEST(StaticFilesTest, AreFoundByTheirPath) {
  EXPECT_EQ(get_file(kFiles, "/").body, kFiles[0].body);
  EXPECT_EQ(get_file(kFiles, "/index.html").body, kFiles[0].body);
  EXPECT_EQ(get_file(kFiles, "/app.js").body, kFiles[1].body);
  for (const char* path : {"", "app.js", "//app.js", "/app", "/../app.js", "/metrics"}) {
    EXPECT_EQ(get_file(kFiles, path).status, 404) << path;
  }
  EXPECT_EQ(get_file({}, "/").status, 404);
}

TEST(StaticFilesTest, LoadNothingFromElsewhere) {
  const auto page = get_file(kFiles, "/");
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
    const auto same = get_file(kFiles, "/", {{"If-None-Match", known}});
    EXPECT_EQ(same.status, 304) << known;
    EXPECT_TRUE(same.body.empty());
    EXPECT_EQ(io::header(same.headers, "ETag"), "\"1\"");
  }
  EXPECT_EQ(get_file(kFiles, "/", {{"If-None-Match", "\"2\""}}).status, 200);
}

}  // namespace
}  // namespace careen::web
