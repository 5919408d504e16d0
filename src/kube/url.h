// Text in URLs.
#pragma once

#include <string>
#include <string_view>

namespace careen::kube {

// Appends the text with everything escaped that means something in a URL.
void append_encoded(std::string& out, std::string_view text);

}  // namespace careen::kube
