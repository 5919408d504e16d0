// A Transport for tests: answers from a queue or a handler, streams that the test feeds, and a record of every
// request. Time passes only through the Loop, so it works in virtual time.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/loop.h"
#include "io/sync.h"
#include "kube/transport.h"

namespace careen::kube {

// The test's end of a stream.
class StreamFeed {
 public:
  explicit StreamFeed(io::Loop& loop) : changed_(loop) {}

  void push(std::string_view text) {
    text_ += text;
    changed_.notify();
  }
  // The regular end, after what was pushed.
  void close() {
    closed_ = true;
    changed_.notify();
  }
  // The connection breaks, after what was pushed.
  void fail(io::Error error) {
    error_ = std::move(error);
    changed_.notify();
  }
  // Somebody still holds the other end.
  bool open() const { return open_; }
  Request request;  // that opened it

 private:
  friend class ScriptedStream;
  io::Signal changed_;
  std::string text_;
  bool closed_ = false;
  bool open_ = true;
  std::optional<io::Error> error_;
};

class ScriptedStream final : public Stream {
 public:
  explicit ScriptedStream(std::shared_ptr<StreamFeed> feed) : feed_(std::move(feed)) {}
  ~ScriptedStream() override { feed_->open_ = false; }

  io::Task<io::Result<bool>> read(std::string& into) override {
    for (;;) {
      if (!feed_->text_.empty()) {
        into += std::exchange(feed_->text_, {});
        co_return true;
      }
      if (feed_->error_) co_return tl::make_unexpected(*feed_->error_);
      if (feed_->closed_) co_return false;
      co_await feed_->changed_.wait();
    }
  }

 private:
  std::shared_ptr<StreamFeed> feed_;
};

class ScriptedTransport final : public Transport {
 public:
  using Handler = std::function<io::Task<io::Result<Response>>(Request)>;

  explicit ScriptedTransport(io::Loop& loop) : loop_(loop) {}

  // The next unanswered send gets this, after the delay. Queued answers go before the handler.
  void answer(int status, std::string body = {}, io::Duration delay = {}) {
    answer(Response{status, std::move(body), std::nullopt}, delay);
  }
  void answer(io::Result<Response> response, io::Duration delay = {}) {
    answers_.emplace_back(std::move(response), delay);
  }
  void fail(io::ErrorKind kind, std::string message = "scripted failure", io::Duration delay = {}) {
    answer(io::fail(kind, std::move(message)), delay);
  }
  // Answers what the queue does not. It may be a coroutine with captures: it lives until its last call has ended.
  void on_send(Handler handler) { handler_ = std::make_shared<Handler>(std::move(handler)); }

  // The next open fails so, or is answered by a status that is not 200. Without it every open succeeds.
  void refuse_open(io::Result<Response> response, io::Duration delay = {}) {
    refusals_.emplace_back(std::move(response), delay);
  }
  // Decides about each open that has no queued refusal: status 200 opens the stream.
  void on_open(Handler handler) { open_handler_ = std::make_shared<Handler>(std::move(handler)); }

  // Everything asked, in order, sends and opens.
  std::vector<Request> requests;
  // One for each stream opened, in order; it stays valid when the reader has gone.
  std::vector<std::shared_ptr<StreamFeed>> streams;
  // How many sends wait for their answer.
  int in_flight = 0;

  io::Task<io::Result<Response>> send(Request request) override {
    requests.push_back(request);
    const InFlight counted(in_flight);
    if (!answers_.empty()) {
      auto [response, delay] = std::move(answers_.front());
      answers_.pop_front();
      co_return co_await after(std::move(response), delay, request.timeout);
    }
    if (!handler_) {
      co_return io::fail(io::ErrorKind::invalid, "no scripted answer for " + request.method + " " + request.path);
    }
    co_return co_await ask(handler_, std::move(request));
  }

  io::Task<io::Result<StreamResponse>> open(Request request) override {
    requests.push_back(request);
    io::Result<Response> head = Response{200, {}, std::nullopt};
    if (!refusals_.empty()) {
      auto [response, delay] = std::move(refusals_.front());
      refusals_.pop_front();
      head = co_await after(std::move(response), delay, request.timeout);
    } else if (open_handler_) {
      head = co_await ask(open_handler_, request);
    }
    if (!head) co_return tl::make_unexpected(head.error());
    if (head->status != 200) co_return StreamResponse{std::move(*head), nullptr};
    auto feed = std::make_shared<StreamFeed>(loop_);
    feed->request = std::move(request);
    streams.push_back(feed);
    StreamResponse opened;
    opened.head.status = 200;
    opened.stream = std::make_unique<ScriptedStream>(std::move(feed));
    co_return opened;
  }

 private:
  struct InFlight {
    explicit InFlight(int& n) : count(n) { ++count; }
    ~InFlight() { --count; }
    int& count;
  };

  io::Task<io::Result<Response>> after(io::Result<Response> response, io::Duration delay, io::Duration timeout) {
    if (delay > timeout) {
      co_await io::sleep_for(loop_, timeout);
      co_return io::fail(io::ErrorKind::timeout, "no answer in time");
    }
    if (delay > io::Duration::zero()) co_await io::sleep_for(loop_, delay);
    co_return response;
  }

  // The handler is held by the frame, so replacing it does not pull it from under a running call.
  io::Task<io::Result<Response>> ask(std::shared_ptr<Handler> handler, Request request) {
    const io::Duration timeout = request.timeout;
    auto response = co_await io::with_timeout(loop_, timeout, (*handler)(std::move(request)));
    if (!response) co_return io::fail(io::ErrorKind::timeout, "no answer in time");
    co_return std::move(*response);
  }

  io::Loop& loop_;
  std::deque<std::pair<io::Result<Response>, io::Duration>> answers_;
  std::deque<std::pair<io::Result<Response>, io::Duration>> refusals_;
  std::shared_ptr<Handler> handler_;
  std::shared_ptr<Handler> open_handler_;
};

}  // namespace careen::kube
