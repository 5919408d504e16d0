#include "web/info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "io/metrics.h"
#include "io/sync.h"
#include "io/test_http.h"
#include "io/virtual_time.h"
#include "kube/client.h"
#include "kube/json.h"
#include "sim/test_api.h"
#include "web/test_routes.h"

namespace careen::web {
namespace {

using kube::Json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

struct Read {
  int status = 0;
  std::string type;
  std::vector<std::string> pieces;
  bool broken = false;
  std::string body() const {
    std::string whole;
    for (const std::string& piece : pieces) whole += piece;
    return whole;
  }
};

class InfoApiTest : public testing::Test {
 protected:
  InfoApiTest() { leader.set_port(9123); }

  static io::Task<void> read(const Routes& from, io::ServerRequest request, std::optional<Read>& out) {
    io::ServerResponse response = co_await from.answer(std::move(request));
    Read result{response.status, response.content_type, {response.body}};
    if (response.stream) {
      for (;;) {
        std::string piece;
        const auto more = co_await response.stream->read(piece);
        result.broken = !more;
        if (!more || !*more) break;
        result.pieces.push_back(std::move(piece));
      }
    }
    out = std::move(result);
  }
  Read get(io::Headers headers = {}) {
    const Routes routes({}, one_route(info.route(Access::anybody())));
    std::optional<Read> out;
    io::Scope scope(*loop);
    scope.spawn(read(routes, {"GET", InfoApi::kPath, "", std::move(headers), {}}, out));
    EXPECT_TRUE(time.run_until([&] { return out.has_value(); }, io::minutes{1}));
    return out.value_or(Read{});
  }
  static std::string error(const Read& answer) {
    EXPECT_EQ(answer.type, "application/json");
    const auto json = Json::parse(answer.body());
    EXPECT_TRUE(json) << answer.body();
    if (!json || json->view().size() != 1) return "";
    return std::string((*json)["error"].text().value_or(""));
  }
  void put_pod(std::string_view name, std::string_view ip) {
    Json pod = Json::object({{"apiVersion", "v1"}, {"kind", "Pod"}});
    if (!ip.empty()) pod.set({"status", "podIP"}, ip);
    api.put("/api/v1/namespaces/kube-system/pods/" + std::string(name), std::move(pod));
  }
  int pod_reads() { return api.count("GET pods"); }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  io::Metrics metrics;
  io::Random random{1};
  sim::TestApi api{*loop};
  std::unique_ptr<kube::Transport> transport = api.connect(*loop);
  kube::Client client{*loop, *transport, metrics, random};
  io::ScriptedHttp http{*loop};
  bool leading = false;
  std::string holder = "careen-1_0b1c";
  std::vector<std::string> document = {"[{\"node\":", "\"n1\"}]"};
  Leader leader{*loop, client, http, [this] { return holder; }, "kube-system"};
  InfoApi info{*loop, leader,
               InfoSource{[this] { return leading; },
                          [this]() -> Pieces {
                            return [this, next = size_t{0}](std::string& into) mutable {
                              if (next == document.size()) return false;
                              into += document[next++];
                              return true;
                            };
                          }}};
};

TEST_F(InfoApiTest, TheLeaderAnswersItself) {
  leading = true;
  for (const io::Headers& headers : {io::Headers{}, io::Headers{{"x-careen-forwarded", "true"}}}) {
    const Read answer = get(headers);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.type, "application/json");
    EXPECT_THAT(answer.pieces, ElementsAre("", "[{\"node\":", "\"n1\"}]"));
  }
  EXPECT_THAT(http.requests, IsEmpty());
}

TEST_F(InfoApiTest, OthersHaveTheirTurnBetweenPieces) {
  leading = true;
  document.assign(5, "x");
  int turns = 0;
  io::Alarm other(*loop, [&] {
    ++turns;
    other.set(loop->now());
  });
  other.set(loop->now());
  get();
  other.cancel();
  EXPECT_GE(turns, 5);
}

TEST_F(InfoApiTest, AFollowerFetchesTheLeadersDocument) {
  put_pod("careen-1", "10.1.2.3");
  http.streams = {{200, {"[1,", "2]"}}};
  const Read answer = get({{"Authorization", "Bearer ana's"}});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.type, "application/json");
  EXPECT_EQ(answer.body(), "[1,2]");
  EXPECT_FALSE(answer.broken);
  ASSERT_EQ(http.requests.size(), 1u);
  const io::HttpRequest& request = http.requests[0];
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.url, "http://10.1.2.3:9123/api/v1/info");
  EXPECT_THAT(request.headers, Contains(Pair("X-Careen-Forwarded", "true")));
  // No token is needed there, and everybody on the way could read it.
  EXPECT_THAT(request.headers, testing::Not(Contains(Pair("Authorization", testing::_))));
  EXPECT_EQ(request.connect_timeout, io::seconds{1});
  EXPECT_EQ(request.timeout, io::seconds{1});
}

TEST_F(InfoApiTest, ABrokenDocumentBreaks) {
  put_pod("careen-1", "10.1.2.3");
  http.streams = {{200, {"[1,"}, true}};
  EXPECT_TRUE(get().broken);
}

TEST_F(InfoApiTest, AddressesOfVersionSixStandInBrackets) {
  put_pod("careen-1", "fd00::7");
  http.streams = {{200, {"[]"}}};
  get();
  EXPECT_EQ(http.requests.at(0).url, "http://[fd00::7]:9123/api/v1/info");
}

TEST_F(InfoApiTest, TheAddressIsRememberedForAMoment) {
  put_pod("careen-1", "10.1.2.3");
  put_pod("careen-2", "10.1.2.4");
  http.streams.assign(4, {200, {"[]"}});
  get();
  get();
  EXPECT_EQ(pod_reads(), 1);
  time.run_for(io::seconds{5});
  get();
  EXPECT_EQ(pod_reads(), 2);
  holder = "careen-2_77";
  get();
  EXPECT_EQ(pod_reads(), 3);
  EXPECT_EQ(http.requests.back().url, "http://10.1.2.4:9123/api/v1/info");
}

TEST_F(InfoApiTest, AnAddressWhereNobodyAnswersIsForgotten) {
  put_pod("careen-1", "10.1.2.3");
  const Read refused = get();
  EXPECT_EQ(refused.status, 502);
  EXPECT_THAT(error(refused),
              testing::AllOf(HasSubstr("careen-1_0b1c"), HasSubstr("10.1.2.3:9123"), HasSubstr("connection refused")));
  put_pod("careen-1", "10.1.2.9");
  http.streams = {{200, {"[]"}}};
  EXPECT_EQ(get().status, 200);
  EXPECT_EQ(http.requests.back().url, "http://10.1.2.9:9123/api/v1/info");
}

TEST_F(InfoApiTest, ALeaderThatStoppedLeadingIsAnError) {
  put_pod("careen-1", "10.1.2.3");
  http.streams = {{503, {"{\"error\":\"x\"}"}}};
  const Read answer = get();
  EXPECT_EQ(answer.status, 502);
  EXPECT_THAT(error(answer), HasSubstr("status 503"));
}

TEST_F(InfoApiTest, ARequestIsForwardedOnce) {
  put_pod("careen-1", "10.1.2.3");
  const Read answer = get({{"X-Careen-Forwarded", "true"}});
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(error(answer), HasSubstr("does not lead"));
  EXPECT_THAT(http.requests, IsEmpty());
  EXPECT_EQ(pod_reads(), 0);
}

TEST_F(InfoApiTest, WithoutALeaderThereIsNoDocument) {
  holder = "";
  const Read answer = get();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(error(answer), "no replica leads at the moment");
}

TEST_F(InfoApiTest, APodThatCannotBeReadIsAnError) {
  holder = "no-such-pod_1";
  const Read missing = get();
  EXPECT_EQ(missing.status, 502);
  EXPECT_THAT(error(missing), HasSubstr("kube-system/no-such-pod"));
  for (const char* nonsense : {"_1", "no such \"pod\"_1", "../secrets/x_1", "a/b_1"}) {
    holder = nonsense;
    EXPECT_THAT(error(get()), HasSubstr("names no pod"));
  }
  holder = "careen-1_2";
  put_pod("careen-1", "");
  EXPECT_THAT(error(get()), HasSubstr("has no address"));
  for (const char* nonsense : {"evil.example", "10.0.0.1@evil.example", "10.0.0.1/", "[::1]"}) {
    put_pod("careen-1", nonsense);
    EXPECT_THAT(error(get()), HasSubstr("which is none"));
  }
  EXPECT_THAT(http.requests, IsEmpty());
}

TEST_F(InfoApiTest, APodReadThatHangsEndsAfterASecond) {
  put_pod("careen-1", "10.1.2.3");
  api.treat = [](const kube::Request& request) {
    EXPECT_EQ(request.timeout, io::seconds{1});
    return sim::Treatment{.before = io::hours{1}};
  };
  const io::Steady before = loop->now();
  const Read answer = get();
  EXPECT_EQ(answer.status, 502);
  EXPECT_EQ(loop->now() - before, io::seconds{1});
}

}  // namespace
}  // namespace careen::web
