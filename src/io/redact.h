// Keeps secrets out of what people read: error messages may quote a URL, a form or an answer that holds one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace careen::io {

// The text with each secret replaced by ***, the longest first: as it stands, and as URLs and forms encode it.
// Secrets of fewer than three characters are left alone: they would be found everywhere and hide everything.
std::string redact(std::string_view text, const std::vector<std::string>& secrets);

}  // namespace careen::io
