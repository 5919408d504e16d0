#include "controllers/nodemaintenance/drain_spec.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace careen::nodemaintenance {

using kube::JsonView;

namespace {

constexpr int64_t kLongest = std::numeric_limits<int32_t>::max();

io::Error mistake(std::string_view field, const std::string& what) {
  return {io::ErrorKind::invalid, fmt::format("spec.drain.{}: {}", field, what)};
}

std::optional<io::Error> read_selectors(JsonView spec, const char* field, std::vector<kube::LabelSelector>& into) {
  const JsonView list = spec[field];
  if (!list || list.is_null()) return std::nullopt;
  if (!list.is_array()) return mistake(field, "must be a list of label selectors such as app=web,tier!=cache");
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string place = fmt::format("{}[{}]", field, i);
    const auto text = list[i].text();
    if (!text) return mistake(place, "must be a label selector such as app=web,tier!=cache");
    auto selector = kube::LabelSelector::parse(*text);
    if (!selector) return mistake(place, selector.error().message);
    // One slip of the keyboard would concern every pod.
    if (selector->empty()) return mistake(place, "an empty selector matches every pod; leave it out or name a label");
    into.push_back(std::move(*selector));
  }
  return std::nullopt;
}

// Without a value `into` stays as it is.
std::optional<io::Error> read_seconds(JsonView spec, const char* field, std::optional<int64_t>& into) {
  const JsonView value = spec[field];
  if (!value || value.is_null()) return std::nullopt;
  const auto number = value.integer();
  if (!number || *number < 0 || *number > kLongest) {
    return mistake(field, fmt::format("must be a number of seconds, 0 or more; it is {}", value.dump()));
  }
  into = *number;
  return std::nullopt;
}

std::optional<io::Error> read_switch(JsonView spec, const char* field, bool& into) {
  const JsonView value = spec[field];
  if (!value || value.is_null()) return std::nullopt;
  if (!value.boolean()) return mistake(field, "must be true or false");
  into = *value.boolean();
  return std::nullopt;
}

drain::Options usual() {
  drain::Options options;
  options.force = true;
  options.ignore_daemon_sets = true;
  options.delete_emptydir_data = true;
  return options;
}

}  // namespace

io::Result<drain::Options> drain_options(JsonView spec) {
  drain::Options options = usual();
  if (!spec || spec.is_null()) return options;
  if (!spec.is_object()) return io::fail(io::ErrorKind::invalid, "spec.drain: must be an object");
  std::optional<int64_t> grace, delete_after, kill_after;
  if (auto error = read_selectors(spec, "skipPods", options.skip)) return tl::make_unexpected(*error);
  if (auto error = read_selectors(spec, "waitForPods", options.wait_for)) return tl::make_unexpected(*error);
  if (auto error = read_selectors(spec, "tiers", options.tiers)) return tl::make_unexpected(*error);
  if (auto error = read_seconds(spec, "gracePeriodSeconds", grace)) return tl::make_unexpected(*error);
  if (auto error = read_seconds(spec, "deleteAfterSeconds", delete_after)) return tl::make_unexpected(*error);
  if (auto error = read_seconds(spec, "killAfterSeconds", kill_after)) return tl::make_unexpected(*error);
  if (auto error = read_switch(spec, "byPriority", options.by_priority)) return tl::make_unexpected(*error);
  if (auto error = read_switch(spec, "chaseNewcomers", options.chase_newcomers)) return tl::make_unexpected(*error);
  if (grace) options.grace_seconds = *grace;
  if (delete_after) options.delete_after = io::seconds{*delete_after};
  if (kill_after) options.kill_after = io::seconds{*kill_after};
  return options;
}

}  // namespace careen::nodemaintenance
