#include "commands/view_words.h"

#include <fmt/format.h>

#include "cli/terminal_table.h"

namespace careen::app {

using kube::JsonView;

std::string shown(JsonView value) { return std::string(value.text().value_or("")); }

std::optional<io::Wall> time_of(JsonView value) { return io::parse_rfc3339(value.text().value_or("")); }

int64_t count_of(JsonView value) { return value.integer().value_or(0); }

std::string when_text(JsonView time, io::Wall now) {
  const auto at = time_of(time);
  if (!at) return shown(time);
  const io::Duration ahead = *at - now;
  // What is to come has come when the whole second is reached.
  const io::Wall whole = ahead > io::Duration::zero() ? io::Wall(std::chrono::ceil<io::seconds>(*at))
                                                      : io::Wall(std::chrono::floor<io::seconds>(*at));
  const bool is_now = ahead > -io::seconds{1} && ahead < io::seconds{1};
  const std::string relative = is_now                         ? "now"
                               : ahead > io::Duration::zero() ? "in " + age_text(ahead)
                                                              : age_text(-ahead) + " ago";
  return fmt::format("{} ({})", io::format_rfc3339(whole), relative);
}

std::string pause_text(JsonView pause, io::Wall now) {
  const std::string what =
      pause["profile"].exists() ? fmt::format("profile {} is paused", shown(pause["profile"])) : "everything is paused";
  const std::string reason = shown(pause["reason"]);
  return fmt::format("{} by {} since {}{}{}", what, shown(pause["by"]), when_text(pause["since"], now),
                     reason.empty() ? "" : ": ", reason);
}

std::string list_text(JsonView list, size_t most) {
  std::string out;
  const size_t size = list.size();
  for (size_t index = 0; index < size && index < most; ++index) {
    if (index > 0) out += ", ";
    out += shown(list[index]);
  }
  if (size > most) out += fmt::format(" and {} more", size - most);
  return out;
}

}  // namespace careen::app
