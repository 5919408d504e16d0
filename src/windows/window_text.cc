#include "windows/window_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "io/ascii.h"

namespace careen::windows {

namespace {

// Who writes more needs another place for it; and what is wrong is repeated in messages.
constexpr size_t kLongest = 1000;
constexpr std::string_view kExcept = "except";
constexpr std::string_view kExample = "Sat,Sun 22:00-6:00 Europe/Berlin";

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(at);
    parts.push_back(io::trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Blanks around commas and dashes mean nothing: "Mon, Tue 9:00 - 17:00".
std::vector<std::string> words_of(std::string_view part) {
  const auto joins = [](char c) { return c == ',' || c == '-'; };
  std::vector<std::string> words(1);
  bool apart = false;
  for (const char c : part) {
    if (io::is_blank(c)) {
      apart = true;
      continue;
    }
    std::string& last = words.back();
    if (apart && !last.empty() && !joins(c) && !joins(last.back())) words.emplace_back();
    words.back() += c;
    apart = false;
  }
  return words;
}

io::Result<Weekdays> parse_days(std::string_view text) {
  Weekdays days;
  for (const std::string_view item : split(text, ',')) {
    const size_t dash = item.find('-');
    const std::string_view first = item.substr(0, dash);
    const std::string_view last = dash == std::string_view::npos ? first : item.substr(dash + 1);
    const auto from = parse_weekday(first), to = parse_weekday(last);
    if (!from || !to) {
      return io::refuse(fmt::format("\"{}\" must be a day such as Mon, or days such as Mon-Thu", from ? last : first));
    }
    for (unsigned day = *from;; day = (day + 1) % 7) {
      days.set(day);
      if (day == *to) break;
    }
  }
  return days;
}

class TextReader {
 public:
  io::Result<TimeWindowSettings> read(std::string_view text) {
    if (text.size() > kLongest) return io::refuse(fmt::format("must not be longer than {} characters", kLongest));
    for (const std::string_view part : split(text, ';')) {
      if (part.empty()) continue;
      if (auto ok = read_part(part); !ok) {
        return io::refuse(fmt::format("in \"{}\": {}", part, ok.error().message));
      }
    }
    if (settings_.windows.empty()) return io::refuse(fmt::format("must have days and times such as {}", kExample));
    return settings_;
  }

 private:
  using Read = io::Result<bool>;

  Read read_part(std::string_view part) {
    const std::vector<std::string> words = words_of(part);
    if (std::ranges::equal(words.front(), kExcept, {}, io::lower)) return read_dates(part.substr(kExcept.size()));
    const bool has_times = words.size() > 1 && words[1].find(':') != std::string::npos;
    if (words.size() == 1 && words.front().find(':') == std::string::npos) return read_zone(words.front());
    if (!has_times || words.size() > 3) return io::refuse(fmt::format("must be days and times such as {}", kExample));
    if (auto ok = read_hours(words[0], words[1]); !ok || words.size() == 2) return ok;
    return read_zone(words[2]);
  }

  Read read_dates(std::string_view dates) {
    for (const std::string_view date : split(dates, ',')) {
      const auto exclusion = parse_exclusion(date);
      if (!exclusion) return io::refuse(fmt::format("a date {}", exclusion.error().message));
      settings_.exclude.push_back(*exclusion);
    }
    return true;
  }

  Read read_hours(std::string_view days, std::string_view times) {
    const auto weekdays = parse_days(days);
    if (!weekdays) return tl::make_unexpected(weekdays.error());
    const size_t dash = times.find('-');
    if (dash == std::string_view::npos) {
      return io::refuse(fmt::format("\"{}\" must be two times such as 22:00-6:00", times));
    }
    const auto hours = parse_hours(times.substr(0, dash), times.substr(dash + 1), *weekdays, HoursForm::listed);
    if (!hours) return io::refuse(fmt::format("the {} {}", hours.error().key, hours.error().message));
    settings_.windows.push_back(*hours);
    return true;
  }

  Read read_zone(std::string_view name) {
    if (has_zone_) return io::refuse("there must be one time zone for all of it");
    const auto zone = Zone::find(name);
    if (!zone) return io::refuse(fmt::format("the last word {}", zone.error().message));
    settings_.zone = *zone;
    has_zone_ = true;
    return true;
  }

  TimeWindowSettings settings_;
  bool has_zone_ = false;
};

}  // namespace

io::Result<TimeWindowSettings> parse_window_text(std::string_view text) { return TextReader().read(text); }

}  // namespace careen::windows
