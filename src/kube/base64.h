// Base64 with the standard alphabet and padding, as kubeconfigs and HTTP's basic authentication use it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace careen::kube {

std::string base64_encode(std::string_view bytes);
// Line breaks and blanks are skipped; nullopt when anything else is wrong.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace careen::kube
