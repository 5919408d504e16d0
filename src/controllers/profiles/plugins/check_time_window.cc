#include <optional>

#include "config/reader.h"
#include "controllers/profiles/check_context.h"
#include "controllers/profiles/plugins/plugins.h"
#include "windows/time_window.h"

namespace careen::profiles {

namespace {

class TimeWindowCheck final : public Check {
 public:
  explicit TimeWindowCheck(windows::TimeWindowSettings settings) : window_(std::move(settings)) {}
  std::string_view type() const override { return "timeWindow"; }

  CheckResult run(const CheckContext& context) const override {
    const windows::WindowAnswer answer = window_.evaluate(context.now);
    CheckResult result;
    result.passed = answer.open;
    result.changes_at = answer.changes_at;
    if (!context.explain) return result;
    windows::WindowExplanation explanation = window_.explain(context.now);
    result.reason = std::move(explanation.sentence);
    if (!explanation.info.empty()) result.info.emplace_back("reason", std::string(explanation.info));
    return result;
  }

 private:
  windows::TimeWindow window_;
};

std::optional<windows::Hours> read_hours(config::ConfigReader& config, windows::HoursForm form) {
  const std::string start = config.string("start", config::Required::yes);
  const std::string end = config.string("end", config::Required::yes);
  const std::vector<std::string> names = config.strings("weekdays", config::Required::yes);
  if (start.empty() || end.empty() || names.empty()) return std::nullopt;
  const auto weekdays = windows::parse_weekdays(names);
  if (!weekdays) config.error("weekdays", weekdays.error().message);
  const auto hours = windows::parse_hours(start, end, weekdays.value_or(windows::Weekdays{}), form);
  if (!hours) config.error(hours.error().key, hours.error().message);
  if (!weekdays || !hours) return std::nullopt;
  return *hours;
}

std::vector<windows::Hours> read_windows(config::ConfigReader& config) {
  std::vector<windows::Hours> all;
  const bool single = config.has("start") || config.has("end") || config.has("weekdays") || !config.has("windows");
  if (single) {
    if (const auto hours = read_hours(config, windows::HoursForm::single)) all.push_back(*hours);
  }
  for (config::ConfigReader& entry : config.objects("windows")) {
    if (const auto hours = read_hours(entry, windows::HoursForm::listed)) all.push_back(*hours);
  }
  if (all.empty() && config.ok()) config.error("windows", "must have at least one entry");
  return all;
}

std::vector<windows::Exclusion> read_exclude(config::ConfigReader& config) {
  std::vector<windows::Exclusion> all;
  for (const std::string& text : config.strings("exclude", config::Required::no)) {
    const auto exclusion = windows::parse_exclusion(text);
    if (!exclusion) {
      config.error("exclude", exclusion.error().message);
    } else {
      all.push_back(*exclusion);
    }
  }
  return all;
}

windows::Zone read_zone(config::ConfigReader& config) {
  const std::string name = config.string("timezone", config::Required::no);
  if (name.empty()) return {};
  const auto zone = windows::Zone::find(name);
  if (zone) return *zone;
  config.error("timezone", zone.error().message);
  return {};
}

std::unique_ptr<Check> make_time_window_check(config::ConfigReader& config) {
  windows::TimeWindowSettings settings;
  settings.windows = read_windows(config);
  settings.exclude = read_exclude(config);
  settings.zone = read_zone(config);
  return std::make_unique<TimeWindowCheck>(std::move(settings));
}

}  // namespace

Plugin<Check> time_window_check() {
  return {
      make_time_window_check,
      {"timeWindow",
       "Passes during some hours of some days of the week",
       {
           {.name = "start", .type = config::KeyType::time_of_day, .text = "Opens after this time of day"},
           {.name = "end", .type = config::KeyType::time_of_day, .text = "Closes at this time of the same day"},
           {.name = "weekdays", .type = config::KeyType::texts, .text = "Days of the week: monday or mon"},
           {.name = "exclude",
            .type = config::KeyType::texts,
            .text =
                "Dates on which it does not open: Dec 24 in every year; careen also knows 2026-12-24 and ranges such "
                "as Dec 24..Jan 2"},
           {.name = "timezone",
            .text = "IANA name of the time zone whose clocks count, such as Europe/Berlin",
            .otherwise = "UTC",
            .extension = true},
           {.name = "windows",
            .type = config::KeyType::objects,
            .text = "Further windows, which may run over midnight",
            .extension = true,
            .keys =
                {
                    {.name = "start",
                     .type = config::KeyType::time_of_day,
                     .text = "Opens after this time of day",
                     .required = true},
                    {.name = "end",
                     .type = config::KeyType::time_of_day,
                     .text = "Closes at this time, of the next day if it is before start; 24:00 is midnight",
                     .required = true},
                    {.name = "weekdays",
                     .type = config::KeyType::texts,
                     .text = "Days of the week on which it opens",
                     .required = true},
                }},
       },
       R"(- name: office_hours
  type: timeWindow
  config:
    start: "9:00"
    end: "16:30"
    weekdays: [mon, tue, wed, thu]
    exclude: ["Dec 24", "Dec 31"]
)"}};
}

}  // namespace careen::profiles
