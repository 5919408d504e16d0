// Sends a message as a mail to fixed recipients.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "notify/sender.h"

namespace careen::notify {

struct MailSettings {
  bool auth = false;    // log in with AUTH PLAIN
  std::string address;  // host:port of the server
  std::string from;
  std::vector<std::string> to;
  std::string subject;
  std::string identity;
  std::string user;
  std::string password;
};

std::unique_ptr<Sender> make_mail_sender(MailSettings settings);

}  // namespace careen::notify
