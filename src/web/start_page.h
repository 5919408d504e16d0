// The page a person sees on opening the address of the metrics: what careen is, and where to go from here.
#pragma once

#include <vector>

#include "web/routes.h"

namespace careen::web {

// The page is /static/, and links to those of `listed` that say what they are about. Every path that nothing else
// serves leads there, as it does with the original.
std::vector<Route> start_page(const std::vector<Route>& listed, const Access& access);

}  // namespace careen::web
