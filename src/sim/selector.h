// Label and field selectors of a request, and what they match.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/label_selector.h"
#include "sim/parsed_texts.h"
#include "sim/resources.h"
#include "sim/value.h"
#include "tl/expected.hpp"

namespace careen::sim {

// Which objects of a resource a list or watch wants.
class Selector {
 public:
  // The texts as in the query, decoded. The error is what the server answers with 400.
  static tl::expected<Selector, std::string> parse(std::string_view labels, std::string_view fields,
                                                   const Resource& resource);
  bool matches(const json::value& object) const;
  // The same of an object's text, which is read only if it may match: a list passes over many.
  bool matches_text(const Text& text, const std::function<Parsed(const Text&)>& parsed) const;
  // Matches everything.
  bool empty() const { return labels_.empty() && fields_.empty(); }
  // What the field of each match must be; empty when that may differ.
  std::string_view wanted(std::string_view field) const;

 private:
  struct FieldRequirement {
    std::string field;
    bool equal = true;
    std::string value;
  };

  bool may_match(std::string_view text) const;

  kube::LabelSelector labels_;
  std::vector<FieldRequirement> fields_;
};

// The value a field selector sees, the empty text when there is none.
std::string field_value(const json::value& object, std::string_view field);

}  // namespace careen::sim
