// Tokens for the view API and for nothing else: whoever gets hold of one can look at what careen shows, and do nothing
// with it at the API server.
#pragma once

#include <string_view>

#include "kube/json.h"

namespace careen::web {

inline constexpr std::string_view kViewAudience = "careen.dev/view";

// The body of a TokenRequest for one that lives ten minutes, the shortest that an API server makes, and ends with that
// pod.
kube::Json view_token_request(std::string_view pod, std::string_view uid);

// Whether the view API is the token's only audience, as it says of itself. Tokens that say nothing may be good for
// everything.
bool is_for_the_view_alone(std::string_view token);

}  // namespace careen::web
