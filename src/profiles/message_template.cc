#include "profiles/message_template.h"

#include "profiles/suggest.h"

namespace careen::profiles {

namespace {
void report(ConfigReader& config, std::string_view key, const templates::TemplateError& error) {
  config.error_within(key, Position{error.line, error.column},
                      error.message + (error.name.empty() ? "" : did_you_mean(error.name, error.candidates)));
}
}  // namespace

std::optional<templates::Template> read_template(ConfigReader& config, std::string_view key) {
  const std::string text = config.string(key, Required::yes);
  if (text.empty()) return std::nullopt;
  auto compiled = templates::Template::parse(text);
  if (!compiled) {
    report(config, key, compiled.error());
    return std::nullopt;
  }
  for (const templates::TemplateError& problem : compiled->problems()) report(config, key, problem);
  return std::move(*compiled);
}

}  // namespace careen::profiles
