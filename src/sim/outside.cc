#include "sim/outside.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/query.h"
#include "kube/json.h"

namespace careen::sim {

using io::Task;
using kube::Json;

namespace {

bool is_query(const io::HttpRequest& request) { return request.url.ends_with("/api/v1/query"); }
bool is_slack_api(const io::HttpRequest& request) { return request.url.ends_with("/chat.postMessage"); }

io::HttpResponse respond(int status, std::string body) { return {status, {}, std::move(body)}; }
io::HttpResponse respond(const Json& body) { return respond(200, body.dump()); }

// For ever, as far as a client with a time-out can tell.
Task<void> no_answer(io::Loop& loop, io::Duration timeout) { co_await io::sleep_for(loop, timeout); }

}  // namespace

class Outside::Http final : public io::HttpClient {
 public:
  Http(Outside& outside, io::Loop& loop) : outside_(outside), loop_(loop) {}

  Task<io::Result<io::HttpResponse>> send(io::HttpRequest request) override {
    co_await io::sleep_for(loop_, outside_.latency);
    const Mood mood = outside_.mood_for(request);
    outside_.note_query(request);
    if (mood == Mood::loses_answer) outside_.answer(request, Mood::fine);
    if (mood == Mood::hangs || mood == Mood::loses_answer) {
      co_await no_answer(loop_, request.timeout);
      co_return io::fail(io::ErrorKind::timeout, "no answer within " + io::format_duration(request.timeout));
    }
    io::HttpResponse response = outside_.answer(request, mood);
    co_await io::sleep_for(loop_, outside_.latency);
    co_return response;
  }

  Task<io::Result<std::unique_ptr<io::HttpStream>>> open(io::HttpRequest) override {
    co_return io::fail(io::ErrorKind::invalid, "nothing out there streams");
  }

 private:
  Outside& outside_;
  io::Loop& loop_;
};

class Outside::Post final : public io::MailClient {
 public:
  Post(Outside& outside, io::Loop& loop) : outside_(outside), loop_(loop) {}

  Task<io::Result<void>> send(io::Mail letter) override {
    co_await io::sleep_for(loop_, outside_.latency);
    const Mood mood = outside_.mail;
    if (mood == Mood::refuses) {
      co_return io::fail(io::ErrorKind::protocol, fmt::format("{} refuses the mail: 451 try later", letter.server));
    }
    if (mood != Mood::hangs) {
      outside_.arrived({{}, "mail", fmt::format("{}", fmt::join(letter.to, ",")), letter.text, {}, {}});
    }
    if (mood != Mood::fine) {
      co_await no_answer(loop_, letter.timeout);
      co_return io::fail(io::ErrorKind::timeout, letter.server + " does not answer");
    }
    co_await io::sleep_for(loop_, outside_.latency);
    co_return io::Result<void>{};
  }

 private:
  Outside& outside_;
  io::Loop& loop_;
};

std::unique_ptr<io::HttpClient> Outside::connect(io::Loop& loop) { return std::make_unique<Http>(*this, loop); }
std::unique_ptr<io::MailClient> Outside::connect_mail(io::Loop& loop) { return std::make_unique<Post>(*this, loop); }

Outside::Mood Outside::mood_for(const io::HttpRequest& request) const { return is_query(request) ? prometheus : slack; }

void Outside::note_query(const io::HttpRequest& request) {
  if (!is_query(request)) return;
  asked_.emplace_back(io::Query(request.body)["query"]);
  if (on_query) on_query();
}

io::HttpResponse Outside::answer(const io::HttpRequest& request, Mood mood) {
  if (mood == Mood::refuses) return respond(503, "out of order");
  if (is_query(request)) return answer_query(request);
  return is_slack_api(request) ? answer_slack(request) : answer_hook(request);
}

io::HttpResponse Outside::answer_hook(const io::HttpRequest& request) {
  const auto body = Json::parse(request.body);
  if (!body || !(*body)["text"].text() || !(*body)["channel"].text()) return respond(400, "invalid_payload");
  arrived({{}, "slack", std::string(*(*body)["channel"].text()), std::string(*(*body)["text"].text()), {}, {}});
  return respond(200, "ok");
}

io::HttpResponse Outside::answer_slack(const io::HttpRequest& request) {
  const io::Query form(request.body);
  if (form["token"].empty()) return respond(Json::object({{"ok", false}, {"error", "not_authed"}}));
  Message message{{},
                  "slackThread",
                  std::string(form["channel"]),
                  std::string(form["text"]),
                  std::string(form["thread_ts"]),
                  fmt::format("1500.{:06}", messages_.size() + 1)};
  Json answer = Json::object({{"ok", true}, {"ts", message.id}});
  arrived(std::move(message));
  return respond(answer);
}

io::HttpResponse Outside::answer_query(const io::HttpRequest& request) {
  const io::Query form(request.body);
  const std::string query(form["query"]);
  ++queries_[query];
  Json result = Json::array();
  if (const auto value = values.find(query); value != values.end()) {
    Json sample = Json::array();
    sample.push_back(io::to_seconds(clock_.wall_now().time_since_epoch())).push_back(fmt::format("{}", value->second));
    result.push_back(Json::object({{"metric", Json::object()}, {"value", std::move(sample)}}));
  }
  return respond(Json::object(
      {{"status", "success"}, {"data", Json::object({{"resultType", "vector"}, {"result", std::move(result)}})}}));
}

void Outside::arrived(Message message) {
  message.at = clock_.wall_now();
  messages_.push_back(std::move(message));
  if (on_message) on_message(messages_.back());
}

}  // namespace careen::sim
