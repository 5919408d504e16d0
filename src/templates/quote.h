// Text in quotes with what is not printable escaped, as Go writes its constants.
#pragma once

#include <string>
#include <string_view>

namespace careen::templates {

std::string quote(std::string_view text, bool ascii_only = false);
std::string quote_rune(char32_t rune, bool ascii_only = false);
// Whether `…` can hold the text as it stands.
bool can_backquote(std::string_view text);

}  // namespace careen::templates
