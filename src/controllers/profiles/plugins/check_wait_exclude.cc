#include <fmt/format.h>

#include "config/reader.h"
#include "controllers/profiles/check_context.h"
#include "controllers/profiles/data.h"
#include "controllers/profiles/plugins/plugins.h"
#include "windows/wait_exclude.h"

namespace careen::profiles {

namespace {

class WaitExcludeCheck final : public Check {
 public:
  WaitExcludeCheck(io::Duration duration, windows::Weekdays excluded) : duration_(duration), excluded_(excluded) {}
  std::string_view type() const override { return "waitExclude"; }

  // True once strictly more than the duration has passed since the profile's last transition, on days that count.
  CheckResult run(const CheckContext& context) const override {
    const io::Wall since = context.data.transition;
    const windows::WaitAnswer answer = windows::wait_exclude(since, context.now, duration_, excluded_);
    CheckResult result;
    result.passed = answer.passed;
    result.changes_at = answer.changes_at;
    if (!context.explain) return result;
    if (answer.passed) {
      result.reason = fmt::format("{} on days that count have passed since {}", io::format_duration(duration_),
                                  io::format_rfc3339(since));
      return result;
    }
    result.reason =
        fmt::format("{} of {} remain{}", io::format_duration(std::chrono::ceil<io::seconds>(answer.remaining)),
                    io::format_duration(duration_), answer.changes_at ? "" : ", but no day counts");
    result.info.emplace_back("remaining_seconds", io::to_seconds(answer.remaining));
    return result;
  }

 private:
  io::Duration duration_;
  windows::Weekdays excluded_;
};

windows::Weekdays read_excluded(config::ConfigReader& config) {
  const std::vector<std::string> names = config.strings("exclude", config::Required::yes);
  if (names.empty()) return {};
  const auto days = windows::parse_weekdays(names);
  if (!days) {
    config.error("exclude", days.error().message);
    return {};
  }
  if (days->all()) config.warn("exclude", "names every day of the week: the wait never ends");
  return *days;
}

std::unique_ptr<Check> make_wait_exclude_check(config::ConfigReader& config) {
  const io::Duration duration = config.duration_string("duration", config::Required::yes);
  return std::make_unique<WaitExcludeCheck>(duration, read_excluded(config));
}

}  // namespace

Plugin<Check> wait_exclude_check() {
  return {
      make_wait_exclude_check,
      {"waitExclude",
       "Passes once more than a duration has gone by since the profile's last change of state, where some days of "
       "the week do not count",
       {
           {.name = "duration", .type = config::KeyType::duration_text, .text = "How long to wait", .required = true},
           {.name = "exclude",
            .type = config::KeyType::texts,
            .text = "Days of the week that do not count, by the UTC calendar: saturday or sat",
            .required = true},
       },
       R"(- name: settled_on_workdays
  type: waitExclude
  config:
    duration: 30h
    exclude: [sat, sun]
)"}};
}

}  // namespace careen::profiles
