// The Go types that a message template meets: the data of a message, the Kubernetes Node with the names of its Go
// fields and of their JSON counterparts, and what the template functions give. Types are compared by their address.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace careen::templates {

enum class Kind { boolean, integer, unsigned_integer, floating, text, list, map, object, pointer };

// What prints or behaves in a way of its own.
enum class Nature { plain, time, api_time, month, weekday, quantity, profile, root };

struct Field;

struct Type {
  Kind kind = Kind::text;
  // As Go's %T prints it.
  std::string_view name;
  Nature nature = Nature::plain;
  // Of a list, map or pointer.
  const Type* element = nullptr;
  std::span<const Field> fields = {};
  // Methods without arguments, and Format.
  std::span<const std::string_view> methods = {};

  bool is_string_like() const { return kind == Kind::text; }
};

struct Field {
  std::string_view name;
  // The member of the JSON object; empty where the members of the field are those of the object itself.
  std::string_view json;
  const Type* type = nullptr;
  // Its fields are promoted.
  bool embedded = false;
};

// How a name is reached in an object: the field, through an embedded one where that is set.
struct FoundField {
  const Field* through = nullptr;
  const Field* field = nullptr;
  explicit operator bool() const { return field != nullptr; }
};

FoundField find_field(const Type& type, std::string_view name);
bool has_method(const Type& type, std::string_view name);
// Fields, promoted fields and methods, for suggestions.
std::vector<std::string_view> names_of(const Type& type);

namespace types {
extern const Type boolean, integer, int32, int64, byte, float64, text, time, api_time, month, weekday, root, node;
}  // namespace types

}  // namespace careen::templates
