// What a replica has to tell about its nodes, for the info document.
#pragma once

#include "replica/replica.h"
#include "web/info.h"

namespace careen::view {

// The replica must outlive it.
web::InfoSource info_source(replica::Replica& replica);

}  // namespace careen::view
