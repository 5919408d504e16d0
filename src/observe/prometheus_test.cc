#include "observe/prometheus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "io/sync.h"
#include "io/virtual_time.h"
#include "observe/test_http.h"

namespace careen::observe {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

class PrometheusTest : public testing::Test {
 protected:
  static io::Task<void> store(io::Task<InstantAnswer> task, std::optional<InstantAnswer>* into) {
    into->emplace(co_await std::move(task));
  }
  InstantAnswer ask(const std::string& url, const std::string& query = "up") {
    std::optional<InstantAnswer> answer;
    io::Scope scope(*loop);
    scope.spawn(store(ask_instant(*loop, http, {url, query}, now), &answer));
    EXPECT_TRUE(time.run_until([&] { return answer.has_value(); }, io::minutes{1}));
    return answer.value_or(InstantAnswer{});
  }
  InstantAnswer answer_to(int status, std::string body) {
    http.answers.push_back(http_answer(status, std::move(body)));
    return ask("http://prom:9090");
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  ScriptedPrometheus http{*loop};
  io::Wall now = io::Wall{io::milliseconds{1'700'000'000'025}};
};

TEST_F(PrometheusTest, PostsTheQueryAndTheTime) {
  http.answers.push_back(vector_answer("4.5"));
  const InstantAnswer answer = ask("http://prom:9090/prefix/", "sum(up{a=\"b c\"}) > 0");
  EXPECT_THAT(answer.error, IsEmpty());
  EXPECT_EQ(answer.value, 4.5);
  ASSERT_EQ(http.requests.size(), 1u);
  const io::HttpRequest& request = http.requests[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.url, "http://prom:9090/prefix/api/v1/query");
  EXPECT_EQ(request.body, "query=sum%28up%7Ba%3D%22b%20c%22%7D%29%20%3E%200&time=1700000000.025");
  EXPECT_THAT(request.headers, ElementsAre(Pair("Content-Type", "application/x-www-form-urlencoded")));
  EXPECT_EQ(request.connect_timeout, io::seconds{5});
}

TEST_F(PrometheusTest, RepeatsAsGetWherePostIsNotTaken) {
  for (const int status : {405, 501}) {
    http.requests.clear();
    http.answers = {http_answer(status), vector_answer("2")};
    EXPECT_EQ(ask("http://prom:9090?tenant=a").value, 2);
    ASSERT_EQ(http.requests.size(), 2u);
    EXPECT_EQ(http.requests[0].url, "http://prom:9090/api/v1/query?tenant=a");
    EXPECT_EQ(http.requests[1].method, "GET");
    EXPECT_EQ(http.requests[1].url, "http://prom:9090/api/v1/query?tenant=a&query=up&time=1700000000.025");
    EXPECT_THAT(http.requests[1].body, IsEmpty());
  }
}

TEST_F(PrometheusTest, CredentialsGoIntoAHeaderAndNowhereElse) {
  http.answers.push_back(http_answer(401, "who are you?"));
  const InstantAnswer answer = ask("http://me:p%40ss@prom:9090");
  EXPECT_EQ(io::header(http.requests[0].headers, "authorization"), "Basic bWU6cEBzcw==");
  EXPECT_EQ(http.requests[0].url, "http://prom:9090/api/v1/query");
  EXPECT_EQ(answer.error, "http://***@prom:9090: HTTP status 401: who are you?");
}

TEST_F(PrometheusTest, ReadsWhatIsNotFinite) {
  http.answers = {vector_answer("NaN"), vector_answer("+Inf"), vector_answer("-Inf")};
  EXPECT_TRUE(std::isnan(ask("http://prom").value));
  EXPECT_EQ(ask("http://prom").value, INFINITY);
  EXPECT_EQ(ask("http://prom").value, -INFINITY);
}

TEST_F(PrometheusTest, CollectsWarnings) {
  const InstantAnswer answer = answer_to(200, R"({"status":"success","warnings":["one","two"],)"
                                              R"("data":{"resultType":"vector","result":[{"value":[1,"3"]}]}})");
  EXPECT_EQ(answer.value, 3);
  EXPECT_THAT(answer.warnings, ElementsAre("one", "two"));
}

TEST_F(PrometheusTest, NeedsExactlyOneSample) {
  const auto result = [&](const std::string& data) {
    return answer_to(200, R"({"status":"success","data":)" + data + "}").error;
  };
  EXPECT_THAT(result(R"({"resultType":"vector","result":[]})"), HasSubstr("gives no sample"));
  EXPECT_THAT(result(R"({"resultType":"vector","result":[{"value":[1,"1"]},{"value":[1,"2"]}]})"),
              HasSubstr("gives 2 samples"));
  EXPECT_THAT(result(R"({"resultType":"scalar","result":[1,"1"]})"), HasSubstr("gives a scalar"));
  EXPECT_THAT(result(R"({"resultType":"matrix","result":[]})"), HasSubstr("gives a matrix"));
  EXPECT_THAT(result(R"({"resultType":"vector","result":[{"histogram":[1,{}]}]})"), HasSubstr("gives a histogram"));
  EXPECT_THAT(result(R"({"resultType":"vector","result":[{"value":[1,"x"]}]})"), HasSubstr("no number"));
  EXPECT_THAT(result(R"({"resultType":"vector","result":[{"value":[1,2]}]})"), HasSubstr("no number"));
  EXPECT_THAT(result("{}"), HasSubstr("no resultType"));
}

TEST_F(PrometheusTest, TellsTheServersError) {
  EXPECT_EQ(answer_to(400, R"({"status":"error","errorType":"bad_data","error":"parse error"})").error,
            "http://prom:9090: bad_data: parse error");
  EXPECT_EQ(answer_to(503, R"({"status":"error","errorType":"timeout","error":"too slow"})").error,
            "http://prom:9090: timeout: too slow");
  EXPECT_EQ(answer_to(404, "404 page\nnot found").error, "http://prom:9090: HTTP status 404: 404 page not found");
  EXPECT_EQ(answer_to(502, "").error, "http://prom:9090: HTTP status 502");
  EXPECT_THAT(answer_to(200, "<html>").error, HasSubstr("no JSON document of Prometheus: <html>"));
  EXPECT_THAT(answer_to(500, std::string(10'000, 'x')).error.size(), testing::Lt(300u));
}

TEST_F(PrometheusTest, TellsWhereARedirectLeads) {
  http.answers.push_back({io::HttpResponse{302, {{"Location", "https://me:secret@other/"}}, ""}, {}});
  EXPECT_THAT(ask("http://prom").error, AllOf(HasSubstr("redirects to https://***@other/"), Not(HasSubstr("secret"))));
}

TEST_F(PrometheusTest, GivesUpAfterTenSecondsInAll) {
  http.answers = {http_answer(405, "", io::seconds{6}), vector_answer("1", io::seconds{6})};
  const io::Steady before = loop->now();
  const InstantAnswer answer = ask("http://prom");
  EXPECT_TRUE(answer.timed_out);
  EXPECT_EQ(answer.error, "http://prom: no answer within 10s");
  EXPECT_EQ(loop->now() - before, io::seconds{10});
  EXPECT_EQ(http.in_flight, 0);
}

TEST_F(PrometheusTest, NonsenseIsNotSent) {
  for (const char* url :
       {"", "prom:9090", "ftp://prom", "http://", "http://:9090", "http:///path", "http://prom:port"}) {
    EXPECT_THAT(ask(url).error, HasSubstr("is no URL of a server")) << url;
    EXPECT_EQ(endpoint_of(url), "invalid") << url;
  }
  EXPECT_THAT(http.requests, IsEmpty());
}

TEST(PrometheusUrl, EndpointsHaveOneSpelling) {
  EXPECT_EQ(endpoint_of("http://me:secret@Prom/a/b?c=d#e"), "http://prom:80");
  EXPECT_EQ(endpoint_of("https://prom"), "https://prom:443");
  EXPECT_EQ(endpoint_of("http://prom:9090"), "http://prom:9090");
  EXPECT_EQ(endpoint_of("http://[::1]/x"), "http://[::1]:80");
  EXPECT_EQ(endpoint_of("http://[::1]:9090"), "http://[::1]:9090");
}

TEST(PrometheusUrl, CredentialsAreNeverShown) {
  EXPECT_EQ(without_credentials("http://prom/a"), "http://prom/a");
  EXPECT_EQ(without_credentials("http://me:secret@prom/a"), "http://***@prom/a");
  EXPECT_EQ(without_credentials("http://me:sec@ret@prom/a"), "http://***@prom/a");
  EXPECT_EQ(without_credentials("http://me:sec/ret@prom/a"), "http://***@prom/a");
  EXPECT_EQ(without_credentials("me:secret@prom"), "***@prom");
  EXPECT_EQ(without_credentials("http://prom/a?mail=a@b"), "http://prom/a?mail=a@b");
}

}  // namespace
}  // namespace careen::observe
