#include "plan/assumptions.h"

#include <fmt/format.h>

namespace careen::plan {

namespace {

io::Result<io::Duration> read_duration(std::string_view text) {
  const auto duration = io::parse_duration(text);
  if (!duration || *duration < io::Duration{0})
    return io::refuse(fmt::format("\"{}\" is no duration such as 20m", text));
  return *duration;
}

io::Result<bool> add_check(Assumptions& assumptions, std::string_view text) {
  const size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? "" : text.substr(equals + 1);
  if (name.empty() || (value != "true" && value != "false")) {
    return io::refuse(fmt::format("\"check {}\" must be: check NAME=true or check NAME=false", text));
  }
  assumptions.checks[std::string(name)] = value == "true";
  return true;
}

}  // namespace

std::string Approvals::text() const {
  switch (kind) {
    case Kind::given:
      return "given";
    case Kind::none:
      return "none";
    case Kind::after:
      break;
  }
  return "after=" + io::format_duration(after);
}

io::Result<Approvals> parse_approvals(std::string_view text) {
  if (text == "given") return Approvals{};
  if (text == "none") return Approvals{Approvals::Kind::none, {}};
  if (!text.starts_with("after=")) {
    return io::refuse(fmt::format("\"{}\" must be given, none, or after= with a duration: after=30m", text));
  }
  const auto after = read_duration(text.substr(6));
  if (!after) return tl::make_unexpected(after.error());
  return Approvals{Approvals::Kind::after, *after};
}

bool matches_glob(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0;
  // Where the last star stands, and how much of the text it has taken.
  size_t star = std::string_view::npos, taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*') {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

io::Duration Assumptions::maintenance_of(std::string_view profile, std::string_view node) const {
  for (auto one = overrides.rbegin(); one != overrides.rend(); ++one) {
    if (one->maintenance && matches_glob(one->profile, profile) && matches_glob(one->node, node)) {
      return *one->maintenance;
    }
  }
  if (maintenance) return *maintenance;
  const auto known = learned.find(std::string(profile));
  return known == learned.end() ? kMaintenance : known->second;
}

Approvals Assumptions::approvals_of(std::string_view profile, std::string_view node) const {
  for (auto one = overrides.rbegin(); one != overrides.rend(); ++one) {
    if (one->approvals && matches_glob(one->profile, profile) && matches_glob(one->node, node)) return *one->approvals;
  }
  return approvals;
}

io::Result<bool> add_assumption(Assumptions& assumptions, std::string_view text) {
  if (text.starts_with("check ")) return add_check(assumptions, text.substr(6));
  const size_t colon = text.rfind(':');
  const size_t equals = colon == std::string_view::npos ? colon : text.find('=', colon);
  if (equals == std::string_view::npos) {
    return io::refuse(fmt::format(
        "\"{}\" must be PROFILE[/NODE]:KEY=VALUE, such as os-update/rack-1-*:maintenance=45m, or check NAME=true",
        text));
  }
  Override one;
  const std::string_view whom = text.substr(0, colon);
  const size_t slash = whom.find('/');
  one.profile = whom.substr(0, slash);
  if (slash != std::string_view::npos) one.node = whom.substr(slash + 1);
  if (one.profile.empty() || one.node.empty()) {
    return io::refuse(
        fmt::format("\"{}\": the profile and the node before the colon must not be empty; * is any", text));
  }
  const std::string_view key = text.substr(colon + 1, equals - colon - 1), value = text.substr(equals + 1);
  if (key == "maintenance") {
    const auto duration = read_duration(value);
    if (!duration) return tl::make_unexpected(duration.error());
    one.maintenance = *duration;
  } else if (key == "approvals") {
    const auto approvals = parse_approvals(value);
    if (!approvals) return tl::make_unexpected(approvals.error());
    one.approvals = *approvals;
  } else {
    return io::refuse(fmt::format("\"{}\": \"{}\" can not be assumed; there are maintenance and approvals", text, key));
  }
  assumptions.overrides.push_back(std::move(one));
  return true;
}

}  // namespace careen::plan
