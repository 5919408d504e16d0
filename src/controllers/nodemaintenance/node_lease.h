// The lease node-<name> by which the operators that work on a node keep out of each other's way: who may take it when,
// and what is written. The rules are those of the medik8s operators; all functions are pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/time.h"
#include "kube/json.h"
#include "kube/node.h"
#include "kube/objects.h"

namespace careen::nodemaintenance {

inline constexpr io::Duration kLeaseDuration = io::seconds{3600};

// node-<name>, in lower case.
std::string lease_name(std::string_view node);

bool is_ours(const kube::Lease& lease);
// It is somebody else's, and valid now.
bool is_foreign(const kube::Lease& lease, io::Wall now);
// When a foreign lease runs out.
io::Wall due(const kube::Lease& lease);
// Of a lease that is ours.
io::Wall renew_at(const kube::Lease& lease);
// Who holds it, as messages say it.
std::string held_by_other(const kube::Lease& lease);

// The write that takes or renews it for the node; nullopt: none is needed, it is ours for long enough. Without a lease,
// the one to create. Not for a foreign one.
std::optional<kube::Json> lease_request(const kube::Lease* lease, const kube::Node& node, std::string_view ns,
                                        io::Wall now);

// Frees it for others where it cannot be deleted: an incomplete lease belongs to nobody.
kube::Json lease_surrender(const kube::Lease& lease);

}  // namespace careen::nodemaintenance
