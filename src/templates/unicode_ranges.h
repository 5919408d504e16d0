// The tables behind unicode.h: which characters beyond ASCII are letters, decimal digits, printable.
#pragma once

#include <span>

namespace careen::templates {

struct Range {
  char32_t first;
  char32_t last;
};

std::span<const Range> letters();
std::span<const Range> digits();
std::span<const Range> printables();

}  // namespace careen::templates
