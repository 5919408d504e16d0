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
  std::string path;   // decoded, without the query; it begins with one slash, and no segment is "." or ".."
  std::string query;  // raw, without '?'
  Headers headers;
  std::string body;
  std::string target = {};  // as it was sent: path and query. For whoever parses it again, never for a URL
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
  // With TLS: what is shown instead to a client that asks for this name.
  std::string named_host;
  std::shared_ptr<const KeyPair> named_pair;
  size_t max_body = 4 << 20;
  // How long a client may take in all, however busily it sends: for the handshake; from a request's first byte, or the
  // beginning of the connection, to the end of the head; from there to the end of the body, and as long again until it
  // is its turn; to take an answer, or one piece of it.
  Duration handshake_timeout = seconds{10};
  Duration head_timeout = seconds{10};
  Duration body_timeout = seconds{10};
  Duration write_timeout = seconds{30};
  // Between two requests.
  Duration idle_timeout = seconds{60};
  // Beyond it, the client that has been unfinished longest makes room: in the handshake, in a request, or in taking an
  // answer. Clients whose request is being answered are left alone, and so are those that take each piece of a stream
  // in time.
  int max_connections = 256;
  // Of these, for one address; 0: all. An address that has more makes room among its own.
  int max_per_peer = 0;
  // Requests that are being answered at once, of all and of one address; 0: any number. The next ones wait for their
  // turn, those from the address with the fewest being answered first, and may have to make room: so a slow handler
  // cannot take all connections. A stream that has begun no longer counts.
  int max_handling = 0;
  int max_handling_per_peer = 0;
  // Bytes of unfinished requests and of whole answers that are not taken yet, of all connections together; 0: any
  // number. Beyond it, the client that has been unfinished longest makes room; pieces of streams do not count.
  size_t max_held = 0;
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
