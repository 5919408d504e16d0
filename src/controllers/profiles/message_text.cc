#include "controllers/profiles/message_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/profiles/config.h"
#include "controllers/profiles/data.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/outbox.h"
#include "kube/node.h"
#include "templates/data.h"

namespace careen::profiles {

namespace {
// To at most that many bytes, and never in the middle of a character.
void shorten(std::string& text, size_t most) {
  if (text.size() <= most) return;
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  text += "…";
}
}  // namespace

const NotifyInstance* notification_of(const Config& config, const OutboxMessage& message) {
  const Profile* profile = config.find_profile(message.profile);
  if (!profile) return nullptr;
  for (const StateChains& chains : profile->states) {
    for (const int index : chains.notify) {
      const NotifyInstance& instance = config.notifies[static_cast<size_t>(index)];
      if (instance.name == message.instance) return &instance;
    }
  }
  return nullptr;
}

notify::Message render_message(const NotifyInstance& instance, const OutboxMessage& about, std::string_view node_name,
                               kube::JsonView node, const Config& config) {
  const std::string_view state = name_of(about.state.value_or(State::operational));
  templates::TemplateData values;
  values.state = state;
  values.profile = about.profile;
  values.last = about.last;
  values.last_transition = about.since;
  values.in_maintenance = about.in_maintenance;
  values.log_details = node["metadata"]["labels"][kLogDetailsLabel].text() == "true";
  values.node = node;
  notify::Message message;
  if (auto rendered = instance.notify->render(values)) {
    message = std::move(*rendered);
  } else {
    // People have to hear of the change, and of this failure too.
    message.title = fmt::format("{} is {}", node_name, state);
    message.text = fmt::format("{} is {} ({}). The template of notification {} cannot be rendered: {}", node_name,
                               state, about.profile, instance.name, config.redact(rendered.error().message));
  }
  shorten(message.title, kMostTitleBytes);
  shorten(message.text, kMostMessageBytes);
  return message;
}

io::Duration message_pace(const Config& config) {
  double each_second = 1.0 / 60;
  for (const NotifyInstance& instance : config.notifies) {
    if (instance.schedule.type != windows::ScheduleType::periodic) continue;
    each_second += 1 / std::max(1.0, io::to_seconds(instance.schedule.interval));
  }
  return std::chrono::round<io::Duration>(std::chrono::duration<double>(1 / each_second));
}

OutboxMessage completed(OutboxMessage found, const kube::Node& node, const Config& config) {
  if (!config.find_profile(found.last)) found.last = found.profile;
  if (found.state) return found;
  const std::string* text = node.annotation(kDataAnnotation);
  const auto data = parse_node_data(text ? std::string_view(*text) : std::string_view{});
  if (!data) return found;
  const auto profile = data->profiles.find(found.profile);
  if (profile == data->profiles.end()) return found;
  found.state = profile->second.current.known();
  found.since = profile->second.transition;
  found.in_maintenance = std::any_of(data->profiles.begin(), data->profiles.end(), [](const auto& entry) {
    return entry.second.current.known() == State::in_maintenance;
  });
  return found;
}

}  // namespace careen::profiles
