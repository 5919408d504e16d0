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

  // A failed precondition: 409, or 422 of a JSON patch whose `test` failed.
  bool conflict() const;
  bool already_exists() const { return code == 409 && reason == "AlreadyExists"; }
  bool not_found() const { return code == 404; }
  bool forbidden() const { return code == 403 || code == 401; }
  bool gone() const { return code == 410; }
  // Our own write guard refused: nothing was sent.
  bool not_leader() const { return reason == "NotLeader"; }
  // A write that ended so may have taken effect: read before deciding again.
  bool ambiguous() const;
};

template <class T>
using Result = tl::expected<T, ApiError>;

}  // namespace careen::kube
