// The Go types that a message template meets: the data of a message, the Kubernetes Node with the names of its Go
// fields and of their JSON counterparts, and what the template functions give. Types are compared by their address.
#pragma once

#include <span>
#include <string_view>

namespace careen::templates {

enum class Kind { boolean, integer, unsigned_integer, floating, text, list, map, object, pointer };

// What prints or behaves in a way of its own.
enum class Nature { plain, time, api_time, duration, month, weekday, location, quantity, profile, root };

// Which methods a type has (methods.cc lists them).
enum class Methods { none, time, api_time, duration, named_number, location, quantity, taint, resources, node };

struct Field;

struct Type {
  Kind kind = Kind::text;
  // As Go's %T prints it.
  std::string_view name;
  Nature nature = Nature::plain;
  // Of a list, map or pointer.
  const Type* element = nullptr;
  std::span<const Field> fields = {};
  Methods methods = Methods::none;
  // Each field has a method that gives it: Name and GetName.
  bool getters = false;
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

// GetName, where it is a getter, is the field Name.
FoundField find_field(const Type& type, std::string_view name);

namespace types {
extern const Type boolean, integer, int32, int64, byte, float64, text, time, api_time, optional_time, duration, month,
    weekday, location, quantity, scale, root, node;
}  // namespace types

}  // namespace careen::templates
