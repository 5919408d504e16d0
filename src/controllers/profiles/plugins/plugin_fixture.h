// For tests of single plugins: an instance made from YAML, asked about one node in a world whose leases and hypervisors
// are put into it as they are needed.
#pragma once

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "controllers/profiles/check_context.h"
#include "controllers/profiles/node_draft.h"
#include "controllers/profiles/test_support.h"
#include "controllers/profiles/trigger_context.h"

namespace careen::profiles {

class PluginFixture : public WorldTest {
 protected:
  // The instance of that type with these settings in YAML.
  std::unique_ptr<const Check> make_check(std::string_view type, std::string_view settings) {
    auto made = load("check", type, settings);
    return made ? std::move(made->checks.at(0).check) : nullptr;
  }
  std::unique_ptr<const Trigger> make_trigger(std::string_view type, std::string_view settings) {
    auto made = load("trigger", type, settings);
    return made ? std::move(made->triggers.at(0).trigger) : nullptr;
  }
  // What is wrong with such an instance, a line for each error; empty when nothing is.
  std::string refused(std::string_view kind, std::string_view type, std::string_view settings) {
    return lines(examine(kind, type, settings).errors);
  }
  std::string warnings(std::string_view kind, std::string_view type, std::string_view settings) {
    return lines(examine(kind, type, settings).warnings);
  }

  // Its profile p made its last transition at `since`.
  CheckResult ask(const Check& check, std::string_view node = "a") {
    const kube::Node object = node_called(node);
    const NodeDraft draft(object);
    const ProfileData profile{since, State::operational, State::operational};
    return check.run({draft, "p", profile, facts, now});
  }
  CheckResult ask(std::string_view type, std::string_view settings, std::string_view node = "a") {
    const auto check = make_check(type, settings);
    return check ? ask(*check, node) : CheckResult{};
  }
  kube::Node node_called(std::string_view name) { return *kube::decode_node(node_json(name, "u", 7).dump(), atoms); }

  std::map<std::string, std::string, std::less<>> environment;
  io::Wall since = now;

 private:
  ConfigReport examine(std::string_view kind, std::string_view type, std::string_view settings) {
    const std::string yaml = fmt::format(
        "{{intervals: {{requeue: 1m}}, instances: {{{}: [{{name: x, type: {}, config: {}}}]}}}}", kind, type, settings);
    return examine_config(yaml, "t.yaml", all_plugins(), [this](std::string_view name) -> std::optional<std::string> {
      const auto found = environment.find(name);
      return found == environment.end() ? std::nullopt : std::optional(found->second);
    });
  }
  std::optional<Config> load(std::string_view kind, std::string_view type, std::string_view settings) {
    ConfigReport report = examine(kind, type, settings);
    EXPECT_TRUE(report.config) << lines(report.errors);
    return std::move(report.config);
  }
  static std::string lines(const std::vector<config::ConfigError>& errors) {
    std::string text;
    for (const config::ConfigError& error : errors) text += error.message + "\n";
    return text;
  }
};

// The text of that name in the info document.
inline std::string info_text(const CheckResult& result, std::string_view key) {
  for (const auto& [name, value] : result.info) {
    if (name == key && std::holds_alternative<std::string>(value)) return std::get<std::string>(value);
  }
  return "(absent)";
}

}  // namespace careen::profiles
