// An HttpClient for tests: answers as the test says, after a delay of virtual time, and remembers every request.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/http.h"
#include "io/loop.h"
#include "io/sync.h"

namespace careen::observe {

struct ScriptedAnswer {
  io::Result<io::HttpResponse> response = io::HttpResponse{};
  io::Duration delay{};
};

inline ScriptedAnswer http_answer(int status, std::string body = {}, io::Duration delay = {}) {
  return {io::HttpResponse{status, {}, std::move(body)}, delay};
}

inline ScriptedAnswer vector_answer(const std::string& value, io::Duration delay = {}) {
  return http_answer(
      200,
      R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,")" + value + R"("]}]}})",
      delay);
}

class ScriptedHttp final : public io::HttpClient {
 public:
  explicit ScriptedHttp(io::Loop& loop) : loop_(loop) {}

  // The next answers; then `otherwise` answers.
  std::deque<ScriptedAnswer> answers;
  std::function<ScriptedAnswer(const io::HttpRequest&)> otherwise = [](const io::HttpRequest&) {
    return vector_answer("1");
  };

  std::vector<io::HttpRequest> requests;
  std::vector<io::Wall> sent_at;
  int in_flight = 0;
  int most_in_flight = 0;

  io::Task<io::Result<io::HttpResponse>> send(io::HttpRequest request) override {
    sent_at.push_back(loop_.wall_now());
    requests.push_back(request);
    ScriptedAnswer answer = answers.empty() ? otherwise(request) : std::move(answers.front());
    if (!answers.empty()) answers.pop_front();
    const InFlight counted(*this);
    if (answer.delay > request.timeout) {
      co_await io::sleep_for(loop_, request.timeout);
      co_return io::fail(io::ErrorKind::timeout, "no answer in time");
    }
    if (answer.delay > io::Duration{}) co_await io::sleep_for(loop_, answer.delay);
    co_return std::move(answer.response);
  }
  io::Task<io::Result<std::unique_ptr<io::HttpStream>>> open(io::HttpRequest) override {
    co_return io::fail(io::ErrorKind::invalid, "no streams here");
  }

 private:
  struct InFlight {
    explicit InFlight(ScriptedHttp& h) : http(h) {
      http.most_in_flight = std::max(http.most_in_flight, ++http.in_flight);
    }
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;
    ~InFlight() { --http.in_flight; }
    ScriptedHttp& http;
  };

  io::Loop& loop_;
};

}  // namespace careen::observe
