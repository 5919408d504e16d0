// The topic of an observation, for decisions that have looked at one.
#pragma once

#include <string>

#include "observe/prometheus_query.h"

namespace careen::profiles {

inline std::string observation_topic(const observe::PrometheusQuery& source) {
  return "observation " + source.url + "\n" + source.query;
}

}  // namespace careen::profiles
