#include "drain/answer.h"

#include <algorithm>
#include <cstdlib>

#include "kube/json.h"

namespace careen::drain {

namespace {

using Kind = Answer::Kind;

constexpr io::Duration kRefusedPause = io::seconds{5};
constexpr io::Duration kUnsurePause = io::seconds{2};
constexpr io::Duration kFirstBudgetPause = io::seconds{5};
constexpr io::Duration kLongestBudgetPause = io::seconds{30};
constexpr io::Duration kFirstFailurePause = io::seconds{5};
constexpr io::Duration kLongestFailurePause = io::seconds{60};

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_in_terminating_namespace(const kube::ApiError& error) {
  if (error.code != 403) return false;
  const auto status = kube::Json::parse(error.body);
  if (!status) return false;
  bool found = false;
  (*status)["details"]["causes"].for_each_element(
      [&](kube::JsonView cause) { found = found || cause["reason"].text() == "NamespaceTerminating"; });
  return found;
}

// Of a server without the subresource, which does not name the pod.
bool is_about_no_object(const kube::ApiError& error) {
  if (error.code == 405) return true;
  if (error.code != 404) return false;
  const auto status = kube::Json::parse(error.body);
  if (!status || (*status)["kind"].text() != "Status") return true;
  return !(*status)["details"]["name"].text() && contains(error.message, "could not find the requested resource");
}

// What says nothing about the pod may say something else the next time: no answer, a gateway's, one that names a time.
bool is_final(Kind kind, const kube::ApiError& error) {
  if (error.retry_after && *error.retry_after > io::Duration::zero()) return false;
  if (kind == Kind::unsure) return error.code == 500;
  return kind == Kind::several || (kind == Kind::failed && error.code >= 400 && error.code <= 500);
}

Kind kind_of(const kube::ApiError& error) {
  if (error.not_leader() && !error.maybe_applied) return Kind::not_leader;
  if (is_about_no_object(error)) return Kind::unsupported;
  if (error.not_found()) return Kind::gone;
  // The precondition names the UID; other conflicts are between writers and pass.
  if (error.code == 409) return contains(error.message, "UID") ? Kind::gone : Kind::unsure;
  if (error.blocked_by_budget()) return Kind::over_budget;
  if (error.code == 429 && !error.ambiguous()) return Kind::refused;
  if (is_in_terminating_namespace(error)) return Kind::refused;
  if (error.code == 500 && contains(error.message, "more than one PodDisruptionBudget")) return Kind::several;
  return error.ambiguous() ? Kind::unsure : Kind::failed;
}

io::Duration doubled(io::Duration first, io::Duration longest, int in_a_row) {
  return std::min(first * (int64_t{1} << std::clamp(in_a_row - 1, 0, 10)), longest);
}

io::Duration own_pause(Kind kind, int in_a_row) {
  switch (kind) {
    case Kind::accepted:
    case Kind::gone:
      return {};
    case Kind::over_budget:
      return doubled(kFirstBudgetPause, kLongestBudgetPause, in_a_row);
    case Kind::several:
      return kLongestBudgetPause;
    case Kind::refused:
    case Kind::not_leader:
      return kRefusedPause;
    case Kind::unsure:
      return doubled(kUnsurePause, kLongestFailurePause, in_a_row);
    case Kind::unsupported:
    case Kind::failed:
      return doubled(kFirstFailurePause, kLongestFailurePause, in_a_row);
  }
  std::abort();
}

}  // namespace

std::string_view result_of(Kind kind) {
  switch (kind) {
    case Kind::accepted:
      return "accepted";
    case Kind::gone:
      return "gone";
    case Kind::over_budget:
    case Kind::several:
    case Kind::refused:
      return "blocked";
    case Kind::not_leader:
      return {};
    case Kind::unsupported:
    case Kind::unsure:
    case Kind::failed:
      return "error";
  }
  std::abort();
}

Answer answer_of(const kube::Result<std::string>& response) {
  if (response) return {};
  const kube::ApiError& error = response.error();
  const Kind kind = kind_of(error);
  return {kind, error.message, error.retry_after, kind == Kind::unsure || error.code == 409, is_final(kind, error)};
}

io::Duration pause_after(const Answer& answer, int in_a_row) {
  const io::Duration own = own_pause(answer.kind, in_a_row);
  const bool asked = answer.retry_after && *answer.retry_after > io::Duration::zero();
  if (!asked) return own;
  if (answer.kind == Kind::refused || answer.kind == Kind::over_budget) return *answer.retry_after;
  return std::max(own, *answer.retry_after);
}

}  // namespace careen::drain
