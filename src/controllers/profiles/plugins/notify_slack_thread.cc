#include "controllers/profiles/plugins/notify_message.h"
#include "controllers/profiles/plugins/plugins.h"
#include "notify/slack_thread_sender.h"

namespace careen::profiles {

namespace {
std::unique_ptr<Notify> make_slack_thread_notify(config::ConfigReader& config) {
  notify::SlackThreadSettings settings;
  settings.token = config.string("token", config::Required::yes);
  settings.channel = config.string("channel", config::Required::yes);
  settings.lease_name = config.string("leaseName", config::Required::yes);
  settings.lease_namespace = config.string("leaseNamespace", config::Required::yes);
  settings.period = config.duration("period", config::Required::yes);
  return make_message_notify("slackThread", config, notify::make_slack_thread_sender(std::move(settings)), "title");
}
}  // namespace

Plugin<Notify> slack_thread_notify() {
  return {
      make_slack_thread_notify,
      {"slackThread",
       "Posts messages as replies in a Slack thread that all nodes share for a period",
       {
           {.name = "token", .text = "The bot's token", .required = true, .secret = true},
           {.name = "channel", .text = "The channel to post to", .required = true},
           {.name = "title",
            .type = config::KeyType::message,
            .text = "Go template of the message that opens a thread",
            .required = true},
           {.name = "message", .type = config::KeyType::message, .text = "Go template of the reply", .required = true},
           {.name = "leaseName", .text = "Name of the Lease that remembers the thread", .required = true},
           {.name = "leaseNamespace", .text = "Namespace of that Lease", .required = true},
           {.name = "period",
            .type = config::KeyType::duration,
            .text = "How long a thread is used, from its beginning",
            .required = true},
       },
       R"yaml(- name: tell_thread
  type: slackThread
  schedule:
    type: oneshot
    config:
      delay: 1m
  config:
    token: ${SLACK_TOKEN:unset}
    channel: "#maintenance"
    title: Maintenance of the cluster
    message: "{{ .Node.Name }} is now {{ .State }}"
    leaseName: maintenance-thread
    leaseNamespace: kube-system
    period: 8h
)yaml"}};
}

}  // namespace careen::profiles
