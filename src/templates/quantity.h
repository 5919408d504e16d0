// Amounts as Kubernetes writes them: 4, 250m, 8Gi, 1e3. What Go's resource.Quantity makes of them.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

namespace careen::templates {

// In billionths, the smallest part there is.
struct Quantity {
  __int128 nanos = 0;

  friend auto operator<=>(const Quantity&, const Quantity&) = default;
};

// What cannot be read gives nothing; what does not fit gives the most that does.
Quantity read_quantity(std::string_view text);
Quantity whole_quantity(int64_t value);

// In units of 10^scale, away from zero where it is not whole; the closest number where it does not fit.
int64_t scaled_value(Quantity quantity, int64_t scale);
double approximate(Quantity quantity);

}  // namespace careen::templates
