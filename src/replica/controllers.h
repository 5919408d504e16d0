// The controllers that careen has: a line each, in the order in which their locks are taken. Whatever hosts, shows,
// plans or names controllers asks this list.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/lock_kind.h"

namespace careen::controllers {
class Choice;
struct Kind;
}  // namespace careen::controllers

namespace careen::replica {

const std::vector<const controllers::Kind*>& controller_kinds();
// An object in careen's own namespace, by which it is found there.
struct HomeObject {
  kube::LockKind kind = kube::LockKind::lease;
  std::string name;
  bool operator==(const HomeObject&) const = default;
};
// What their leaders hold.
std::vector<HomeObject> leader_locks();
// The ledger of a careen with these controllers. Profiles have always had theirs under one name; without them it is
// that of whoever approves others, or else of the first that admits against a limit, and stands where the lock of that
// one does: a role that allows no Leases suffices then.
HomeObject ledger_of(const std::vector<const controllers::Kind*>& hosted);
// All that there may be.
std::vector<HomeObject> ledgers();

// Of the list those that have objects: all but profiles. So it is with whatever follows.
const std::vector<const controllers::Kind*>& object_kinds();
// Each with the options that it has when nobody says otherwise.
std::vector<std::shared_ptr<const controllers::Choice>> usual_controllers();
// As in --controllers.
std::vector<std::string_view> controller_names();
// By its name; null: there is none.
const controllers::Kind* find_controller_kind(std::string_view name);
// Whose objects hold nodes under that name, such as request/mr-x7k2p; null: nobody's.
const controllers::Kind* find_holder(std::string_view owner);
// By where its objects stand in documents; null: nowhere.
const controllers::Kind* find_section(std::string_view section);
// One phrase for all of them, with `between` between what is said of each: {name} and {object} of the format are as in
// --controllers, and the kind of its objects.
std::string say_of_controllers(const char* format, std::string_view between);

}  // namespace careen::replica
