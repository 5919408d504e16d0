// Objects as the rows of a table, the way kubectl gets them to print.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/time.h"
#include "sim/resources.h"
#include "sim/value.h"

namespace careen::sim {

// From the Accept header.
bool wants_table(std::string_view accept);

class Table {
 public:
  // includeObject: "" for metadata, "None", "Object".
  Table(const Resource& resource, std::string_view include_object, io::Wall now);
  // An object with its kind.
  void add(const std::string& object);
  std::string text(std::string_view version, const std::string& continue_token, std::optional<size_t> remaining,
                   bool with_columns = true) const;

 private:
  const Resource& resource_;
  std::string include_object_;
  io::Wall now_;
  json::array rows_;
};

// The age of something as kubectl shows it: 5m36s, 3d4h.
std::string human_duration(io::Duration age);

}  // namespace careen::sim
