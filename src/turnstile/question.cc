#include "turnstile/question.h"

#include <utility>

#include "kube/json.h"

namespace careen::turnstile {

using kube::Json;
using kube::JsonView;

namespace {

// Where a review that is passed on says on which node the pod is.
constexpr std::string_view kNode = "careen.dev/node";
constexpr size_t kLongestName = 253;

// A name that is longer is nobody's.
std::string name_in(std::string name) { return name.size() <= kLongestName ? std::move(name) : std::string(); }

}  // namespace

std::string text_in(JsonView value) { return std::string(value.text().value_or("")); }

std::string_view path_of(Question::Kind kind) { return kind == Question::Kind::eviction ? kEvictionPath : kCordonPath; }

Question eviction_question(const kube::AdmissionRequest& request) {
  // The options of an eviction may ask for a dry run, which the request itself does not show then.
  const JsonView options = request.object["deleteOptions"];
  bool dry_run = request.dry_run;
  options["dryRun"].for_each_element([&](JsonView) { dry_run = true; });
  return {
      .kind = Question::Kind::eviction,
      .ns = name_in(request.ns),
      .pod = name_in(request.name.empty() ? text_in(request.object["metadata"]["name"]) : request.name),
      .node = request.passed_on ? name_in(text_in(request.object["metadata"]["annotations"][kNode])) : std::string(),
      .user = request.user,
      .actor = {},
      .dry_run = dry_run,
      .passed_on = request.passed_on};
}

Question cordon_question(const kube::AdmissionRequest& request) {
  return {.kind = Question::Kind::leave,
          .ns = {},
          .pod = {},
          .node = name_in(request.name),
          .user = request.user,
          .actor = request.field_manager.empty() ? request.user : request.field_manager,
          .dry_run = request.dry_run,
          .passed_on = request.passed_on};
}

std::string review_of(const Question& question) {
  const bool eviction = question.kind == Question::Kind::eviction;
  Json object =
      eviction ? Json::object({{"metadata", Json::object({{"annotations", Json::object({{kNode, question.node}})}})}})
               : Json::object({{"spec", Json::object({{"unschedulable", true}})}});
  return Json::object({{"kind", "AdmissionReview"},
                       {"apiVersion", "admission.k8s.io/v1"},
                       {"request", Json::object({{"uid", "passed-on"},
                                                 {"operation", eviction ? "CREATE" : "UPDATE"},
                                                 {"name", eviction ? question.pod : question.node},
                                                 {"namespace", question.ns},
                                                 {"dryRun", question.dry_run},
                                                 {"userInfo", Json::object({{"username", question.user}})},
                                                 {"options", Json::object({{"fieldManager", question.actor}})},
                                                 {"object", std::move(object)}})}})
      .dump();
}

std::optional<kube::AdmissionVerdict> verdict_in(std::string_view review) {
  const auto parsed = Json::parse(review);
  if (!parsed) return std::nullopt;
  const JsonView response = (*parsed)["response"];
  const auto allowed = response["allowed"].boolean();
  if (!allowed) return std::nullopt;
  kube::AdmissionVerdict verdict;
  verdict.allowed = *allowed;
  verdict.code = static_cast<int>(response["status"]["code"].integer().value_or(*allowed ? 200 : 403));
  verdict.reason = text_in(response["status"]["reason"]);
  verdict.message = text_in(response["status"]["message"]);
  return verdict;
}

kube::AdmissionVerdict later(std::string text) {
  kube::AdmissionVerdict verdict = kube::AdmissionVerdict::error(429, std::move(text));
  verdict.reason = "TooManyRequests";
  return verdict;
}

}  // namespace careen::turnstile
