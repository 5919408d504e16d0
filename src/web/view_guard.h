// Who may look at the view API: a client on the machine's own loopback address (what kubectl port-forward comes from),
// or one whose bearer token the API server knows and whose user may get the path.
#pragma once

#include <optional>

#include "io/http_server.h"
#include "web/routes.h"
#include "web/token_auth.h"
#include "web/view_policy.h"

namespace careen::web {

// Whether the request comes from a person on this machine: not by way of a proxy that speaks for others, nor from a
// page of another site whose name was made to lead here.
bool is_local(const io::ServerRequest& request);

// The API server keeps the Authorization header to itself when it passes a request on to a pod; what comes that way
// shows its token in this one instead.
inline constexpr const char* kTokenHeader = "X-Careen-Token";

class ViewGuard {
 public:
  // `auth` may be null: then no token is any good.
  ViewGuard(ViewPolicy policy, TokenAuth* auth) : policy_(policy), auth_(auth) {}

  // Nothing when the request may pass; otherwise the answer: {"error":"…"} with 401, 403 or 500.
  io::Task<std::optional<io::ServerResponse>> refusal(const io::ServerRequest& request) const;
  // Whoever may look. A token that is shown in the other header is in Authorization from then on.
  Access access() const;
  ViewPolicy policy() const { return policy_; }

 private:
  ViewPolicy policy_;
  TokenAuth* auth_;
};

}  // namespace careen::web
