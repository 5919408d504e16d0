// What is observed of Prometheus: a query of one server.
#pragma once

#include <compare>
#include <string>

namespace careen::observe {

struct PrometheusQuery {
  std::string url;  // the server's base, as configured: http://prometheus:9090/prefix
  std::string query;
  // The server, see endpoint_of(); queries of one server wait for each other's turns.
  std::string endpoint() const;
  friend auto operator<=>(const PrometheusQuery&, const PrometheusQuery&) = default;
};

}  // namespace careen::observe
