// Certificates made on the spot: an authority of one's own, and what it signs. Everything stays in memory as PEM text;
// time is the caller's, so that certificates age in virtual time too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"
#include "io/time.h"

namespace careen::io {

// A certificate (maybe with its chain) and its private key, as PEM.
struct KeyPair {
  std::string certificate;
  std::string key;
  friend bool operator==(const KeyPair&, const KeyPair&) = default;
};

struct Validity {
  Wall from{};
  Wall until{};
  friend bool operator==(const Validity&, const Validity&) = default;
};

// An authority that signs itself and may sign others.
Result<KeyPair> make_authority(const std::string& common_name, Validity validity);
// For a server of these names; an address (127.0.0.1, ::1) counts as one.
Result<KeyPair> issue_certificate(const KeyPair& authority, const std::vector<std::string>& names, Validity validity);
// The same without an authority.
Result<KeyPair> make_self_signed(const std::vector<std::string>& names, Validity validity);

struct CertificateFacts {
  std::string common_name;
  std::vector<std::string> names;  // DNS names and addresses it is for
  Validity validity;
  std::string key_digest;  // SHA-256 of the public key, 32 bytes: whoever knows it knows the server
};
// Of the first certificate in the text.
Result<CertificateFacts> read_certificate(std::string_view pem);

// Whether the key is that of the certificate; the error says which of the two is unreadable, or that they do not fit.
Result<void> check_pair(const KeyPair& pair);
// Whether the first certificate of `authority` has signed the first one of `certificate`; dates do not matter.
bool signed_by(std::string_view certificate, std::string_view authority);

}  // namespace careen::io
