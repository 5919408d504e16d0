// What a running careen answers, and to whom: the whole of it, so that nothing is opened by accident.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "commands/dashboard_server.h"
#include "controllers/nodemaintenance/hosted.h"
#include "controllers/nodemaintenance/names.h"
#include "controllers/profiles/hosted.h"
#include "io/files.h"
#include "io/http.h"
#include "io/mail.h"
#include "io/problems.h"
#include "io/random.h"
#include "replica/replica.h"
#include "sim/test_api.h"
#include "web/probes.h"

namespace careen::app {
namespace {

using testing::Contains;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr const char* kToken = "a token that the API server knows";

// "GET, HEAD /careen/v1/*" -> "the view: with a token, the leader"
std::map<std::string, std::string> table_of(const std::vector<web::Route>& routes) {
  std::map<std::string, std::string> table;
  for (const web::Route& route : routes) {
    const std::string methods = route.methods.listed();
    const std::string path = route.path.text + (route.path.and_below ? "*" : "");
    table[(methods.empty() ? "any" : methods) + " " + path] =
        route.access.name() + (route.by_leader ? ", the leader" : "");
  }
  return table;
}

class ServedPathsTest : public testing::Test {
 protected:
  std::map<std::string, std::string> dashboard(web::ViewPolicy policy, bool secure) {
    DashboardOptions options{.address = "0", .policy = policy};
    if (secure) options.tls = web::ServingTls{};
    DashboardServer server({loop, replica, *http, &replica.reader()}, std::move(options));
    dashboard_ = server.has_dashboard();
    return table_of(server.routes());
  }
  // Beside the documents: the dashboard's files, or the page that stands for them.
  void expect_the_rest(const std::map<std::string, std::string>& table, const std::string& readers) {
    EXPECT_THAT(table, Contains(Pair("GET, HEAD *", readers)));
    if (dashboard_) {
      EXPECT_THAT(table, Contains(Pair("GET, HEAD /", "anybody")));
      EXPECT_THAT(table, Contains(Pair("GET, HEAD /index.html", "anybody")));
    } else {
      for (const char* path : {"/static", "/static/", "/static/index.html", "/static/*"}) {
        EXPECT_THAT(table, Contains(Pair(std::string("GET, HEAD ") + path, readers)));
      }
    }
  }
  static void expect_documents(const std::map<std::string, std::string>& table, const std::string& readers,
                               const std::string& viewers) {
    EXPECT_THAT(table, Contains(Pair("GET, HEAD /metrics", readers)));
    EXPECT_THAT(table, Contains(Pair("GET, HEAD /api/v1/info", readers + ", the leader")));
    for (const char* path : {"fleet", "stream", "nodes/*", "nodemaintenances/*", "maintenancerequests/*", "machines/*",
                             "timeline", "plan", "*"}) {
      EXPECT_THAT(table, Contains(Pair(std::string("GET, HEAD /careen/v1/") + path, viewers + ", the leader")));
    }
    int documents = 0;
    for (const auto& [path, access] : table) documents += access.ends_with("the leader") ? 1 : 0;
    EXPECT_EQ(documents, 10);
  }

  io::RealLoop loop;
  io::RealFiles files{loop};
  io::Random random{1};
  sim::TestApi api{loop};
  std::unique_ptr<io::HttpClient> http = io::make_http_client(loop, {});
  std::unique_ptr<io::MailClient> mail = io::make_mail_client(loop, {});
  replica::Replica replica{{loop,
                            files,
                            random,
                            {},
                            [this](const kube::Access&) { return kube::Transports{api.connect(loop)}; },
                            *http,
                            *mail,
                            [](std::string_view) -> std::optional<std::string> { return std::nullopt; },
                            io::Log()},
                           {.host = "careen-1",
                            .ns = "kube-system",
                            .controllers = {profiles::with_options({.config = "/nowhere"})},
                            .webhooks = {nodemaintenance::kind().usual()}}};
  bool dashboard_ = false;
};

TEST_F(ServedPathsTest, WithoutSecurityOnlyTheViewHasAPolicy) {
  const std::map<web::ViewPolicy, std::string> viewers = {
      {web::ViewPolicy::loopback, "the view: from this machine, or with a token"},
      {web::ViewPolicy::token, "the view: with a token"},
      {web::ViewPolicy::open, "the view: anybody"}};
  for (const auto& [policy, name] : viewers) {
    const auto table = dashboard(policy, false);
    expect_documents(table, "anybody", name);
    expect_the_rest(table, "anybody");
  }
}

TEST_F(ServedPathsTest, WithSecurityATokenIsNeededForAllButTheFiles) {
  const auto table = dashboard(web::ViewPolicy::token, true);
  expect_documents(table, kToken, "the view: with a token");
  expect_the_rest(table, kToken);
  for (const auto& [path, access] : table) {
    if (access == "anybody") EXPECT_TRUE(dashboard_) << path;
  }
}

TEST_F(ServedPathsTest, ProbesAreOpen) {
  const io::Problems problems{io::Log()};
  EXPECT_THAT(table_of(web::Probes(problems).routes()),
              UnorderedElementsAre(Pair("GET, HEAD /healthz", "anybody"), Pair("GET, HEAD /healthz/*", "anybody"),
                                   Pair("GET, HEAD /readyz", "anybody"), Pair("GET, HEAD /readyz/*", "anybody")));
}

TEST_F(ServedPathsTest, TheApiServerAsksWebhooks) {
  EXPECT_THAT(table_of(replica.webhooks({})),
              UnorderedElementsAre(Pair("any " + std::string(nodemaintenance::kWebhookPath), "the API server")));
}

}  // namespace
}  // namespace careen::app
