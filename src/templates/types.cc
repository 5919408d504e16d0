#include "templates/types.h"

#include <algorithm>

namespace careen::templates {

FoundField find_field(const Type& type, std::string_view name) {
  for (const Field& field : type.fields) {
    if (field.name == name) return {nullptr, &field};
  }
  for (const Field& outer : type.fields) {
    if (!outer.embedded) continue;
    for (const Field& field : outer.type->fields) {
      if (field.name == name) return {&outer, &field};
    }
  }
  return {};
}

bool has_method(const Type& type, std::string_view name) {
  return std::find(type.methods.begin(), type.methods.end(), name) != type.methods.end();
}

std::vector<std::string_view> names_of(const Type& type) {
  std::vector<std::string_view> names;
  for (const Field& field : type.fields) {
    names.push_back(field.name);
    if (!field.embedded) continue;
    for (const Field& promoted : field.type->fields) names.push_back(promoted.name);
  }
  names.insert(names.end(), type.methods.begin(), type.methods.end());
  return names;
}

}  // namespace careen::templates
