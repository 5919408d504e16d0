// The columns and cells that kubectl prints of workloads and disruption budgets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/time.h"
#include "sim/value.h"

namespace careen::sim {

struct WorkloadColumn {
  const char* name;
  const char* type;  // string or integer
  const char* description;
};

// Between the name and the age; empty for kinds that have no table here.
std::vector<WorkloadColumn> workload_columns(std::string_view kind);
json::array workload_cells(std::string_view kind, const json::value& object, io::Wall now);

}  // namespace careen::sim
