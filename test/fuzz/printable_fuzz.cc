// Any bytes on their way to a terminal: what comes out is UTF-8 on one line that commands nothing, with as many
// characters as before, and a JSON document means the same after it was escaped.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "io/printable.h"
#include "kube/json.h"
#include "kube/json_text.h"

namespace {

using careen::kube::Json;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "printable fuzz: %s\n", what);
  std::abort();
}

size_t characters(std::string_view text) {
  size_t count = 0;
  for (; !text.empty(); text.remove_prefix(careen::io::first_character(text).length)) ++count;
  return count;
}

// Told by their bytes, so that a mistake in reading characters is none here as well.
bool commands(std::string_view text, bool is_document) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool allowed = is_document && (c == '\n' || c == '\r' || c == '\t');
    if ((byte < 0x20 && !allowed) || byte == 0x7F) return true;
  }
  for (int low = 0x80; low <= 0x9F; ++low) {
    if (text.find(std::string{'\xC2', static_cast<char>(low)}) != std::string_view::npos) return true;
  }
  for (const char* turn : {"\u061C", "\u200E", "\u200F", "\u2028", "\u2029", "\u202A", "\u202B", "\u202C", "\u202D",
                           "\u202E", "\u2066", "\u2067", "\u2068", "\u2069"}) {
    if (text.find(turn) != std::string_view::npos) return true;
  }
  return false;
}

// Boost reads it strictly.
bool is_utf8(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return Json::parse(quoted + "\"").has_value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string shown = careen::io::printable(text);
  expect(!commands(shown, false), "it commands the terminal");
  expect(is_utf8(shown), "it is no UTF-8");
  expect(characters(shown) == characters(text), "its width has changed");
  expect(careen::io::printable(shown) == shown, "not all is replaced at once");

  std::string document;
  careen::kube::append_json_text(document, text);
  const std::string escaped = careen::io::escaped_document(document);
  expect(!commands(escaped, true), "a document commands the terminal");
  const auto before = Json::parse(document), after = Json::parse(escaped);
  expect(before && after, "a document does not parse");
  expect(before->view().text() == after->view().text(), "a document means something else");
  return 0;
}
