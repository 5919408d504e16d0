// How the webhooks of a replica are reached: by the API server, and the leader's by the other replicas.
#pragma once

#include <functional>
#include <string>

#include "io/result.h"
#include "io/task.h"
#include "kube/json.h"

namespace careen::turnstile {

// For a path, what a webhook configuration says as `clientConfig`; the error says why there is no way.
using ClientConfig = std::function<io::Result<kube::Json>(const std::string& path)>;
// What the replica that leads answers to a review at that path.
using AskLeader = std::function<io::Task<io::Result<std::string>>(std::string path, std::string review)>;

struct Reach {
  ClientConfig client_config;
  AskLeader ask_leader;
};

}  // namespace careen::turnstile
