// The kubeconfig of a model cluster: one context, no credentials.
#pragma once

#include <string>

namespace careen::app {

// False when the file cannot be written.
bool write_model_kubeconfig(const std::string& path, const std::string& server);

}  // namespace careen::app
