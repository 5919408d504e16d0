// HTTP as a client, over libcurl. Requests are answered whole (send) or as a stream (open) that is read at the
// reader's pace. Everything outbound goes through here.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/aws_signature.h"
#include "io/result.h"
#include "io/task.h"
#include "io/time.h"

namespace careen::io {

class RealLoop;

using Headers = std::vector<std::pair<std::string, std::string>>;
// The first value of a header by its name, any case; empty when absent.
std::string_view header(const Headers& headers, std::string_view name);

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  Headers headers;
  std::string body;
  Duration connect_timeout = seconds{10};
  // For the whole exchange, from the call on (send), or until the response's headers have come (open).
  Duration timeout = seconds{30};
  // How long a read() of an open stream waits for the next byte; none when zero.
  Duration idle_timeout{};
  // "sha256//" and the digest of a public key in base64: the server has to prove itself with this key, whatever name or
  // authority its certificate has. A URL without TLS is an error then.
  std::string pinned_key = {};
  // Signed with it when it is sent, at the system's time. The request has to be one that make_signable() accepts.
  std::optional<AwsSignature> signature = std::nullopt;
};

struct HttpResponse {
  int status = 0;
  Headers headers;
  std::string body;
};

// A response whose body comes in pieces. Destroying it cancels the request.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  virtual int status() const = 0;
  virtual const Headers& headers() const = 0;
  // Appends what has come, at least one byte, waiting for it as long as needed. false at the regular end. While
  // nobody reads, at most a small buffer is filled and the peer is held back.
  virtual Task<Result<bool>> read(std::string& into) = 0;
};

class HttpClient {
 public:
  virtual ~HttpClient() = default;
  virtual Task<Result<HttpResponse>> send(HttpRequest request) = 0;
  virtual Task<Result<std::unique_ptr<HttpStream>>> open(HttpRequest request) = 0;
};

struct TlsOptions {
  std::string ca_pem;           // only these authorities count; empty: the system's
  std::string client_cert_pem;  // both or none
  std::string client_key_pem;
  std::string server_name;  // verify this name instead of the URL's host
  bool insecure = false;    // verify nothing
};

struct HttpClientOptions {
  TlsOptions tls;
  // Empty: HTTP_PROXY, HTTPS_PROXY, NO_PROXY of the environment apply, as Go reads them; never to this machine.
  std::string proxy;
  // No proxy at all, whatever the environment says.
  bool direct = false;
  // Requests in flight at once over one HTTP/2 connection; the API server allows about 100 streams. Streams
  // (open) do not count: each has an HTTP/1.1 connection of its own, where holding back works.
  int max_in_flight = 64;
  // A longer body is an error of the peer (send).
  size_t max_body = 512u << 20;
  std::string user_agent = "careen";
};

// A client with a connection pool of its own. A connection on which a request timed out is not used again. A
// request that may have reached the peer is never sent twice, unless it only reads.
std::unique_ptr<HttpClient> make_http_client(RealLoop& loop, HttpClientOptions options);

}  // namespace careen::io
