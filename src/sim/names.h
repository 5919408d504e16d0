// What names, labels and annotations may look like, in the server's words: the same checks as those of clients.
#pragma once

#include "kube/names.h"

namespace careen::sim {

using kube::label_errors;
using kube::label_value_errors;
using kube::qualified_name_errors;
using kube::subdomain_errors;

}  // namespace careen::sim
