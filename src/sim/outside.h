// The world outside of the cluster as careen meets it: Slack, a mail server and Prometheus, in memory and in virtual
// time. Each can be out of order. What arrives is kept, so that a test can tell what people have been told and when.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/http.h"
#include "io/loop.h"
#include "io/mail.h"

namespace careen::sim {

class Outside {
 public:
  enum class Mood {
    fine,
    refuses,       // answers with an error
    hangs,         // does not answer at all
    loses_answer,  // does what it is asked and does not answer
  };
  struct Message {
    io::Wall at{};
    std::string way;  // mail, slack or slackThread
    std::string to;   // recipients or channel
    std::string text;
    std::string thread;  // of a reply: which message it replies to
    std::string id;      // of a message in a thread, its own
  };

  // The loop only tells the time at which something arrives.
  explicit Outside(io::Loop& clock) : clock_(clock) {}

  // How a process reaches it. The client must not outlive this object.
  std::unique_ptr<io::HttpClient> connect(io::Loop& loop);
  std::unique_ptr<io::MailClient> connect_mail(io::Loop& loop);

  Mood slack = Mood::fine;
  Mood mail = Mood::fine;
  Mood prometheus = Mood::fine;
  io::Duration latency = io::milliseconds{20};
  // What queries yield; others yield nothing.
  std::map<std::string, double, std::less<>> values;

  const std::vector<Message>& messages() const { return messages_; }
  // Queries that were answered, by their text.
  const std::map<std::string, int, std::less<>>& queries() const { return queries_; }
  // Every query that reached Prometheus, answered or not, in order.
  const std::vector<std::string>& asked() const { return asked_; }
  // Called for each message that arrives, and for each query.
  std::function<void(const Message&)> on_message;
  std::function<void()> on_query;

 private:
  class Http;
  class Post;
  Mood mood_for(const io::HttpRequest& request) const;
  void note_query(const io::HttpRequest& request);
  io::HttpResponse answer(const io::HttpRequest& request, Mood mood);
  io::HttpResponse answer_hook(const io::HttpRequest& request);
  io::HttpResponse answer_slack(const io::HttpRequest& request);
  io::HttpResponse answer_query(const io::HttpRequest& request);
  void arrived(Message message);

  io::Loop& clock_;
  std::vector<Message> messages_;
  std::map<std::string, int, std::less<>> queries_;
  std::vector<std::string> asked_;
};

}  // namespace careen::sim
