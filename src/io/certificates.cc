#include "io/certificates.h"

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <memory>

#include "io/address.h"
#include "io/digest.h"

namespace careen::io {

namespace {

template <auto Free>
struct With {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, With<EVP_PKEY_free>>;
using Cert = std::unique_ptr<X509, With<X509_free>>;
using Bio = std::unique_ptr<BIO, With<BIO_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, With<X509_EXTENSION_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, With<GENERAL_NAMES_free>>;
using Number = std::unique_ptr<BIGNUM, With<BN_free>>;

// X.509 allows no more in a common name.
constexpr size_t kLongestCommonName = 64;

tl::unexpected<Error> openssl_failed(const std::string& what) {
  char text[256] = "unknown reason";
  if (const unsigned long code = ::ERR_get_error(); code != 0) ::ERR_error_string_n(code, text, sizeof text);
  ::ERR_clear_error();
  return fail(ErrorKind::invalid, what + ": " + text);
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long length = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(length)};
}

Cert parse_certificate(std::string_view pem) {
  const Bio bio(::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  Cert cert(::PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  ::ERR_clear_error();
  return cert;
}

Key parse_key(std::string_view pem) {
  const Bio bio(::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  // The callback keeps OpenSSL from asking for a password on the terminal.
  Key key(::PEM_read_bio_PrivateKey(bio.get(), nullptr, [](char*, int, int, void*) { return -1; }, nullptr));
  ::ERR_clear_error();
  return key;
}

Result<KeyPair> to_pem(X509* cert, EVP_PKEY* key) {
  const Bio cert_text(::BIO_new(::BIO_s_mem()));
  const Bio key_text(::BIO_new(::BIO_s_mem()));
  if (::PEM_write_bio_X509(cert_text.get(), cert) != 1 ||
      ::PEM_write_bio_PrivateKey(key_text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return openssl_failed("a certificate cannot be written as text");
  }
  return KeyPair{text_of(cert_text.get()), text_of(key_text.get())};
}

bool add_extension(X509* cert, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  ::X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  const Extension extension(::X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension && ::X509_add_ext(cert, extension.get(), -1) == 1;
}

bool set_time(ASN1_TIME* field, Wall when) {
  const auto since = std::chrono::floor<seconds>(when).time_since_epoch();
  return ::ASN1_TIME_adj(field, static_cast<time_t>(since.count()), 0, 0) != nullptr;
}

// Random, so that two authorities of one name never sign two certificates of one number.
bool set_serial(X509* cert) {
  const Number number(::BN_new());
  return number && ::BN_rand(number.get(), 120, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         ::BN_to_ASN1_INTEGER(number.get(), ::X509_get_serialNumber(cert)) != nullptr;
}

struct Draft {
  std::string common_name;
  std::vector<std::string> names;
  Validity validity;
  bool authority = false;
};

bool add_names(X509* cert, X509* issuer, const std::vector<std::string>& names) {
  if (names.empty()) return true;
  std::string list;
  for (const std::string& name : names) {
    if (!list.empty()) list += ',';
    list += (is_address(name) ? "IP:" : "DNS:") + name;
  }
  return add_extension(cert, issuer, NID_subject_alt_name, list);
}

bool add_uses(X509* cert, X509* issuer, bool authority) {
  const bool ok =
      add_extension(cert, issuer, NID_basic_constraints, authority ? "critical,CA:TRUE" : "critical,CA:FALSE") &&
      add_extension(cert, issuer, NID_key_usage,
                    authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature") &&
      add_extension(cert, issuer, NID_subject_key_identifier, "hash");
  if (!ok || authority) return ok;
  return add_extension(cert, issuer, NID_ext_key_usage, "serverAuth") &&
         add_extension(cert, issuer, NID_authority_key_identifier, "keyid");
}

// What the configuration of a name extension would read as more than a name.
bool plain(const std::string& name) { return !name.empty() && name.find_first_of(", \t\r\n\\") == std::string::npos; }

// Signed by `issuer`, or by itself when that is null.
Result<KeyPair> make(const Draft& draft, X509* issuer, EVP_PKEY* issuer_key) {
  for (const std::string& name : draft.names) {
    if (!plain(name)) return fail(ErrorKind::invalid, "no certificate can be made for the name \"" + name + "\"");
  }
  const Key key(::EVP_EC_gen("P-256"));
  const Cert cert(::X509_new());
  if (!key || !cert) return openssl_failed("no key can be made");
  X509* signer = issuer ? issuer : cert.get();
  X509_NAME* subject = ::X509_get_subject_name(cert.get());
  const std::string common_name = draft.common_name.substr(0, kLongestCommonName);
  const bool ok =
      ::X509_set_version(cert.get(), X509_VERSION_3) == 1 && set_serial(cert.get()) &&
      set_time(::X509_getm_notBefore(cert.get()), draft.validity.from) &&
      set_time(::X509_getm_notAfter(cert.get()), draft.validity.until) &&
      ::X509_set_pubkey(cert.get(), key.get()) == 1 &&
      ::X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                   reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1, 0) == 1 &&
      ::X509_set_issuer_name(cert.get(), ::X509_get_subject_name(signer)) == 1 &&
      add_uses(cert.get(), signer, draft.authority) && add_names(cert.get(), signer, draft.names) &&
      ::X509_sign(cert.get(), issuer_key ? issuer_key : key.get(), ::EVP_sha256()) != 0;
  if (!ok) return openssl_failed("no certificate can be made for \"" + draft.common_name + "\"");
  return to_pem(cert.get(), key.get());
}

Wall time_of(const ASN1_TIME* field) {
  std::tm parts{};
  if (::ASN1_TIME_to_tm(field, &parts) != 1) return Wall{};
  // Beyond what nanoseconds can hold, the end of the range is as good.
  const int64_t first = std::chrono::ceil<seconds>(Wall::min()).time_since_epoch().count();
  const int64_t last = std::chrono::floor<seconds>(Wall::max()).time_since_epoch().count();
  return Wall{seconds{std::clamp<int64_t>(::timegm(&parts), first, last)}};
}

std::string name_text(const GENERAL_NAME* name) {
  if (name->type == GEN_DNS) {
    const ASN1_STRING* text = name->d.dNSName;
    return {reinterpret_cast<const char*>(::ASN1_STRING_get0_data(text)),
            static_cast<size_t>(::ASN1_STRING_length(text))};
  }
  if (name->type != GEN_IPADD) return {};
  const ASN1_STRING* bytes = name->d.iPAddress;
  const int length = ::ASN1_STRING_length(bytes);
  // A certificate from elsewhere may hold any number of bytes there.
  if (length != 4 && length != 16) return {};
  char text[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(length == 4 ? AF_INET : AF_INET6, ::ASN1_STRING_get0_data(bytes), text, sizeof text);
  return text;
}

std::vector<std::string> names_of(const X509* cert) {
  std::vector<std::string> out;
  const Names names(static_cast<GENERAL_NAMES*>(::X509_get_ext_d2i(cert, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    std::string name = name_text(sk_GENERAL_NAME_value(names.get(), i));
    if (!name.empty()) out.push_back(std::move(name));
  }
  return out;
}

// As browsers and curl pin keys: of the whole SubjectPublicKeyInfo.
std::string key_digest_of(const X509* cert) {
  unsigned char* der = nullptr;
  const int length = ::i2d_X509_PUBKEY(::X509_get_X509_PUBKEY(cert), &der);
  if (length <= 0) return {};
  std::string digest = sha256({reinterpret_cast<const char*>(der), static_cast<size_t>(length)});
  OPENSSL_free(der);
  return digest;
}

}  // namespace

Result<KeyPair> make_authority(const std::string& common_name, Validity validity) {
  return make({common_name, {}, validity, true}, nullptr, nullptr);
}

Result<KeyPair> issue_certificate(const KeyPair& authority, const std::vector<std::string>& names, Validity validity) {
  if (names.empty()) return fail(ErrorKind::invalid, "a server's certificate needs a name");
  const Cert issuer = parse_certificate(authority.certificate);
  const Key key = parse_key(authority.key);
  if (!issuer || !key) return fail(ErrorKind::invalid, "the authority's certificate or key is not readable");
  return make({names.front(), names, validity, false}, issuer.get(), key.get());
}

Result<KeyPair> make_self_signed(const std::vector<std::string>& names, Validity validity) {
  if (names.empty()) return fail(ErrorKind::invalid, "a server's certificate needs a name");
  return make({names.front(), names, validity, false}, nullptr, nullptr);
}

Result<CertificateFacts> read_certificate(std::string_view pem) {
  const Cert cert = parse_certificate(pem);
  if (!cert) return fail(ErrorKind::invalid, "the text holds no readable certificate");
  CertificateFacts facts;
  char name[256] = {};
  ::X509_NAME_get_text_by_NID(::X509_get_subject_name(cert.get()), NID_commonName, name, sizeof name);
  facts.common_name = name;
  facts.names = names_of(cert.get());
  facts.validity = {time_of(::X509_get0_notBefore(cert.get())), time_of(::X509_get0_notAfter(cert.get()))};
  facts.key_digest = key_digest_of(cert.get());
  return facts;
}

Result<void> check_pair(const KeyPair& pair) {
  const Cert cert = parse_certificate(pair.certificate);
  if (!cert) return fail(ErrorKind::invalid, "the certificate is not readable");
  const Key key = parse_key(pair.key);
  if (!key) return fail(ErrorKind::invalid, "the key is not readable");
  const bool fits = ::X509_check_private_key(cert.get(), key.get()) == 1;
  ::ERR_clear_error();
  if (!fits) return fail(ErrorKind::invalid, "the key is not that of the certificate");
  return {};
}

bool signed_by(std::string_view certificate, std::string_view authority) {
  const Cert cert = parse_certificate(certificate);
  const Cert issuer = parse_certificate(authority);
  if (!cert || !issuer) return false;
  const bool right = ::X509_verify(cert.get(), ::X509_get0_pubkey(issuer.get())) == 1;
  ::ERR_clear_error();
  return right;
}

}  // namespace careen::io
