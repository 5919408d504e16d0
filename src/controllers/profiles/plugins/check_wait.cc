#include <fmt/format.h>

#include "config/reader.h"
#include "controllers/profiles/check_context.h"
#include "controllers/profiles/data.h"
#include "controllers/profiles/plugins/plugins.h"

namespace careen::profiles {

namespace {
class WaitCheck final : public Check {
 public:
  explicit WaitCheck(io::Duration duration) : duration_(duration) {}
  std::string_view type() const override { return "wait"; }

  // True once strictly more than the duration has passed since the profile's last transition.
  CheckResult run(const CheckContext& context) const override {
    CheckResult result;
    const io::Wall since = context.data.transition;
    const io::Wall end = io::add(since, duration_);
    if (end < context.now) {
      result.passed = true;
      if (context.explain) {
        result.reason =
            fmt::format("{} have passed since {}", io::format_duration(duration_), io::format_rfc3339(since));
      }
      return result;
    }
    const io::Duration remaining = end - context.now;
    result.changes_at = io::add(end, io::Duration{1});
    if (!context.explain) return result;
    result.reason = fmt::format("{} of {} remain", io::format_duration(std::chrono::ceil<io::seconds>(remaining)),
                                io::format_duration(duration_));
    result.info.emplace_back("remaining_seconds", io::to_seconds(remaining));
    return result;
  }

 private:
  io::Duration duration_;
};

std::unique_ptr<Check> make_wait_check(config::ConfigReader& config) {
  return std::make_unique<WaitCheck>(config.duration_string("duration", config::Required::yes));
}
}  // namespace

Plugin<Check> wait_check() {
  return {make_wait_check,
          {"wait",
           "Passes once more than a duration has gone by since the profile's last change of state",
           {{.name = "duration", .type = config::KeyType::duration_text, .text = "How long to wait", .required = true}},
           R"(- name: settled
  type: wait
  config:
    duration: 10m
)"}};
}

}  // namespace careen::profiles
