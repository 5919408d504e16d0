#include "io/tls_context.h"

#include <fmt/format.h>
#include <openssl/ssl.h>

#include <boost/asio/ssl/context.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>

namespace careen::io {

namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

// Where systems keep all authorities in one file, for those whose OpenSSL looks elsewhere.
constexpr const char* kSystemAuthorities = "/etc/ssl/certs/ca-certificates.crt";

ErrorCode trust_system(asio::ssl::context& context) {
  ErrorCode error;
  context.set_default_verify_paths(error);
  std::error_code ignored;
  if (std::getenv("SSL_CERT_FILE") == nullptr && std::filesystem::exists(kSystemAuthorities, ignored)) {
    context.load_verify_file(kSystemAuthorities, error);
  }
  return error;
}

ErrorCode configure_client(asio::ssl::context& context, const TlsOptions& options) {
  ::SSL_CTX_set_verify(context.native_handle(), options.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  ErrorCode error;
  if (options.ca_pem.empty()) {
    error = trust_system(context);
  } else {
    context.add_certificate_authority(asio::buffer(options.ca_pem), error);
  }
  if (error || options.client_cert_pem.empty()) return error;
  context.use_certificate_chain(asio::buffer(options.client_cert_pem), error);
  if (!error) context.use_private_key(asio::buffer(options.client_key_pem), asio::ssl::context::pem, error);
  return error;
}

asio::ssl::context make_context(asio::ssl::context::method method) {
  asio::ssl::context context(method);
  ::SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  return context;
}

TlsContext share(asio::ssl::context& context) {
  ::SSL_CTX_up_ref(context.native_handle());
  return {context.native_handle(), ::SSL_CTX_free};
}

// What is shown to clients that ask for a name; it belongs to the context beside it.
struct Named {
  std::string name;
  TlsContext context;
};

int place_of_named() {
  static const int place = ::SSL_CTX_get_ex_new_index(
      0, nullptr, nullptr, nullptr,
      [](void*, void* named, CRYPTO_EX_DATA*, int, long, void*) { delete static_cast<Named*>(named); });
  return place;
}

int choose_by_name(SSL* ssl, int*, void* argument) {
  const auto& named = *static_cast<const Named*>(argument);
  const char* asked = ::SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (asked == nullptr || named.name != asked) return SSL_TLSEXT_ERR_NOACK;
  return ::SSL_set_SSL_CTX(ssl, named.context.get()) != nullptr ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

Result<TlsContext> make_server_context(const KeyPair& pair, const std::string& cert_place,
                                       const std::string& key_place) {
  auto context = make_context(asio::ssl::context::tls_server);
  ErrorCode error;
  context.use_certificate_chain(asio::buffer(pair.certificate), error);
  if (error) {
    return fail(ErrorKind::file, fmt::format("{} holds no usable certificate: {}", cert_place, error.message()));
  }
  context.use_private_key(asio::buffer(pair.key), asio::ssl::context::pem, error);
  if (error) {
    return fail(ErrorKind::file, fmt::format("{} holds no key that fits the certificate in {}: {}", key_place,
                                             cert_place, error.message()));
  }
  return share(context);
}

void show_for_name(const TlsContext& context, std::string name, TlsContext instead) {
  auto named = std::make_unique<Named>(Named{std::move(name), std::move(instead)});
  SSL_CTX_set_tlsext_servername_arg(context.get(), named.get());
  SSL_CTX_set_tlsext_servername_callback(context.get(), choose_by_name);
  if (::SSL_CTX_set_ex_data(context.get(), place_of_named(), named.get()) != 1) throw std::bad_alloc();
  named.release();
}

Result<TlsContext> make_client_context(const TlsOptions& options) {
  auto context = make_context(asio::ssl::context::tls_client);
  if (const ErrorCode error = configure_client(context, options)) {
    return fail(ErrorKind::tls, "the authorities or certificates cannot be used: " + error.message());
  }
  return share(context);
}

}  // namespace careen::io
