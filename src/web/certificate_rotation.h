// The life of certificates that careen makes itself, as a pure function of what is kept and the time: when a server's
// certificate is renewed, and how an authority is replaced without a moment in which somebody trusts the wrong one.
//
//   steady ──2/3 of the authority's life──▶ announced: the next authority is trusted beside the current one
//   announced ──a step later, if it is published──▶ switched: it signs; the old one is still trusted
//   switched ──a step later──▶ steady: the old one is dropped
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/certificates.h"
#include "io/result.h"
#include "io/time.h"

namespace careen::web {

struct KeptCertificates {
  io::KeyPair serving;
  io::KeyPair authority;
  io::KeyPair next_authority;       // while announced; empty otherwise
  std::string old_authority;        // its certificate, while switched; empty otherwise
  std::optional<io::Wall> stepped;  // when the rotation came to where it is

  // All authorities to trust, as one PEM text.
  std::string bundle() const;
  friend bool operator==(const KeptCertificates&, const KeptCertificates&) = default;
};

struct RotationOptions {
  std::vector<std::string> names;  // the server's
  std::string authority_name = "careen webhook authority";
  io::Duration serving_lifetime = io::hours{24 * 90};
  io::Duration authority_lifetime = io::hours{24 * 365 * 10};
  // Long enough for every replica to read what is kept, and for every API server to hear of the bundle.
  io::Duration step = io::minutes{10};
};

struct RotationStep {
  std::optional<KeptCertificates> keep;  // what to keep from now on; nothing when all is well
  std::string what;                      // is done with it, for the log
  io::Wall look_again{};                 // when there is nothing to do before
};

// `published`: the bundle of what is kept is known to those who verify.
io::Result<RotationStep> next_step(const KeptCertificates& kept, io::Wall now, bool published,
                                   const RotationOptions& options);

}  // namespace careen::web
