#include "web/replica_token.h"

#include <fmt/format.h>

#include "kube/client.h"
#include "kube/error.h"
#include "kube/json.h"
#include "kube/objects.h"
#include "kube/resource.h"
#include "kube/transport.h"
#include "web/view_token.h"

namespace careen::web {

using io::Task;
using kube::Json;

namespace {

constexpr io::Duration kUsed = io::minutes{5};
constexpr io::Duration kTryAgain = io::seconds{30};
const kube::Resource kAccounts{"", "v1", "serviceaccounts", "ServiceAccount", true};

}  // namespace

ReplicaToken::ReplicaToken(kube::Client& client, std::string ns, std::string pod, io::Log log)
    : client_(client), ns_(std::move(ns)), pod_(std::move(pod)), log_(std::move(log)), one_(client.loop(), 1) {}

Task<std::string> ReplicaToken::authorization() {
  if (pod_.empty()) co_return std::string();
  const auto turn = co_await one_.acquire();
  if (client_.loop().now() >= until_) {
    auto made = co_await make();
    if (!made) {
      log_.error("no token to ask the leader with; who looks at this replica without one of their own sees nothing",
                 "error", made.error().message);
    }
    until_ = client_.loop().now() + (made ? kUsed : kTryAgain);
    token_ = made ? std::move(*made) : std::string();
  }
  co_return token_.empty() ? std::string() : "Bearer " + token_;
}

Task<kube::Result<std::string>> ReplicaToken::make() {
  const auto pod = co_await client_.get(kube::resources::pods, ns_, pod_);
  if (!pod) co_return tl::make_unexpected(pod.error());
  const auto own = Json::parse(*pod);
  if (!own) co_return tl::make_unexpected(kube::to_api_error(own.error()));
  kube::Request request;
  request.method = "POST";
  request.path = kAccounts.path(ns_, own->at("/spec/serviceAccountName").text().value_or("default")) + "/token";
  request.content_type = "application/json";
  request.body = view_token_request(pod_, own->at("/metadata/uid").text().value_or("")).dump();
  kube::CallOptions options;
  // One too many harms nobody.
  options.repeatable = true;
  const auto answer = co_await client_.call(std::move(request), kAccounts, "create", std::move(options));
  if (!answer) co_return tl::make_unexpected(answer.error());
  const auto made = Json::parse(*answer);
  if (!made) co_return tl::make_unexpected(kube::to_api_error(made.error()));
  co_return std::string(made->at("/status/token").text().value_or(""));
}

}  // namespace careen::web
