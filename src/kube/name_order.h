// The order in which people expect names: node-9 before node-10. A run of digits counts as a number, however long it
// is; everything else counts byte by byte. Names that are equal by this rule, such as node-7 and node-07, are in the
// order of their bytes: the order is total, and names are equal only if they are the same.
#pragma once

#include <compare>
#include <string_view>

namespace careen::kube {

std::strong_ordering compare_names(std::string_view left, std::string_view right);

// For std::sort and ordered containers of what people see.
struct NameOrder {
  using is_transparent = void;
  bool operator()(std::string_view left, std::string_view right) const { return compare_names(left, right) < 0; }
};

}  // namespace careen::kube
