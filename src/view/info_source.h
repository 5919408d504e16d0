// What a replica has to tell about its nodes, for the info document.
#pragma once

#include <vector>

#include "web/info.h"

namespace careen::kube {
struct Node;
}

namespace careen::profiles {
class Controller;
struct PendingNotification;
}  // namespace careen::profiles

namespace careen::replica {
class Replica;
}

namespace careen::view {

// The messages in a node's outbox that have not been sent yet.
// By what the controller knows of them; null: by the node alone.
std::vector<profiles::PendingNotification> pending_notifications(const kube::Node& node,
                                                                 const profiles::Controller* controller);

// The replica must outlive it.
web::InfoSource info_source(replica::Replica& replica);

}  // namespace careen::view
