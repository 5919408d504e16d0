// Admission reviews out of any request: the first line is its content type, the rest its body. What is refused says
// why, and whatever is answered is a review of the same version and UID.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "kube/error.h"
#include "kube/json.h"
#include "web/admission.h"

namespace {

using namespace careen;
using kube::AdmissionVerdict;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "admission fuzz: %s\n", what);
  std::abort();
}

void expect_answer(std::string_view api_version, std::string_view uid, const AdmissionVerdict& verdict) {
  const auto answer = kube::Json::parse(web::encode_review(api_version, uid, verdict));
  expect(answer.has_value(), "the answer is no JSON");
  expect((*answer)["kind"].text() == "AdmissionReview", "the answer is no review");
  expect((*answer)["apiVersion"].text() == api_version, "the answer is of another version");
  expect(answer->at("/response/uid").text() == uid, "the answer is to another review");
  expect(answer->at("/response/allowed").boolean() == verdict.allowed, "the answer is another one");
  expect(answer->at("/response/status").is_object(), "the answer has no status");
}

void expect_answers(const web::Review& review, const std::string& body) {
  const kube::AdmissionRequest& request = review.request;
  expect_answer(review.api_version, request.uid, AdmissionVerdict::allow());
  expect_answer(review.api_version, request.uid, AdmissionVerdict::deny(request.name + request.ns));
  // What the API server said may be anything, too.
  const auto told = kube::to_api_error(409, request.object.dump());
  expect_answer(review.api_version, request.uid, AdmissionVerdict::pass_on(told));
  expect_answer(review.api_version, request.uid, AdmissionVerdict::pass_on(kube::to_api_error(500, body)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(text.find('\n'), text.size());
  io::ServerRequest request;
  request.method = "POST";
  request.headers.emplace_back("Content-Type", std::string(text.substr(0, end)));
  request.body = text.substr(std::min(end + 1, text.size()));
  const auto review = web::decode_review(request);
  if (!review) {
    const web::Refused& refused = review.error();
    expect(!refused.verdict.allowed && refused.verdict.code >= 400, "a refusal that allows");
    expect(!refused.verdict.message.empty(), "refused without a message");
    expect_answer(refused.api_version, refused.uid, refused.verdict);
    return 0;
  }
  expect(text.substr(0, end) == "application/json", "another content type is taken");
  expect_answers(*review, request.body);
  return 0;
}
