// Text from strangers (names, reasons, messages of servers) on its way to somebody who reads it. A character of it may
// control the terminal, start a line of its own or reverse the reading order, and its bytes may not be UTF-8. Code that
// prints for people or writes logs asks here what can be shown unchanged.
#pragma once

#include <string>
#include <string_view>

namespace careen::io {

struct Character {
  size_t length = 1;       // in bytes
  char32_t code = 0xFFFD;  // also for a byte that is not UTF-8
  bool harmless = false;   // can be shown as it is
};

// Of a text that is not empty. Each byte that is not UTF-8 is a character of its own.
Character first_character(std::string_view text);

// On one line, with as many characters as before: white space becomes a space, whatever else is not harmless becomes
// U+FFFD.
std::string printable(std::string_view text);

// For a document whose encoding knows \u (JSON, quoted texts of YAML): what is not harmless is escaped, except for line
// ends and tabs. The document means the same afterwards.
std::string escaped_document(std::string_view text);

}  // namespace careen::io
