#include <curl/curl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <simdjson.h>

#include <CLI/CLI.hpp>
#include <boost/version.hpp>
#include <memory>

#include "cli/command_set.h"
#include "cli/screen.h"
#include "commands/command_list.h"
#include "commands/commands.h"
#include "kube/json.h"
#include "session/cluster_flags.h"
#include "version_info.h"

namespace careen::app {

namespace {
std::string dotted(int version, int step) {
  return fmt::format("{}.{}.{}", version / step / step, version / step % step, version % step);
}
}  // namespace

int print_version(bool json) {
  const curl_version_info_data* curl = curl_version_info(CURLVERSION_NOW);
  const std::pair<std::string, std::string> facts[] = {
      {"version", CAREEN_VERSION},
      {"commit", CAREEN_COMMIT},
      {"compiler", "clang " __clang_version__},
      {"boost", fmt::format("{}.{}.{}", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100)},
      {"libcurl", curl->version},
      {"nghttp2", curl->nghttp2_version ? curl->nghttp2_version : "none"},
      {"openssl", OpenSSL_version(OPENSSL_VERSION_STRING)},
      {"simdjson", fmt::format("{}.{}.{}", static_cast<int>(simdjson::SIMDJSON_VERSION_MAJOR),
                               static_cast<int>(simdjson::SIMDJSON_VERSION_MINOR),
                               static_cast<int>(simdjson::SIMDJSON_VERSION_REVISION))},
      {"fmt", dotted(FMT_VERSION, 100)},
  };
  Screen screen(process_screen());
  if (json) {
    kube::Json document = kube::Json::object();
    for (const auto& [name, value] : facts) document.set({name}, value);
    screen.document(document.dump());
    return 0;
  }
  for (const auto& [name, value] : facts) screen.line(fmt::format("{:<10} {}", name, value));
  return 0;
}

void add_version_command(Commands& commands) {
  auto json = std::make_shared<bool>(false);
  CLI::App& command = commands.add("version", "Print version, commit, compiler and libraries", CommandGroup::more,
                                   [json] { return print_version(*json); });
  command.footer("Example:\n  careen version -o json");
  add_json_flag(command, *json);
}

}  // namespace careen::app
