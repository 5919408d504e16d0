#include "templates/methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include "templates/functions.h"
#include "templates/quantity.h"

namespace careen::templates {

namespace {

using Given = std::span<const Value>;

// Beyond the years that fit, Go's result wraps around; so does this.
int64_t scaled(const GoTime& time, int64_t per_second) {
  const uint64_t whole = static_cast<uint64_t>(time.seconds) * static_cast<uint64_t>(per_second);
  return static_cast<int64_t>(whole + static_cast<uint64_t>(time.nanoseconds / (1000000000 / per_second)));
}

int compared(const auto& a, const auto& b) { return a < b ? -1 : a > b ? 1 : 0; }

Value add_years_months_days(const Value& time, Given by) {
  // Far beyond any calendar, and small enough that no sum overflows.
  constexpr int64_t kMost = 10000000000;
  const GoTime from = time_of(time);
  const bool near = std::abs(calendar(from).year) < kMost &&
                    std::all_of(
                        by.begin(), by.end(),
                        [](const Value& part) { return integer_of(part) > -kMost && integer_of(part) < kMost; });
  if (!near) throw FunctionFailure{"the date is out of range"};
  return make_time(add_date(from, integer_of(by[0]), integer_of(by[1]), integer_of(by[2])));
}

Value own_text_of(const Value& value, Given /*given*/) { return make_text(own_text(value).value_or("")); }

// All of a time.Time that a template can call with what it has.
constexpr Method kTimeMethods[] = {
    {"Add",
     &types::time,
     [](const Value& t, Given by) { return make_time(add(time_of(t), duration_of(by[0]))); },
     {&types::duration}},
    {"AddDate", &types::time, add_years_months_days, {&types::integer, &types::integer, &types::integer}},
    {"After",
     &types::boolean,
     [](const Value& t, Given other) { return make_boolean(time_of(t) > time_of(other[0])); },
     {&types::time}},
    {"Before",
     &types::boolean,
     [](const Value& t, Given other) { return make_boolean(time_of(t) < time_of(other[0])); },
     {&types::time}},
    {"Compare",
     &types::integer,
     [](const Value& t, Given other) { return make_integer(compared(time_of(t), time_of(other[0]))); },
     {&types::time}},
    {"Day", &types::integer, [](const Value& t, Given) { return make_integer(calendar(time_of(t)).day); }},
    {"Equal",
     &types::boolean,
     [](const Value& t, Given other) { return make_boolean(time_of(t) == time_of(other[0])); },
     {&types::time}},
    {"Format",
     &types::text,
     [](const Value& t, Given layout) { return make_text(format(time_of(t), text_of(layout[0]))); },
     {&types::text}},
    {"GoString", &types::text, [](const Value& t, Given) { return make_text(go_source(time_of(t))); }},
    {"Hour", &types::integer, [](const Value& t, Given) { return make_integer(calendar(time_of(t)).hour); }},
    {"In", &types::time, [](const Value& t, Given) { return make_time(time_of(t)); }, {&types::location}},
    {"IsDST", &types::boolean, [](const Value&, Given) { return make_boolean(false); }},
    {"IsZero", &types::boolean, [](const Value& t, Given) { return make_boolean(time_of(t).is_zero()); }},
    {"Local", &types::time, [](const Value& t, Given) { return make_time(time_of(t)); }},
    {"Location", &types::location, [](const Value&, Given) { return Value{&types::location, {}}; }},
    {"Minute", &types::integer, [](const Value& t, Given) { return make_integer(calendar(time_of(t)).minute); }},
    {"Month", &types::month,
     [](const Value& t, Given) { return make_integer(calendar(time_of(t)).month, types::month); }},
    {"Nanosecond", &types::integer, [](const Value& t, Given) { return make_integer(time_of(t).nanoseconds); }},
    {"Round",
     &types::time,
     [](const Value& t, Given to) { return make_time(round(time_of(t), duration_of(to[0]))); },
     {&types::duration}},
    {"Second", &types::integer, [](const Value& t, Given) { return make_integer(calendar(time_of(t)).second); }},
    {"String", &types::text, own_text_of},
    {"Sub",
     &types::duration,
     [](const Value& t, Given other) { return make_duration(between(time_of(other[0]), time_of(t))); },
     {&types::time}},
    {"Truncate",
     &types::time,
     [](const Value& t, Given to) { return make_time(truncate(time_of(t), duration_of(to[0]))); },
     {&types::duration}},
    {"UTC", &types::time, [](const Value& t, Given) { return make_time(time_of(t)); }},
    {"Unix", &types::int64, [](const Value& t, Given) { return make_integer(time_of(t).seconds, types::int64); }},
    {"UnixMicro", &types::int64,
     [](const Value& t, Given) { return make_integer(scaled(time_of(t), 1000000), types::int64); }},
    {"UnixMilli", &types::int64,
     [](const Value& t, Given) { return make_integer(scaled(time_of(t), 1000), types::int64); }},
    {"UnixNano", &types::int64,
     [](const Value& t, Given) { return make_integer(scaled(time_of(t), 1000000000), types::int64); }},
    {"Weekday", &types::weekday,
     [](const Value& t, Given) { return make_integer(calendar(time_of(t)).weekday, types::weekday); }},
    {"Year", &types::integer, [](const Value& t, Given) { return make_integer(calendar(time_of(t)).year); }},
    {"YearDay", &types::integer, [](const Value& t, Given) { return make_integer(calendar(time_of(t)).year_day); }},
};

// A time of the API may be absent.
std::optional<GoTime> api_time_of(const Value& value) {
  const Value target = pointed_to(value);
  return target.is(Kind::object) ? std::optional(time_of(target)) : std::nullopt;
}

// What the API's times have of their own; all else is a time.Time's.
constexpr Method kApiTimeMethods[] = {
    {"Before",
     &types::boolean,
     [](const Value& t, Given other) {
       const auto a = api_time_of(t), b = api_time_of(other[0]);
       return make_boolean(a && b && *a < *b);
     },
     {&types::optional_time},
     true},
    {"DeepCopy", &types::optional_time, [](const Value& t, Given) { return t; }, {}, true},
    {"Equal",
     &types::boolean,
     [](const Value& t, Given other) { return make_boolean(api_time_of(t) == api_time_of(other[0])); },
     {&types::optional_time},
     true},
    {"IsZero",
     &types::boolean,
     [](const Value& t, Given) { return make_boolean(api_time_of(t).value_or(GoTime{}).is_zero()); },
     {},
     true},
    {"Rfc3339Copy", &types::api_time,
     [](const Value& t, Given) { return make_time(truncate(time_of(t), io::seconds{1}), types::api_time); }},
};

double in_units(const Value& duration, io::Duration unit) {
  // The whole units and the rest apart, as Go does: so both are exact.
  const io::Duration held = duration_of(duration);
  return static_cast<double>(held / unit) +
         static_cast<double>((held % unit).count()) / static_cast<double>(unit.count());
}

Value truncated_duration(const Value& duration, Given to) {
  const io::Duration held = duration_of(duration), step = duration_of(to[0]);
  return make_duration(step.count() <= 0 ? held : held - held % step);
}

Value rounded_duration(const Value& duration, Given to) {
  const int64_t held = integer_of(duration), step = integer_of(to[0]);
  if (step <= 0) return duration;
  const auto over = static_cast<uint64_t>(std::abs(held % step));
  const int64_t towards_zero = held - held % step;
  int64_t rounded = towards_zero;
  const bool up = 2 * over >= static_cast<uint64_t>(step);
  if (up && __builtin_add_overflow(towards_zero, held < 0 ? -step : step, &rounded)) {
    rounded = held < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
  }
  return make_integer(rounded, types::duration);
}

Value positive_duration(const Value& duration, Given /*given*/) {
  const int64_t held = integer_of(duration);
  if (held == std::numeric_limits<int64_t>::min()) return make_duration(io::Duration::max());
  return make_integer(std::abs(held), types::duration);
}

constexpr Method kDurationMethods[] = {
    {"Abs", &types::duration, positive_duration},
    {"Hours", &types::float64, [](const Value& d, Given) { return make_float(in_units(d, io::hours{1})); }},
    {"Microseconds", &types::int64,
     [](const Value& d, Given) { return make_integer(integer_of(d) / 1000, types::int64); }},
    {"Milliseconds", &types::int64,
     [](const Value& d, Given) { return make_integer(integer_of(d) / 1000000, types::int64); }},
    {"Minutes", &types::float64, [](const Value& d, Given) { return make_float(in_units(d, io::minutes{1})); }},
    {"Nanoseconds", &types::int64, [](const Value& d, Given) { return make_integer(integer_of(d), types::int64); }},
    {"Round", &types::duration, rounded_duration, {&types::duration}},
    {"Seconds", &types::float64, [](const Value& d, Given) { return make_float(in_units(d, io::seconds{1})); }},
    {"String", &types::text, own_text_of},
    {"Truncate", &types::duration, truncated_duration, {&types::duration}},
};

constexpr Method kStringMethod[] = {{"String", &types::text, own_text_of}};

Quantity quantity_of(const Value& value) { return read_quantity(text_of(value)); }

constexpr Method kQuantityMethods[] = {
    {"AsApproximateFloat64", &types::float64,
     [](const Value& q, Given) { return make_float(approximate(quantity_of(q))); }},
    {"AsFloat64Slow", &types::float64, [](const Value& q, Given) { return make_float(approximate(quantity_of(q))); }},
    {"Cmp",
     &types::integer,
     [](const Value& q, Given other) { return make_integer(compared(quantity_of(q), quantity_of(other[0]))); },
     {&types::quantity}},
    {"CmpInt64",
     &types::integer,
     [](const Value& q, Given other) {
       return make_integer(compared(quantity_of(q), whole_quantity(integer_of(other[0]))));
     },
     {&types::int64}},
    {"DeepCopy", &types::quantity, [](const Value& q, Given) { return q; }},
    {"Equal",
     &types::boolean,
     [](const Value& q, Given other) { return make_boolean(quantity_of(q) == quantity_of(other[0])); },
     {&types::quantity}},
    {"IsZero", &types::boolean, [](const Value& q, Given) { return make_boolean(quantity_of(q) == Quantity{}); }},
    {"MilliValue", &types::int64,
     [](const Value& q, Given) { return make_integer(scaled_value(quantity_of(q), -3), types::int64); }},
    {"ScaledValue",
     &types::int64,
     [](const Value& q, Given by) {
       return make_integer(scaled_value(quantity_of(q), integer_of(by[0])), types::int64);
     },
     {&types::scale}},
    {"Sign", &types::integer, [](const Value& q, Given) { return make_integer(compared(quantity_of(q), Quantity{})); }},
    {"String", &types::text, [](const Value& q, Given) { return make_text(std::string(text_of(q))); }},
    {"Value", &types::int64,
     [](const Value& q, Given) { return make_integer(scaled_value(quantity_of(q), 0), types::int64); }},
};

Value amount_of(const Value& resources, std::string_view key) {
  const auto found = entry(resources, key);
  return found ? *found : Value{&types::quantity, Text{"0", nullptr}};
}

constexpr Method kResourceMethods[] = {
    {"Cpu", &types::quantity, [](const Value& r, Given) { return amount_of(r, "cpu"); }},
    {"Memory", &types::quantity, [](const Value& r, Given) { return amount_of(r, "memory"); }},
    {"Pods", &types::quantity, [](const Value& r, Given) { return amount_of(r, "pods"); }},
    {"Storage", &types::quantity, [](const Value& r, Given) { return amount_of(r, "storage"); }},
    {"StorageEphemeral", &types::quantity, [](const Value& r, Given) { return amount_of(r, "ephemeral-storage"); }},
};

Value taint_text(const Value& taint, Given /*given*/) {
  const auto text = [&](std::string_view name) { return text_of(field_of(taint, find_field(*taint.type, name))); };
  const std::string_view value = text("Value");
  const std::string_view effect = text("Effect");
  std::string out(text("Key"));
  if (!value.empty()) out += fmt::format("={}", value);
  // Without an effect the value is followed by the colon all the same.
  if (!effect.empty() || !value.empty()) out += fmt::format(":{}", effect);
  return make_text(std::move(out));
}

constexpr Method kTaintMethods[] = {{"ToString", &types::text, taint_text}};

// The node as careen prints it everywhere.
constexpr Method kNodeMethods[] = {{"String", &types::text, [](const Value& node, Given) {
                                      return make_text(std::get<kube::JsonView>(node.held).dump());
                                    }}};

// The second are those of what is embedded.
struct MethodSets {
  std::span<const Method> own;
  std::span<const Method> promoted = {};
};

MethodSets methods_of(const Type& type) {
  switch (type.methods) {
    case Methods::none:
      return {};
    case Methods::time:
      return {kTimeMethods};
    case Methods::api_time:
      return {kApiTimeMethods, kTimeMethods};
    case Methods::duration:
      return {kDurationMethods};
    case Methods::named_number:
    case Methods::location:
      return {kStringMethod};
    case Methods::quantity:
      return {kQuantityMethods};
    case Methods::taint:
      return {kTaintMethods};
    case Methods::resources:
      return {kResourceMethods};
    case Methods::node:
      return {kNodeMethods};
  }
  return {};
}

}  // namespace

size_t Method::count() const {
  return static_cast<size_t>(std::count_if(wants.begin(), wants.end(), [](const Type* type) { return type; }));
}

const Method* find_method(const Type& type, std::string_view name) {
  const MethodSets sets = methods_of(type);
  for (const std::span<const Method> methods : {sets.own, sets.promoted}) {
    const auto found = std::find_if(methods.begin(), methods.end(), [&](const Method& m) { return m.name == name; });
    if (found != methods.end()) return &*found;
  }
  return nullptr;
}

std::vector<std::string_view> names_of(const Type& type) {
  std::vector<std::string_view> names;
  for (const Field& field : type.fields) {
    names.push_back(field.name);
    if (!field.embedded) continue;
    for (const Field& promoted : field.type->fields) names.push_back(promoted.name);
  }
  const MethodSets sets = methods_of(type);
  for (const std::span<const Method> methods : {sets.own, sets.promoted}) {
    for (const Method& method : methods) names.push_back(method.name);
  }
  return names;
}

}  // namespace careen::templates
