#include "kube/error.h"

#include <algorithm>
#include <string_view>

#include "kube/json.h"

namespace careen::kube {

namespace {

// How much of an answer that is no Status goes into the message.
constexpr size_t kShownText = 200;

// The only words the API server has for a JSON patch that cannot be applied to the object as it is.
constexpr std::string_view kPatchDoesNotFit = "the server rejected our request due to an error in our request";

// What the API server says of its own flow control when it does not say it in a Status.
constexpr std::string_view kFlowControl = "Too many requests, please try again later.";

std::string shortened(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    if (shown.size() >= kShownText) {
      // Not in the middle of a UTF-8 character.
      while (!shown.empty() && (static_cast<unsigned char>(shown.back()) & 0xC0) == 0x80) shown.pop_back();
      if (!shown.empty() && static_cast<unsigned char>(shown.back()) >= 0xC0) shown.pop_back();
      return shown + "…";
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      if (!shown.empty() && shown.back() != ' ') shown += ' ';
    } else {
      shown += c;
    }
  }
  while (!shown.empty() && shown.back() == ' ') shown.pop_back();
  return shown;
}

std::optional<io::Duration> asked_delay(const Json& status) {
  const int64_t seconds = status["details"]["retryAfterSeconds"].integer().value_or(0);
  if (seconds <= 0) return std::nullopt;
  return io::seconds{std::min<int64_t>(seconds, 24 * 3600)};
}

// Admission comes before anything is stored.
bool refused_by_admission(const ApiError& error) {
  return error.message.find("failed calling webhook") != std::string::npos ||
         (error.message.find("admission webhook") != std::string::npos &&
          error.message.find("denied the request") != std::string::npos);
}

}  // namespace

bool ApiError::conflict() const {
  if (code == 409) return reason != "AlreadyExists";
  if (code != 422) return false;
  // A validation failure names the kind and its causes instead.
  return message == kPatchDoesNotFit || message.find("test failed") != std::string::npos;
}

bool ApiError::blocked_by_budget() const {
  return code == 429 && body.find("\"DisruptionBudget\"") != std::string::npos;
}

bool ApiError::ambiguous() const {
  if (maybe_applied) return true;
  if (network) {
    return *network == io::ErrorKind::timeout || *network == io::ErrorKind::closed ||
           *network == io::ErrorKind::protocol;
  }
  switch (code) {
    case 429:
      return reason != "TooManyRequests" && !body.starts_with(kFlowControl);
    case 500:
      return !refused_by_admission(*this);
    case 501:
      return false;
    // A proxy that lost its server, a server that lost its storage: either may have passed the write on before.
    default:
      return code > 500;
  }
}

ApiError to_api_error(int status, std::string body, std::optional<io::Duration> retry_after) {
  ApiError error;
  error.code = status;
  error.retry_after = retry_after;
  const io::Result<Json> answer = Json::parse(body);
  if (answer && (*answer)["kind"].text() == "Status") {
    error.reason = (*answer)["reason"].text().value_or("");
    error.message = (*answer)["message"].text().value_or("");
    if (!error.retry_after) error.retry_after = asked_delay(*answer);
  }
  if (error.message.empty()) {
    const std::string text = shortened(body);
    error.message = "the server answered " + std::to_string(status) + (text.empty() ? "" : ": " + text);
  }
  error.body = std::move(body);
  return error;
}

ApiError to_api_error(const io::Error& failure) {
  ApiError error;
  error.message = failure.message;
  error.network = failure.kind;
  return error;
}

}  // namespace careen::kube
