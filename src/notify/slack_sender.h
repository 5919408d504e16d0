// Posts a message to a Slack channel through an incoming webhook.
#pragma once

#include <memory>
#include <string>

#include "notify/sender.h"

namespace careen::notify {

struct SlackSettings {
  std::string hook;  // a URL; whoever knows it may post
  std::string channel;
};

std::unique_ptr<Sender> make_slack_sender(SlackSettings settings);

}  // namespace careen::notify
