// The certificate of a server: from files that are read again when they change, or from a function. Only the server's
// own .cc file includes it.
#pragma once

#include <memory>

#include "io/http_server.h"
#include "io/tls_context.h"

namespace careen::io {

class ServerTls {
 public:
  virtual ~ServerTls() = default;
  // What a new connection uses; null while there is no certificate.
  virtual TlsContext current() = 0;
};

// As the options say; null for a server without TLS. Files that cannot be used at the start are an error.
Result<std::unique_ptr<ServerTls>> make_server_tls(RealLoop& loop, const ServerOptions& options);

}  // namespace careen::io
