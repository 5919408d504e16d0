// Reading XML that others write, with pugixml: bounded in size and depth, without document types, entities of their own
// or anything else that reaches beyond the text. Elements are looked up by paths of names; what is absent is an empty
// answer.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"

// NOLINTNEXTLINE: pugixml's own name; its header stays in xml.cc.
namespace pugi {
struct xml_node_struct;
}  // namespace pugi

namespace careen::io {

struct XmlOptions {
  std::size_t most_bytes = 16u << 20;
  // Signs of an element or an attribute ("<", "=") in the text: memory grows with these, up to fifty bytes each.
  std::size_t most_signs = 1'000'000;
  int most_depth = 64;
  // Names in lookups mean local names: "Body" finds <soap:Body>.
  bool ignore_prefixes = false;
};

// An element of a document. It is small, and valid as long as the document lives.
class XmlElement {
 public:
  // As written, "soap:Body", and without the prefix, "Body".
  std::string_view name() const;
  std::string_view local_name() const;
  // By its name as written; prefixes are ignored in lookups of elements only.
  std::optional<std::string_view> attribute(std::string_view name) const;
  // The text directly in it, without that of its elements; blanks are left out only between elements.
  std::string text() const;

  std::vector<XmlElement> children() const;
  // A path is the names of elements, each a child of the one before: "reservationSet/item". All of them, in the order
  // of the document, and the first.
  std::vector<XmlElement> all(std::string_view path) const;
  std::optional<XmlElement> first(std::string_view path) const;
  // The text of the first.
  std::optional<std::string> text_of(std::string_view path) const;

 private:
  friend class XmlDocument;
  XmlElement(pugi::xml_node_struct* node, bool ignore_prefixes) : node_(node), ignore_prefixes_(ignore_prefixes) {}
  bool is_called(std::string_view wanted) const;
  void collect(std::string_view path, std::size_t most, std::vector<XmlElement>& found) const;

  pugi::xml_node_struct* node_;
  bool ignore_prefixes_;
};

class XmlDocument {
 public:
  // The text is UTF-8, whatever it declares. An error says what is wrong at which line and column, both from 1.
  static Result<XmlDocument> parse(std::string_view text, const XmlOptions& options = {});
  XmlDocument(XmlDocument&&) noexcept;
  XmlDocument& operator=(XmlDocument&&) noexcept;
  ~XmlDocument();

  XmlElement root() const;

 private:
  struct Tree;
  explicit XmlDocument(std::unique_ptr<Tree> tree);
  std::unique_ptr<Tree> tree_;
};

// The text as the content of an element or of an attribute in quotes. What XML cannot hold at all, control characters,
// becomes U+FFFD.
std::string xml_escaped(std::string_view text);

}  // namespace careen::io
