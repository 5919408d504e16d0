// A Sender is one configured way for a finished text to reach people: a mail to these recipients, a post to that
// channel. It tries once; when to try again is the Courier's matter.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "io/task.h"
#include "io/time.h"
#include "notify/message.h"

namespace careen::io {
class HttpClient;
class Loop;
class MailClient;
}  // namespace careen::io

namespace careen::kube {
class Client;
}

namespace careen::notify {

class SlackThreads;

// Everything outside of the process that a send may touch, and what sends of one process share.
struct Outside {
  io::Loop& loop;
  io::HttpClient& http;
  io::MailClient& mail;
  kube::Client& kube;
  SlackThreads& slack_threads;
  std::string slack_api = "https://slack.com/api";
};

struct SendError {
  enum class Blame {
    endpoint,  // it is down or wants a pause: whatever else goes there would fail too
    message,   // this message, or how its sender is configured, is refused; others may well get through
  };
  Blame blame = Blame::endpoint;
  std::string text;  // for people; holds no secret
  std::optional<io::Duration> retry_after;
};

using Sent = tl::expected<void, SendError>;

class Sender {
 public:
  Sender() = default;
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  virtual ~Sender() = default;

  // One try, of bounded duration. The sender has to outlive it.
  virtual io::Task<Sent> send(Message message, Outside& outside) const = 0;
  // What it talks to, for people and for telling whose troubles go together; holds no secret.
  virtual std::string_view endpoint() const = 0;
};

}  // namespace careen::notify
