// What a server bears from clients that do not finish: too many, too slow, too large, or not reading.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/http_server.h"
#include "io/test_support.h"

namespace careen::io {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kGet = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

// A client that says what it is told to, and reads when it is told to.
class RawClient {
 public:
  RawClient(int port, const char* from = "127.0.0.1") : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own{}, to{};
    own.sin_family = to.sin_family = AF_INET;
    ::inet_pton(AF_INET, from, &own.sin_addr);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<uint16_t>(port));
    if (::bind(fd_, reinterpret_cast<sockaddr*>(&own), sizeof own) != 0 ||
        ::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) {
      std::abort();
    }
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient() { ::close(fd_); }

  void say(std::string_view text) const { RawPeer::write_all(fd_, text); }
  // What has come so far; the server's end of the connection is seen, too.
  const std::string& heard() {
    char buffer[4096];
    for (ssize_t length; (length = ::recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT)) != 0;) {
      if (length < 0) {
        closed_ = closed_ || errno == ECONNRESET || errno == EPIPE;
        return heard_;
      }
      heard_.append(buffer, static_cast<size_t>(length));
    }
    closed_ = true;
    return heard_;
  }
  bool closed() {
    heard();
    return closed_;
  }

 private:
  int fd_;
  std::string heard_;
  bool closed_ = false;
};

Task<ServerResponse> answered(std::string body) {
  ServerResponse response;
  response.body = std::move(body);
  co_return response;
}

Task<ServerResponse> answered_after(Gate& gate, int& running) {
  ++running;
  co_await gate.wait();
  co_return co_await answered("late");
}

class CrowdTest : public testing::Test {
 protected:
  CrowdTest() { options.address = "127.0.0.1:0"; }

  void serve(ServerHandler handler = [](ServerRequest request) { return answered("hello " + request.body); }) {
    auto server = serve_http(loop, options, std::move(handler));
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
  }
  RawClient& connect(const char* from = "127.0.0.1", std::string_view say = "") {
    clients.push_back(std::make_unique<RawClient>(server_->port(), from));
    clients.back()->say(say);
    return *clients.back();
  }
  // The whole answer, or an empty text when the server closes without one.
  std::string answer_to(RawClient& client) {
    until([&] { return client.closed() || client.heard().find("hello") != std::string::npos; });
    return client.heard();
  }
  void until(const std::function<bool()>& done) { run_until_outside(loop, done); }
  size_t closed() {
    size_t count = 0;
    for (const auto& client : clients) count += client->closed() ? 1 : 0;
    return count;
  }

  RealLoop loop;
  Gate gate{loop};
  int running = 0;
  bool gone[2] = {};
  ServerOptions options;
  std::unique_ptr<HttpServer> server_;
  std::vector<std::unique_ptr<RawClient>> clients;
};

// Whatever they have begun with, and although they all come from one address.
TEST_F(CrowdTest, ThreeHundredWhoNeverFinishKeepNobodyOut) {
  options.max_connections = 64;
  serve();
  for (const char* begun : {"", "GET / HT", "POST / HTTP/1.1\r\nContent-Length: 50\r\n\r\nhalf"}) {
    for (int i = 0; i < 100; ++i) connect("127.0.0.1", begun);
    EXPECT_THAT(answer_to(connect("127.0.0.1", kGet)), StartsWith("HTTP/1.1 200 OK")) << begun;
  }
}

TEST_F(CrowdTest, WhoIsUnfinishedLongestGoesFirst) {
  options.max_connections = 3;
  serve();
  for (int i = 0; i < 3; ++i) connect("127.0.0.1", "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nbo");
  ASSERT_THAT(answer_to(connect("127.0.0.1", kGet)), HasSubstr("hello"));
  EXPECT_TRUE(clients[0]->closed());
  EXPECT_FALSE(clients[1]->closed());
  EXPECT_FALSE(clients[2]->closed());
}

TEST_F(CrowdTest, AnAddressHasItsShare) {
  options.max_connections = 10;
  options.max_per_peer = 4;
  serve();
  RawClient& patient = connect("127.0.0.9", "GET / HT");
  for (int i = 0; i < 20; ++i) connect("127.0.0.2", "GET / HT");
  until([&] { return closed() == 16; });
  EXPECT_FALSE(patient.closed());
  patient.say("TP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer_to(patient), HasSubstr("hello"));
}

TEST_F(CrowdTest, WhoIsBeingAnsweredStays) {
  options.max_connections = 4;
  options.max_per_peer = 2;
  serve([&](ServerRequest) { return answered_after(gate, running); });
  RawClient& first = connect("127.0.0.1", kGet);
  RawClient& second = connect("127.0.0.1", kGet);
  until([&] { return running == 2; });
  RawClient& third = connect("127.0.0.1", kGet);
  until([&] { return third.closed(); });
  gate.open();
  until([&] {
    return first.heard().find("late") != std::string::npos && second.heard().find("late") != std::string::npos;
  });
  EXPECT_EQ(running, 2);
}

// Two addresses whose shares are all connections there are, each with requests whose answers do not come.
TEST_F(CrowdTest, AnswersThatTakeLongKeepNobodyOut) {
  options.max_connections = 8;
  options.max_per_peer = 4;
  options.max_handling = 4;
  options.max_handling_per_peer = 2;
  serve([&](ServerRequest request) {
    return request.path == "/slow" ? answered_after(gate, running) : answered("hello");
  });
  for (int i = 0; i < 4; ++i) {
    for (const char* from : {"127.0.0.4", "127.0.0.5"}) connect(from, "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  until([&] { return running == 4; });
  // It is let in, and the first to be answered when one of the four is, although others have waited longer.
  RawClient& late = connect("127.0.0.9", kGet);
  until([&] { return closed() == 1; });
  EXPECT_EQ(running, 4);
  gate.open();
  EXPECT_THAT(answer_to(late), HasSubstr("hello"));
  until([&] { return running == 7; });
}

TEST_F(CrowdTest, AnAddressWithSlowAnswersLeavesTurnsToOthers) {
  options.max_handling = 4;
  options.max_handling_per_peer = 2;
  serve([&](ServerRequest request) {
    return request.path == "/slow" ? answered_after(gate, running) : answered("hello");
  });
  for (int i = 0; i < 10; ++i) connect("127.0.0.4", "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  until([&] { return running == 2; });
  EXPECT_THAT(answer_to(connect("127.0.0.9", kGet)), HasSubstr("hello"));
  EXPECT_EQ(running, 2);
  gate.open();
  until([&] { return running == 10; });
}

TEST_F(CrowdTest, WhoseTurnDoesNotComeIsDropped) {
  options.max_handling = 1;
  options.body_timeout = milliseconds{100};
  serve([&](ServerRequest) { return answered_after(gate, running); });
  RawClient& first = connect("127.0.0.1", kGet);
  until([&] { return running == 1; });
  RawClient& second = connect("127.0.0.1", kGet);
  until([&] { return second.closed(); });
  EXPECT_FALSE(first.closed());
  gate.open();
  until([&] { return first.heard().find("late") != std::string::npos; });
  EXPECT_EQ(running, 1);
}

// Sending a byte now and then does not make it longer.
TEST_F(CrowdTest, EachPartOfARequestHasItsTime) {
  options.head_timeout = options.body_timeout = milliseconds{300};
  options.idle_timeout = minutes{10};
  serve();
  RawClient& silent = connect();
  RawClient& head = connect("127.0.0.1", "GET / HTTP/1.1\r\n");
  RawClient& body = connect("127.0.0.1", "POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n");
  RawClient& answered_once = connect("127.0.0.1", kGet);
  // Not so fast that they say too much before their time is over.
  Steady last{};
  until([&] {
    if (loop.now() - last >= milliseconds{5}) {
      last = loop.now();
      if (!head.closed()) head.say("X: y\r\n");
      if (!body.closed()) body.say("x");
    }
    return silent.closed() && head.closed() && body.closed();
  });
  EXPECT_EQ(head.heard() + body.heard() + silent.heard(), "");
  EXPECT_THAT(answer_to(answered_once), HasSubstr("hello"));
  EXPECT_FALSE(answered_once.closed()) << "it may wait for its next request";
}

TEST_F(CrowdTest, HandshakesThatNeverEndKeepNobodyOut) {
  const TestAuthority authority;
  const Certificate certificate = authority.issue("server", "IP:127.0.0.1");
  const auto pair = std::make_shared<const KeyPair>(KeyPair{certificate.cert_pem, certificate.key_pem});
  options.tls_pair = [&] { return pair; };
  options.max_connections = 8;
  serve();
  for (int i = 0; i < 50; ++i) connect();
  HttpClientOptions trusting;
  trusting.tls.ca_pem = authority.ca_pem();
  const auto client = make_http_client(loop, trusting);
  HttpRequest request;
  request.url = "https://127.0.0.1:" + std::to_string(server_->port()) + "/";
  const auto response = run_task(loop, client->send(request));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "hello ");
  // The one that is left gets its full time.
  clients.clear();
  options.handshake_timeout = milliseconds{50};
  serve();
  for (int i = 0; i < 5; ++i) connect();
  until([&] { return closed() == 5; });
}

TEST_F(CrowdTest, WhatUnfinishedRequestsHoldIsBounded) {
  options.max_body = 1 << 20;
  options.max_held = 100'000;
  serve();
  const std::string half = "POST / HTTP/1.1\r\nContent-Length: 50000\r\n\r\n" + std::string(40'000, 'x');
  for (int i = 0; i < 4; ++i) connect("127.0.0.1", half);
  until([&] { return closed() == 2; });
  EXPECT_TRUE(clients[0]->closed());
  EXPECT_TRUE(clients[1]->closed());
  // One alone may be as large as a body may be.
  clients.clear();
  RawClient& large = connect("127.0.0.1", "POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n");
  std::thread talk([&] { large.say(std::string(1'000'000, 'x')); });
  EXPECT_THAT(answer_to(large), HasSubstr("hello xxx"));
  talk.join();
}

TEST_F(CrowdTest, WhoDoesNotTakeTheAnswerIsDropped) {
  options.write_timeout = milliseconds{100};
  serve([](ServerRequest) { return answered(std::string(64 << 20, 'x')); });
  RawClient& client = connect("127.0.0.1", kGet);
  // Not a word is read until the server has given up.
  bool over = false;
  Alarm later(loop, [&] { over = true; });
  later.set(loop.now() + milliseconds{400});
  loop.run_until([&] { return over; });
  until([&] { return client.closed(); });
  EXPECT_LT(client.heard().size(), 64u << 20);
}

// Pieces without end.
class Flood final : public BodyStream {
 public:
  explicit Flood(bool& gone) : gone_(gone) {}
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;
  ~Flood() override { gone_ = true; }
  Task<Result<bool>> read(std::string& into) override {
    into.assign(1 << 20, 'x');
    co_return true;
  }

 private:
  bool& gone_;
};

Task<ServerResponse> flooded(bool& gone) {
  ServerResponse response;
  response.stream = std::make_unique<Flood>(gone);
  co_return response;
}

TEST_F(CrowdTest, WhoDoesNotReadAStreamIsDropped) {
  options.write_timeout = milliseconds{100};
  serve([&](ServerRequest) { return flooded(gone[0]); });
  connect("127.0.0.1", kGet);
  loop.run_until([&] { return gone[0]; });
}

TEST_F(CrowdTest, WhoDoesNotReadAStreamMakesRoom) {
  options.max_connections = 2;
  serve(
      [&](ServerRequest request) { return request.path == "/stream" ? flooded(gone[running++]) : answered("hello"); });
  for (int i = 0; i < 2; ++i) connect("127.0.0.1", "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  until([&] { return running == 2; });
  EXPECT_THAT(answer_to(connect("127.0.0.1", kGet)), HasSubstr("hello"));
  EXPECT_FALSE(gone[0] && gone[1]) << "one of them is enough";
}

// Says something, and then nothing for as long as the test likes.
class QuietStream final : public BodyStream {
 public:
  explicit QuietStream(Gate& gate) : gate_(gate) {}
  Task<Result<bool>> read(std::string& into) override {
    if (!said_) {
      said_ = true;
      into = "hello";
      co_return true;
    }
    co_await gate_.wait();
    into = "again";
    co_return true;
  }

 private:
  Gate& gate_;
  bool said_ = false;
};

Task<ServerResponse> quiet(Gate& gate) {
  ServerResponse response;
  response.stream = std::make_unique<QuietStream>(gate);
  co_return response;
}

TEST_F(CrowdTest, AStreamThatIsReadLastsHoweverLongAndWhoeverElseComes) {
  options.max_connections = 4;
  options.head_timeout = options.body_timeout = options.idle_timeout = options.write_timeout = milliseconds{300};
  serve([&](ServerRequest request) { return request.path == "/stream" ? quiet(gate) : answered("hello"); });
  RawClient& reader = connect("127.0.0.1", "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer_to(reader), HasSubstr("hello"));
  for (int i = 0; i < 20; ++i) connect("127.0.0.1", "GET / HT");
  until([&] { return closed() == 20; });
  EXPECT_FALSE(reader.closed());
  gate.open();
  until([&] { return reader.heard().find("again") != std::string::npos; });
}

}  // namespace
}  // namespace careen::io
