#include "controllers/requests/names.h"

namespace careen::requests {

const kube::Resource kResource{"repairman.k8s.io", "v1", "maintenancerequests", "MaintenanceRequest", false};
const kube::Resource kSelectorResource{"repairman.k8s.io", "v1", "maintenanceselectors", "MaintenanceSelector", true};

}  // namespace careen::requests
