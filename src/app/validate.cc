#include <fmt/format.h>

#include <cstdlib>

#include "app/commands.h"
#include "app/environment.h"
#include "io/files.h"
#include "io/real_loop.h"
#include "profiles/config.h"
#include "profiles/plugins.h"

namespace careen::app {

int validate(const std::string& file) {
  io::RealLoop loop;
  io::RealFiles files(loop);
  const auto text = files.read(file);
  if (!text) {
    fmt::print(stderr, "{}\n", text.error().message);
    return 1;
  }
  const auto config = profiles::load_config(*text, file, profiles::all_plugins(), read_environment);
  if (!config) {
    for (const auto& error : config.error()) fmt::print(stderr, "{}\n", error.to_text());
    return 1;
  }
  for (const auto& warning : config->warnings) fmt::print(stderr, "{} (warning)\n", warning.to_text());
  fmt::print("{}: valid: {} profiles, {} checks, {} notifications, {} triggers\n", file, config->profiles.size(),
             config->checks.size(), config->notifies.size(), config->triggers.size());
  return 0;
}

}  // namespace careen::app
