#include "templates/types.h"

namespace careen::templates {

namespace {

const Field* field_named(const Type& type, std::string_view name) {
  for (const Field& field : type.fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

FoundField getter(const Type& type, std::string_view name) {
  if (!name.starts_with("Get")) return {};
  name.remove_prefix(3);
  if (type.getters) return {nullptr, field_named(type, name)};
  for (const Field& outer : type.fields) {
    if (!outer.embedded || !outer.type->getters) continue;
    if (const Field* field = field_named(*outer.type, name)) return {&outer, field};
  }
  return {};
}

}  // namespace

FoundField find_field(const Type& type, std::string_view name) {
  if (const Field* field = field_named(type, name)) return {nullptr, field};
  for (const Field& outer : type.fields) {
    if (!outer.embedded) continue;
    if (const Field* field = field_named(*outer.type, name)) return {&outer, field};
  }
  return getter(type, name);
}

}  // namespace careen::templates
