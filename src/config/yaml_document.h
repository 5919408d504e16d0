// The YAML text of a configuration file as a tree of values, each with its place in the file. Only the first document
// counts; of duplicate keys the last wins; anchors and `<<` merges work; what a hostile file could blow up is bounded.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "config/error.h"
#include "config/yaml_values.h"

namespace careen::config {

struct Remark {
  Position where;
  std::string message;
};

class Document {
 public:
  // An unreadable text gives one error: behind it nothing can be trusted.
  static tl::expected<Document, Remark> parse(std::string text);

  const Value& root() const { return *root_; }
  // Every value of the file, also those that no key refers to any more.
  const std::deque<Value>& values() const { return values_; }
  const std::vector<Remark>& warnings() const { return warnings_; }

  Position position(std::size_t offset) const;
  // Where in the file byte `at` of a string value is. Folded and indented text is followed; where the value's spelling
  // differs from its text (escapes), it is the beginning of the value.
  Position position_within(const Value& value, std::size_t at) const;

 private:
  friend class DocumentBuilder;
  explicit Document(std::string text);
  // What must be right before the YAML parser may see the text.
  std::optional<Remark> check_characters() const;
  std::string_view indentation(std::size_t offset) const;
  bool is_indented_by_tab(std::size_t offset) const;
  Remark syntax_error(std::size_t offset, const std::string& problem) const;
  bool is_separated(std::size_t document_end, std::size_t next_begins) const;

  std::string text_;
  std::vector<std::size_t> line_starts_;
  std::deque<Value> values_;
  const Value* root_ = nullptr;
  std::vector<Remark> warnings_;
};

}  // namespace careen::config
