// The CustomResourceDefinitions of controllers' kinds, for clusters that careen makes itself: those of demonstrations
// and of tests.
#pragma once

#include <string>
#include <string_view>

#include "kube/json.h"

namespace careen::controllers {

inline constexpr const char* kDefinitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

// deploy/crds/<name>.yaml.
kube::Json shipped_definition(std::string_view name);
kube::Json definition_from(const std::string& yaml);

}  // namespace careen::controllers
