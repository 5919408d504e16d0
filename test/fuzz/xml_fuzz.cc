// XML out of any text: what is refused is refused with a message, what is read lies within its bounds and can be looked
// at everywhere, and any text survives being escaped and read again.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "io/xml.h"

namespace {

using careen::io::XmlDocument;
using careen::io::XmlElement;

constexpr int kDepth = 16;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "XML fuzz: %s\n", what);
  std::abort();
}

void look_at(const XmlElement& element, int depth) {
  expect(depth <= kDepth, "an element lies deeper than allowed");
  expect(!element.name().empty(), "an element without a name");
  expect(element.name().ends_with(element.local_name()), "a local name that is not in the name");
  expect(element.attribute("") == std::nullopt || element.attribute("")->data() != nullptr,
         "an attribute without value");
  (void)element.text();
  for (const XmlElement& child : element.children()) {
    const std::string name(child.name());
    const auto same = element.all(name);
    // Names may hold what separates names in a path.
    if (name.find('/') == std::string::npos) {
      expect(!same.empty() && element.first(name).has_value(), "a child that is not found by its name");
      expect(element.text_of(name) == same.front().text(), "the first of a path is not the first of all");
    }
    look_at(child, depth + 1);
  }
}

// Control characters cannot be written in XML.
bool is_writable(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\n' && c != '\r';
  });
}

void write_and_read(std::string_view text) {
  const std::string escaped = careen::io::xml_escaped(text);
  const auto document = XmlDocument::parse("<a b=\"" + escaped + "\">" + escaped + "</a>");
  expect(document.has_value(), "escaped text cannot be read");
  if (!is_writable(text)) return;
  expect(document->root().text() == text, "escaped text is read as another one");
  expect(document->root().attribute("b") == text, "an escaped attribute is read as another one");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool ignore_prefixes : {false, true}) {
    const auto document = XmlDocument::parse(text, {.most_depth = kDepth, .ignore_prefixes = ignore_prefixes});
    if (!document) {
      expect(!document.error().message.empty(), "refused without a message");
    } else if (!ignore_prefixes) {
      look_at(document->root(), 1);
    }
  }
  write_and_read(text);
  return 0;
}
