// TLS contexts: what a server proves itself with, and whom a client trusts. Both speak version 1.2 at least. They are
// OpenSSL's own; Asio only loads them.
#pragma once

#include <memory>
#include <string>

#include "io/certificates.h"
#include "io/http.h"
#include "io/result.h"

struct ssl_ctx_st;  // SSL_CTX

namespace careen::io {

using TlsContext = std::shared_ptr<ssl_ctx_st>;

// The places are for the error.
Result<TlsContext> make_server_context(const KeyPair& pair, const std::string& cert_place,
                                       const std::string& key_place);

// A client that asks for this name is shown the other certificate. Once for each context.
void show_for_name(const TlsContext& context, std::string name, TlsContext instead);

// Authorities and the client's own certificate, as the options say. Without authorities of their own: the system's, or
// those that SSL_CERT_FILE and SSL_CERT_DIR name.
Result<TlsContext> make_client_context(const TlsOptions& options);

}  // namespace careen::io
