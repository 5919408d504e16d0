// The controllers that careen has besides profiles: a line each. Whatever hosts, shows, plans or names controllers asks
// this list.
#pragma once

#include <string_view>
#include <vector>

namespace careen::controllers {
struct Kind;
}

namespace careen::replica {

const std::vector<const controllers::Kind*>& controller_kinds();
// By its name as in --controllers; null: there is none.
const controllers::Kind* find_controller_kind(std::string_view name);
// The Leases that leaders hold: that of profiles first.
std::vector<std::string_view> leader_locks();

}  // namespace careen::replica
