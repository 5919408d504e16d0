#include "fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "config/suggest.h"

namespace careen::scenarios {

void Faults::add(Position where, std::string message) {
  errors_.push_back({file_, where.line, where.column, std::move(message)});
}

void Faults::unknown(Position where, std::string_view what, std::string_view name,
                     const std::vector<std::string>& candidates) {
  const std::vector<std::string_view> names(candidates.begin(), candidates.end());
  add(where, fmt::format("unknown {} \"{}\"{}", what, name, config::did_you_mean(name, names)));
}

std::string Faults::text() const {
  auto errors = errors_;
  std::sort(errors.begin(), errors.end(), [](const auto& a, const auto& b) {
    return std::tie(a.line, a.column, a.message) < std::tie(b.line, b.column, b.message);
  });
  std::string out;
  for (const auto& error : errors) out += error.to_text() + "\n";
  return out;
}

std::vector<Member> members(const Value& map, std::string_view what, Faults& faults) {
  std::vector<Member> out;
  if (map.kind != Value::Kind::map) {
    faults.add(map.where, fmt::format("{} must be a map, not {}", what, config::describe(map)));
    return out;
  }
  for (const auto& [key, entry] : map.entries) out.push_back({key, entry.where, *entry.value});
  std::vector<size_t> order(out.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return out[a].where < out[b].where; });
  std::vector<Member> sorted;
  for (const size_t i : order) sorted.push_back(out[i]);
  return sorted;
}

std::vector<const Value*> items(const Value& value) {
  return value.kind == Value::Kind::list ? value.items : std::vector<const Value*>{&value};
}

std::optional<std::string> read_text(const Value& value, std::string_view what, Faults& faults) {
  if (value.is_scalar() && value.kind != Value::Kind::null) return value.text;
  faults.add(value.where, fmt::format("{} must be a text, not {}", what, config::describe(value)));
  return std::nullopt;
}

std::optional<io::Duration> read_span(const Value& value, std::string_view what, Faults& faults) {
  const auto span = value.kind == Value::Kind::string ? parse_span(value.text) : std::nullopt;
  if (!span) {
    faults.add(value.where,
               fmt::format("{} must be a duration like 90s, 2h30m or 1d, not {}", what, config::describe(value)));
  }
  return span;
}

std::optional<Amount> read_amount(const Value& value, std::string_view what, Faults& faults) {
  const auto amount = value.is_scalar() ? parse_amount(value.text) : std::nullopt;
  if (!amount) {
    faults.add(value.where, fmt::format("{} must be an amount like 3, \"at most 3\" or \"more than 3\", not {}", what,
                                        config::describe(value)));
  }
  return amount;
}

std::string flow_text(const Value& value) {
  if (value.kind == Value::Kind::null) return "null";
  if (value.is_scalar()) {
    if (const size_t line = value.text.find('\n'); line != std::string::npos) return value.text.substr(0, line) + " …";
    return value.text.empty() ? "\"\"" : value.text;
  }
  std::vector<std::string> parts;
  for (const Value* item : value.items) parts.push_back(flow_text(*item));
  if (value.kind == Value::Kind::list) return fmt::format("[{}]", fmt::join(parts, ", "));
  std::vector<std::pair<Position, std::string>> pairs;
  for (const auto& [key, entry] : value.entries) pairs.emplace_back(entry.where, key + ": " + flow_text(*entry.value));
  std::sort(pairs.begin(), pairs.end());
  for (auto& [where, text] : pairs) parts.push_back(std::move(text));
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

kube::Json to_json(const Value& value) {
  switch (value.kind) {
    case Value::Kind::null:
      return nullptr;
    case Value::Kind::boolean:
      return value.boolean;
    case Value::Kind::integer:
      return value.integer.value_or(0);
    case Value::Kind::real:
      return value.real;
    case Value::Kind::string:
      return value.text;
    case Value::Kind::list:
    case Value::Kind::map:
      break;
  }
  kube::Json out = value.kind == Value::Kind::list ? kube::Json::array() : kube::Json::object();
  for (const Value* item : value.items) out.push_back(to_json(*item));
  for (const auto& [key, entry] : value.entries) out.set({key}, to_json(*entry.value));
  return out;
}

Fields::Fields(const Value& map, std::string what, Faults& faults)
    : where_(map.where), what_(std::move(what)), faults_(faults), members_(members(map, what_, faults)) {}

const Value* Fields::find(std::string_view key) {
  asked_.emplace_back(key);
  const auto it = std::find_if(members_.begin(), members_.end(), [&](const Member& m) { return m.key == key; });
  return it == members_.end() ? nullptr : &it->value;
}

std::optional<std::string> Fields::text(std::string_view key) {
  const Value* value = find(key);
  return value ? read_text(*value, key, faults_) : std::nullopt;
}

std::optional<io::Duration> Fields::span(std::string_view key) {
  const Value* value = find(key);
  return value ? read_span(*value, key, faults_) : std::nullopt;
}

std::optional<Amount> Fields::amount(std::string_view key) {
  const Value* value = find(key);
  return value ? read_amount(*value, key, faults_) : std::nullopt;
}

bool Fields::flag(std::string_view key, bool otherwise) {
  const Value* value = find(key);
  if (!value) return otherwise;
  if (value->kind == Value::Kind::boolean) return value->boolean;
  faults_.add(value->where, fmt::format("{} must be true or false, not {}", key, config::describe(*value)));
  return otherwise;
}

std::optional<bool> Fields::optional_flag(std::string_view key) {
  if (!find(key)) return std::nullopt;
  return flag(key);
}

void Fields::finish() {
  for (const Member& member : members_) {
    if (std::find(asked_.begin(), asked_.end(), member.key) != asked_.end()) continue;
    faults_.unknown(member.where, "key of " + what_, member.key, asked_);
  }
}

}  // namespace careen::scenarios
