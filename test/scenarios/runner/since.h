// From when on an expectation counts what happens: from the last step that did something, or from the start of the run.
#pragma once

#include "fields.h"
#include "scenario.h"

namespace careen::scenarios {

inline constexpr Amount kAtLeastOnce{Amount::Kind::at_least, 1};

// `since: start` counts from the beginning of the run, also in a window.
struct Since {
  bool start = false;
  Mark from(const Mark& window) const { return start ? Mark{} : window; }
};

inline Since read_since(const Value& value, Faults& faults) {
  if (!value.is_scalar() || value.text != "start") faults.add(value.where, "since takes only \"start\"");
  return {true};
}

inline Since read_since(Fields& fields) {
  const Value* value = fields.find("since");
  return value ? read_since(*value, fields.faults()) : Since{};
}

}  // namespace careen::scenarios
