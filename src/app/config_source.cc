#include "app/config_source.h"

#include "profiles/plugins.h"

namespace careen::app {

ConfigSource::ConfigSource(io::Loop& loop, io::Files& files, std::string path, profiles::Environment environment,
                           io::Metrics& metrics, io::Problems& problems, io::Log log, Taken taken)
    : loop_(loop),
      files_(files),
      path_(std::move(path)),
      environment_(std::move(environment)),
      problems_(problems),
      log_(std::move(log)),
      taken_(std::move(taken)),
      valid_(metrics.gauge("careen_config_valid", "1 if the configuration file as it is now was taken.")),
      loaded_at_(metrics.gauge("careen_config_loaded_timestamp_seconds", "When the running configuration was loaded.")),
      failures_(metrics.counter("careen_config_failures_total", "Loads of the configuration file that failed.")) {}

void ConfigSource::start() {
  load();
  watch_ = files_.watch(path_, [this] { load(); });
}

void ConfigSource::load() {
  const std::string kept = valid_once_ ? "; the configuration loaded before stays" : "; nothing is decided without it";
  auto text = files_.read(path_);
  if (!text) {
    failures_.add();
    valid_.set(0);
    text_.reset();
    problems_.raise("config", text.error().message + kept);
    return;
  }
  if (*text == text_) return;
  text_ = *text;
  auto config = profiles::load_config(*text_, path_, profiles::all_plugins(), environment_);
  if (!config) {
    failures_.add();
    valid_.set(0);
    std::string message;
    for (const auto& error : config.error()) message += (message.empty() ? "" : "\n") + error.to_text();
    problems_.raise("config", message + kept);
    return;
  }
  for (const auto& warning : config->warnings) log_.warn(warning.to_text());
  problems_.clear("config");
  valid_.set(1);
  loaded_at_.set(io::to_seconds(loop_.wall_now().time_since_epoch()));
  log_.info("configuration loaded", "file", path_, "profiles", config->profiles.size());
  valid_once_ = true;
  taken_(std::make_shared<const profiles::Config>(std::move(*config)));
}

}  // namespace careen::app
