// What names, labels and annotations may look like, in the server's words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace careen::sim {

// What is wrong; empty when nothing is.
std::vector<std::string> subdomain_errors(std::string_view text);
std::vector<std::string> label_errors(std::string_view text);
std::vector<std::string> qualified_name_errors(std::string_view text);
std::vector<std::string> label_value_errors(std::string_view text);

}  // namespace careen::sim
