// What is known of a fact that cannot be watched: the last answer of its source with its age and, if that is an error,
// the last value with its age. Ages run on the steady clock: setting the clock makes nothing younger or older.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "io/time.h"

namespace careen::observe {

template <class Value>
struct Observation {
  std::shared_ptr<const Value> value;  // the last one; null when there was none yet
  io::Duration value_age{};            // since it came
  std::string error;                   // of the last answer; empty when that is `value`
  io::Duration age{};                  // of the last answer, since it came
  io::Wall asked_at{};                 // when the last answer's request was sent
  io::Wall answered_at{};
  uint64_t serial = 0;  // of the answers of all sources; a newer one has a larger number
};

enum class ObservationKind {
  usable,   // `observation` holds a value
  failed,   // `observation` holds an error
  pending,  // there is nothing to decide on yet; `why` says what is waited for
};

// What a decision may make of a source at a moment.
template <class Value>
struct ObservationState {
  ObservationKind kind = ObservationKind::pending;
  std::optional<Observation<Value>> observation = std::nullopt;  // usable, failed
  std::string why;
  io::Wall usable_until = io::Wall::max();  // usable, failed: pending after this moment, if nothing else happens
};

// The same with the type that the value had before it was forgotten.
template <class Value>
Observation<Value> typed(Observation<void> plain) {
  return {std::static_pointer_cast<const Value>(std::move(plain.value)),
          plain.value_age,
          std::move(plain.error),
          plain.age,
          plain.asked_at,
          plain.answered_at,
          plain.serial};
}

}  // namespace careen::observe
