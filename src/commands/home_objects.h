// The objects by which careen, or a program that it replaces, is found: they lie in its own namespace.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "io/task.h"
#include "kube/error.h"
#include "kube/json.h"
#include "replica/controllers.h"

namespace careen::kube {
class Client;
}

namespace careen::app {

// Locks, ledgers and the pause, the Leases first.
const std::vector<replica::HomeObject>& home_objects();
std::vector<replica::HomeObject> leases_first(const std::vector<replica::HomeObject>& objects);

// Those of that name that there are, in all namespaces. A Lease is what its name says; old programs of all sorts have
// ConfigMaps named like the locks that stand in one, so of these only what careen has written counts.
io::Task<kube::Result<std::vector<kube::Json>>> find_home_objects(kube::Client& client, replica::HomeObject named);

// Who leads there, or writes that ledger; empty: nobody says so.
std::string holder_of(const replica::HomeObject& named, const kube::Json& object);

// What to tell whoever asked when they lie in more than one namespace.
std::string several_homes(const std::set<std::string>& namespaces);

}  // namespace careen::app
