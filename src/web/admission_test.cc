#include "web/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "io/sync.h"
#include "io/virtual_time.h"

namespace careen::web {
namespace {

using kube::AdmissionRequest;
using kube::AdmissionVerdict;
using kube::Json;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kReview = R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{
  "uid":"705ab4f5","operation":"UPDATE","name":"m","namespace":"ns","dryRun":true,
  "object":{"spec":{"nodeName":"b"}},"oldObject":{"spec":{"nodeName":"a"}}}})";

io::ServerRequest posted(std::string body, std::string type = "application/json") {
  return {"POST", "/validate", "", {{"Content-Type", std::move(type)}}, std::move(body)};
}

class AdmissionTest : public testing::Test {
 protected:
  static io::Task<void> keep(io::Task<io::ServerResponse> task, std::optional<io::ServerResponse>& out) {
    out = co_await std::move(task);
  }
  io::Task<AdmissionVerdict> decide(AdmissionRequest request) {
    asked.push_back(std::move(request));
    if (takes > io::Duration::zero()) co_await io::sleep_for(*loop, takes);
    if (!failure.empty()) throw std::runtime_error(failure);
    co_return verdict;
  }
  // The review in the answer.
  Json answer(io::ServerRequest request) {
    std::optional<io::ServerResponse> out;
    io::Scope scope(*loop);
    scope.spawn(keep(endpoint.answer(std::move(request)), out));
    EXPECT_TRUE(time.run_until([&] { return out.has_value(); }, io::minutes{1}));
    EXPECT_EQ(out->status, 200);
    EXPECT_EQ(out->content_type, "application/json");
    auto parsed = Json::parse(out->body);
    EXPECT_TRUE(parsed) << out->body;
    return parsed ? std::move(*parsed) : Json();
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  io::Metrics metrics;
  AdmissionVerdict verdict = AdmissionVerdict::allow();
  std::string failure;
  io::Duration takes{};
  std::vector<AdmissionRequest> asked;
  AdmissionEndpoint endpoint{*loop, metrics, "/validate",
                             [this](const AdmissionRequest& request) { return decide(request); }};
};

TEST_F(AdmissionTest, TheRequestReachesTheRules) {
  const Json review = answer(posted(kReview));
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].uid, "705ab4f5");
  EXPECT_EQ(asked[0].operation, "UPDATE");
  EXPECT_EQ(asked[0].name, "m");
  EXPECT_EQ(asked[0].ns, "ns");
  EXPECT_TRUE(asked[0].dry_run);
  EXPECT_EQ(asked[0].object.at("/spec/nodeName").text(), "b");
  EXPECT_EQ(asked[0].old_object.at("/spec/nodeName").text(), "a");
  EXPECT_EQ(review, *Json::parse(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",
      "response":{"uid":"705ab4f5","allowed":true,"status":{"code":200}}})"));
}

TEST_F(AdmissionTest, DenialsAreForbidden) {
  verdict = AdmissionVerdict::deny("not today");
  EXPECT_EQ(answer(posted(kReview)), *Json::parse(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",
      "response":{"uid":"705ab4f5","allowed":false,
                  "status":{"code":403,"reason":"Forbidden","message":"not today"}}})"));
}

TEST_F(AdmissionTest, AStatusIsGivenBackAsItIs) {
  const std::string status =
      R"({"kind":"Status","code":404,"reason":"NotFound","message":"no","details":{"name":"x"}})";
  verdict = AdmissionVerdict::pass_on(kube::to_api_error(404, status));
  EXPECT_EQ(answer(posted(kReview)).at("/response/status"), Json::parse(status)->view());
  verdict = AdmissionVerdict::pass_on(kube::to_api_error(io::Error{io::ErrorKind::timeout, "too slow"}));
  const Json review = answer(posted(kReview));
  EXPECT_EQ(review.at("/response/status/code").integer(), 403);
  EXPECT_EQ(review.at("/response/status/message").text(), "too slow");
}

TEST_F(AdmissionTest, TheOlderVersionIsAnsweredInKind) {
  std::string body = kReview;
  body.replace(body.find("/v1"), 3, "/v1beta1");
  EXPECT_EQ(answer(posted(body))["apiVersion"].text(), "admission.k8s.io/v1beta1");
}

TEST_F(AdmissionTest, WhatIsNoReviewIsABadRequest) {
  const auto code = [&](io::ServerRequest request) {
    const Json review = answer(std::move(request));
    EXPECT_EQ(review.at("/response/allowed").boolean(), false);
    EXPECT_FALSE(review.at("/response/status/message").text().value_or("").empty());
    return review.at("/response/status/code").integer();
  };
  EXPECT_EQ(code(posted("")), 400);
  EXPECT_EQ(code(posted(kReview, "text/plain")), 400);
  EXPECT_EQ(code(posted(kReview, "")), 400);
  EXPECT_EQ(code(posted("{")), 400);
  EXPECT_EQ(code(posted("[]")), 400);
  EXPECT_EQ(code(posted(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v9","request":{}})")), 400);
  EXPECT_EQ(code(posted(R"({"kind":"Pod","apiVersion":"admission.k8s.io/v1","request":{}})")), 400);
  EXPECT_EQ(code(posted(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"})")), 400);
  EXPECT_EQ(code(posted(std::string((1 << 20) + 1, ' '))), 413);
  EXPECT_TRUE(asked.empty());
}

TEST_F(AdmissionTest, AMebibyteIsTaken) {
  std::string body = kReview;
  body.resize(1 << 20, ' ');
  EXPECT_EQ(answer(posted(body)).at("/response/allowed").boolean(), true);
}

// Words that anybody may have written are not repeated at any length.
TEST_F(AdmissionTest, ARefusalIsShort) {
  const std::string words(100'000, 'x');
  for (const std::string& body : {R"({"kind":"AdmissionReview","apiVersion":")" + words + R"("})",
                                  R"({"kind":")" + words + R"(","apiVersion":"admission.k8s.io/v1"})"}) {
    EXPECT_LT(answer(posted(body)).dump().size(), 1000u);
  }
  EXPECT_LT(answer(posted(kReview, words)).dump().size(), 1000u);
}

TEST_F(AdmissionTest, ARuleThatFailsAtOnceIsToldToo) {
  AdmissionEndpoint failing(*loop, metrics, "/failing", [](const AdmissionRequest&) -> io::Task<AdmissionVerdict> {
    throw std::runtime_error("no");
  });
  std::optional<io::ServerResponse> out;
  io::Scope scope(*loop);
  scope.spawn(keep(failing.answer(posted(kReview)), out));
  ASSERT_TRUE(time.run_until([&] { return out.has_value(); }, io::minutes{1}));
  EXPECT_EQ(Json::parse(out->body)->at("/response/status/message").text(), "panic: no [recovered]");
}

TEST_F(AdmissionTest, ARuleThatFailsIsToldAndCounted) {
  failure = "no such luck";
  const Json review = answer(posted(kReview));
  EXPECT_EQ(review.at("/response/uid").text(), "705ab4f5");
  EXPECT_EQ(review.at("/response/status/code").integer(), 500);
  EXPECT_EQ(review.at("/response/status/message").text(), "panic: no such luck [recovered]");
  EXPECT_THAT(metrics.expose(), HasSubstr("controller_runtime_webhook_panics_total 1"));
}

TEST_F(AdmissionTest, MetricsHaveTheNamesOfTheOriginal) {
  takes = io::seconds{2};
  std::optional<io::ServerResponse> out;
  {
    io::Scope scope(*loop);
    scope.spawn(keep(endpoint.answer(posted(kReview)), out));
    time.run_for(io::seconds{1});
    EXPECT_THAT(metrics.expose(), HasSubstr("controller_runtime_webhook_requests_in_flight{webhook=\"/validate\"} 1"));
    EXPECT_FALSE(out);
  }
  EXPECT_THAT(metrics.expose(), HasSubstr("controller_runtime_webhook_requests_in_flight{webhook=\"/validate\"} 0"));
  answer(posted(kReview));
  answer(posted(""));
  EXPECT_THAT(
      metrics.expose(),
      AllOf(HasSubstr("controller_runtime_webhook_requests_total{code=\"200\",webhook=\"/validate\"} 2"),
            HasSubstr("controller_runtime_webhook_requests_total{code=\"500\",webhook=\"/validate\"} 0"),
            HasSubstr("controller_runtime_webhook_latency_seconds_bucket{webhook=\"/validate\",le=\"0.005\"} 1"),
            HasSubstr("controller_runtime_webhook_latency_seconds_bucket{webhook=\"/validate\",le=\"2.5\"} 2")));
}

}  // namespace
}  // namespace careen::web
