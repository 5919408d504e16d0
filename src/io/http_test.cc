#include "io/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/http_server.h"
#include "io/test_support.h"

namespace careen::io {
namespace {

using testing::HasSubstr;
using testing::Not;

HttpRequest get(std::string url) {
  HttpRequest request;
  request.url = std::move(url);
  return request;
}

HttpRequest post(std::string url, std::string body) {
  HttpRequest request = get(std::move(url));
  request.method = "POST";
  request.body = std::move(body);
  return request;
}

constexpr char kHello[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

class HttpClientTest : public testing::Test {
 protected:
  void make_client(HttpClientOptions options = {}) { client_ = make_http_client(loop_, std::move(options)); }
  Result<HttpResponse> send(HttpRequest request) {
    if (!client_) make_client();
    return run_task(loop_, client_->send(std::move(request)));
  }
  Result<std::unique_ptr<HttpStream>> open(HttpRequest request) {
    if (!client_) make_client();
    return run_task(loop_, client_->open(std::move(request)));
  }
  Result<bool> read(HttpStream& stream, std::string& into) { return run_task(loop_, stream.read(into)); }

  RealLoop loop_;
  std::unique_ptr<HttpClient> client_;
};

TEST_F(HttpClientTest, SendsMethodHeadersAndBody) {
  std::string seen;
  RawPeer peer([&](int fd, int) {
    seen = RawPeer::read_request(fd);
    RawPeer::write_all(fd, "HTTP/1.1 201 Created\r\nX-Two:  a b \r\nContent-Length: 2\r\n\r\nok");
  });
  HttpRequest request = post(peer.url("/path?q=1"), "{}");
  request.method = "PATCH";
  request.headers = {{"Content-Type", "application/merge-patch+json"}, {"Authorization", "Bearer t"}, {"X-Empty", ""}};
  const auto response = send(request);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 201);
  EXPECT_EQ(response->body, "ok");
  EXPECT_EQ(header(response->headers, "x-two"), "a b");
  EXPECT_EQ(header(response->headers, "absent"), "");
  EXPECT_THAT(seen, HasSubstr("PATCH /path?q=1 HTTP/1.1\r\n"));
  EXPECT_THAT(seen, HasSubstr("Content-Type: application/merge-patch+json\r\n"));
  EXPECT_THAT(seen, HasSubstr("Authorization: Bearer t\r\n"));
  EXPECT_THAT(seen, HasSubstr("X-Empty:\r\n"));
  EXPECT_THAT(seen, HasSubstr("User-Agent: careen\r\n"));
  EXPECT_THAT(seen, HasSubstr("\r\n\r\n{}"));
}

TEST_F(HttpClientTest, RefusesHeadersThatWouldForgeOthers) {
  HttpRequest request = get("http://127.0.0.1:1/");
  request.headers = {{"X", "a\r\nY: b"}};
  EXPECT_EQ(send(request).error().kind, ErrorKind::invalid);
  request = get("http://127.0.0.1:1/");
  request.method = "GET /other HTTP/1.1\r\nX:";
  EXPECT_EQ(send(request).error().kind, ErrorKind::invalid);
  EXPECT_EQ(send(get("file:///etc/passwd")).error().kind, ErrorKind::invalid);
  EXPECT_EQ(send(get("nonsense")).error().kind, ErrorKind::invalid);
}

// A webhook's URL is its password: it must not reach a log.
TEST_F(HttpClientTest, NoConnectionNamesHostAndReasonOnly) {
  int port = 0;
  {
    const RawPeer gone([](int, int) {});
    port = std::stoi(gone.url().substr(sizeof "http://127.0.0.1:" - 1));
  }
  const auto refused = send(get("http://user:secret@127.0.0.1:" + std::to_string(port) + "/hidden?token=hidden"));
  EXPECT_EQ(refused.error().kind, ErrorKind::connect);
  EXPECT_THAT(refused.error().message, HasSubstr("GET http://127.0.0.1:" + std::to_string(port) + ": no connection: "));
  EXPECT_THAT(refused.error().message, HasSubstr("Connection refused"));
  EXPECT_THAT(refused.error().message, Not(HasSubstr("secret")));
  EXPECT_THAT(refused.error().message, Not(HasSubstr("hidden")));
  const auto unknown = send(get("http://no-such-host.invalid/"));
  EXPECT_EQ(unknown.error().kind, ErrorKind::connect);
  EXPECT_THAT(unknown.error().message, HasSubstr("no-such-host.invalid"));
}

TEST_F(HttpClientTest, ASilentPeerIsATimeOutAndItsConnectionIsNotUsedAgain) {
  RawPeer peer([](int fd, int index) {
    RawPeer::read_request(fd);
    if (index == 0) {
      RawPeer::write_all(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe");
    } else {
      RawPeer::write_all(fd, kHello);
    }
    RawPeer::wait_for_end(fd);
  });
  HttpRequest request = get(peer.url());
  request.timeout = milliseconds{100};
  const auto late = send(request);
  EXPECT_EQ(late.error().kind, ErrorKind::timeout);
  EXPECT_THAT(late.error().message, HasSubstr("no complete answer within 100ms"));
  request.timeout = seconds{30};
  EXPECT_EQ(send(request)->body, "hello");
  EXPECT_EQ(peer.connections(), 2);
}

// Neither sent nor connected: the peer's backlog takes the connection, but TLS never starts.
TEST_F(HttpClientTest, TimeOutBeforeTheConnectionIsUpMeansNotSent) {
  RawPeer peer([](int fd, int) { RawPeer::wait_for_end(fd); });
  HttpRequest request = get(peer.https_url());
  request.timeout = milliseconds{100};
  EXPECT_EQ(send(request).error().kind, ErrorKind::connect);
  request.timeout = seconds{30};
  request.connect_timeout = milliseconds{100};
  EXPECT_EQ(send(request).error().kind, ErrorKind::connect);
}

TEST_F(HttpClientTest, ClosedWithoutAnswerIsUnknown) {
  RawPeer peer([](int fd, int index) {
    RawPeer::read_request(fd);
    if (index == 1) RawPeer::write_all(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe");
  });
  for (int i = 0; i < 2; ++i) {
    const auto answer = send(post(peer.url(), "x"));
    EXPECT_EQ(answer.error().kind, ErrorKind::closed) << answer.error().message;
  }
}

TEST_F(HttpClientTest, NoHttpIsAProtocolError) {
  RawPeer peer([](int fd, int) {
    RawPeer::read_request(fd);
    RawPeer::write_all(fd, "SSH-2.0-OpenSSH\r\n\r\n");
  });
  const auto answer = send(get(peer.url()));
  EXPECT_EQ(answer.error().kind, ErrorKind::protocol) << answer.error().message;
}

TEST_F(HttpClientTest, ATooLongAnswerIsRefused) {
  RawPeer peer([](int fd, int) {
    RawPeer::read_request(fd);
    RawPeer::write_all(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + std::string(2000, 'x'));
  });
  HttpClientOptions options;
  options.max_body = 1000;
  make_client(options);
  const auto answer = send(get(peer.url()));
  EXPECT_EQ(answer.error().kind, ErrorKind::protocol);
  EXPECT_THAT(answer.error().message, HasSubstr("too large"));
}

// libcurl repeats a request by itself when a kept connection dies without an answer. The peer may have acted.
TEST_F(HttpClientTest, OnlyReadsAreRepeatedOnAnotherConnection) {
  std::atomic<int> requests{0};
  RawPeer peer([&](int fd, int) {
    if (!RawPeer::read_request(fd).empty()) ++requests;
    RawPeer::write_all(fd, kHello);
    if (!RawPeer::read_request(fd).empty()) ++requests;
  });
  ASSERT_TRUE(send(get(peer.url())));
  const auto written = send(post(peer.url(), "x"));
  EXPECT_EQ(written.error().kind, ErrorKind::closed) << written.error().message;
  EXPECT_EQ(requests, 2);
  ASSERT_TRUE(send(get(peer.url())));
  ASSERT_TRUE(send(get(peer.url())));
  EXPECT_EQ(requests, 5);
}

TEST_F(HttpClientTest, WaitingForItsTurnCountsAsTime) {
  RawPeer peer([](int fd, int) { RawPeer::wait_for_end(fd); });
  HttpClientOptions options;
  options.max_in_flight = 1;
  make_client(options);
  Scope scope(loop_);
  std::optional<Result<HttpResponse>> first, second;
  scope.spawn(store_result(client_->send(get(peer.url())), &first));
  HttpRequest request = get(peer.url());
  request.timeout = milliseconds{50};
  scope.spawn(store_result(client_->send(request), &second));
  loop_.run_until([&] { return second.has_value(); });
  EXPECT_EQ(second->error().kind, ErrorKind::connect);
  EXPECT_THAT(second->error().message, HasSubstr("not sent: 1 requests were in flight for 50ms"));
  EXPECT_FALSE(first);
}

// Destroyed tasks, streams and clients at any point leave nothing behind; the address sanitizer watches.
TEST_F(HttpClientTest, CancelledAtAnyPoint) {
  RawPeer silent([](int fd, int) { RawPeer::wait_for_end(fd); });
  for (int turns = 0; turns < 8; ++turns) {
    make_client();
    {
      Scope scope(loop_);
      std::optional<Result<HttpResponse>> whole;
      std::optional<Result<std::unique_ptr<HttpStream>>> stream;
      scope.spawn(store_result(client_->send(get(silent.url())), &whole));
      scope.spawn(store_result(client_->open(get(silent.url())), &stream));
      int left = turns;
      Alarm tick(loop_, [] {});
      loop_.run_until([&] {
        tick.set(loop_.now());
        return left-- == 0;
      });
      if (turns % 2 == 1) client_.reset();
    }
    client_.reset();
  }
}

TEST_F(HttpClientTest, RequestsOutliveTheirClient) {
  RawPeer peer([](int fd, int) {
    RawPeer::read_request(fd);
    RawPeer::write_all(fd, kHello);
  });
  make_client();
  auto task = client_->send(get(peer.url()));
  client_.reset();
  EXPECT_EQ(run_task(loop_, std::move(task))->body, "hello");
}

TEST_F(HttpClientTest, StreamsGiveHeadersThenPiecesThenTheEnd) {
  RawPeer peer([](int fd, int) {
    RawPeer::read_request(fd);
    RawPeer::write_all(fd, "HTTP/1.1 200 OK\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    RawPeer::write_all(fd, "6\r\n world\r\n0\r\n\r\n");
    RawPeer::wait_for_end(fd);
  });
  auto stream = open(get(peer.url()));
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_EQ((*stream)->status(), 200);
  EXPECT_EQ(header((*stream)->headers(), "X-A"), "1");
  std::string body;
  for (;;) {
    const size_t before = body.size();
    const auto more = read(**stream, body);
    ASSERT_TRUE(more) << more.error().message;
    if (!*more) break;
    EXPECT_GT(body.size(), before);
  }
  EXPECT_EQ(body, "hello world");
  EXPECT_EQ(read(**stream, body).value(), false);
}

TEST_F(HttpClientTest, StreamsTellAnErrorStatusWithItsBody) {
  RawPeer peer([](int fd, int) {
    RawPeer::read_request(fd);
    RawPeer::write_all(fd, "HTTP/1.1 410 Gone\r\nContent-Length: 4\r\n\r\ngone");
  });
  auto stream = open(get(peer.url()));
  ASSERT_TRUE(stream);
  EXPECT_EQ((*stream)->status(), 410);
  std::string body;
  EXPECT_TRUE(read(**stream, body).value());
  EXPECT_EQ(body, "gone");
}

TEST_F(HttpClientTest, StreamsTimeOutBeforeHeadersAndWhenIdle) {
  RawPeer peer([](int fd, int index) {
    RawPeer::read_request(fd);
    if (index == 1) RawPeer::write_all(fd, "HTTP/1.1 200 OK\r\n\r\nfirst");
    RawPeer::wait_for_end(fd);
  });
  HttpRequest request = get(peer.url());
  request.timeout = milliseconds{50};
  const auto none = open(request);
  EXPECT_EQ(none.error().kind, ErrorKind::timeout);
  EXPECT_THAT(none.error().message, HasSubstr("within 50ms"));

  request.timeout = seconds{30};
  request.idle_timeout = milliseconds{50};
  auto stream = open(request);
  ASSERT_TRUE(stream) << stream.error().message;
  std::string body;
  EXPECT_TRUE(read(**stream, body).value());
  const auto idle = read(**stream, body);
  EXPECT_EQ(idle.error().kind, ErrorKind::timeout);
  EXPECT_THAT(idle.error().message, HasSubstr("nothing came for 50ms"));
}

TEST_F(HttpClientTest, AStreamCutOffIsAnError) {
  RawPeer peer([](int fd, int) {
    RawPeer::read_request(fd);
    RawPeer::write_all(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
  });
  auto stream = open(get(peer.url()));
  ASSERT_TRUE(stream);
  std::string body;
  EXPECT_TRUE(read(**stream, body).value());
  EXPECT_EQ(read(**stream, body).error().kind, ErrorKind::closed);
}

// The peer can write only what fits into the kernel's buffers and ours while nobody reads.
TEST_F(HttpClientTest, AReaderThatIsSlowHoldsThePeerBack) {
  constexpr size_t kTotal = 64 << 20;
  std::atomic<size_t> written{0};
  RawPeer peer([&](int fd, int) {
    RawPeer::read_request(fd);
    RawPeer::write_all(fd, "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kTotal) + "\r\n\r\n");
    const std::string piece(64 << 10, 'x');
    while (written < kTotal) {
      const ssize_t length = ::send(fd, piece.data(), std::min(piece.size(), kTotal - written), MSG_NOSIGNAL);
      if (length <= 0) return;
      written += static_cast<size_t>(length);
    }
    RawPeer::wait_for_end(fd);
  });
  auto stream = open(get(peer.url()));
  ASSERT_TRUE(stream);
  // Give the peer every chance to write more.
  size_t before = 1;
  while (before != written) {
    before = written;
    Alarm pause(loop_, [] {});
    pause.set(loop_.now() + milliseconds{50});
    loop_.run_until([&] { return !pause.pending(); });
  }
  EXPECT_LT(written, size_t{16} << 20);
  std::string body;
  ASSERT_TRUE(read(**stream, body).value());
  EXPECT_LE(body.size(), size_t{256} << 10);
  size_t total = body.size();
  for (;;) {
    body.clear();
    const auto more = read(**stream, body);
    ASSERT_TRUE(more) << more.error().message;
    if (!*more) break;
    EXPECT_LE(body.size(), size_t{300} << 10);
    total += body.size();
  }
  EXPECT_EQ(total, kTotal);
}

TEST_F(HttpClientTest, ADestroyedStreamClosesItsConnection) {
  std::atomic<bool> closed{false};
  RawPeer peer([&](int fd, int) {
    RawPeer::read_request(fd);
    RawPeer::write_all(fd, "HTTP/1.1 200 OK\r\n\r\nfirst");
    RawPeer::wait_for_end(fd);
    closed = true;
  });
  auto stream = open(get(peer.url()));
  ASSERT_TRUE(stream);
  stream->reset();
  run_until_outside(loop_, [&] { return closed.load(); });
}

TEST_F(HttpClientTest, AnExplicitProxyIsUsed) {
  std::string seen;
  RawPeer proxy([&](int fd, int) {
    seen = RawPeer::read_request(fd);
    RawPeer::write_all(fd, kHello);
  });
  HttpClientOptions options;
  options.proxy = proxy.url();
  make_client(options);
  EXPECT_EQ(send(get("http://somewhere.invalid/x"))->body, "hello");
  EXPECT_THAT(seen, HasSubstr("GET http://somewhere.invalid/x HTTP/1.1\r\n"));
}

TEST_F(HttpClientTest, AProxyOfTheEnvironmentIsForOtherMachines) {
  RawPeer proxy([&](int fd, int) {
    RawPeer::read_request(fd);
    RawPeer::write_all(fd, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
  });
  RawPeer peer([&](int fd, int) {
    RawPeer::read_request(fd);
    RawPeer::write_all(fd, kHello);
  });
  // Both spellings; libcurl by itself takes but the second for http.
  for (const char* name : {"HTTP_PROXY", "http_proxy"}) {
    ::setenv(name, proxy.url().c_str(), 1);
    make_client();
    EXPECT_EQ(send(get("http://somewhere.invalid/x"))->status, 403) << name;
    EXPECT_EQ(send(get(peer.url()))->body, "hello") << name;
    ::unsetenv(name);
  }
}

TEST_F(HttpClientTest, AProxyThatRefusesMeansNotSent) {
  RawPeer proxy([&](int fd, int) {
    RawPeer::read_request(fd);
    RawPeer::write_all(fd, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
  });
  HttpClientOptions options;
  options.proxy = proxy.url();
  make_client(options);
  const auto answer = send(post("https://somewhere.invalid/x", "x"));
  EXPECT_EQ(answer.error().kind, ErrorKind::connect);
  EXPECT_THAT(answer.error().message, HasSubstr("403"));
}

}  // namespace
}  // namespace careen::io
