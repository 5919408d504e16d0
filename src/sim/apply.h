// Server-side apply: a manager says what it wants, owns those fields, and removes them by not naming them again.
#pragma once

#include <string>

#include "sim/resources.h"
#include "sim/status.h"
#include "sim/value.h"
#include "tl/expected.hpp"

namespace careen::sim {

struct Applier {
  std::string manager;
  std::string api_version;
  std::string subresource;
  std::string now;
  bool force = false;
};

// The object with what is applied merged in and metadata.managedFields brought up to date, or the conflict.
tl::expected<json::value, Failure> server_side_apply(const json::value& known, const json::value& applied,
                                                     const Resource& resource, const Applier& applier);

}  // namespace careen::sim
