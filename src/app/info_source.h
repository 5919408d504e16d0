// What a replica has to tell about its nodes, for the info document.
#pragma once

#include "app/replica.h"
#include "web/info.h"

namespace careen::app {

// The replica must outlive it.
web::InfoSource info_source(Replica& replica);

}  // namespace careen::app
