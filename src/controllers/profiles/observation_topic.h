// The topic of an observation, for decisions that have looked at one.
#pragma once

#include <string>

#include "observe/source.h"

namespace careen::profiles {

inline std::string observation_topic(const observe::Source& source) {
  return "observation " + source.url + "\n" + source.query;
}

}  // namespace careen::profiles
