#include <fmt/format.h>

#include <algorithm>

#include "controllers/slot/kind.h"
#include "replica/controllers.h"

namespace careen::replica {

namespace {

constexpr const char* kLedger = "careen-ledger";

const controllers::Kind* first_with(std::string_view controllers::Kind::* field, std::string_view value) {
  const auto& all = object_kinds();
  const auto found = std::ranges::find(all, value, [&](const controllers::Kind* kind) { return kind->*field; });
  return found == all.end() ? nullptr : *found;
}

}  // namespace

const std::vector<const controllers::Kind*>& object_kinds() {
  static const std::vector<const controllers::Kind*> all = [] {
    std::vector<const controllers::Kind*> kinds = controller_kinds();
    std::erase_if(kinds, [](const controllers::Kind* kind) { return !kind->has_objects(); });
    return kinds;
  }();
  return all;
}

const controllers::Kind* find_controller_kind(std::string_view name) {
  return first_with(&controllers::Kind::name, name);
}

const controllers::Kind* find_holder(std::string_view owner) {
  const auto& all = object_kinds();
  const auto found = std::ranges::find_if(
      all, [owner](const controllers::Kind* kind) { return owner.starts_with(kind->owner_of("")); });
  return found == all.end() ? nullptr : *found;
}

const controllers::Kind* find_section(std::string_view section) {
  return first_with(&controllers::Kind::section, section);
}

std::string say_of_controllers(const char* format, std::string_view between) {
  std::string out;
  for (const controllers::Kind* kind : object_kinds()) {
    if (!out.empty()) out += between;
    out += fmt::format(fmt::runtime(format), fmt::arg("name", kind->name), fmt::arg("object", kind->object.kind));
  }
  return out;
}

std::vector<std::shared_ptr<const controllers::Choice>> usual_controllers() {
  std::vector<std::shared_ptr<const controllers::Choice>> all;
  for (const controllers::Kind* kind : object_kinds()) all.push_back(kind->usual());
  return all;
}

std::vector<std::string_view> controller_names() {
  std::vector<std::string_view> names;
  for (const controllers::Kind* kind : object_kinds()) names.push_back(kind->name);
  return names;
}

std::vector<HomeObject> leader_locks() {
  std::vector<HomeObject> locks;
  for (const controllers::Kind* kind : controller_kinds()) locks.push_back({kind->lock_kind, std::string(kind->lock)});
  return locks;
}

HomeObject ledger_of(const std::vector<const controllers::Kind*>& hosted) {
  const controllers::Kind* owner = nullptr;
  for (const controllers::Kind* const kind : hosted) {
    if (!kind->claims) continue;
    if (!kind->has_objects()) return {.name = kLedger};
    if (!owner || kind->approves_others) owner = kind;
  }
  if (!owner) return {.name = kLedger};
  return {owner->lock_kind, fmt::format("{}-{}", kLedger, owner->name)};
}

std::vector<HomeObject> ledgers() {
  std::vector<HomeObject> all{{.name = kLedger}};
  for (const controllers::Kind* kind : object_kinds()) {
    if (kind->claims) all.push_back(ledger_of({kind}));
  }
  return all;
}

}  // namespace careen::replica
