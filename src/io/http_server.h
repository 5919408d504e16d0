// HTTP/1.1 as a server: plain or TLS, on Beast. Handlers are coroutines that answer with a whole body, or with one that
// is written piece by piece; a client that goes away meanwhile harms nobody.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "io/certificates.h"
#include "io/http.h"
#include "io/log.h"

namespace careen::io {

class RealLoop;

struct ServerRequest {
  std::string method;
  std::string path;   // decoded, without the query
  std::string query;  // raw, without '?'
  Headers headers;
  std::string body;
  std::string target = {};  // as it was sent: path and query
  std::string peer = {};    // the address it came from, without the port
  bool local = false;       // that is a loopback address
};

// A body in pieces. It is destroyed, also while it is being read, when the client goes away.
class BodyStream {
 public:
  virtual ~BodyStream() = default;
  // Appends the next piece; false at the end. With an error the connection breaks, so that the client can tell.
  virtual Task<Result<bool>> read(std::string& into) = 0;
};

struct ServerResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  Headers headers;
  std::string body;
  // Set: the body, in chunks; the connection ends after it.
  std::unique_ptr<BodyStream> stream;
};

using ServerHandler = std::function<Task<ServerResponse>(ServerRequest)>;

struct ServerOptions {
  std::string address;  // "host:port", ":port" or "[v6]:port"; port 0 takes a free one
  // Both set: TLS, of version 1.2 at least. The files are read again when they change; while they do not fit, the last
  // good ones serve on.
  std::string tls_cert_file;
  std::string tls_key_file;
  // Set instead: TLS with what it gives, asked at each new connection. Another pointer is another pair, taken if it
  // fits. Null: there is none yet, and connections are closed until there is.
  std::function<std::shared_ptr<const KeyPair>()> tls_pair;
  size_t max_body = 4 << 20;
  // For the next request to come in whole, and for an answer to be taken.
  Duration idle_timeout = seconds{60};
  // Beyond it the connection that waited longest for a request makes room.
  int max_connections = 256;
  // Told of certificates that cannot be loaded.
  Log log;
};

class HttpServer {
 public:
  virtual ~HttpServer() = default;
  virtual int port() const = 0;
};

// Listens until destroyed, which also ends the handlers that run: not from within one. The error names the address
// or the file.
Result<std::unique_ptr<HttpServer>> serve_http(RealLoop& loop, ServerOptions options, ServerHandler handler);

}  // namespace careen::io
