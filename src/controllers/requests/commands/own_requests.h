// The actor's side of the MaintenanceRequest protocol: which request is one's own, and the writes that an actor may do.
// It needs rights on maintenancerequests alone, and reads each object again where a write met another one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "controllers/requests/request.h"
#include "io/task.h"
#include "kube/error.h"
#include "kube/json.h"
#include "kube/objects.h"

namespace careen::app {
class KubeSession;
}

namespace careen::requests {

// Who asks, and for which node: together they find a request again.
struct Asker {
  std::string client;
  std::string node;
};

// A request as the one sees it who has made it.
struct OwnRequest : Request {
  std::string run;      // by which command it was set InProgress, if by one of careen
  kube::Object object;  // as it was read

  bool is(State wanted) const { return state == wanted; }
};
OwnRequest own_request(const kube::Object& object);

// Requests of the client, or of all, in the order in which they are served.
io::Task<kube::Result<std::vector<OwnRequest>>> list_own(app::KubeSession& session, std::string client);

// Of those for the asker's node, by the client library's rules: the one that is not finished; of several the one that
// has come furthest. Null: none.
const OwnRequest* live_of(const std::vector<OwnRequest>& requests, const Asker& asker);
// The last one of the asker that has this state.
const OwnRequest* last_of(const std::vector<OwnRequest>& requests, const Asker& asker, State state);

// Makes one, unless the same asker was quicker elsewhere: then it is that one.
io::Task<kube::Result<OwnRequest>> create_own(app::KubeSession& session, Asker asker);

// Why a step was not taken.
struct Refusal {
  std::string text;
  bool for_good = true;  // trying again would not help
};
template <class T>
using Step = tl::expected<T, Refusal>;

// Approved -> InProgress. `run` marks the request, so that of two commands that were both approved one alone goes on.
io::Task<Step<OwnRequest>> start_own(app::KubeSession& session, OwnRequest request, std::string run);
// To Completed, from any state but Pending. One that is gone counts as a refusal.
io::Task<Step<OwnRequest>> finish_own(app::KubeSession& session, OwnRequest request);
// One that is gone counts as deleted.
io::Task<Step<void>> remove_own(app::KubeSession& session, OwnRequest request);

// What to say to whoever needs the kind on a cluster that does not know it.
std::string missing_kind();
// maintenancerequest.repairman.k8s.io/mr-x7k2p, as kubectl names it.
std::string full_name(const std::string& name);
// Why it is no name of a client; empty: it is one.
std::string client_mistake(std::string_view client);
// For scripts.
kube::Json document_of(const OwnRequest& request);

}  // namespace careen::requests
