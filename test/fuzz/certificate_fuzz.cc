// Certificates and keys out of anything: as the text that is read, and, because its encoding keeps a fuzzer
// out of what it holds, as the bytes such a text stands for.
#include <openssl/pem.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "io/certificates.h"

namespace {

using namespace careen;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "certificate fuzz: %s\n", what);
  std::abort();
}

std::string pem(const char* name, const std::uint8_t* bytes, std::size_t size) {
  const std::unique_ptr<BIO, int (*)(BIO*)> bio(::BIO_new(::BIO_s_mem()), &::BIO_free);
  ::PEM_write_bio(bio.get(), name, "", bytes, static_cast<long>(size));
  char* text = nullptr;
  const long length = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(length)};
}

void take_certificate(const std::string& text, const io::KeyPair& own) {
  const auto facts = io::read_certificate(text);
  if (!facts) {
    expect(!facts.error().message.empty(), "refused without a message");
    expect(!io::signed_by(text, own.certificate), "an unreadable certificate is signed");
    return;
  }
  const auto fits = io::check_pair({text, own.key});
  expect(fits || !fits.error().message.empty(), "a certificate is refused without a message");
  io::signed_by(text, text);
}

// Slow: OpenSSL tries every form that a key may have.
void take_key(const std::string& text, const io::KeyPair& own) {
  const auto fits = io::check_pair({own.certificate, text});
  expect(fits || !fits.error().message.empty(), "a key is refused without a message");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const io::KeyPair kOwn = *io::make_self_signed({"careen.test"}, {io::Wall{}, io::Wall{io::seconds{1 << 30}}});
  const std::string text(reinterpret_cast<const char*>(data), size);
  take_certificate(text, kOwn);
  take_certificate(pem("CERTIFICATE", data, size), kOwn);
  if (text.starts_with("-----")) {
    take_key(text, kOwn);
  } else {
    take_key(pem("PRIVATE KEY", data, size), kOwn);
  }
  return 0;
}
