// The OpenAPI documents of the model's API server, as far as kubectl asks for them before it applies something: which
// kinds there are, and that the server itself checks the fields of what it is sent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/transport.h"
#include "sim/resources.h"

namespace careen::sim {

// The answer to /openapi/v3 and what lies below it; nothing for other paths.
std::optional<kube::Response> openapi(const Resources& resources, const std::vector<std::string>& segments);

}  // namespace careen::sim
