// What names, labels and annotations may look like, in the server's words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace careen::kube {

// What is wrong; empty when nothing is.
std::vector<std::string> subdomain_errors(std::string_view text);
std::vector<std::string> label_errors(std::string_view text);
// `what` is how the message calls it when there is more than one slash.
std::vector<std::string> qualified_name_errors(std::string_view text, std::string_view what = "a qualified name");
std::vector<std::string> label_value_errors(std::string_view text);

}  // namespace careen::kube
