#include "controllers/nodemaintenance/names.h"

namespace careen::nodemaintenance {

const kube::Resource kResource{"nodemaintenance.medik8s.io", "v1beta1", "nodemaintenances", "NodeMaintenance", false};

}  // namespace careen::nodemaintenance
