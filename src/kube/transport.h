// How requests reach an API server. HttpTransport speaks HTTP with credentials; the model cluster implements the
// same interface in memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/result.h"
#include "io/task.h"
#include "io/time.h"

namespace careen::kube {

struct Request {
  std::string method = "GET";
  std::string path;  // absolute, query included: /api/v1/nodes?limit=500
  std::string content_type;
  std::string body;
  // For the whole exchange, or until the headers came for a stream.
  io::Duration timeout = io::seconds{30};
  // What the client wants to read, as in the Accept header; empty: JSON.
  std::string accept = {};
};

struct Response {
  int status = 0;
  std::string body;
  std::optional<io::Duration> retry_after = {};
};

// A response body in pieces (a watch). Destroying it ends the request.
class Stream {
 public:
  virtual ~Stream() = default;
  // Appends at least one byte; false at the regular end.
  virtual io::Task<io::Result<bool>> read(std::string& into) = 0;
};

struct StreamResponse {
  Response head;                   // its body is set when the status is not 200
  std::unique_ptr<Stream> stream;  // null when the status is not 200
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual io::Task<io::Result<Response>> send(Request request) = 0;
  virtual io::Task<io::Result<StreamResponse>> open(Request request) = 0;
  // host:port of the server, for metrics.
  virtual std::string_view host() const { return {}; }
};

}  // namespace careen::kube
