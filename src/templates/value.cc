#include "templates/value.h"

#include <algorithm>

namespace careen::templates {

namespace {

Value text_in_data(std::string_view text, const Type& type = types::text) { return {&type, Text{text, nullptr}}; }

GoTime read_time(kube::JsonView json) {
  const auto text = json.text();
  const auto wall = text ? io::parse_rfc3339(*text) : std::nullopt;
  return wall ? GoTime::from(*wall) : GoTime{};
}

Value root_field(const TemplateData& data, const Field& field) {
  if (field.name == "State") return text_in_data(data.state);
  if (field.name == "Profile") return {field.type, &data};
  if (field.name == "Current") return text_in_data(data.profile);
  if (field.name == "Last") return text_in_data(data.last);
  if (field.name == "Node") return {field.type, data.node};
  if (field.name == "LastTransition") return make_time(GoTime::from(data.last_transition));
  if (field.name == "InMaintenance") return make_boolean(data.in_maintenance);
  return make_boolean(data.log_details);
}

kube::JsonView json_of(const Value& value) {
  const auto* json = std::get_if<kube::JsonView>(&value.held);
  return json ? *json : kube::JsonView();
}

}  // namespace

Value make_boolean(bool value) { return {&types::boolean, value}; }
Value make_integer(int64_t value, const Type& type) { return {&type, value}; }
Value make_float(double value) { return {&types::float64, value}; }
Value make_text(std::string value) {
  auto owner = std::make_shared<const std::string>(std::move(value));
  const std::string_view view = *owner;
  return {&types::text, Text{view, std::move(owner)}};
}
Value make_time(const GoTime& time, const Type& type) { return {&type, time}; }
Value make_duration(io::Duration duration) { return {&types::duration, int64_t{duration.count()}}; }
Value make_root(const TemplateData& data) { return {&types::root, &data}; }

Value from_json(const Type& type, kube::JsonView json) {
  if (type.nature == Nature::time || type.nature == Nature::api_time) return make_time(read_time(json), type);
  switch (type.kind) {
    case Kind::boolean:
      return {&type, json.boolean().value_or(false)};
    case Kind::integer:
      return {&type, json.integer().value_or(0)};
    case Kind::unsigned_integer:
      return {&type, static_cast<uint64_t>(json.integer().value_or(0))};
    case Kind::floating:
      return {&type, json.number().value_or(0)};
    case Kind::text:
      return text_in_data(json.text().value_or(std::string_view()), type);
    case Kind::list: {
      const size_t size = json.is_array() ? json.size() : 0;
      return {&type, ListPart{json.is_array() ? json : kube::JsonView(), 0, size, size}};
    }
    case Kind::map:
      return {&type, json.is_object() ? json : kube::JsonView()};
    case Kind::pointer:
      if (!json || json.is_null()) return {&type, std::monostate()};
      return {&type, json};
    case Kind::object:
      break;
  }
  return {&type, json};
}

bool boolean_of(const Value& value) { return std::get<bool>(value.held); }
int64_t integer_of(const Value& value) { return std::get<int64_t>(value.held); }
uint64_t unsigned_of(const Value& value) { return std::get<uint64_t>(value.held); }
double float_of(const Value& value) { return std::get<double>(value.held); }
std::string_view text_of(const Value& value) {
  if (const auto* data = std::get_if<const TemplateData*>(&value.held)) return (*data)->profile;
  return std::get<Text>(value.held).view;
}
GoTime time_of(const Value& value) { return std::get<GoTime>(value.held); }
io::Duration duration_of(const Value& value) { return io::Duration{integer_of(value)}; }

bool is_nil(const Value& value) {
  if (value.is(Kind::pointer)) return std::holds_alternative<std::monostate>(value.held);
  if (value.is(Kind::map)) return !json_of(value);
  return value.is(Kind::list) && !std::get<ListPart>(value.held).array;
}

Value pointed_to(const Value& value) {
  if (!value.is(Kind::pointer) || is_nil(value)) return value;
  return from_json(*value.type->element, json_of(value));
}

size_t length(const Value& value) {
  if (value.is(Kind::text)) return text_of(value).size();
  if (value.is(Kind::list)) return std::get<ListPart>(value.held).size;
  return json_of(value).size();
}

Value element(const Value& list, size_t index) {
  if (list.is(Kind::text))
    return {&types::byte, static_cast<uint64_t>(static_cast<unsigned char>(text_of(list)[index]))};
  const ListPart& elements = std::get<ListPart>(list.held);
  return from_json(*list.type->element, elements.array[elements.first + index]);
}

size_t capacity(const Value& value) {
  return value.is(Kind::text) ? text_of(value).size() : std::get<ListPart>(value.held).capacity;
}

Value part(const Value& value, size_t first, size_t last, size_t limit) {
  if (value.is(Kind::text)) {
    const auto* text = std::get_if<Text>(&value.held);
    return {value.type->nature == Nature::profile ? &types::text : value.type,
            Text{text_of(value).substr(first, last - first), text ? text->owner : nullptr}};
  }
  const ListPart& elements = std::get<ListPart>(value.held);
  return {value.type, ListPart{elements.array, elements.first + first, last - first, limit - first}};
}

std::optional<Value> entry(const Value& map, std::string_view key) {
  const kube::JsonView found = json_of(map)[key];
  if (!found) return std::nullopt;
  return from_json(*map.type->element, found);
}

std::vector<std::pair<std::string_view, Value>> entries(const Value& map) {
  std::vector<std::pair<std::string_view, Value>> found;
  const Type& type = *map.type->element;
  json_of(map).for_each_member(
      [&](std::string_view key, kube::JsonView value) { found.emplace_back(key, from_json(type, value)); });
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return found;
}

Value field_of(const Value& object, const FoundField& found) {
  const Field& field = *found.field;
  if (object.type->nature == Nature::api_time) return make_time(time_of(object));
  if (const auto* data = std::get_if<const TemplateData*>(&object.held)) return root_field(**data, field);
  kube::JsonView json = json_of(object);
  if (found.through && !found.through->json.empty()) json = json[found.through->json];
  return from_json(*field.type, field.json.empty() ? json : json[field.json]);
}

bool truth(const Value& value) {
  if (!value.exists()) return false;
  switch (value.type->kind) {
    case Kind::boolean:
      return boolean_of(value);
    case Kind::integer:
      return integer_of(value) != 0;
    case Kind::unsigned_integer:
      return unsigned_of(value) != 0;
    case Kind::floating:
      return float_of(value) != 0;
    case Kind::text:
    case Kind::list:
    case Kind::map:
      return length(value) > 0;
    case Kind::pointer:
      return !is_nil(value);
    case Kind::object:
      break;
  }
  return true;
}

std::optional<std::string> own_text(const Value& value) {
  if (!value.exists()) return std::nullopt;
  switch (value.type->nature) {
    case Nature::time:
    case Nature::api_time:
      return to_text(time_of(value));
    case Nature::duration:
      return to_text(duration_of(value));
    case Nature::location:
      return "UTC";
    case Nature::month:
      return std::string(month_name(static_cast<int>(integer_of(value))));
    case Nature::weekday:
      return std::string(weekday_name(static_cast<int>(integer_of(value))));
    default:
      return std::nullopt;
  }
}

}  // namespace careen::templates
