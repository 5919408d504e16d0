// Structural schemas of custom resources: they drop unknown fields, fill in defaults, and say what is wrong.
#pragma once

#include <memory>
#include <string>

#include "sim/status.h"
#include "sim/value.h"

namespace careen::sim {

class Schema {
 public:
  // From openAPIV3Schema.
  explicit Schema(json::value schema) : schema_(std::move(schema)) {}

  // metadata, kind and apiVersion of the object are not looked at.
  void prune(json::value& object) const;
  void fill_defaults(json::value& object) const;
  FieldErrors validate(const json::value& object) const;
  // The schema of a part, for how its lists merge; null when there is none.
  const json::value& root() const { return schema_; }

 private:
  json::value schema_;
};

}  // namespace careen::sim
