// All maintenances of a cluster as rows, whoever does them: objects of controllers, maintenance profiles, people at a
// terminal, and nodes that somebody cordoned without a word.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/terminal_table.h"
#include "commands/jobs.h"
#include "drain/holds.h"
#include "kube/json.h"
#include "kube/node.h"

namespace careen::app {

struct StatusRow {
  std::string node;
  std::string by;     // KIND/x, profile/y, terminal/ana@host; empty: not known
  std::string state;  // Running, in-maintenance, cordoned …
  std::optional<int64_t> percent = {};
  std::optional<size_t> pending = {};
  std::string blocked_by = {};
  std::string reason = {};
  std::optional<io::Wall> since = {};
  drain::Items held = {};
  friend bool operator==(const StatusRow&, const StatusRow&) = default;
};

// In the order of nodes, then of owners.
std::vector<StatusRow> status_rows(const std::vector<kube::Node>& nodes, const std::vector<JobOfKind>& jobs);

Row status_header(bool wide);
Row status_cells(const StatusRow& row, io::Wall now, bool wide);
kube::Json status_document(const std::vector<StatusRow>& rows);

}  // namespace careen::app
