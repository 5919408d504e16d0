#include "web/replica_key.h"

#include <fmt/format.h>

#include <utility>

#include "kube/base64.h"

namespace careen::web {

namespace {

constexpr size_t kDigestBytes = 32;
// The dates are not checked: the key counts for as long as its process holds the lock.
constexpr io::Duration kYear = io::hours{24 * 365};

std::optional<std::string> from_hex(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  if (text.size() != 2 * kDigestBytes) return std::nullopt;
  std::string bytes;
  for (; !text.empty(); text.remove_prefix(2)) {
    if (digit(text[0]) < 0 || digit(text[1]) < 0) return std::nullopt;
    bytes += static_cast<char>(digit(text[0]) * 16 + digit(text[1]));
  }
  return bytes;
}

}  // namespace

io::Result<ReplicaKey> make_replica_key(io::Wall now) {
  auto pair = io::make_self_signed({kReplicaHost}, {now - kYear, now + 10 * kYear});
  if (!pair) return tl::make_unexpected(std::move(pair.error()));
  const auto facts = io::read_certificate(pair->certificate);
  if (!facts) return tl::make_unexpected(facts.error());
  ReplicaKey key;
  for (const char byte : facts->key_digest) key.digest += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  key.pair = std::make_shared<const io::KeyPair>(std::move(*pair));
  return key;
}

std::optional<std::string> pinned_key_of(std::string_view identity) {
  const size_t at = identity.rfind('_');
  if (at == std::string_view::npos) return std::nullopt;
  const auto digest = from_hex(identity.substr(at + 1));
  if (!digest) return std::nullopt;
  return "sha256//" + kube::base64_encode(*digest);
}

}  // namespace careen::web
