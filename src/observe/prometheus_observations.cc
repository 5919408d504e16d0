#include "observe/prometheus_observations.h"

#include <utility>

#include "io/http.h"
#include "io/loop.h"
#include "observe/prometheus.h"

namespace careen::observe {

namespace {
io::Task<io::Result<PrometheusValue>> ask_prometheus(io::Loop& loop, io::HttpClient& http, PrometheusQuery query) {
  InstantAnswer answer = co_await ask_instant(loop, http, std::move(query), loop.wall_now());
  if (!answer.error.empty()) {
    co_return io::fail(answer.timed_out ? io::ErrorKind::timeout : io::ErrorKind::protocol, std::move(answer.error));
  }
  co_return PrometheusValue{answer.value, std::move(answer.warnings)};
}
}  // namespace

template class Observations<PrometheusQuery, PrometheusValue>;

PrometheusObservations::PrometheusObservations(io::Loop& loop, io::HttpClient& http, io::Metrics& metrics,
                                               Options options, OnChange on_change)
    : Observations(
          loop, metrics, std::move(options),
          [&loop, &http](PrometheusQuery query) { return ask_prometheus(loop, http, std::move(query)); },
          std::move(on_change)) {}

}  // namespace careen::observe
