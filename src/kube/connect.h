// How a cluster's API server is reached: over HTTP (http_transport.h), or in memory where it is a model.
#pragma once

#include <functional>
#include <memory>

#include "kube/credentials.h"
#include "kube/transport.h"

namespace careen::kube {

struct Transports {
  std::shared_ptr<Transport> requests;
  // With connections of its own, so that busy ones cannot delay a renewal. Null: where nothing is renewed.
  std::shared_ptr<Transport> leases = nullptr;
};

using Connect = std::function<Transports(const Access&)>;

}  // namespace careen::kube
