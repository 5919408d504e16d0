// MaintenanceLimits for a terminal: pure functions of the part `limits` of the Fleet document.
#pragma once

#include <string>
#include <vector>

#include "cli/screen.h"
#include "cli/terminal_table.h"
#include "io/time.h"
#include "kube/json.h"

namespace careen::app {

// What a limit is asked for by name, as people may write it: workers, or one group of it, workers/eu-de-1a.
bool is_chosen(kube::JsonView group, const std::vector<std::string>& names);

// profile/os-update 2, karpenter 1 (n31, 12m)
std::string used_by(kube::JsonView group, io::Wall now);
// A row for each group: LIMIT GROUP CAP USED FREE MISSING WAITING USED BY.
Row limit_header();
std::vector<Row> limit_rows(kube::JsonView limits, io::Wall now, const std::vector<std::string>& names = {});
// A row for each that waits: QUEUE NODE ACTOR RANK SINCE EXPECTED LIMITS.
Row queue_header();
std::vector<Row> queue_rows(kube::JsonView limits, io::Wall now, const std::vector<std::string>& names = {});

// Sentences about what is wrong: more nodes out than may be, and who came last; limits with mistakes.
std::vector<std::string> limit_alarms(kube::JsonView limits, const std::vector<std::string>& names = {});
// Some group that was chosen has more nodes out than may be.
bool is_overshot(kube::JsonView limits, const std::vector<std::string>& names = {});

// All of that, in lines that fit the width unless it is 0.
std::vector<Line> budget_lines(kube::JsonView limits, const Screen& screen, io::Wall now,
                               const std::vector<std::string>& names, size_t width);

}  // namespace careen::app
