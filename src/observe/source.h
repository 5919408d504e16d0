// What is observed: a query of one server.
#pragma once

#include <compare>
#include <string>

namespace careen::observe {

struct Source {
  std::string url;  // the server's base, as configured: http://prometheus:9090/prefix
  std::string query;
  friend auto operator<=>(const Source&, const Source&) = default;
};

}  // namespace careen::observe
