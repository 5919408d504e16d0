// What goes wrong in a campaign of Machines: as in the others, but on several API servers, and with the Secrets that
// lead to them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "perturbation.h"

namespace careen::explore {

// What the choice of a perturbation says.
inline constexpr std::array<std::string_view, 7> kRefusedResources{
    "/leases", "/machines", "/baremetalhosts", "/nodes", "/secrets", "/events", ""};
size_t refused_resource(uint64_t choice);
bool strikes_management(uint64_t choice);  // and not the cluster of the slot
bool disables_for_ever(uint64_t choice);

std::vector<Perturbation> draw_machines_perturbations(uint64_t seed, io::Duration horizon);

}  // namespace careen::explore
