#include "controllers/profiles/plugins/notify_message.h"
#include "controllers/profiles/plugins/plugins.h"
#include "notify/slack_post.h"
#include "notify/slack_sender.h"

namespace careen::profiles {

namespace {
std::unique_ptr<Notify> make_slack_notify(config::ConfigReader& config) {
  notify::SlackSettings settings;
  settings.hook = config.string("hook", config::Required::yes);
  settings.channel = config.string("channel", config::Required::yes);
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
           {.name = "message", .type = config::KeyType::message, .text = "Go template of the text", .required = true},
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
