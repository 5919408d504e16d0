#include "sim/types.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "io/time.h"

namespace careen::sim {

const Field* Type::field(std::string_view field_name) const {
  for (const Field& one : fields) {
    if (one.name == field_name) return &one;
  }
  return nullptr;
}

namespace {

using Container = Field::Container;
using Presence = Field::Presence;

std::string element_go_type(const Field& field) {
  switch (field.shape) {
    case Shape::text:
      return "string";
    case Shape::boolean:
      return "bool";
    case Shape::int32:
      return "int32";
    case Shape::int64:
      return "int64";
    case Shape::number:
      return "float64";
    case Shape::time:
      return "v1.Time";
    case Shape::micro_time:
      return "v1.MicroTime";
    case Shape::quantity:
      return "resource.Quantity";
    case Shape::int_or_text:
      return "intstr.IntOrString";
    case Shape::any:
      return "map[string]interface {}";
    case Shape::structure:
      return "v1." + field.type->name;
  }
  return {};
}

// The year, month …: where in the text Go's parser stops, and what it wanted there.
std::string time_error(std::string_view text, bool micro) {
  const std::string layout = micro ? "2006-01-02T15:04:05.000000Z07:00" : "2006-01-02T15:04:05Z07:00";
  struct Part {
    size_t at, size;
    std::string_view name;
  };
  static constexpr Part parts[] = {{0, 4, "2006"}, {4, 1, "-"},  {5, 2, "01"},  {7, 1, "-"},
                                   {8, 2, "02"},   {10, 1, "T"}, {11, 2, "15"}, {13, 1, ":"},
                                   {14, 2, "04"},  {16, 1, ":"}, {17, 2, "05"}};
  const auto fits = [&](const Part& part) {
    if (text.size() < part.at + part.size) return false;
    for (size_t i = part.at; i < part.at + part.size; ++i) {
      const bool digit = text[i] >= '0' && text[i] <= '9';
      if (part.size == 1 ? text[i] != part.name[0] : !digit) return false;
    }
    return true;
  };
  const std::string start = "parsing time " + quoted(text) + " as " + quoted(layout) + ": cannot parse ";
  for (const Part& part : parts) {
    if (!fits(part)) return start + quoted(text.substr(std::min(text.size(), part.at))) + " as " + quoted(part.name);
  }
  if (micro && (text.size() < 26 || text[19] != '.' || text.substr(20, 6).find_first_not_of("0123456789") == 0)) {
    return start + quoted(text.substr(19)) + " as \".000000\"";
  }
  if (micro) {
    for (size_t i = 20; i < 26; ++i) {
      if (text[i] < '0' || text[i] > '9') return start + quoted(text.substr(19)) + " as \".000000\"";
    }
  }
  return start + quoted(text.substr(micro ? 26 : 19)) + " as \"Z07:00\"";
}

bool is_micro(std::string_view text) {
  if (text.size() < 27 || text[19] != '.') return false;
  const std::string_view fraction = text.substr(20, 6);
  return fraction.find_first_not_of("0123456789") == std::string_view::npos && (text[26] < '0' || text[26] > '9');
}

bool is_empty(const json::value& value, const Field& field) {
  switch (value.kind()) {
    case json::kind::string:
      return value.get_string().empty();
    case json::kind::bool_:
      return !value.get_bool();
    case json::kind::int64:
      return value.get_int64() == 0;
    case json::kind::uint64:
      return value.get_uint64() == 0;
    case json::kind::array:
      return value.get_array().empty();
    case json::kind::object:
      return value.get_object().empty() && (field.container == Container::map);
    default:
      return false;
  }
}

json::value zero_of(const Field& field) {
  if (field.container == Container::list) return nullptr;
  switch (field.shape) {
    case Shape::text:
      return "";
    case Shape::boolean:
      return false;
    case Shape::int32:
    case Shape::int64:
    case Shape::number:
      return 0;
    case Shape::time:
    case Shape::micro_time:
      return nullptr;
    case Shape::structure:
    case Shape::any:
      return json::object();
    case Shape::quantity:
      return "0";
    case Shape::int_or_text:
      return 0;
  }
  return nullptr;
}

// Where in the object; put into words only for an error.
struct FieldPath {
  const FieldPath* up = nullptr;
  std::string_view name;
  std::string text() const {
    const std::string before = up ? up->text() : std::string();
    return before.empty() ? std::string(name) : name.empty() ? before : before + "." + std::string(name);
  }
};

struct Reader {
  const json::object* only = nullptr;  // the members of the whole that are read

  // "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"
  std::string wrong(const json::value& value, const Type& owner, const FieldPath& path, std::string_view go_type,
                    std::string_view detail = {}) const {
    return "json: cannot unmarshal " + std::string(go_kind(value)) + std::string(detail) + " into Go struct field " +
           owner.name + "." + path.text() + " of type " + std::string(go_type);
  }

  std::optional<std::string> element(json::value& value, const Field& field, const Type& owner,
                                     const FieldPath& path) const {
    const auto bad = [&] { return wrong(value, owner, path, element_go_type(field)); };
    switch (field.shape) {
      case Shape::text:
        if (!value.is_string()) return bad();
        return std::nullopt;
      case Shape::boolean:
        if (!value.is_bool()) return bad();
        return std::nullopt;
      case Shape::int32:
      case Shape::int64:
        return whole(value, field, owner, path);
      case Shape::number:
        if (!value.is_number()) return bad();
        return std::nullopt;
      case Shape::time:
      case Shape::micro_time:
        if (!value.is_string()) return wrong(value, owner, path, "string");
        return conform_time(value, field.shape == Shape::micro_time);
      case Shape::quantity:
        if (value.is_number()) value = json::serialize(value);
        if (!value.is_string())
          return "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
        return std::nullopt;
      case Shape::int_or_text:
        if (!value.is_string() && !value.is_int64() && !value.is_uint64()) return bad();
        return std::nullopt;
      case Shape::any:
        return std::nullopt;
      case Shape::structure:
        if (!value.is_object()) return bad();
        return structure(value, *field.type, path);
    }
    return std::nullopt;
  }

  std::optional<std::string> whole(json::value& value, const Field& field, const Type& owner,
                                   const FieldPath& path) const {
    if (!value.is_number()) return wrong(value, owner, path, element_go_type(field));
    json::error_code failed;
    const auto number = value.to_number<int64_t>(failed);
    const bool fits = field.shape == Shape::int64 ||
                      (number >= std::numeric_limits<int32_t>::min() && number <= std::numeric_limits<int32_t>::max());
    if (failed || !fits) return wrong(value, owner, path, element_go_type(field), " " + json::serialize(value));
    value = number;
    return std::nullopt;
  }

  std::optional<std::string> content(json::value& value, const Field& field, const Type& owner,
                                     const FieldPath& path) const {
    if (field.container == Container::none) return element(value, field, owner, path);
    if (field.container == Container::list) {
      if (!value.is_array()) return wrong(value, owner, path, field.go_type());
      for (json::value& one : value.get_array()) {
        if (one.is_null()) {
          Field plain = field;
          plain.container = Container::none;
          one = zero_of(plain);
        }
        if (auto error = element(one, field, owner, path)) return error;
      }
      return std::nullopt;
    }
    if (!value.is_object()) return wrong(value, owner, path, field.go_type());
    for (auto& one : value.get_object()) {
      if (one.value().is_null() && field.shape == Shape::text) one.value() = "";
      if (auto error = element(one.value(), field, owner, path)) return error;
    }
    return std::nullopt;
  }

  std::optional<std::string> structure(json::value& value, const Type& type, const FieldPath& path) const {
    json::object& object = value.get_object();
    for (size_t i = 0; i < object.size();) {
      auto* const at = object.begin() + static_cast<ptrdiff_t>(i);
      if (only && !path.up && !only->contains(at->key())) {
        ++i;
        continue;
      }
      const Field* field = type.field(at->key());
      if (!field) {
        if (type.open) {
          ++i;
        } else {
          object.stable_erase(at);
        }
        continue;
      }
      json::value& content_value = at->value();
      const bool time = field->shape == Shape::time || field->shape == Shape::micro_time;
      if (content_value.is_null() && time && field->presence == Presence::always) {
        ++i;
        continue;
      }
      if (content_value.is_null()) {
        object.stable_erase(at);
        continue;
      }
      const FieldPath inner{&path, field->name};
      if (auto error = content(content_value, *field, type, inner)) return error;
      if (field->presence == Presence::omit_empty && is_empty(content_value, *field)) {
        object.stable_erase(at);
        continue;
      }
      ++i;
    }
    return complete(object, type, path);
  }

  // Adds the fields that are always there.
  std::optional<std::string> complete(json::object& object, const Type& type, const FieldPath& path) const {
    for (const Field& field : type.fields) {
      if (field.presence != Presence::always || object.contains(field.name)) continue;
      json::value zero = zero_of(field);
      if (field.shape == Shape::structure && field.container == Container::none) {
        if (auto error = structure(zero, *field.type, path)) return error;
      }
      object.emplace(field.name, std::move(zero));
    }
    return std::nullopt;
  }
};

}  // namespace

std::string Field::go_type() const {
  if (container == Container::list) return "[]" + element_go_type(*this);
  if (container == Container::map)
    return shape == Shape::quantity ? "v1.ResourceList" : "map[string]" + element_go_type(*this);
  return element_go_type(*this);
}

std::optional<std::string> conform_time(json::value& value, bool micro) {
  const std::string_view text = value.get_string();
  const auto when = io::parse_rfc3339(text);
  if (!when || (micro && !is_micro(text))) return time_error(text, micro);
  const std::string shown = micro ? io::format_micro_time(*when) : io::format_whole_seconds(*when);
  if (shown != text) value = shown;
  return std::nullopt;
}

std::optional<std::string> conform(json::value& object, const Type& type, std::string_view path) {
  return Reader{}.structure(object, type, FieldPath{nullptr, path});
}

std::optional<std::string> conform_members(json::value& object, const Type& type, const json::object& changed) {
  return Reader{&changed}.structure(object, type, FieldPath{});
}

}  // namespace careen::sim
