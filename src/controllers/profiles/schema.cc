#include "controllers/profiles/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controllers/profiles/file_doc.h"
#include "controllers/profiles/schedule.h"

namespace careen::profiles {

namespace {

using kube::Json;
using kube::JsonView;

// A reference may stand wherever a scalar may.
constexpr std::string_view kReference = R"(\$\{)";
constexpr std::string_view kInteger = R"(^[+-]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|[0-9]+)$)";
constexpr std::string_view kDuration = R"(^[+-]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$|^[+-]?0$)";
constexpr std::string_view kTimeOfDay = "^([01]?[0-9]|2[0-3]):[0-5][0-9]$|^24:00$";
constexpr std::string_view kPercentage = "^([1-9][0-9]?|100)%$|^[+-]?[0-9]+$";
// What the loader takes for a boolean, and the plain words that YAML 1.1 does: to many editors they are texts.
constexpr std::string_view kBoolean =
    "^(1|t|T|true|True|TRUE|0|f|F|false|False|FALSE|y|Y|yes|Yes|YES|n|N|no|No|NO|on|On|ON|off|Off|OFF)$";

Json types(std::initializer_list<std::string_view> names, bool required) {
  Json list = Json::array();
  for (std::string_view name : names) list.push_back(name);
  if (!required) list.push_back("null");
  return Json::object({{"type", std::move(list)}});
}

Json text_like(std::string_view pattern) {
  return Json::object({{"type", "string"}, {"pattern", fmt::format("{}|{}", pattern, kReference)}});
}

// One of the alternatives; null too unless the key is required.
Json any_of(std::vector<Json> alternatives, bool required) {
  Json list = Json::array();
  for (Json& alternative : alternatives) list.push_back(std::move(alternative));
  if (!required) list.push_back(Json::object({{"type", "null"}}));
  return Json::object({{"anyOf", std::move(list)}});
}

Json text_schema(bool required) {
  Json schema = types({"string", "number", "boolean"}, required);
  if (required) schema.set({"minLength"}, 1);
  return schema;
}

Json number_schema(std::string_view type, std::string_view pattern, const config::KeyDoc& key) {
  Json number = Json::object({{"type", type}});
  // Required numbers may not be 0.
  if (key.required) number.set({"not"}, Json::object({{"const", 0}}));
  return any_of({std::move(number), text_like(pattern)}, key.required);
}

Json texts_schema(bool required) {
  const Json item = types({"string", "number", "boolean"}, true);
  Json list = Json::object({{"type", "array"}, {"items", item}});
  if (required) list.set({"minItems"}, 1);
  return any_of({std::move(list), text_schema(true)}, required);
}

Json choice_schema(const config::KeyDoc& key) {
  Json choices = Json::array();
  for (std::string_view choice : key.choices) choices.push_back(choice);
  return any_of({Json::object({{"enum", std::move(choices)}}), text_like(kReference)}, key.required);
}

Json object_schema(const std::vector<config::KeyDoc>& keys, bool required);

Json bare_schema(const config::KeyDoc& key) {
  switch (key.type) {
    case config::KeyType::text:
    case config::KeyType::message:
      return text_schema(key.required);
    case config::KeyType::integer:
      return number_schema("integer", kInteger, key);
    case config::KeyType::boolean:
      return any_of({Json::object({{"type", "boolean"}}), text_like(kBoolean)}, key.required);
    case config::KeyType::duration:
      return number_schema("number", kDuration, key);
    case config::KeyType::duration_text:
      return any_of({text_like(kDuration), Json::object({{"const", 0}})}, key.required);
    case config::KeyType::texts:
      return texts_schema(key.required);
    case config::KeyType::count_or_percentage:
      return number_schema("integer", kPercentage, key);
    case config::KeyType::time_of_day:
      return any_of({text_like(kTimeOfDay)}, key.required);
    case config::KeyType::choice:
      return choice_schema(key);
    case config::KeyType::object:
      return object_schema(key.keys, key.required);
    case config::KeyType::objects: {
      Json list = types({"array"}, key.required);
      return list.set({"items"}, object_schema(key.keys, true));
    }
    case config::KeyType::any:
      break;
  }
  return Json::object();
}

// The value as JSON writes it: 1h stays a text, 5 and true do not.
Json default_value(const config::KeyDoc& key) {
  if (key.type == config::KeyType::boolean) return key.otherwise == "true";
  if (auto number = Json::parse(key.otherwise); number && number->view().integer()) return std::move(*number);
  return key.otherwise;
}

std::string description(const config::KeyDoc& key) {
  std::string text(key.text);
  if (key.extension) text += " (careen's own: maintenance-controller ignores it)";
  return text;
}

Json key_schema(const config::KeyDoc& key) {
  Json schema = bare_schema(key);
  if (!key.text.empty()) schema.set({"description"}, description(key));
  if (!key.otherwise.empty()) schema.set({"default"}, default_value(key));
  return schema;
}

bool has_required(const std::vector<config::KeyDoc>& keys) {
  for (const config::KeyDoc& key : keys) {
    if (key.required) return true;
  }
  return false;
}

Json object_schema(const std::vector<config::KeyDoc>& keys, bool required) {
  Json schema = types({"object"}, required);
  Json properties = Json::object();
  Json names = Json::array();
  Json others = false;
  for (const config::KeyDoc& key : keys) {
    if (config::is_any_key(key)) {
      others = key_schema(key);
      continue;
    }
    properties.set({key.name}, key_schema(key));
    if (key.required) names.push_back(key.name);
  }
  schema.set({"properties"}, std::move(properties));
  if (has_required(keys)) schema.set({"required"}, std::move(names));
  return schema.set({"additionalProperties"}, std::move(others));
}

Json reference_to(std::string_view definition) {
  return Json::object({{"$ref", fmt::format("#/definitions/{}", definition)}});
}

// Texts that are equal but for their case.
std::string any_case(std::string_view word) {
  std::string pattern = "^";
  for (char c : word) pattern += fmt::format("[{}{}]", c, static_cast<char>(c - 'a' + 'A'));
  return pattern + "$";
}

// What is written `type: …, config: …`: the keys below `config` depend on the type.
class Variants {
 public:
  explicit Variants(std::string_view prefix) : prefix_(prefix) {}

  // `matches` is the schema of `type` that selects this variant.
  void add(const config::PluginDoc& doc, Json matches) {
    const std::string name = fmt::format("{}.{}", prefix_, doc.type);
    Json keys = object_schema(doc.keys, has_required(doc.keys));
    keys.set({"description"}, doc.summary);
    definitions_.emplace_back(name, std::move(keys));
    types_.push_back(Json::object({{"const", doc.type}, {"description", doc.summary}}));
    Json then = Json::object({{"properties", Json::object({{"config", reference_to(name)}})}});
    if (has_required(doc.keys)) then.set({"required"}, Json::array({"config"}));
    rules_.push_back(Json::object({{"if", Json::object({{"properties", Json::object({{"type", std::move(matches)}})},
                                                        {"required", Json::array({"type"})}})},
                                   {"then", std::move(then)}}));
  }

  // Other spellings of a type that are right too.
  void also(Json type) { types_.push_back(std::move(type)); }

  // Completes the schema of the object that has `type` and `config`.
  void complete(Json& object, std::string_view type_text) && {
    types_.push_back(text_like(kReference));
    object.set({"properties", "type"}, any_of(std::move(types_), true).set({"description"}, type_text));
    if (rules_.empty()) return;
    Json rules = Json::array();
    for (Json& rule : rules_) rules.push_back(std::move(rule));
    object.set({"allOf"}, std::move(rules));
  }

  std::vector<std::pair<std::string, Json>> take_definitions() { return std::move(definitions_); }

 private:
  std::string_view prefix_;
  std::vector<Json> types_;
  std::vector<Json> rules_;
  std::vector<std::pair<std::string, Json>> definitions_;
};

class Schema {
 public:
  explicit Schema(const PluginRegistry& registry) : registry_(registry) {}

  Json make() {
    Json schema = Json::object({{"$schema", "http://json-schema.org/draft-07/schema#"},
                                {"title", "careen maintenance profiles"},
                                {"description",
                                 "Configuration of the maintenance profiles. Any scalar may be a reference "
                                 "such as ${NAME} or ${NAME:default}."}});
    const Json top = object_schema(file_keys(), true);
    for (std::string_view part : {"type", "properties", "required"}) schema.set({part}, Json(top[part]));
    allow_variables(schema);
    complete_schedule(schema);
    complete_instances(schema, "check", registry_.checks);
    complete_instances(schema, "notify", registry_.notifies);
    complete_instances(schema, "trigger", registry_.triggers);
    Json definitions = Json::object();
    for (auto& [name, definition] : definitions_) definitions.set({name}, std::move(definition));
    return schema.set({"definitions"}, std::move(definitions));
  }

 private:
  // Further keys of the top level are variables for references, or, by their name, a place for anchors.
  static void allow_variables(Json& schema) {
    const Json scalar = types({"string", "number", "boolean"}, false);
    schema.set({"patternProperties"}, Json::object({{"^(x-|\\.)", true}}));
    schema.set({"additionalProperties"},
               any_of({scalar, Json::object({{"type", "array"}, {"items", scalar}})}, true)
                   .set({"description"},
                        "A variable: texts refer to it as ${NAME}. Maps belong below keys that "
                        "begin with x- or a dot"));
  }

  void complete_schedule(Json& schema) {
    Variants variants("schedule");
    for (const config::PluginDoc& doc : schedule_docs()) {
      variants.add(doc, Json::object({{"type", "string"}, {"pattern", any_case(doc.type)}}));
      variants.also(Json::object({{"type", "string"}, {"pattern", any_case(doc.type)}}));
    }
    keep(variants.take_definitions());
    Json object(schema.view().at("/properties/instances/properties/notify/items/properties/schedule"));
    object.set({"properties", "config"}, Json::object({{"type", "object"}}));
    std::move(variants).complete(object, "Which schedule it is");
    schema.set({"properties", "instances", "properties", "notify", "items", "properties", "schedule"},
               std::move(object));
  }

  template <class Kind>
  void complete_instances(Json& schema, std::string_view kind, const PluginTable<Kind>& plugins) {
    Variants variants(kind);
    for (const auto& [type, plugin] : plugins) {
      variants.add(plugin.doc, Json::object({{"const", type}}));
    }
    keep(variants.take_definitions());
    Json object(schema.view().at(fmt::format("/properties/instances/properties/{}/items", kind)));
    std::move(variants).complete(object, "Which plugin it is");
    schema.set({"properties", "instances", "properties", kind, "items"}, std::move(object));
  }

  void keep(std::vector<std::pair<std::string, Json>> definitions) {
    for (auto& definition : definitions) definitions_.push_back(std::move(definition));
  }

  const PluginRegistry& registry_;
  std::vector<std::pair<std::string, Json>> definitions_;
};

bool is_short(JsonView value) { return value.dump().size() <= 80; }

// Lists and objects that fit stay on one line.
void print(JsonView value, std::size_t depth, std::string& out) {
  const std::string indentation(2 * depth + 2, ' ');
  if ((!value.is_object() && !value.is_array()) || value.size() == 0 || (depth > 0 && is_short(value))) {
    out += value.dump();
    return;
  }
  bool is_first = true;
  const auto next = [&] {
    out += is_first ? "\n" : ",\n";
    out += indentation;
    is_first = false;
  };
  out += value.is_object() ? "{" : "[";
  value.for_each_member([&](std::string_view key, JsonView member) {
    next();
    out += Json(key).dump() + ": ";
    print(member, depth + 1, out);
  });
  value.for_each_element([&](JsonView element) {
    next();
    print(element, depth + 1, out);
  });
  out += "\n" + std::string(2 * depth, ' ') + (value.is_object() ? "}" : "]");
}

}  // namespace

kube::Json config_schema(const PluginRegistry& registry) { return Schema(registry).make(); }

std::string config_schema_text(const PluginRegistry& registry) {
  std::string text;
  print(config_schema(registry).view(), 0, text);
  return text + "\n";
}

}  // namespace careen::profiles
