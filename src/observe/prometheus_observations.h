// Values of Prometheus as observations: queries that checks look at, asked on demand.
#pragma once

#include <string>
#include <vector>

#include "observe/observations.h"
#include "observe/prometheus_query.h"

namespace careen::io {
class HttpClient;
}  // namespace careen::io

namespace careen::observe {

struct PrometheusValue {
  double number = 0;  // may be NaN or infinite
  std::vector<std::string> warnings;
};

extern template class Observations<PrometheusQuery, PrometheusValue>;

class PrometheusObservations final : public Observations<PrometheusQuery, PrometheusValue> {
 public:
  PrometheusObservations(io::Loop& loop, io::HttpClient& http, io::Metrics& metrics, Options options,
                         OnChange on_change);
};

}  // namespace careen::observe
