#include "windows/zone.h"

#include <date/tz.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <vector>

#include "io/ascii.h"

namespace careen::windows {

namespace {

// What is compared: in lower case, with the underscores of the names of zones for blanks.
std::string comparable(std::string_view text) {
  std::string out{text};
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return c == ' ' ? '_' : io::lower(c); });
  return out;
}

// One character too many, too few or wrong, or two neighbours swapped.
bool one_slip_apart(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > 1) return false;
  const auto differs = std::mismatch(a.begin(), a.end(), b.begin());
  const std::string_view rest_a{differs.first, a.end()}, rest_b{differs.second, b.end()};
  if (a.size() != b.size()) return rest_a == rest_b.substr(1);
  if (rest_a.empty() || rest_a.substr(1) == rest_b.substr(1)) return true;
  return rest_a[0] == rest_b[1] && rest_a[1] == rest_b[0] && rest_a.substr(2) == rest_b.substr(2);
}

// People write another case, blanks, the city alone, or slip.
std::string suggestion(std::string_view name, const std::vector<date::time_zone>& zones) {
  const std::string wanted = comparable(name);
  const auto with = [&](auto like) -> std::string {
    const auto found = std::find_if(zones.begin(), zones.end(),
                                    [&](const date::time_zone& zone) { return like(comparable(zone.name())); });
    return found == zones.end() ? std::string{} : fmt::format("; did you mean {}?", found->name());
  };
  if (wanted.empty()) return {};
  if (std::string same = with([&](const std::string& zone) { return zone == wanted; }); !same.empty()) return same;
  if (std::string city = with([&](const std::string& zone) { return zone.ends_with("/" + wanted); }); !city.empty()) {
    return city;
  }
  return with([&](const std::string& zone) { return one_slip_apart(zone, wanted); });
}

// tzdata speaks of times far beyond what nanoseconds can count.
io::Wall saturated(date::sys_seconds t) {
  constexpr std::int64_t kLastSecond = std::numeric_limits<std::int64_t>::max() / 1'000'000'000;
  const std::int64_t seconds = t.time_since_epoch().count();
  if (seconds > kLastSecond) return io::Wall::max();
  if (seconds < -kLastSecond) return io::Wall::min();
  return io::Wall{t};
}

}  // namespace

io::Result<Zone> Zone::find(std::string_view name) {
  if (name == "UTC") return Zone{};
  try {
    const std::vector<date::time_zone>& zones = date::get_tzdb().zones;
    const auto zone =
        std::find_if(zones.begin(), zones.end(), [&](const date::time_zone& known) { return known.name() == name; });
    if (zone == zones.end()) {
      return io::fail(io::ErrorKind::invalid, fmt::format("must be a time zone such as Europe/Berlin, not \"{}\"{}",
                                                          name, suggestion(name, zones)));
    }
    // The zone's file is read at the first question. A broken one shall be found here and not later.
    zone->get_info(date::sys_seconds{});
    return Zone{&*zone};
  } catch (const std::exception& error) {
    return io::fail(io::ErrorKind::file,
                    fmt::format("must be a time zone, but the machine's tzdata cannot be read: {}", error.what()));
  }
}

const std::string& Zone::name() const {
  static const std::string kUtc = "UTC";
  return zone_ == nullptr ? kUtc : zone_->name();
}

Zone::Span Zone::span(io::Wall t) const {
  if (zone_ == nullptr) return {io::Wall::min(), io::Wall::max(), io::Duration{0}, name()};
  // Rounded down by hand: std::chrono::floor overflows in the first second that nanoseconds can count.
  const std::int64_t nanos = t.time_since_epoch().count();
  const date::sys_seconds second{std::chrono::seconds{nanos / 1'000'000'000 - (nanos % 1'000'000'000 < 0 ? 1 : 0)}};
  const date::sys_info info = zone_->get_info(second);
  return {saturated(info.begin), saturated(info.end), info.offset, info.abbrev};
}

}  // namespace careen::windows
