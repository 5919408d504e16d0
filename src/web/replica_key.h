// The key by which the replicas know each other. Each process makes one for itself and names its digest in the identity
// under which it holds the leader lock: <pod>_<digest in hex>. Only those who may write that lock may lead, so the
// process that proves to have the key is the leader, whatever certificates are served to everybody else.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/certificates.h"
#include "io/result.h"
#include "io/time.h"

namespace careen::web {

// The name under which a replica asks for that key. It is in no name service.
inline constexpr const char* kReplicaHost = "replica.careen.dev";

struct ReplicaKey {
  std::shared_ptr<const io::KeyPair> pair;
  std::string digest;  // in hex
};
io::Result<ReplicaKey> make_replica_key(io::Wall now);

// The key of whoever has this identity, as io::HttpRequest wants it; nothing when the identity names none.
std::optional<std::string> pinned_key_of(std::string_view identity);

}  // namespace careen::web
