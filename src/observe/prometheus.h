// One instant query of Prometheus' HTTP API: the value that a query has now, if it has exactly one. Whatever goes wrong
// ends as a sentence for people, without the credentials that the URL may carry.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/task.h"
#include "io/time.h"
#include "observe/prometheus_query.h"

namespace careen::io {
class HttpClient;
class Loop;
}  // namespace careen::io

namespace careen::observe {

struct InstantAnswer {
  double value = 0;  // when there is no error; may be NaN or infinite
  std::vector<std::string> warnings;
  std::string error;
  bool timed_out = false;
};

// Asks for the value at the time `now`, by POST and, where the server does not take that (405, 501), by GET; ends
// within ten seconds.
io::Task<InstantAnswer> ask_instant(io::Loop& loop, io::HttpClient& http, PrometheusQuery query, io::Wall now);

// Scheme, host and port of a URL, in one spelling: http://prometheus:9090. The text "invalid" when it is no URL of a
// server.
std::string endpoint_of(std::string_view url);

// The URL with its user and password replaced by stars.
std::string without_credentials(std::string_view url);

}  // namespace careen::observe
