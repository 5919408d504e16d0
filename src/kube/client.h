// Typed access to the API's verbs over a Transport, with the one retry policy of the program. Objects are JSON
// text: what they mean is the caller's business.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/task.h"
#include "io/time.h"
#include "kube/error.h"
#include "kube/resource.h"
#include "kube/transport.h"

namespace careen::io {
class Loop;
class Metrics;
class Random;
}  // namespace careen::io

namespace careen::kube {

enum class PatchType { merge, json, strategic, apply };

struct Preconditions {
  std::string uid;
  std::string resource_version;
};

struct CallOptions {
  io::Duration timeout = io::seconds{10};  // of one attempt
  // How often to try in all. What surely had no effect (the API server's own 429, no connection) is tried again; what
  // may have had one (ApiError::ambiguous) only if it reads or is `repeatable`. An eviction that a budget forbids and a
  // failed precondition (409, 422) are the caller's business.
  int attempts = 4;
  bool repeatable = false;
  std::optional<io::Wall> not_after;  // no attempt begins at this time or later; the call then fails with TooLate
  std::string query;                  // extra query, without '?'
  std::string field_manager = "careen";
  bool force = false;  // for apply: take fields from other managers
};

struct DeleteOptions {
  Preconditions preconditions;
  std::optional<int64_t> grace_period_seconds;
  std::string propagation;  // Background, Foreground, Orphan; empty: the server's default
};

class Client {
 public:
  Client(io::Loop& loop, Transport& transport, io::Metrics& metrics, io::Random& random);
  ~Client();

  // Every attempt of a write asks the guard first: the longest time it may take, or nullopt to refuse it (the
  // call then fails with NotLeader). Set by whoever runs under a lease.
  using WriteGuard = std::function<std::optional<io::Duration>()>;
  void set_write_guard(WriteGuard guard) { guard_ = std::move(guard); }

  // Each returns the object (or Status) as the server sent it.
  io::Task<Result<std::string>> get(Resource resource, std::string ns, std::string name, CallOptions options = {});
  io::Task<Result<std::string>> list(Resource resource, std::string ns, CallOptions options = {});
  io::Task<Result<std::string>> create(Resource resource, std::string ns, std::string body, CallOptions options = {});
  io::Task<Result<std::string>> update(Resource resource, std::string ns, std::string name, std::string body,
                                       std::string subresource = {}, CallOptions options = {});
  io::Task<Result<std::string>> patch(Resource resource, std::string ns, std::string name, PatchType type,
                                      std::string body, std::string subresource = {}, CallOptions options = {});
  io::Task<Result<std::string>> remove(Resource resource, std::string ns, std::string name, DeleteOptions what = {},
                                       CallOptions options = {});
  // POST pods/eviction with a UID precondition.
  io::Task<Result<std::string>> evict(std::string ns, std::string pod, DeleteOptions what, CallOptions options = {});
  // A raw request under the same policy; of the options, the field manager and force are the caller's to put into
  // its path.
  io::Task<Result<std::string>> call(Request request, Resource resource, std::string verb, CallOptions options = {});
  // A watch stream; not retried here.
  io::Task<Result<std::unique_ptr<Stream>>> watch(Resource resource, std::string ns, std::string query);

  io::Loop& loop() { return loop_; }

 private:
  struct Series;
  // `error` is null when the answer was `status`.
  void count(const Request& request, const Resource& resource, std::string_view verb, int status, const ApiError* error,
             io::Duration took);
  void count_retry(const Resource& resource, std::string_view verb, const ApiError& error);
  io::Duration pause(int attempt, const ApiError& error);

  io::Loop& loop_;
  Transport& transport_;
  io::Metrics& metrics_;
  io::Random& random_;
  std::unique_ptr<Series> series_;
  WriteGuard guard_;
};

}  // namespace careen::kube
