#include "config/file.h"

#include <fmt/format.h>

#include <algorithm>

namespace careen::config {

namespace {

constexpr std::size_t kMostErrors = 100;
constexpr std::size_t kMostWarnings = 100;
constexpr std::size_t kMostLookups = 1000;
constexpr std::size_t kShortestSecret = 4;

// The names that follow "${" literally in the text.
void collect_names(std::string_view text, std::set<std::string, std::less<>>& names) {
  for (std::size_t at = text.find("${"); at != std::string_view::npos; at = text.find("${", at + 2)) {
    const std::size_t end = text.find_first_of(":}$", at + 2);
    if (end != std::string_view::npos) names.emplace(text.substr(at + 2, end - at - 2));
  }
}

}  // namespace

ConfigFile::ConfigFile(std::string_view name, const Document& document, const Environment& environment)
    : name_(name), document_(document), environment_(environment) {
  for (const Remark& remark : document.warnings()) warn(remark.where, remark.message);
  check_references();
}

// Braces are checked in every text, also where no key is ever read.
void ConfigFile::check_references() {
  for (const Value& value : document_.values()) {
    if (value.kind != Value::Kind::string || value.text.find("${") == std::string::npos) continue;
    const auto parsed = Interpolation::parse(value.text);
    if (!parsed) error(position_within(value, parsed.error().offset), parsed.error().message);
    collect_names(value.text, referenced_);
  }
}

void ConfigFile::add_secret(std::string_view value) {
  if (value.size() < kShortestSecret) return;
  Value plain;
  set_plain(plain, value);
  if (plain.kind == Value::Kind::string) secrets_.emplace(value);
}

void ConfigFile::error(Position where, std::string message) {
  // A value that several keys share is wrong once.
  if (!seen_.emplace(where, message).second) return;
  errors_.push_back({where, std::move(message)});
}

void ConfigFile::warn(Position where, std::string message) {
  if (warnings_.size() >= kMostWarnings || !seen_.emplace(where, message).second) return;
  warnings_.push_back({where, std::move(message)});
}

bool ConfigFile::is_hopeless() const { return errors_.size() >= kMostErrors; }

std::vector<ConfigError> ConfigFile::located(const Remarks& remarks) const {
  std::vector<ConfigError> result;
  for (const Remark& remark : remarks)
    result.push_back({name_, remark.where.line, remark.where.column, remark.message});
  std::sort(result.begin(), result.end(), [](const ConfigError& a, const ConfigError& b) {
    return std::tie(a.line, a.column, a.message) < std::tie(b.line, b.column, b.message);
  });
  return result;
}

std::vector<ConfigError> ConfigFile::errors() const {
  std::vector<ConfigError> result = located(errors_);
  if (result.size() > kMostErrors) {
    result.resize(kMostErrors);
    result.push_back({name_, 0, 0, "there are more errors; these are the first"});
  }
  return result;
}

std::vector<ConfigError> ConfigFile::warnings() const { return located(warnings_); }

std::optional<ConfigFile::Text> ConfigFile::text(const Value& scalar) {
  if (scalar.kind != Value::Kind::string || scalar.text.find('$') == std::string::npos) return Text{scalar.text};
  const auto interpolation = Interpolation::parse(scalar.text);
  if (!interpolation) {
    error(position_within(scalar, interpolation.error().offset), interpolation.error().message);
    return std::nullopt;
  }
  return resolve(scalar, *interpolation);
}

std::optional<ConfigFile::Text> ConfigFile::resolve(const Value& scalar, const Interpolation& interpolation) {
  lookups_ = 0;
  looked_up_.clear();
  auto resolved = interpolation.resolve([this](std::string_view name) { return variable(name); });
  if (!resolved) {
    error(position_within(scalar, resolved.error().offset), resolved.error().message);
    return std::nullopt;
  }
  return Text{std::move(*resolved), interpolation.has_references(), std::move(looked_up_)};
}

std::optional<ConfigFile::Typed> ConfigFile::typed(const Value& scalar) {
  Typed result;
  if (scalar.kind == Value::Kind::string && scalar.text.find("${") != std::string::npos) {
    const auto interpolation = Interpolation::parse(scalar.text);
    const auto name = interpolation ? interpolation->single_name() : std::nullopt;
    const Value* shared = name ? find_entry(&root(), *name) : nullptr;
    if (shared != nullptr && shared->kind == Value::Kind::list) {
      result.value = *shared;
      return result;
    }
  }
  const auto resolved = text(scalar);
  if (!resolved) return std::nullopt;
  if (resolved->from_variable) {
    result.value = reparse_interpolated(resolved->text, result.storage);
    result.from_variable = true;
    result.variables = resolved->variables;
  } else {
    result.value = scalar;
    result.value.text = resolved->text;
  }
  result.value.where = scalar.where;
  return result;
}

// Keys of the file come before the environment.
ConfigFile::Variable ConfigFile::variable(std::string_view name) {
  if (++lookups_ > kMostLookups) return tl::make_unexpected(std::string{"is one of too many in this text"});
  const Value* value = find_entry(&root(), name);
  if (value != nullptr && value->kind != Value::Kind::null) return variable_of_file(*value, name);
  auto found = environment_ ? environment_(name) : std::nullopt;
  if (found) looked_up_.push_back(*found);
  return found;
}

ConfigFile::Variable ConfigFile::variable_of_file(const Value& value, std::string_view name) {
  if (!value.is_scalar()) {
    return tl::make_unexpected(fmt::format("is {} at the top level of this file, not a text", describe(value)));
  }
  if (value.kind != Value::Kind::string) return value.text;
  const auto interpolation = Interpolation::parse(value.text);
  if (!interpolation) return tl::make_unexpected(std::string{"is not valid where this file defines it"});
  if (!resolving_.emplace(name).second) return tl::make_unexpected(std::string{"refers to itself"});
  auto resolved = interpolation->resolve([this](std::string_view inner) { return variable(inner); });
  resolving_.erase(resolving_.find(name));
  if (!resolved) {
    return tl::make_unexpected(fmt::format("cannot be resolved: {}", resolved.error().message));
  }
  return std::move(*resolved);
}

}  // namespace careen::config
