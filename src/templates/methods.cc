#include "templates/methods.h"

#include <fmt/format.h>

namespace careen::templates {

namespace {

struct TimeMethod {
  std::string_view name;
  const Type& type;
  int64_t (*read)(const GoTime&);
};

// Beyond the years that fit, Go's result wraps around; so does this.
int64_t scaled(const GoTime& time, int64_t per_second) {
  const uint64_t whole = static_cast<uint64_t>(time.seconds) * static_cast<uint64_t>(per_second);
  return static_cast<int64_t>(whole + static_cast<uint64_t>(time.nanoseconds / (1000000000 / per_second)));
}

const TimeMethod kTimeNumbers[] = {
    {"Unix", types::int64, [](const GoTime& t) { return t.seconds; }},
    {"UnixMilli", types::int64, [](const GoTime& t) { return scaled(t, 1000); }},
    {"UnixMicro", types::int64, [](const GoTime& t) { return scaled(t, 1000000); }},
    {"UnixNano", types::int64, [](const GoTime& t) { return scaled(t, 1000000000); }},
    {"Year", types::integer, [](const GoTime& t) { return calendar(t).year; }},
    {"Month", types::month, [](const GoTime& t) { return int64_t{calendar(t).month}; }},
    {"Day", types::integer, [](const GoTime& t) { return int64_t{calendar(t).day}; }},
    {"Hour", types::integer, [](const GoTime& t) { return int64_t{calendar(t).hour}; }},
    {"Minute", types::integer, [](const GoTime& t) { return int64_t{calendar(t).minute}; }},
    {"Second", types::integer, [](const GoTime& t) { return int64_t{calendar(t).second}; }},
    {"Nanosecond", types::integer, [](const GoTime& t) { return int64_t{t.nanoseconds}; }},
    {"Weekday", types::weekday, [](const GoTime& t) { return int64_t{calendar(t).weekday}; }},
    {"YearDay", types::integer, [](const GoTime& t) { return int64_t{calendar(t).year_day}; }},
};

const TimeMethod* find_time_number(std::string_view name) {
  for (const TimeMethod& method : kTimeNumbers) {
    if (method.name == name) return &method;
  }
  return nullptr;
}

Value call_on_time(const GoTime& time, std::string_view name, std::span<const Value> arguments) {
  if (name == "Format") return make_text(format(time, text_of(arguments[0])));
  if (name == "IsZero") return make_boolean(time.is_zero());
  if (name == "String") return make_text(to_text(time));
  if (const TimeMethod* method = find_time_number(name)) return make_integer(method->read(time), method->type);
  return make_time(time);
}

std::string taint_text(const Value& taint) {
  const auto text = [&](std::string_view name) { return text_of(field_of(taint, find_field(*taint.type, name))); };
  const std::string_view value = text("Value");
  const std::string_view effect = text("Effect");
  std::string out(text("Key"));
  if (!value.empty()) out += fmt::format("={}", value);
  // Without an effect the value is followed by the colon all the same.
  if (!effect.empty() || !value.empty()) out += fmt::format(":{}", effect);
  return out;
}

std::string_view resource_key(std::string_view method) {
  if (method == "Cpu") return "cpu";
  if (method == "Memory") return "memory";
  if (method == "Pods") return "pods";
  return method == "Storage" ? "storage" : "ephemeral-storage";
}

}  // namespace

bool method_takes_text(std::string_view name) { return name == "Format"; }

Value call_method(const Value& receiver, std::string_view name, std::span<const Value> arguments) {
  if (const auto* time = std::get_if<GoTime>(&receiver.held)) return call_on_time(*time, name, arguments);
  if (name == "ToString") return make_text(taint_text(receiver));
  if (receiver.is(Kind::map)) {
    const auto found = entry(receiver, resource_key(name));
    return found ? *found : Value{receiver.type->element, Text{"0", nullptr}};
  }
  if (const auto own = own_text(receiver)) return make_text(*own);
  return make_text(std::string(text_of(receiver)));
}

const Type& method_result(const Type& type, std::string_view name) {
  if (type.kind == Kind::map) return *type.element;
  if (name == "UTC" || name == "Local") return types::time;
  if (name == "IsZero") return types::boolean;
  const TimeMethod* number = find_time_number(name);
  return number && type.kind == Kind::object ? number->type : types::text;
}

}  // namespace careen::templates
