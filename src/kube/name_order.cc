#include "kube/name_order.h"

#include <algorithm>

namespace careen::kube {

namespace {

bool begins_with_digit(std::string_view text) { return text.front() >= '0' && text.front() <= '9'; }

// Cuts the number off that the text begins with. Without leading zeros the longer one of two is the greater.
std::string_view cut_number(std::string_view& text) {
  std::string_view number = text.substr(0, text.find_first_not_of("0123456789"));
  text.remove_prefix(number.size());
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

std::strong_ordering compare_numbers(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return left.size() <=> right.size();
  return left <=> right;
}

}  // namespace

std::strong_ordering compare_names(std::string_view left, std::string_view right) {
  std::string_view a = left, b = right;
  while (!a.empty() && !b.empty()) {
    if (begins_with_digit(a) && begins_with_digit(b)) {
      const std::string_view number = cut_number(a), other = cut_number(b);
      if (const auto order = compare_numbers(number, other); order != 0) return order;
      continue;
    }
    if (a.front() != b.front()) return a.substr(0, 1) <=> b.substr(0, 1);
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) return a.empty() ? std::strong_ordering::less : std::strong_ordering::greater;
  return left <=> right;
}

}  // namespace careen::kube
