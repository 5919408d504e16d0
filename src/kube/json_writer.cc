#include "kube/json_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace careen::kube {

void append_json(std::string& out, double number) {
  if (std::isnan(number)) {
    out += "\"NaN\"";
  } else if (std::isinf(number)) {
    out += number > 0 ? "\"+Inf\"" : "\"-Inf\"";
  } else {
    fmt::format_to(std::back_inserter(out), "{}", number);
  }
}

}  // namespace careen::kube
