#include "io/xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>
#include <utility>

namespace careen::io {

namespace {

// The default, which knows no document types, and no entities but XML's own five and numbers; and text that is nothing
// but blanks, where it is all that an element holds.
constexpr unsigned kParsing = pugi::parse_default | pugi::parse_ws_pcdata_single;
constexpr std::size_t kAll = static_cast<std::size_t>(-1);

// Columns count bytes.
std::string place(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t line_begin = before.rfind('\n') + 1;  // 0 when there is none
  return fmt::format("line {}, column {}", line, before.size() - line_begin + 1);
}

tl::unexpected<Error> no_xml(std::string_view text, std::size_t offset, std::string_view why) {
  return fail(ErrorKind::protocol, fmt::format("no XML that can be read: {}: {}", place(text, offset), why));
}

tl::unexpected<Error> too_much(std::string why) {
  return fail(ErrorKind::protocol, "the XML is refused: " + std::move(why));
}

std::string_view in_words(pugi::xml_parse_status status) {
  switch (status) {
    case pugi::status_unrecognized_tag:
      return "no name follows the \"<\"";
    case pugi::status_bad_pi:
      return "a processing instruction does not end";
    case pugi::status_bad_comment:
      return "a comment does not end";
    case pugi::status_bad_cdata:
      return "a CDATA section does not end";
    case pugi::status_bad_doctype:
      return "a document type does not end";
    case pugi::status_bad_pcdata:
      return "the text does not end";
    case pugi::status_bad_start_element:
      return "a start tag is not well formed";
    case pugi::status_bad_attribute:
      return "an attribute is not well formed";
    case pugi::status_bad_end_element:
      return "an end tag is not well formed";
    case pugi::status_end_element_mismatch:
      return "an element does not end, or another one ends here";
    case pugi::status_no_document_element:
      return "there is no element";
    case pugi::status_out_of_memory:
      return "there is not enough memory for it";
    default:
      return "the reader failed";
  }
}

// The next node in the order of the document, and how deep it lies.
pugi::xml_node next_node(pugi::xml_node node, int& depth) {
  if (const pugi::xml_node child = node.first_child()) {
    ++depth;
    return child;
  }
  while (node && !node.next_sibling()) {
    node = node.parent();
    --depth;
  }
  return node ? node.next_sibling() : node;
}

// The first element that lies too deep.
pugi::xml_node deeper_than(const pugi::xml_document& document, int most) {
  int depth = 1;
  for (pugi::xml_node node = document.first_child(); node; node = next_node(node, depth)) {
    if (depth > most && node.type() == pugi::node_element) return node;
  }
  return {};
}

// Takes the first name off a path.
std::string_view take_name(std::string_view& path) {
  const std::string_view name = path.substr(0, path.find('/'));
  path.remove_prefix(std::min(name.size() + 1, path.size()));
  return name;
}

std::string_view without_prefix(std::string_view name) {
  const std::size_t colon = name.find(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

}  // namespace

struct XmlDocument::Tree {
  pugi::xml_document document;
  bool ignore_prefixes = false;
};

XmlDocument::XmlDocument(std::unique_ptr<Tree> tree) : tree_(std::move(tree)) {}
XmlDocument::XmlDocument(XmlDocument&&) noexcept = default;
XmlDocument& XmlDocument::operator=(XmlDocument&&) noexcept = default;
XmlDocument::~XmlDocument() = default;

Result<XmlDocument> XmlDocument::parse(std::string_view text, const XmlOptions& options) {
  if (text.size() > options.most_bytes) {
    return too_much(fmt::format("it has {} bytes; at most {} are read", text.size(), options.most_bytes));
  }
  const auto signs = static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return c == '<' || c == '='; }));
  if (signs > options.most_signs) {
    return too_much(fmt::format("it has {} \"<\" and \"=\"; at most {} are read", signs, options.most_signs));
  }
  // It would end the text for pugixml.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return no_xml(text, zero, "a zero byte");
  }
  auto tree = std::make_unique<Tree>();
  tree->ignore_prefixes = options.ignore_prefixes;
  const pugi::xml_parse_result result =
      tree->document.load_buffer(text.data(), text.size(), kParsing, pugi::encoding_utf8);
  if (!result) return no_xml(text, static_cast<std::size_t>(result.offset), in_words(result.status));
  // pugixml tells where its name begins.
  const auto offset_of = [](const pugi::xml_node& element) {
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, element.offset_debug()) - 1);
  };
  if (const pugi::xml_node second = tree->document.document_element().next_sibling()) {
    return no_xml(text, offset_of(second), "a second element; a document is one");
  }
  if (const pugi::xml_node deep = deeper_than(tree->document, options.most_depth)) {
    return no_xml(text, offset_of(deep), fmt::format("elements lie deeper than {}", options.most_depth));
  }
  return XmlDocument(std::move(tree));
}

XmlElement XmlDocument::root() const {
  return {tree_->document.document_element().internal_object(), tree_->ignore_prefixes};
}

std::string_view XmlElement::name() const { return pugi::xml_node(node_).name(); }

std::string_view XmlElement::local_name() const { return without_prefix(name()); }

bool XmlElement::is_called(std::string_view wanted) const {
  return !wanted.empty() && (ignore_prefixes_ ? local_name() : name()) == wanted;
}

std::optional<std::string_view> XmlElement::attribute(std::string_view name) const {
  for (const pugi::xml_attribute& attribute : pugi::xml_node(node_).attributes()) {
    if (attribute.name() == name) return attribute.value();
  }
  return std::nullopt;
}

std::string XmlElement::text() const {
  std::string out;
  for (const pugi::xml_node& node : pugi::xml_node(node_).children()) {
    if (node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata) out += node.value();
  }
  return out;
}

std::vector<XmlElement> XmlElement::children() const {
  std::vector<XmlElement> found;
  for (const pugi::xml_node& node : pugi::xml_node(node_).children()) {
    if (node.type() == pugi::node_element) found.push_back({node.internal_object(), ignore_prefixes_});
  }
  return found;
}

// As deep as the path has names, and no deeper than the document.
void XmlElement::collect(std::string_view path, std::size_t most, std::vector<XmlElement>& found) const {
  std::string_view rest = path;
  const std::string_view wanted = take_name(rest);
  const bool last = wanted.size() == path.size();
  for (const pugi::xml_node& node : pugi::xml_node(node_).children()) {
    if (found.size() >= most) return;
    const XmlElement child(node.internal_object(), ignore_prefixes_);
    if (node.type() != pugi::node_element || !child.is_called(wanted)) continue;
    if (last) {
      found.push_back(child);
    } else {
      child.collect(rest, most, found);
    }
  }
}

std::vector<XmlElement> XmlElement::all(std::string_view path) const {
  std::vector<XmlElement> found;
  collect(path, kAll, found);
  return found;
}

std::optional<XmlElement> XmlElement::first(std::string_view path) const {
  std::vector<XmlElement> found;
  collect(path, 1, found);
  if (found.empty()) return std::nullopt;
  return found.front();
}

std::optional<std::string> XmlElement::text_of(std::string_view path) const {
  const auto element = first(path);
  if (!element) return std::nullopt;
  return element->text();
}

std::string xml_escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&apos;";
        break;
      // As they stand a reader makes blanks of them, or other ends of lines.
      case '\t':
      case '\n':
      case '\r':
        out += fmt::format("&#{};", static_cast<int>(c));
        break;
      default:
        if (static_cast<unsigned char>(c) < ' ') {
          out += "\xef\xbf\xbd";
        } else {
          out += c;
        }
    }
  }
  return out;
}

}  // namespace careen::io
