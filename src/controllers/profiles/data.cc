#include "controllers/profiles/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "io/ascii.h"

namespace careen::profiles {

namespace {

namespace json = boost::json;

constexpr std::size_t kDeepestJson = 64;

bool is(std::string_view field, std::string_view name) {
  return std::equal(field.begin(), field.end(), name.begin(), name.end(),
                    [](char a, char b) { return io::lower(a) == io::lower(b); });
}

std::string_view view(const json::string& text) { return {text.data(), text.size()}; }

std::string shortened(std::string_view text) {
  constexpr std::size_t kShown = 60;
  if (text.size() <= kShown) return std::string{text};
  std::size_t end = kShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return fmt::format("{}…", text.substr(0, end));
}

tl::unexpected<io::Error> wrong(std::string_view where, std::string_view what) {
  return io::fail(io::ErrorKind::invalid, fmt::format("{} {}", where, what));
}

tl::unexpected<io::Error> too_long() { return wrong("it", fmt::format("is longer than {} bytes", kMostDataBytes)); }

// null leaves a field at its zero value, as for every writer of this annotation.
io::Result<io::Wall> read_time(const json::value& value, const std::string& where) {
  if (value.is_null()) return kZeroTime;
  if (!value.is_string()) return wrong(where, "is not a time");
  const auto time = io::parse_rfc3339(view(value.get_string()));
  if (!time) return wrong(where, fmt::format("is not an RFC 3339 time: \"{}\"", shortened(view(value.get_string()))));
  return *time;
}

io::Result<RecordedState> read_state(const json::value& value, const std::string& where) {
  if (value.is_null()) return RecordedState::from_text("");
  if (!value.is_string()) return wrong(where, "is not a state name");
  return RecordedState::from_text(view(value.get_string()));
}

// Calls read(key, value) for each member of an object; null has none.
template <class Read>
io::Result<void> for_each_member(const json::value& value, const std::string& where, Read read) {
  if (value.is_null()) return {};
  if (!value.is_object()) return wrong(where, "is not an object");
  for (const auto& member : value.get_object()) {
    const std::string_view key{member.key().data(), member.key().size()};
    if (auto done = read(key, member.value()); !done) return done;
  }
  return {};
}

template <class Target, class Reader>
io::Result<void> assign(Target& target, Reader reader, const json::value& value, const std::string& where) {
  auto result = reader(value, where);
  if (!result) return tl::make_unexpected(std::move(result.error()));
  target = std::move(*result);
  return {};
}

io::Result<ProfileData> read_profile(const json::value& value, const std::string& where) {
  ProfileData profile;
  profile.current = profile.previous = RecordedState::from_text("");
  auto done = for_each_member(value, where, [&](std::string_view key, const json::value& field) -> io::Result<void> {
    if (is(key, "Transition")) return assign(profile.transition, read_time, field, where + ".Transition");
    if (is(key, "Current")) return assign(profile.current, read_state, field, where + ".Current");
    if (is(key, "Previous")) return assign(profile.previous, read_state, field, where + ".Previous");
    return {};
  });
  if (!done) return tl::make_unexpected(std::move(done.error()));
  return profile;
}

using States = std::map<std::string, RecordedState, std::less<>>;
using Times = std::map<std::string, io::Wall, std::less<>>;

template <class Map, class Reader>
io::Result<void> read_map(Map& map, Reader reader, const json::value& value, const std::string& where) {
  return for_each_member(value, where, [&](std::string_view key, const json::value& member) {
    return assign(map[std::string{key}], reader, member, fmt::format("{}.{}", where, shortened(key)));
  });
}

// The layout of v1.0 and v1.1: one time for the node, states in maps of their own.
struct FirstLayout {
  io::Wall last_transition = kZeroTime;
  Times last_notification_times;
  States profile_states;
  States previous_states;
};

void migrate(FirstLayout&& old, NodeData& data) {
  for (auto& [name, current] : old.profile_states) {
    const auto previous = old.previous_states.find(name);
    data.profiles.try_emplace(name, ProfileData{old.last_transition, current,
                                                previous == old.previous_states.end() ? current : previous->second});
  }
  data.notifications.merge(old.last_notification_times);
}

io::Result<void> read_profiles(NodeData& data, const json::value& value) {
  return for_each_member(value, "Profiles", [&](std::string_view key, const json::value& member) -> io::Result<void> {
    // A profile that is null has no data; it starts over like one that is absent.
    if (member.is_null()) return {};
    return assign(data.profiles[std::string{key}], read_profile, member, fmt::format("Profiles.{}", shortened(key)));
  });
}

// Escapes as Go's encoding/json does, which wrote the annotations that are out there.
void append_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    switch (c) {
      case '"':
        out += "\\\"";
        continue;
      case '\\':
        out += "\\\\";
        continue;
      case '\b':
        out += "\\b";
        continue;
      case '\f':
        out += "\\f";
        continue;
      case '\n':
        out += "\\n";
        continue;
      case '\r':
        out += "\\r";
        continue;
      case '\t':
        out += "\\t";
        continue;
      default:
        break;
    }
    if (c < 0x20 || c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", c);
    } else if (text.substr(i, 3) == "\u2028" || text.substr(i, 3) == "\u2029") {
      out += text[i + 2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += text[i];
    }
  }
  out += '"';
}

// The one layout that careen writes, taken apart piece by piece.
class WrittenData {
 public:
  explicit WrittenData(std::string_view text) : rest_(text) {}

  std::optional<NodeData> read() {
    NodeData data;
    const bool read = literal(R"({"Profiles":{)") && members(data.profiles, [&](auto& p) { return profile(p); }) &&
                      literal(R"(,"Notifications":{)") &&
                      members(data.notifications, [&](auto& t) { return time(t); }) && literal("}") && rest_.empty();
    if (!read) return std::nullopt;
    return data;
  }

 private:
  bool literal(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  // A string without anything that would be escaped.
  std::optional<std::string_view> string() {
    if (!literal("\"")) return std::nullopt;
    size_t end = 0;
    while (end < rest_.size() && plain(rest_[end])) ++end;
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (!literal("\"")) return std::nullopt;
    return text;
  }
  static bool plain(char c) {
    return c >= 0x20 && c < 0x7F && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
  }
  // Up to the closing brace; keys in order, once each.
  template <class Map, class Read>
  bool members(Map& map, Read read) {
    if (literal("}")) return true;
    do {
      const auto key = string();
      if (!key || !literal(":")) return false;
      if (!map.empty() && !(map.rbegin()->first < *key)) return false;
      const auto entry = map.emplace_hint(map.end(), std::string(*key), typename Map::mapped_type{});
      if (!read(entry->second)) return false;
    } while (literal(","));
    return literal("}");
  }
  bool profile(ProfileData& profile) {
    return literal(R"({"Transition":)") && time(profile.transition) && literal(R"(,"Current":)") &&
           state(profile.current) && literal(R"(,"Previous":)") && state(profile.previous) && literal("}");
  }
  bool state(RecordedState& state) {
    const auto text = string();
    if (text) state = RecordedState::from_text(*text);
    return text.has_value();
  }
  bool time(io::Wall& time) {
    const auto text = string();
    const auto read = text ? io::parse_rfc3339(*text) : std::nullopt;
    if (!read || !as_formatted(*text)) return false;
    time = *read;
    return true;
  }
  // Of the many ways to write a time, the one that careen uses.
  static bool as_formatted(std::string_view text) {
    if (text == "0001-01-01T00:00:00Z") return true;
    // In years that nanoseconds since 1970 can tell.
    if (text < "1970" || text > "2200" || text[10] != 'T' || text.back() != 'Z') return false;
    if (text.substr(11, 2) > "23" || text.substr(17, 2) > "59") return false;
    return text.size() == 20 || (text[19] == '.' && text.size() <= 30 && text[text.size() - 2] != '0');
  }

  std::string_view rest_;
};

void append_member(std::string& out, bool first, std::string_view key) {
  if (!first) out += ',';
  append_string(out, key);
  out += ':';
}

}  // namespace

RecordedState RecordedState::from_text(std::string_view text) {
  RecordedState recorded;
  if (const auto state = parse_state(text)) {
    recorded.value_ = *state;
  } else {
    recorded.value_ = std::string{text};
  }
  return recorded;
}

std::optional<State> RecordedState::known() const {
  const State* state = std::get_if<State>(&value_);
  return state ? std::optional{*state} : std::nullopt;
}

std::string_view RecordedState::text() const {
  const State* state = std::get_if<State>(&value_);
  return state ? name_of(*state) : std::string_view{std::get<std::string>(value_)};
}

std::optional<NodeData> read_as_written(std::string_view annotation) {
  if (annotation.size() > kMostDataBytes) return std::nullopt;
  return WrittenData(annotation).read();
}

io::Result<NodeData> parse_node_data(std::string_view annotation) {
  if (annotation.size() > kMostDataBytes) return too_long();
  if (auto written = read_as_written(annotation)) return std::move(*written);
  if (annotation.find_first_not_of(" \t\r\n") == std::string_view::npos) return NodeData{};
  json::parse_options options;
  options.max_depth = kDeepestJson;
  json::parser parser({}, options);
  json::error_code error;
  parser.write_some(annotation.data(), annotation.size(), error);
  if (error) return io::fail(io::ErrorKind::invalid, fmt::format("not valid JSON: {}", error.message()));
  const json::value document = parser.release();

  NodeData data;
  FirstLayout old;
  auto done = for_each_member(
      document, "the document", [&](std::string_view key, const json::value& value) -> io::Result<void> {
        if (is(key, "Profiles")) return read_profiles(data, value);
        if (is(key, "Notifications")) return read_map(data.notifications, read_time, value, "Notifications");
        if (is(key, "LastTransition")) return assign(old.last_transition, read_time, value, "LastTransition");
        if (is(key, "LastNotificationTimes")) {
          return read_map(old.last_notification_times, read_time, value, "LastNotificationTimes");
        }
        if (is(key, "ProfileStates")) return read_map(old.profile_states, read_state, value, "ProfileStates");
        if (is(key, "PreviousStates")) return read_map(old.previous_states, read_state, value, "PreviousStates");
        return {};
      });
  if (!done) return tl::make_unexpected(std::move(done.error()));
  migrate(std::move(old), data);
  // As it would be written: what is read can be read again.
  if (format_node_data(data).size() > kMostDataBytes) return too_long();
  return data;
}

std::string format_node_data(const NodeData& data) {
  std::string out = R"({"Profiles":{)";
  bool first = true;
  for (const auto& [name, profile] : data.profiles) {
    append_member(out, first, name);
    first = false;
    out += fmt::format(R"({{"Transition":"{}","Current":)", io::format_rfc3339(profile.transition));
    append_string(out, profile.current.text());
    out += R"(,"Previous":)";
    append_string(out, profile.previous.text());
    out += '}';
  }
  out += R"(},"Notifications":{)";
  first = true;
  for (const auto& [name, time] : data.notifications) {
    append_member(out, first, name);
    first = false;
    out += fmt::format("\"{}\"", io::format_rfc3339(time));
  }
  out += "}}";
  return out;
}

}  // namespace careen::profiles
