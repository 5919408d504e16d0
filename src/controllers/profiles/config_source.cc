#include "controllers/profiles/config_source.h"

#include "controllers/profiles/config.h"
#include "controllers/profiles/plugins/plugins.h"
#include "io/loop.h"
#include "io/metrics.h"
#include "io/problems.h"

namespace careen::profiles {

namespace {
std::string lines(const std::vector<config::ConfigError>& errors) {
  std::string text;
  for (const auto& error : errors) text += (text.empty() ? "" : "\n") + error.to_text();
  return text;
}
}  // namespace

ConfigSource::ConfigSource(io::Loop& loop, io::Files& files, std::string path, config::Environment environment,
                           io::Metrics& metrics, io::Problems& problems, io::Log log, Taken taken, bool strict,
                           Adjust adjust)
    : loop_(loop),
      files_(files),
      path_(std::move(path)),
      environment_(std::move(environment)),
      problems_(problems),
      log_(std::move(log)),
      taken_(std::move(taken)),
      strict_(strict),
      adjust_(std::move(adjust)),
      valid_(metrics.gauge("careen_config_valid", "1 if the configuration file as it is now was taken.")),
      loaded_at_(metrics.gauge("careen_config_loaded_timestamp_seconds", "When the running configuration was loaded.")),
      failures_(metrics.counter("careen_config_failures_total", "Loads of the configuration file that failed.")) {}

void ConfigSource::start() {
  load();
  watch_ = files_.watch(path_, [this] { load(); });
}

void ConfigSource::refuse(const std::string& why) {
  failures_.add();
  valid_.set(0);
  problems_.raise("config",
                  why + (valid_once_ ? "; the configuration loaded before stays" : "; nothing is decided without it"));
}

void ConfigSource::load() {
  auto text = files_.read(path_);
  if (!text) {
    text_.reset();
    return refuse(text.error().message);
  }
  if (*text == text_) return;
  text_ = *text;
  auto config = load_config(*text_, path_, all_plugins(), environment_);
  if (!config) return refuse(lines(config.error()));
  if (strict_ && !config->warnings.empty()) {
    return refuse(lines(config->warnings) + "; warnings are errors because of --strict-config");
  }
  if (adjust_) adjust_(*config);
  for (const auto& warning : config->warnings) log_.warn(warning.to_text());
  problems_.clear("config");
  valid_.set(1);
  loaded_at_.set(io::to_seconds(loop_.wall_now().time_since_epoch()));
  log_.info("configuration loaded", "file", path_, "profiles", config->profiles.size());
  valid_once_ = true;
  taken_(std::make_shared<const Config>(std::move(*config)));
}

}  // namespace careen::profiles
