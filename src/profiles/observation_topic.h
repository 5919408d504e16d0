// The topic of an observation: what decisions rest on that have looked at one.
#pragma once

#include <string>

#include "observe/prometheus_query.h"

namespace careen::profiles {

inline std::string observation_topic(const observe::PrometheusQuery& source) {
  return "observation " + source.url + "\n" + source.query;
}

}  // namespace careen::profiles
