#include "controllers/profiles/message_template.h"

#include "config/suggest.h"

namespace careen::profiles {

namespace {

std::string sentence(const templates::TemplateError& error) {
  return error.message + (error.name.empty() ? "" : config::did_you_mean(error.name, error.candidates));
}

// What no message can do without is a mistake in the file. A branch may be one that is never taken: then the other
// messages go out, as they always did.
void report(config::ConfigReader& config, std::string_view key, const templates::TemplateError& error) {
  const config::Position place{error.line, error.column};
  if (error.conditional) {
    config.warn_within(key, place, sentence(error) + "; a message that comes to this cannot be rendered");
  } else {
    config.error_within(key, place, sentence(error));
  }
}

}  // namespace

std::optional<templates::Template> read_template(config::ConfigReader& config, std::string_view key) {
  const std::string text = config.string(key, config::Required::yes);
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
