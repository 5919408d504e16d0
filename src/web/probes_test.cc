#include "web/probes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "web/test_routes.h"

namespace careen::web {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ProbesTest : public testing::Test {
 protected:
  io::ServerResponse get(std::string path, std::string query = {}) {
    return answer({"GET", std::move(path), std::move(query), {}, {}});
  }
  io::ServerResponse answer(io::ServerRequest request) {
    return answer_of(Routes({}, probes.routes()), std::move(request));
  }
  io::Problems problems{io::Log()};
  Probes probes{problems};
};

TEST_F(ProbesTest, HealthyAsSoonAsItServes) {
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(get("/healthz").body, "ok");
  EXPECT_EQ(get("/healthz").content_type, "text/plain; charset=utf-8");
  EXPECT_EQ(get("/healthz", "verbose").body, "[+]healthz ok\nhealthz check passed\n");
}

TEST_F(ProbesTest, UnreadyUntilEverythingWasThereOnce) {
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_EQ(get("/readyz").body,
            "[+]readyz ok\n[-]caches failed: not yet\n[-]config failed: not yet\nreadyz check failed\n");
  probes.set_ready("config");
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_EQ(get("/readyz/config").status, 200);
  EXPECT_EQ(get("/readyz/caches").status, 503);
  EXPECT_FALSE(probes.ready());
  probes.set_ready("caches");
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_EQ(get("/readyz").body, "ok");
  EXPECT_TRUE(probes.ready());
}

// A bad reload is told to whoever asks for details; it makes nobody unready.
TEST_F(ProbesTest, ProblemsShowInTheDetailsAndChangeNoStatus) {
  probes.set_ready("config");
  probes.set_ready("caches");
  problems.raise("config", "maintenance.yaml:3:1: no such check; the old configuration stays");
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_EQ(get("/readyz").body, "ok");
  const auto details = get("/readyz", "verbose=1");
  EXPECT_EQ(details.status, 200);
  EXPECT_EQ(details.body,
            "[+]readyz ok\n[+]caches ok\n[+]config ok\n"
            "[!]config: maintenance.yaml:3:1: no such check; the old configuration stays\nreadyz check passed\n");
  EXPECT_THAT(get("/healthz", "verbose").body, HasSubstr("[!]config: "));
  EXPECT_EQ(get("/healthz").status, 200);
}

// People read it in a terminal, and what went wrong may quote a stranger.
TEST_F(ProbesTest, NothingInAProblemCommandsATerminal) {
  problems.raise("node", "node n\x1b[2J cannot be written: no\r\nway");
  EXPECT_THAT(get("/readyz", "verbose").body, HasSubstr("[!]node: node n\uFFFD[2J cannot be written: no  way\n"));
}

TEST_F(ProbesTest, ChecksCanBeLeftOut) {
  EXPECT_EQ(get("/readyz", "exclude=caches&exclude=config").status, 200);
  EXPECT_EQ(get("/readyz", "exclude=caches").status, 503);
  EXPECT_THAT(get("/readyz", "verbose&exclude=caches&exclude=config&exclude=other").body,
              AllOf(HasSubstr("[+]caches excluded: ok\n"), HasSubstr("no matches for \"other\"")));
}

TEST_F(ProbesTest, SingleChecks) {
  EXPECT_EQ(get("/healthz/healthz").body, "ok");
  EXPECT_EQ(get("/readyz/readyz").body, "ok");
  EXPECT_EQ(get("/readyz/readyz", "verbose").body, "[+]readyz ok\nreadyz check passed\n");
  EXPECT_EQ(get("/readyz/caches").body, "[-]caches failed: not yet\nreadyz check failed\n");
  EXPECT_EQ(get("/healthz/").body, "ok");
  for (const char* path : {"/healthz/caches", "/readyz/nothing", "/healthz/healthz/", "/healthzz", "/", "/metrics"}) {
    EXPECT_EQ(get(path).status, 404) << path;
    EXPECT_THAT(get(path).body, HasSubstr("/healthz and /readyz"));
  }
}

TEST_F(ProbesTest, FurtherChecks) {
  std::optional<std::string> stuck, warming = "3 of 5";
  probes.add_health_check("loop", [&] { return stuck; });
  probes.add_ready_check("pods", [&] { return warming; });
  probes.set_ready("caches");
  probes.set_ready("config");
  EXPECT_EQ(get("/healthz").status, 200);
  stuck = "no turn for 60s";
  EXPECT_EQ(get("/healthz").status, 503);
  EXPECT_THAT(get("/healthz").body, HasSubstr("[-]loop failed: no turn for 60s"));
  stuck.reset();
  EXPECT_EQ(get("/healthz").status, 200) << "health is asked anew each time";

  EXPECT_THAT(get("/readyz").body, HasSubstr("[-]pods failed: 3 of 5"));
  warming.reset();
  EXPECT_EQ(get("/readyz").status, 200);
  warming = "again";
  EXPECT_EQ(get("/readyz").status, 200) << "once ready, always ready";
}

TEST_F(ProbesTest, OnlyReading) {
  EXPECT_EQ(answer({"HEAD", "/healthz", "", {}, {}}).status, 200);
  EXPECT_EQ(answer({"POST", "/healthz", "", {}, {}}).status, 405);
}

}  // namespace
}  // namespace careen::web
