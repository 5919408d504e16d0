// HTTP as a server: plain or TLS, on Beast. Handlers are coroutines; a response is a whole body or a stream.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "io/http.h"

namespace careen::io {

class RealLoop;

struct ServerRequest {
  std::string method;
  std::string path;   // decoded, without the query
  std::string query;  // raw, without '?'
  Headers headers;
  std::string body;
};

struct ServerResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  Headers headers;
  std::string body;
};

using ServerHandler = std::function<Task<ServerResponse>(ServerRequest)>;

struct ServerOptions {
  std::string address;  // "host:port", ":port" or "[v6]:port"; port 0 takes a free one
  // Both set: TLS. The files are read again when they change.
  std::string tls_cert_file;
  std::string tls_key_file;
  size_t max_body = 4 << 20;
  Duration idle_timeout = seconds{60};
  int max_connections = 256;
};

class HttpServer {
 public:
  virtual ~HttpServer() = default;
  virtual int port() const = 0;
};

// Listens until destroyed. The error names the address.
Result<std::unique_ptr<HttpServer>> serve_http(RealLoop& loop, ServerOptions options, ServerHandler handler);

}  // namespace careen::io
