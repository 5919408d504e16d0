// Posts messages as replies in a Slack thread that lives for a period. A Lease names the thread, so that all nodes,
// profiles and processes that use the same Lease write into the same one.
#pragma once

#include <memory>
#include <string>

#include "io/time.h"
#include "notify/sender.h"

namespace careen::notify {

struct SlackThreadSettings {
  std::string token;
  std::string channel;
  std::string lease_name;
  std::string lease_namespace;
  io::Duration period{};  // from the title on
};

std::unique_ptr<Sender> make_slack_thread_sender(SlackThreadSettings settings);

}  // namespace careen::notify
