// What can go wrong between us and the API server, as a value.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "io/result.h"
#include "io/time.h"

namespace careen::kube {

struct ApiError {
  int code = 0;         // HTTP status; 0 when no answer came or the request was not sent
  std::string reason;   // Status.reason: Conflict, NotFound, Forbidden …; NotLeader when our own guard refused
  std::string message;  // for people
  std::string body;     // the server's answer as it came, for structured causes
  std::optional<io::Duration> retry_after;
  std::optional<io::ErrorKind> network;  // set when code is 0 and the network failed
  bool maybe_applied = false;            // an attempt before the one described here may have taken effect

  // A failed precondition: 409, or 422 of a JSON patch that does not fit the object (a failed `test`, a path that
  // is gone).
  bool conflict() const;
  bool already_exists() const { return code == 409 && reason == "AlreadyExists"; }
  bool not_found() const { return code == 404; }
  // The server does not serve that kind in that version, which says nothing of the object.
  bool kind_not_served() const { return code == 404 && reason.empty(); }
  bool forbidden() const { return code == 403 || code == 401; }
  bool gone() const { return code == 410; }
  // An eviction that a disruption budget forbids at the moment.
  bool blocked_by_budget() const;
  // Our own write guard refused: nothing was sent.
  bool not_leader() const { return reason == "NotLeader"; }
  // The time by which it had to be sent has passed: nothing was sent.
  bool too_late() const { return reason == "TooLate"; }
  // A write that ended so may have taken effect: read before deciding again. Only what proves that nothing was stored
  // is a refusal; behind a proxy any other 5xx, and a 429 that is not the API server's own, proves nothing. This is the
  // one place where that is decided.
  bool ambiguous() const;
};

// What an answer other than 2xx says: a Status object's words, or the beginning of any other text.
ApiError to_api_error(int status, std::string body, std::optional<io::Duration> retry_after = std::nullopt);
// No answer came.
ApiError to_api_error(const io::Error& error);

template <class T>
using Result = tl::expected<T, ApiError>;

}  // namespace careen::kube
