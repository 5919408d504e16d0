// Text in URLs.
#pragma once

#include "io/query.h"

namespace careen::kube {

using io::append_encoded;

}  // namespace careen::kube
