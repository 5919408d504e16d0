// Configuration files for tests, read with plugins that only remember what their configuration said.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/reader.h"
#include "controllers/profiles/check_context.h"
#include "controllers/profiles/config.h"
#include "controllers/profiles/trigger_context.h"
#include "notify/sender.h"
#include "templates/analysis.h"

namespace careen::profiles {

class FakeCheck final : public Check {
 public:
  FakeCheck(std::string_view type, std::string seen) : seen(std::move(seen)), type_(type) {}
  std::string_view type() const override { return type_; }
  CheckResult run(const CheckContext&) const override { return {}; }
  const std::string seen;

 private:
  std::string_view type_;
};

class FakeTrigger final : public Trigger {
 public:
  explicit FakeTrigger(std::string seen) : seen(std::move(seen)) {}
  std::string_view type() const override { return "alterLabel"; }
  TriggerResult apply(TriggerContext&) const override { return {}; }
  const std::string seen;
};

class FakeNotify final : public Notify {
 public:
  std::string_view type() const override { return "log"; }
  io::Result<notify::Message> render(const templates::TemplateData&) const override { return notify::Message{}; }
  const templates::NodeFields& fields() const override { return fields_; }
  std::shared_ptr<const notify::Sender> sender() const override { return nullptr; }

 private:
  templates::NodeFields fields_;
};

inline PluginRegistry registry() {
  PluginRegistry result;
  result.checks["hasLabel"] = {[](config::ConfigReader& reader) -> std::unique_ptr<Check> {
                                 std::string key = reader.string("key", config::Required::yes);
                                 return std::make_unique<FakeCheck>(
                                     "hasLabel", key + "=" + reader.string("value", config::Required::no));
                               },
                               {"hasLabel", "", {{.name = "key", .required = true}, {.name = "value"}}, ""}};
  result.checks["hasAnnotation"] = result.checks["hasLabel"];
  result.checks["maxMaintenance"] = {
      [](config::ConfigReader& reader) -> std::unique_ptr<Check> {
        return std::make_unique<FakeCheck>("maxMaintenance",
                                           fmt::format("{}", reader.integer("max", config::Required::yes)));
      },
      {"maxMaintenance", "", {{.name = "max", .type = config::KeyType::integer, .required = true}}, ""}};
  result.triggers["alterLabel"] = {
      [](config::ConfigReader& reader) -> std::unique_ptr<Trigger> {
        std::string key = reader.string("key", config::Required::yes);
        return std::make_unique<FakeTrigger>(reader.boolean("remove") ? "-" + key : key);
      },
      {"alterLabel",
       "",
       {{.name = "key", .required = true}, {.name = "value"}, {.name = "remove", .type = config::KeyType::boolean}},
       ""}};
  result.triggers["alterAnnotation"] = result.triggers["alterLabel"];
  result.notifies["log"] = {[](config::ConfigReader& reader) -> std::unique_ptr<Notify> {
                              reader.string("message", config::Required::yes);
                              reader.string("token", config::Required::no);
                              reader.object("to").string("host", config::Required::no);
                              for (config::ConfigReader& copy : reader.objects("copies"))
                                copy.string("host", config::Required::no);
                              return std::make_unique<FakeNotify>();
                            },
                            {"log",
                             "",
                             {{.name = "message", .required = true},
                              {.name = "token", .secret = true},
                              {.name = "to", .type = config::KeyType::object, .keys = {{.name = "host"}}},
                              {.name = "copies", .type = config::KeyType::objects, .keys = {{.name = "host"}}}},
                             ""}};
  result.known_but_unavailable = {"stagger", "clusterSemver", "slack", "eviction"};
  return result;
}

inline std::optional<std::string> environment(std::string_view name) {
  if (name == "SECRET") return "hunter2";
  if (name == "TRUE") return "true";
  if (name == "TOKEN") return "t0ken";
  if (name == "CHAIN") return "one && two";
  return std::nullopt;
}

inline auto load(std::string_view text) { return load_config(text, "maintenance.yaml", registry(), environment); }

inline std::vector<std::string> texts(const std::vector<config::ConfigError>& errors) {
  std::vector<std::string> out;
  for (const config::ConfigError& error : errors) out.push_back(error.to_text());
  return out;
}

inline std::vector<std::string> errors_of(std::string_view text) {
  const auto config = load(text);
  return config ? std::vector<std::string>{} : texts(config.error());
}

inline Config loaded(std::string_view text) {
  auto config = load(text);
  if (!config) {
    ADD_FAILURE() << fmt::format("{}", fmt::join(texts(config.error()), "\n"));
    return {};
  }
  return std::move(*config);
}

inline std::vector<std::string> warnings_of(std::string_view text) { return texts(loaded(text).warnings); }

inline const std::string& seen(const CheckInstance& instance) {
  return dynamic_cast<const FakeCheck&>(*instance.check).seen;
}

// Two checks, two triggers and a notification to refer to, then what the test is about.
inline std::string with(std::string_view rest) {
  return fmt::format(R"(intervals: {{requeue: 1s}}
instances:
  check:
  - {{name: one, type: hasLabel, config: {{key: 1st}}}}
  - {{name: can_drain, type: hasLabel, config: {{key: drain}}}}
  trigger:
  - {{name: mark, type: alterLabel, config: {{key: marked}}}}
  - {{name: un-mark, type: alterLabel, config: {{key: marked, remove: true}}}}
  notify:
  - {{name: tell, type: log, config: {{message: m}}, schedule: {{type: periodic, config: {{}}}}}}
{})",
                     rest);
}

}  // namespace careen::profiles
