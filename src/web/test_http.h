// The way to a leader that answers as the test has it.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/http.h"

namespace careen::web {

struct LeaderAnswer {
  int status = 200;
  std::vector<std::string> pieces;
  bool breaks = false;  // after the pieces
  io::Headers headers = {};
};

class ScriptedStream final : public io::HttpStream {
 public:
  explicit ScriptedStream(LeaderAnswer answer) : answer_(std::move(answer)) {}
  int status() const override { return answer_.status; }
  const io::Headers& headers() const override { return answer_.headers; }
  io::Task<io::Result<bool>> read(std::string& into) override {
    if (answer_.pieces.empty()) {
      if (answer_.breaks) co_return io::fail(io::ErrorKind::closed, "cut off");
      co_return false;
    }
    into += answer_.pieces.front();
    answer_.pieces.erase(answer_.pieces.begin());
    co_return true;
  }

 private:
  LeaderAnswer answer_;
};

// The way to the leader; answers as told, and refuses connections when told nothing.
class ScriptedHttp final : public io::HttpClient {
 public:
  io::Task<io::Result<io::HttpResponse>> send(io::HttpRequest) override {
    co_return io::fail(io::ErrorKind::invalid, "the document is read as a stream");
  }
  io::Task<io::Result<std::unique_ptr<io::HttpStream>>> open(io::HttpRequest request) override {
    requests.push_back(std::move(request));
    if (answers.empty()) co_return io::fail(io::ErrorKind::connect, "connection refused");
    auto stream = std::make_unique<ScriptedStream>(std::move(answers.front()));
    answers.pop_front();
    co_return std::unique_ptr<io::HttpStream>(std::move(stream));
  }
  std::deque<LeaderAnswer> answers;
  std::vector<io::HttpRequest> requests;
};

}  // namespace careen::web
