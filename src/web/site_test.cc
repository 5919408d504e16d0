#include "web/site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "web/test_routes.h"

namespace careen::web {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(MetricsPageTest, IsPrometheusText) {
  io::Metrics metrics;
  metrics.counter("careen_things_total", "Things.").add(3);
  int scrapes = 0;
  const Routes routes({}, one_route(metrics_route(metrics, [&] { ++scrapes; }, Access::anybody())));
  const auto page = answer_of(routes, {"GET", "/metrics", "", {}, {}});
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(page.body, HasSubstr("careen_things_total 3"));
  EXPECT_EQ(scrapes, 1);
}

TEST(MetricsPageTest, NothingElseIsThere) {
  io::Metrics metrics;
  int scrapes = 0;
  const Routes routes({}, one_route(metrics_route(metrics, [&] { ++scrapes; }, Access::anybody())));
  for (const char* path : {"/", "/metrics/", "/healthz", ""}) {
    const auto page = answer_of(routes, {"GET", path, "", {}, {}});
    EXPECT_EQ(page.status, 404) << path;
    EXPECT_THAT(page.body, HasSubstr("/metrics"));
  }
  EXPECT_EQ(answer_of(routes, {"POST", "/metrics", "", {}, {}}).status, 405);
  EXPECT_EQ(scrapes, 0);
  const Routes unnoticed({}, one_route(metrics_route(metrics, {}, Access::anybody())));
  EXPECT_EQ(answer_of(unnoticed, {"GET", "/metrics", "", {}, {}}).status, 200);
}

TEST(MetricsPageTest, OpenProblemsAreGauges) {
  io::Metrics metrics;
  io::Problems problems{io::Log()};
  show_problems(metrics, problems);
  problems.raise("config", "bad");
  problems.raise("watch nodes", "forbidden");
  EXPECT_THAT(metrics.expose(),
              AllOf(HasSubstr("careen_problem{key=\"config\"} 1"), HasSubstr("careen_problem{key=\"watch nodes\"} 1")));
  problems.clear("config");
  EXPECT_THAT(metrics.expose(), AllOf(Not(HasSubstr("config")), HasSubstr("watch nodes")));
  problems.clear("watch nodes");
  EXPECT_THAT(metrics.expose(), Not(HasSubstr("{key=")));
  problems.raise("config", "bad again");
  EXPECT_THAT(metrics.expose(), HasSubstr("careen_problem{key=\"config\"} 1"));
}

class SiteTest : public testing::Test {
 protected:
  io::ServerResponse get(const std::string& path, const std::string& method = "GET") {
    const Routes routes({}, site_routes(metrics, {}, site, Access::anybody()));
    return answer_of(routes, {method, path, "", {}, {}});
  }
  io::Metrics metrics;
  Site site;
};

TEST_F(SiteTest, EveryPathLeadsToThePage) {
  for (const char* path : {"/", "", "/metrics/", "/dashboard", "/staticx", "/api"}) {
    const auto first = get(path);
    EXPECT_EQ(first.status, 301) << path;
    EXPECT_EQ(io::header(first.headers, "Location"), "/static");
  }
  const auto second = get("/static");
  EXPECT_EQ(second.status, 307);
  EXPECT_EQ(io::header(second.headers, "Location"), "/static/");
  for (const char* path : {"/static/", "/static/index.html"}) {
    const auto page = get(path);
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
    EXPECT_THAT(page.body, AllOf(HasSubstr("href=\"/metrics\""), HasSubstr("href=\"/api/v1/info\"")));
  }
  EXPECT_EQ(get("/static/other.js").status, 404);
}

TEST_F(SiteTest, MetricsAreBesideIt) {
  metrics.counter("careen_things_total", "Things.").add(3);
  EXPECT_THAT(get("/metrics").body, HasSubstr("careen_things_total 3"));
  EXPECT_EQ(get("/metrics", "POST").status, 405);
  EXPECT_EQ(get("/", "POST").status, 405);
  EXPECT_EQ(get("/api/v1/info", "DELETE").status, 405);
  EXPECT_EQ(get("/api/v1/info").status, 404);  // nobody offers it
}

}  // namespace
}  // namespace careen::web
