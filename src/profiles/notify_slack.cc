#include "notify/slack_post.h"
#include "notify/slack_sender.h"
#include "profiles/notify_message.h"
#include "profiles/plugins.h"

namespace careen::profiles {

namespace {
std::unique_ptr<Notify> make_slack_notify(ConfigReader& config) {
  notify::SlackSettings settings;
  settings.hook = config.string("hook", Required::yes);
  settings.channel = config.string("channel", Required::yes);
  return make_message_notify("slack", config, notify::make_slack_sender(std::move(settings)), {},
                             notify::without_mentions);
}
}  // namespace

Plugin<Notify> slack_notify() {
  return {
      make_slack_notify,
      {"slack",
       "Posts a message to a Slack channel through an incoming webhook",
       {
           {.name = "hook", .text = "The webhook's URL; whoever knows it may post", .required = true, .secret = true},
           {.name = "channel", .text = "The channel to post to", .required = true},
           {.name = "message", .type = KeyType::message, .text = "Go template of the text", .required = true},
       },
       R"yaml(- name: tell_slack
  type: slack
  schedule:
    type: periodic
    config:
      interval: 1h
  config:
    hook: ${SLACK_HOOK:https://hooks.slack.com/services/unset}
    channel: "#maintenance"
    message: "{{ .Node.Name }} is now {{ .State }} ({{ .Profile }})"
)yaml"}};
}

}  // namespace careen::profiles
