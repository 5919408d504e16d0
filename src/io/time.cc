#include "io/time.h"

#include <fmt/format.h>

#include <limits>

#include "io/whole_seconds.h"

namespace careen::io {

namespace {

struct CivilTime {
  std::chrono::year_month_day date;
  std::chrono::hh_mm_ss<Duration> clock;
};

// The first day that nanoseconds can tell of began before them: days are counted in seconds.
CivilTime civil(Wall t) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t count = t.time_since_epoch().count();
  const int64_t nanos = (count % kSecond + kSecond) % kSecond;
  const std::chrono::sys_seconds whole{std::chrono::seconds{count / kSecond - (count % kSecond < 0 ? 1 : 0)}};
  const auto day = std::chrono::floor<std::chrono::days>(whole);
  return {std::chrono::year_month_day{day}, std::chrono::hh_mm_ss<Duration>{Duration{whole - day} + Duration{nanos}}};
}

// The number in two digits.
void put_two(char* at, int64_t number) {
  at[0] = static_cast<char>('0' + number / 10);
  at[1] = static_cast<char>('0' + number % 10);
}

// By hand: the model writes more times than anything else. Years have four digits.
std::string format_seconds(const CivilTime& c) {
  std::string out = "0000-00-00T00:00:00";
  const int year = static_cast<int>(c.date.year());
  put_two(&out[0], year / 100);
  put_two(&out[2], year % 100);
  put_two(&out[5], static_cast<unsigned>(c.date.month()));
  put_two(&out[8], static_cast<unsigned>(c.date.day()));
  put_two(&out[11], c.clock.hours().count());
  put_two(&out[14], c.clock.minutes().count());
  put_two(&out[17], c.clock.seconds().count());
  return out;
}

bool digits(std::string_view& text, size_t count, int& out) {
  if (text.size() < count) return false;
  out = 0;
  for (size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    out = out * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return true;
}

bool literal(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

Wall add(Wall t, Duration d) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(t.time_since_epoch().count(), d.count(), &sum)) return Wall{Duration{sum}};
  return d.count() < 0 ? Wall::min() : Wall::max();
}

std::string format_rfc3339(Wall t) {
  if (t == Wall::min()) return "0001-01-01T00:00:00Z";
  const CivilTime c = civil(t);
  std::string out = format_seconds(c);
  if (const auto nanos = c.clock.subseconds().count(); nanos != 0) {
    out += fmt::format(".{:09}", nanos);
    out.erase(out.find_last_not_of('0') + 1);
  }
  out += 'Z';
  return out;
}

std::string format_whole_seconds(Wall t) { return format_rfc3339(whole_seconds(t)); }

std::string format_micro_time(Wall t) {
  if (t == Wall::min()) return "0001-01-01T00:00:00.000000Z";
  const CivilTime c = civil(t);
  return fmt::format("{}.{:06}Z", format_seconds(c), c.clock.subseconds().count() / 1000);
}

std::optional<Wall> parse_rfc3339(std::string_view text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!digits(text, 4, year) || !literal(text, '-') || !digits(text, 2, month) || !literal(text, '-') ||
      !digits(text, 2, day)) {
    return std::nullopt;
  }
  if (!literal(text, 'T') && !literal(text, 't')) return std::nullopt;
  if (!digits(text, 2, hour) || !literal(text, ':') || !digits(text, 2, minute) || !literal(text, ':') ||
      !digits(text, 2, second)) {
    return std::nullopt;
  }
  int64_t nanos = 0;
  if (literal(text, '.') || literal(text, ',')) {
    int64_t scale = 100'000'000;
    if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
    while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
      nanos += scale * (text.front() - '0');
      scale /= 10;
      text.remove_prefix(1);
    }
  }
  int offset = 0;
  if (!literal(text, 'Z') && !literal(text, 'z')) {
    const int sign = text.empty() ? 0 : text.front() == '+' ? 1 : text.front() == '-' ? -1 : 0;
    int h = 0, m = 0;
    if (sign == 0) return std::nullopt;
    text.remove_prefix(1);
    if (!digits(text, 2, h) || !literal(text, ':') || !digits(text, 2, m) || h > 24 || m > 59) return std::nullopt;
    offset = sign * (h * 60 + m);
  }
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!text.empty() || !date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const int64_t whole = std::chrono::sys_days{date}.time_since_epoch().count() * 86400LL + hour * 3600 + minute * 60 +
                        second - offset * 60LL;
  constexpr int64_t kLimit = std::numeric_limits<int64_t>::max() / 1'000'000'000 - 1;
  if (whole < -kLimit) return Wall::min();
  if (whole > kLimit) return Wall::max();
  return Wall{Duration{whole * 1'000'000'000 + nanos}};
}

std::optional<Duration> parse_duration(std::string_view text) {
  constexpr unsigned __int128 kMax = static_cast<unsigned __int128>(std::numeric_limits<int64_t>::max());
  bool negative = false;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  if (text == "0") return Duration{0};
  if (text.empty()) return std::nullopt;
  unsigned __int128 total = 0;
  while (!text.empty()) {
    unsigned __int128 whole = 0, fraction = 0, scale = 1;
    bool any = false;
    auto is_digit = [&] { return !text.empty() && text.front() >= '0' && text.front() <= '9'; };
    for (; is_digit(); text.remove_prefix(1), any = true) {
      whole = whole * 10 + static_cast<unsigned>(text.front() - '0');
      if (whole > kMax) return std::nullopt;
    }
    if (literal(text, '.')) {
      for (; is_digit(); text.remove_prefix(1), any = true) {
        // Digits beyond a nanosecond's reach are read and do not count.
        if (scale > 1'000'000'000'000'000ULL) continue;
        fraction = fraction * 10 + static_cast<unsigned>(text.front() - '0');
        scale *= 10;
      }
    }
    if (!any) return std::nullopt;
    size_t unit_length = 0;
    while (unit_length < text.size() && text[unit_length] != '.' &&
           (text[unit_length] < '0' || text[unit_length] > '9')) {
      ++unit_length;
    }
    const std::string_view unit = text.substr(0, unit_length);
    text.remove_prefix(unit_length);
    unsigned __int128 nanos = 0;
    if (unit == "ns") {
      nanos = 1;
    } else if (unit == "us" || unit == "µs" || unit == "μs") {
      nanos = 1'000;
    } else if (unit == "ms") {
      nanos = 1'000'000;
    } else if (unit == "s") {
      nanos = 1'000'000'000;
    } else if (unit == "m") {
      nanos = 60'000'000'000;
    } else if (unit == "h") {
      nanos = 3'600'000'000'000;
    } else {
      return std::nullopt;
    }
    total += whole * nanos + fraction * nanos / scale;
    if (total > kMax) return std::nullopt;
  }
  const auto value = static_cast<int64_t>(total);
  return Duration{negative ? -value : value};
}

namespace {
// A number of parts, of which `scale` are one: 1500000 at a million is 1.5.
std::string decimal(uint64_t parts, uint64_t scale) {
  std::string out = std::to_string(parts / scale);
  if (parts % scale == 0) return out;
  std::string fraction = std::to_string(scale + parts % scale);
  fraction[0] = '.';
  return out + fraction.substr(0, fraction.find_last_not_of('0') + 1);
}
}  // namespace

std::string format_duration(Duration d) {
  if (d.count() == 0) return "0s";
  std::string out;
  auto rest = static_cast<uint64_t>(d.count());
  if (d.count() < 0) {
    out = "-";
    rest = ~rest + 1;
  }
  if (rest < 1'000'000'000) {
    const auto [scale, unit] = rest < 1'000       ? std::pair{1, "ns"}
                               : rest < 1'000'000 ? std::pair{1'000, "us"}
                                                  : std::pair{1'000'000, "ms"};
    return out + decimal(rest, static_cast<uint64_t>(scale)) + unit;
  }
  const uint64_t h = rest / 3'600'000'000'000, m = rest / 60'000'000'000 % 60;
  const uint64_t nanos = rest % 60'000'000'000;
  if (h > 0) out += fmt::format("{}h", h);
  if (m > 0) out += fmt::format("{}m", m);
  if (nanos > 0) out += decimal(nanos, 1'000'000'000) + "s";
  return out;
}

}  // namespace careen::io
