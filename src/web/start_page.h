// The page a person sees who opens the address of the metrics: what careen is, and where to go from here.
#pragma once

#include "io/http_server.h"

namespace careen::web {

// The page is /static/. Every path that nothing else serves leads there, as it does with the original.
io::ServerResponse answer_start_page(const io::ServerRequest& request);

}  // namespace careen::web
