// A text as JSON writes it, appended to a document that is made piece by piece. Whatever the bytes are, the document
// stays valid: those that are not UTF-8 become U+FFFD.
#pragma once

#include <string>
#include <string_view>

namespace careen::kube {

// With its quotes.
void append_json_text(std::string& out, std::string_view text);

}  // namespace careen::kube
