// A configuration file made from any text: loading ends with a configuration whose indexes all exist, or with errors
// that have a message and a place; neither errors nor warnings show what a variable contained.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "controllers/profiles/config.h"
#include "controllers/profiles/plugins/plugins.h"

namespace {

using careen::config::ConfigError;
using careen::profiles::Config;
using careen::profiles::State;

constexpr std::string_view kSecret = "Ov3rb0ard!";

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "config fuzz: %s\n", what);
  std::abort();
}

std::optional<std::string> environment(std::string_view name) {
  if (name == "SECRET") return std::string{kSecret};
  if (name == "NUMBER") return "5";
  if (name == "LIST") return "[a, 'b, c', ]";
  if (name == "CHAIN") return "one && two";
  return std::nullopt;
}

void expect_sound(const std::vector<ConfigError>& remarks, std::string_view text) {
  for (const ConfigError& remark : remarks) {
    expect(!remark.message.empty(), "an error without a message");
    expect(remark.line >= 0 && remark.line <= 1 + std::count(text.begin(), text.end(), '\n'),
           "a line that is not there");
    expect(remark.message.find(kSecret) == std::string::npos, "a message shows a secret");
  }
}

void expect_indexes(const std::vector<int>& indexes, std::size_t size) {
  for (int index : indexes) {
    expect(index >= 0 && static_cast<std::size_t>(index) < size, "an index of no instance");
  }
}

void expect_sound(const Config& config) {
  expect(config.requeue.count() != 0, "no interval");
  expect(config.find_profile("default") != nullptr, "no default profile");
  for (const auto& check : config.checks) expect(check.check != nullptr, "a check without plugin");
  for (const auto& notify : config.notifies) expect(notify.notify != nullptr, "a notification without plugin");
  for (const auto& trigger : config.triggers) expect(trigger.trigger != nullptr, "a trigger without plugin");
  for (const auto& [name, profile] : config.profiles) {
    for (const auto& chains : profile.states) {
      expect_indexes(chains.enter, config.triggers.size());
      expect_indexes(chains.notify, config.notifies.size());
      for (const auto& transition : chains.transitions) {
        expect_indexes(transition.trigger, config.triggers.size());
        expect_indexes(transition.check.leaves, config.checks.size());
        expect(!transition.check.nodes.empty(), "a transition without expression");
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // A text that spells the secret itself may be quoted.
  if (text.find("3rb") != std::string_view::npos) return 0;
  static const careen::profiles::PluginRegistry kRegistry = careen::profiles::all_plugins();
  const auto config = careen::profiles::load_config(text, "maintenance.yaml", kRegistry, environment);
  if (!config) {
    expect(!config.error().empty(), "refused without an error");
    expect_sound(config.error(), text);
  } else {
    expect_sound(*config);
    expect_sound(config->warnings, text);
  }
  return 0;
}
