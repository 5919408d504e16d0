#include "controllers/machines/names.h"

namespace careen::machines {

const kube::Resource kMachines{std::string(kGroup), std::string(kVersions[0]), "machines", "Machine", true};
const kube::Resource kClusters{std::string(kGroup), std::string(kVersions[0]), "clusters", "Cluster", true};
const kube::Resource kHosts{"metal3.io", "v1alpha1", "baremetalhosts", "BareMetalHost", true};
const kube::Resource kHealthChecks{"remediation.medik8s.io", "v1alpha1", "nodehealthchecks", "NodeHealthCheck", false};
const kube::Resource kSecrets{"", "v1", "secrets", "Secret", true};

}  // namespace careen::machines
