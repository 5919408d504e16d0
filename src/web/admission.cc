#include "web/admission.h"

#include <fmt/format.h>

#include <exception>

#include "kube/json_text.h"
#include "web/leader.h"

namespace careen::web {

using io::Task;
using kube::AdmissionVerdict;
using kube::Json;
using kube::JsonView;

namespace {

constexpr std::string_view kV1 = "admission.k8s.io/v1";
constexpr std::string_view kV1Beta1 = "admission.k8s.io/v1beta1";
// A little more than a review may have, so that one that is a little too long is answered with a review.
constexpr size_t kReviewBody = kLongestReview + (256 << 10);

tl::unexpected<Refused> refuse(int code, std::string message) {
  return tl::make_unexpected(Refused{std::string(kV1), {}, AdmissionVerdict::error(code, std::move(message))});
}

std::string text_of(JsonView value) { return std::string(value.text().value_or("")); }

// Words of a client or of a server may be any bytes; the answer is JSON nevertheless.
Json readable(std::string_view words) {
  std::string text;
  kube::append_json_text(text, words);
  return *Json::parse(text);
}

Json status_of(const AdmissionVerdict& verdict) {
  if (!verdict.status.view().is_null()) return verdict.status;
  Json status = Json::object({{"code", verdict.code}});
  if (!verdict.reason.empty()) status.set({"reason"}, readable(verdict.reason));
  if (!verdict.message.empty()) status.set({"message"}, readable(verdict.message));
  return status;
}

io::Counter& requests_total(io::Metrics& metrics, const std::string& path, const std::string& code) {
  return metrics.counter("controller_runtime_webhook_requests_total",
                         "Total number of admission requests by HTTP status code.",
                         {{"webhook", path}, {"code", code}});
}

// Of texts that anybody may have written and that are shown in the log.
std::string shown(std::string_view text) {
  constexpr size_t kLongest = 253;
  return text.size() <= kLongest ? std::string(text) : std::string(text.substr(0, kLongest)) + "…";
}

// Counts what is in flight, also when the answer is no longer wanted and its coroutine ends in the middle.
class InFlight {
 public:
  InFlight(int& count, io::Gauge& gauge) : count_(count), gauge_(gauge) { gauge_.set(++count_); }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
  ~InFlight() { gauge_.set(--count_); }

 private:
  int& count_;
  io::Gauge& gauge_;
};

}  // namespace

tl::expected<Review, Refused> decode_review(const io::ServerRequest& request) {
  if (request.body.empty()) return refuse(400, "request body is empty");
  if (request.body.size() > kLongestReview) {
    return refuse(413, fmt::format("request entity is too large; limit is {} bytes", kLongestReview));
  }
  const std::string_view type = io::header(request.headers, "content-type");
  if (type != "application/json")
    return refuse(400, fmt::format("contentType={}, expected application/json", shown(type)));
  const auto document = Json::parse(request.body);
  if (!document) return refuse(400, "the body is no AdmissionReview: " + document.error().message);

  Review review;
  review.api_version = text_of((*document)["apiVersion"]);
  if (review.api_version != kV1 && review.api_version != kV1Beta1) {
    return refuse(400, fmt::format("the body's apiVersion is \"{}\", expected {} or {}", shown(review.api_version), kV1,
                                   kV1Beta1));
  }
  const JsonView asked = (*document)["request"];
  kube::AdmissionRequest& into = review.request;
  into.uid = text_of(asked["uid"]);
  const auto broken = [&](std::string message) {
    return tl::make_unexpected(Refused{review.api_version, into.uid, AdmissionVerdict::error(400, std::move(message))});
  };
  if ((*document)["kind"].text() != "AdmissionReview") {
    return broken(
        fmt::format("the body's kind is \"{}\", expected AdmissionReview", shown(text_of((*document)["kind"]))));
  }
  if (!asked.is_object()) return broken("the AdmissionReview has no request");
  into.operation = text_of(asked["operation"]);
  into.name = text_of(asked["name"]);
  into.ns = text_of(asked["namespace"]);
  into.dry_run = asked["dryRun"].boolean().value_or(false);
  into.user = text_of(asked["userInfo"]["username"]);
  asked["userInfo"]["groups"].for_each_element([&](JsonView group) { into.groups.push_back(text_of(group)); });
  into.field_manager = text_of(asked["options"]["fieldManager"]);
  into.object = Json(asked["object"]);
  into.old_object = Json(asked["oldObject"]);
  into.peer = request.peer;
  into.passed_on = Leader::was_passed_on(request);
  return review;
}

std::string encode_review(std::string_view api_version, std::string_view uid, const AdmissionVerdict& verdict) {
  return Json::object(
             {{"kind", "AdmissionReview"},
              {"apiVersion", api_version},
              {"response", Json::object({{"uid", uid}, {"allowed", verdict.allowed}, {"status", status_of(verdict)}})}})
      .dump();
}

AdmissionEndpoint::AdmissionEndpoint(io::Loop& loop, io::Metrics& metrics, std::string path, Judge judge, io::Log log,
                                     Denials denials)
    : loop_(loop),
      path_(std::move(path)),
      judge_(std::move(judge)),
      log_(std::move(log)),
      denials_(denials),
      answered_(requests_total(metrics, path_, "200")),
      panics_(metrics.counter("controller_runtime_webhook_panics_total", "Total number of webhook panics")),
      in_flight_gauge_(metrics.gauge("controller_runtime_webhook_requests_in_flight",
                                     "Current number of admission requests being served.", {{"webhook", path_}})),
      latency_(metrics.histogram("controller_runtime_webhook_latency_seconds",
                                 "Histogram of the latency of processing admission requests",
                                 {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}, {{"webhook", path_}})) {
  // As with the original, it is there with value 0.
  requests_total(metrics, path_, "500");
}

Task<io::ServerResponse> AdmissionEndpoint::answer(io::ServerRequest request) {
  const InFlight counted(in_flight_, in_flight_gauge_);
  const io::Steady begun = loop_.now();
  Opened opened = open(request);
  request = {};
  const std::string api_version = opened.api_version, uid = opened.uid;
  const AdmissionVerdict verdict = co_await verdict_on(std::move(opened));
  io::ServerResponse response;
  response.content_type = "application/json";
  response.body = encode_review(api_version, uid, verdict);
  answered_.add();
  latency_.observe(io::to_seconds(loop_.now() - begun));
  co_return response;
}

AdmissionEndpoint::Opened AdmissionEndpoint::open(const io::ServerRequest& request) {
  auto review = decode_review(request);
  if (!review) {
    Refused& refused = review.error();
    log_.warn("bad request", "webhook", path_, "error", refused.verdict.message);
    return {.api_version = std::move(refused.api_version),
            .uid = std::move(refused.uid),
            .subject = {},
            .verdict = std::move(refused.verdict)};
  }
  Opened opened{.api_version = std::move(review->api_version),
                .uid = review->request.uid,
                .subject = fmt::format("{} {}", shown(review->request.operation), shown(review->request.name))};
  try {
    opened.judging = judge_(review->request);
  } catch (const std::exception& e) {
    opened.verdict = failed(opened.subject, e.what());
  }
  return opened;
}

Task<AdmissionVerdict> AdmissionEndpoint::verdict_on(Opened opened) {
  if (!opened.judging) co_return std::move(opened.verdict);
  std::string failure;
  try {
    AdmissionVerdict verdict = co_await std::move(*opened.judging);
    if (!verdict.allowed && denials_ == Denials::told) {
      log_.info("request denied", "webhook", path_, "request", opened.subject, "message", verdict.message);
    }
    co_return verdict;
  } catch (const std::exception& e) {
    failure = e.what();
  }
  co_return failed(opened.subject, failure);
}

// The user gets an answer, and the process lives on: it has other work.
AdmissionVerdict AdmissionEndpoint::failed(const std::string& subject, const std::string& why) {
  panics_.add();
  log_.error("a rule failed", "webhook", path_, "request", subject, "error", why);
  return AdmissionVerdict::error(500, fmt::format("panic: {} [recovered]", why));
}

Route webhook_route(const WebhookParts& parts, std::string path, AdmissionEndpoint::Judge judge) {
  auto endpoint =
      std::make_shared<AdmissionEndpoint>(parts.loop, parts.metrics, path, std::move(judge), parts.log, parts.denials);
  return {.path = exactly(path),
          // Whatever is wrong with a request is reported in a review.
          .methods = Methods::any(),
          .access = Access::api_server(),
          .answer = [endpoint](io::ServerRequest request) { return endpoint->answer(std::move(request)); },
          .max_body = kReviewBody,
          .listing = {.name = "admission webhooks"}};
}

}  // namespace careen::web
