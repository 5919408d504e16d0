#include "kube/admission.h"

#include <utility>

namespace careen::kube {

AdmissionVerdict AdmissionVerdict::allow() { return {true, 200, {}, {}, {}}; }

AdmissionVerdict AdmissionVerdict::deny(std::string message) {
  return {false, 403, "Forbidden", std::move(message), {}};
}

AdmissionVerdict AdmissionVerdict::error(int code, std::string message) {
  return {false, code, {}, std::move(message), {}};
}

AdmissionVerdict AdmissionVerdict::pass_on(const ApiError& error) {
  AdmissionVerdict verdict = deny(error.message);
  if (error.code == 0) return verdict;
  verdict.code = error.code;
  verdict.reason = error.reason;
  auto answer = Json::parse(error.body);
  if (answer && (*answer)["kind"].text() == "Status") verdict.status = std::move(*answer);
  return verdict;
}

}  // namespace careen::kube
