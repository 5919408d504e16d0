#include "kube/client.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "io/loop.h"
#include "io/metrics.h"
#include "io/random.h"
#include "kube/json.h"
#include "kube/url.h"

namespace careen::kube {

namespace {

constexpr io::Duration kFirstPause = io::milliseconds{250};
constexpr io::Duration kLongestOwnPause = io::seconds{10};
// A server that asks for more gets asked again after this.
constexpr io::Duration kLongestAskedPause = io::seconds{60};

void append_query(std::string& path, std::string_view query) {
  if (query.empty()) return;
  path += path.find('?') == std::string::npos ? '?' : '&';
  path += query;
}

void append_parameter(std::string& path, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  path += path.find('?') == std::string::npos ? '?' : '&';
  path += key;
  path += '=';
  append_encoded(path, value);
}

Request make_request(std::string method, std::string path, std::string content_type = {}, std::string body = {}) {
  Request request;
  request.method = std::move(method);
  request.path = std::move(path);
  request.content_type = std::move(content_type);
  request.body = std::move(body);
  return request;
}

std::string_view content_type(PatchType type) {
  switch (type) {
    case PatchType::merge:
      return "application/merge-patch+json";
    case PatchType::json:
      return "application/json-patch+json";
    case PatchType::strategic:
      return "application/strategic-merge-patch+json";
    case PatchType::apply:
      return "application/apply-patch+yaml";
  }
  std::abort();
}

Json delete_options(const DeleteOptions& what) {
  Json options = Json::object({{"apiVersion", "v1"}, {"kind", "DeleteOptions"}});
  if (what.grace_period_seconds) options.set({"gracePeriodSeconds"}, *what.grace_period_seconds);
  if (!what.propagation.empty()) options.set({"propagationPolicy"}, what.propagation);
  const Preconditions& only_if = what.preconditions;
  if (!only_if.uid.empty()) options.set({"preconditions", "uid"}, only_if.uid);
  if (!only_if.resource_version.empty()) {
    options.set({"preconditions", "resourceVersion"}, only_if.resource_version);
  }
  return options;
}

std::string_view name_of(io::ErrorKind kind) {
  switch (kind) {
    case io::ErrorKind::timeout:
      return "timeout";
    case io::ErrorKind::connect:
      return "connect";
    case io::ErrorKind::tls:
      return "tls";
    case io::ErrorKind::closed:
      return "closed";
    case io::ErrorKind::protocol:
      return "protocol";
    case io::ErrorKind::file:
      return "file";
    case io::ErrorKind::process:
      return "process";
    case io::ErrorKind::invalid:
      return "invalid";
  }
  std::abort();
}

std::string code_of(const ApiError& error) {
  return error.network ? std::string(name_of(*error.network)) : std::to_string(error.code);
}

// `harmless`: doing it twice is as good as once.
bool worth_repeating(const ApiError& error, bool harmless) {
  if (error.ambiguous()) return harmless;
  if (error.network) return *error.network == io::ErrorKind::connect || *error.network == io::ErrorKind::tls;
  if (error.code == 429) return !error.blocked_by_budget();
  return error.code == 500 && harmless;
}

ApiError not_leader() {
  ApiError error;
  error.reason = "NotLeader";
  error.message = "not sent: this replica does not lead, or not long enough for the write to end in time";
  return error;
}

ApiError too_late() {
  ApiError error;
  error.reason = "TooLate";
  error.message = "not sent: the time by which it had to be has passed";
  return error;
}

}  // namespace

// The series of each kind of request, found without building label maps.
struct Client::Series {
  struct Outcome {
    io::Counter* requests;
    io::Counter* compatible;
  };
  struct Kind {
    io::Histogram* duration = nullptr;
    // By status, or by the negative number of a network error.
    std::map<int, Outcome> outcomes;
    std::map<int, io::Counter*> retries;
  };
  std::map<std::string, Kind, std::less<>> kinds;
  std::string host;

  // A cluster may move to another server.
  void of_host(std::string_view now) {
    if (host == now) return;
    host = now;
    for (auto& [name, kind] : kinds) kind.outcomes.clear();
  }
  Kind& kind(std::string_view verb, std::string_view plural) {
    std::string key;
    key.reserve(verb.size() + plural.size() + 1);
    key += verb;
    key += ' ';
    key += plural;
    return kinds[key];
  }
  static int number(const ApiError& error) {
    return error.network ? -1 - static_cast<int>(*error.network) : error.code;
  }
};

Client::Client(io::Loop& loop, Transport& transport, io::Metrics& metrics, io::Random& random)
    : loop_(loop), transport_(transport), metrics_(metrics), random_(random), series_(std::make_unique<Series>()) {}

Client::~Client() = default;

void Client::count(const Request& request, const Resource& resource, std::string_view verb, int status,
                   const ApiError* error, io::Duration took) {
  series_->of_host(transport_.host());
  Series::Kind& kind = series_->kind(verb, resource.plural);
  if (!kind.duration) {
    kind.duration = &metrics_.histogram("careen_api_request_duration_seconds", "How long API requests took.",
                                        {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60},
                                        {{"verb", std::string(verb)}, {"resource", resource.plural}});
  }
  kind.duration->observe(io::to_seconds(took));
  const int number = error ? Series::number(*error) : status;
  auto it = kind.outcomes.find(number);
  if (it == kind.outcomes.end()) {
    const std::string code = error ? code_of(*error) : std::to_string(status);
    Series::Outcome outcome{};
    outcome.requests = &metrics_.counter("careen_api_requests_total",
                                         "API requests by outcome: a status, or what kept the answer away.",
                                         {{"verb", std::string(verb)}, {"resource", resource.plural}, {"code", code}});
    outcome.compatible = &metrics_.counter("rest_client_requests_total",
                                           "Number of HTTP requests, partitioned by status code, method, and host.",
                                           {{"code", number > 0 ? code : "<error>"},
                                            {"method", request.method},
                                            {"host", std::string(transport_.host())}});
    it = kind.outcomes.emplace(number, outcome).first;
  }
  it->second.requests->add();
  it->second.compatible->add();
}

void Client::count_retry(const Resource& resource, std::string_view verb, const ApiError& error) {
  io::Counter*& counter = series_->kind(verb, resource.plural).retries[Series::number(error)];
  if (!counter) {
    counter =
        &metrics_.counter("careen_api_retries_total", "API requests that were sent again, by what made it necessary.",
                          {{"verb", std::string(verb)}, {"resource", resource.plural}, {"cause", code_of(error)}});
  }
  counter->add();
}

// Doubles with each attempt; half of it is drawn, so that many clients do not come back in one moment.
io::Duration Client::pause(int attempt, const ApiError& error) {
  const io::Duration full = std::min(kFirstPause * (int64_t{1} << std::min(attempt - 1, 10)), kLongestOwnPause);
  const auto drawn = [this](io::Duration d) {
    return std::chrono::duration_cast<io::Duration>(
        std::chrono::duration<double, std::nano>(static_cast<double>(d.count()) * random_.unit()));
  };
  const io::Duration own = full / 2 + drawn(full / 2);
  if (!error.retry_after) return own;
  const io::Duration asked = std::min(*error.retry_after, kLongestAskedPause);
  return std::max(own, asked + drawn(asked / 10));
}

io::Task<Result<std::string>> Client::call(Request request, Resource resource, std::string verb, CallOptions options) {
  append_query(request.path, options.query);
  const bool writes = request.method != "GET";
  const bool harmless = !writes || options.repeatable;
  bool maybe_applied = false;
  for (int attempt = 1;; ++attempt) {
    request.timeout = options.timeout;
    if (options.not_after && loop_.wall_now() >= *options.not_after) {
      ApiError late = too_late();
      late.maybe_applied = maybe_applied;
      co_return tl::make_unexpected(std::move(late));
    }
    if (writes && guard_) {
      const std::optional<io::Duration> allowed = guard_();
      if (!allowed || *allowed <= io::Duration::zero()) {
        ApiError refused = not_leader();
        refused.maybe_applied = maybe_applied;
        co_return tl::make_unexpected(std::move(refused));
      }
      request.timeout = std::min(request.timeout, *allowed);
    }
    const io::Steady begun = loop_.now();
    io::Result<Response> response = co_await transport_.send(request);
    const io::Duration took = loop_.now() - begun;
    if (response && response->status / 100 == 2) {
      count(request, resource, verb, response->status, nullptr, took);
      co_return std::move(response->body);
    }
    ApiError error = response ? to_api_error(response->status, std::move(response->body), response->retry_after)
                              : to_api_error(response.error());
    count(request, resource, verb, 0, &error, took);
    if (attempt >= options.attempts || !worth_repeating(error, harmless)) {
      error.maybe_applied = maybe_applied;
      co_return tl::make_unexpected(std::move(error));
    }
    maybe_applied = maybe_applied || (writes && error.ambiguous());
    count_retry(resource, verb, error);
    co_await io::sleep_for(loop_, pause(attempt, error));
  }
}

io::Task<Result<std::string>> Client::get(Resource resource, std::string ns, std::string name, CallOptions options) {
  Request request = make_request("GET", resource.path(ns, name));
  return call(std::move(request), std::move(resource), "get", std::move(options));
}

io::Task<Result<std::string>> Client::list(Resource resource, std::string ns, CallOptions options) {
  Request request = make_request("GET", resource.path(ns));
  return call(std::move(request), std::move(resource), "list", std::move(options));
}

io::Task<Result<std::string>> Client::create(Resource resource, std::string ns, std::string body, CallOptions options) {
  Request request = make_request("POST", resource.path(ns), "application/json", std::move(body));
  append_parameter(request.path, "fieldManager", options.field_manager);
  return call(std::move(request), std::move(resource), "create", std::move(options));
}

io::Task<Result<std::string>> Client::update(Resource resource, std::string ns, std::string name, std::string body,
                                             std::string subresource, CallOptions options) {
  Request request = make_request("PUT", resource.path(ns, name, subresource), "application/json", std::move(body));
  append_parameter(request.path, "fieldManager", options.field_manager);
  if (!subresource.empty()) resource.plural += "/" + subresource;
  return call(std::move(request), std::move(resource), "update", std::move(options));
}

io::Task<Result<std::string>> Client::patch(Resource resource, std::string ns, std::string name, PatchType type,
                                            std::string body, std::string subresource, CallOptions options) {
  Request request =
      make_request("PATCH", resource.path(ns, name, subresource), std::string(content_type(type)), std::move(body));
  append_parameter(request.path, "fieldManager", options.field_manager);
  if (type == PatchType::apply && options.force) append_parameter(request.path, "force", "true");
  if (!subresource.empty()) resource.plural += "/" + subresource;
  return call(std::move(request), std::move(resource), type == PatchType::apply ? "apply" : "patch",
              std::move(options));
}

io::Task<Result<std::string>> Client::remove(Resource resource, std::string ns, std::string name, DeleteOptions what,
                                             CallOptions options) {
  Request request = make_request("DELETE", resource.path(ns, name), "application/json", delete_options(what).dump());
  return call(std::move(request), std::move(resource), "delete", std::move(options));
}

io::Task<Result<std::string>> Client::evict(std::string ns, std::string pod, DeleteOptions what, CallOptions options) {
  Resource resource = resources::pods;
  const Json eviction = Json::object({{"apiVersion", "policy/v1"},
                                      {"kind", "Eviction"},
                                      {"metadata", Json::object({{"name", pod}, {"namespace", ns}})},
                                      {"deleteOptions", delete_options(what)}});
  Request request = make_request("POST", resource.path(ns, pod, "eviction"), "application/json", eviction.dump());
  append_parameter(request.path, "fieldManager", options.field_manager);
  resource.plural += "/eviction";
  return call(std::move(request), std::move(resource), "create", std::move(options));
}

io::Task<Result<std::unique_ptr<Stream>>> Client::watch(Resource resource, std::string ns, std::string query) {
  Request request = make_request("GET", resource.path(ns));
  append_query(request.path, query);
  if (request.path.find("watch=") == std::string::npos) append_parameter(request.path, "watch", "true");
  const io::Steady begun = loop_.now();
  io::Result<StreamResponse> response = co_await transport_.open(request);
  const io::Duration took = loop_.now() - begun;
  if (response && response->stream) {
    count(request, resource, "watch", response->head.status, nullptr, took);
    co_return std::move(response->stream);
  }
  ApiError error = response
                       ? to_api_error(response->head.status, std::move(response->head.body), response->head.retry_after)
                       : to_api_error(response.error());
  count(request, resource, "watch", 0, &error, took);
  co_return tl::make_unexpected(std::move(error));
}

}  // namespace careen::kube
