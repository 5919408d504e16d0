// An HttpClient for tests: it answers as the test says, after a delay, and remembers every request.
#pragma once

#include <algorithm>
#include <concepts>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/http.h"
#include "io/loop.h"
#include "io/sync.h"

namespace careen::io {

struct ScriptedAnswer {
  Result<HttpResponse> response = HttpResponse{};
  Duration delay{};

  ScriptedAnswer() = default;
  // An answer, or the error in its place.
  template <std::convertible_to<Result<HttpResponse>> What>
  ScriptedAnswer(What what, Duration late = {}) : response(std::move(what)), delay(late) {}
};

inline ScriptedAnswer http_answer(int status, std::string body = {}, Duration delay = {}) {
  return {HttpResponse{status, {}, std::move(body)}, delay};
}

// An answer that is read as a stream.
struct ScriptedPieces {
  int status = 200;
  std::vector<std::string> pieces;
  bool breaks = false;  // after the pieces
  Headers headers = {};
};

class ScriptedHttp : public HttpClient {
 public:
  explicit ScriptedHttp(Loop& loop) : loop_(loop) {}

  // The next answers; then `otherwise` answers.
  std::deque<ScriptedAnswer> answers;
  std::function<ScriptedAnswer(const HttpRequest&)> otherwise = [](const HttpRequest&) {
    return http_answer(200, "ok");
  };
  Duration delay{};  // of those that have none of their own
  // The next streams; then connections are refused.
  std::deque<ScriptedPieces> streams;

  std::vector<HttpRequest> requests;
  std::vector<Wall> sent_at;
  int in_flight = 0;
  int most_in_flight = 0;

  Task<Result<HttpResponse>> send(HttpRequest request) override {
    note(request);
    ScriptedAnswer answer = answers.empty() ? otherwise(request) : std::move(answers.front());
    if (!answers.empty()) answers.pop_front();
    const InFlight counted(*this);
    const Duration late = std::max(answer.delay, delay);
    if (late > request.timeout) {
      co_await sleep_for(loop_, request.timeout);
      co_return fail(ErrorKind::timeout, "no answer in time");
    }
    if (late > Duration{}) co_await sleep_for(loop_, late);
    co_return std::move(answer.response);
  }
  Task<Result<std::unique_ptr<HttpStream>>> open(HttpRequest request) override {
    note(request);
    if (streams.empty()) co_return fail(ErrorKind::connect, "connection refused");
    auto stream = std::make_unique<ScriptedStream>(std::move(streams.front()));
    streams.pop_front();
    co_return std::unique_ptr<HttpStream>(std::move(stream));
  }

 private:
  class ScriptedStream final : public HttpStream {
   public:
    explicit ScriptedStream(ScriptedPieces answer) : answer_(std::move(answer)) {}
    int status() const override { return answer_.status; }
    const Headers& headers() const override { return answer_.headers; }
    Task<Result<bool>> read(std::string& into) override {
      if (answer_.pieces.empty()) {
        if (answer_.breaks) co_return fail(ErrorKind::closed, "cut off");
        co_return false;
      }
      into += answer_.pieces.front();
      answer_.pieces.erase(answer_.pieces.begin());
      co_return true;
    }

   private:
    ScriptedPieces answer_;
  };
  struct InFlight {
    explicit InFlight(ScriptedHttp& h) : http(h) {
      http.most_in_flight = std::max(http.most_in_flight, ++http.in_flight);
    }
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;
    ~InFlight() { --http.in_flight; }
    ScriptedHttp& http;
  };

  void note(const HttpRequest& request) {
    sent_at.push_back(loop_.wall_now());
    requests.push_back(request);
  }

  Loop& loop_;
};

}  // namespace careen::io
