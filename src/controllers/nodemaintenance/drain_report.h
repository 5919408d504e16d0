// What a drain's progress means for the status of its NodeMaintenance: counts, pending pods, the error in the words of
// kubectl drain, and the conditions that say what blocks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controllers/nodemaintenance/maintenance.h"
#include "drain/progress.h"

namespace careen::nodemaintenance {

inline constexpr std::string_view kDrained = "Drained";
inline constexpr std::string_view kBlocked = "Blocked";
// The reason of the latter, while somebody has paused everything.
inline constexpr const char* kPaused = "Paused";
// The same, while there is no place for it in a MaintenanceLimit.
inline constexpr const char* kNoPlace = "WaitingForPlace";

// Sets the condition; its time changes only when it turns.
void set_condition(Status& status, std::string_view type, bool holds, std::string reason, std::string message,
                   io::Wall now);

// While it lasts: counts, pending pods, progress, what blocks.
void report_draining(Status& status, const drain::Progress& progress, io::Wall now);
// All are gone.
void report_drained(Status& status, const drain::Progress& progress, io::Wall now);
// Nothing is evicted for that reason, which is of the maintenance as a whole.
void report_obstacle(Status& status, std::string reason, const std::string& message, io::Wall now);

// What kubectl drain would say of the pods that do not leave; empty when there is nothing to say.
std::string drain_error(const drain::Progress& progress, io::Wall now);
// When it will say more although nothing has happened.
std::optional<io::Wall> next_complaint(const drain::Progress& progress, io::Wall now);

}  // namespace careen::nodemaintenance
