#include "io/tcp_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>

#include "io/tcp_listener.h"
#include "io/test_support.h"

namespace careen::io {
namespace {

// What has been read until the end.
struct Reading {
  std::string bytes;
  std::optional<std::error_code> end;
};

// Two ends of a connection, both in one loop.
class TcpStreamTest : public testing::Test {
 protected:
  void SetUp() override {
    auto listener = listen_tcp(*loop_, "127.0.0.1:0");
    ASSERT_TRUE(listener) << listener.error().message;
    listener_ = std::move(*listener);
  }

  std::string port() const { return std::to_string(listener_->port()); }

  void connect() {
    client_ = make_tcp_stream(*loop_);
    std::optional<std::error_code> connected;
    client_->connect("127.0.0.1", port(), store(connected));
    listener_->accept([&](std::error_code error, std::shared_ptr<TcpStream> stream) {
      EXPECT_FALSE(error) << error.message();
      server_ = std::move(stream);
    });
    loop_->run_until([&] { return connected && server_; });
    ASSERT_FALSE(*connected) << connected->message();
  }

  // What came of the two handshakes, the server's first.
  std::pair<std::error_code, std::error_code> encrypt(const TestAuthority& trusted, const std::string& name) {
    const Certificate certificate = authority_.issue("server", "DNS:right.name,IP:127.0.0.1");
    auto server_context = make_server_context({certificate.cert_pem, certificate.key_pem}, "cert", "key");
    TlsOptions options;
    options.ca_pem = trusted.ca_pem();
    auto client_context = make_client_context(options);
    std::optional<std::error_code> accepted, started;
    server_->accept_tls(*server_context, store(accepted));
    client_->start_tls(*client_context, name, store(started));
    loop_->run_until([&] { return accepted && started; });
    return {*accepted, *started};
  }
  void connect_encrypted() {
    connect();
    const auto [accepted, started] = encrypt(authority_, "127.0.0.1");
    ASSERT_FALSE(accepted) << accepted.message();
    ASSERT_FALSE(started) << started.message();
  }

  static TcpStream::Done store(std::optional<std::error_code>& into) {
    return [&into](std::error_code error) { into = error; };
  }
  static void read_all(const std::shared_ptr<TcpStream>& stream, Reading& into) {
    stream->read([stream, &into](std::error_code error, std::string_view bytes) {
      into.bytes += bytes;
      if (error) {
        into.end = error;
      } else {
        read_all(stream, into);
      }
    });
  }
  void write(const std::shared_ptr<TcpStream>& stream, std::string head, std::string body = "") {
    std::optional<std::error_code> written;
    stream->write(std::move(head), std::move(body), store(written));
    loop_->run_until([&] { return written.has_value(); });
    EXPECT_FALSE(*written) << written->message();
  }

  void wait_a_little() {
    run_until_outside(*loop_, [this, until = loop_->now() + milliseconds{20}] { return loop_->now() > until; });
  }

  // Both ends write much at the same time, and each reads as it comes.
  void talk_at_once() {
    std::string mine, yours;
    for (int i = 0; i < 300'000; ++i) mine += std::to_string(i) + ",";
    yours = std::string(mine.rbegin(), mine.rend());
    Reading at_client, at_server;
    read_all(client_, at_client);
    read_all(server_, at_server);
    std::optional<std::error_code> one, other;
    client_->write("mine:", mine, store(one));
    server_->write("yours:", yours, store(other));
    loop_->run_until([&] {
      return at_client.bytes.size() == yours.size() + 6 && at_server.bytes.size() == mine.size() + 5 && one && other;
    });
    EXPECT_TRUE(at_server.bytes == "mine:" + mine);
    EXPECT_TRUE(at_client.bytes == "yours:" + yours);
    EXPECT_FALSE(*one);
    EXPECT_FALSE(*other);
    client_->close();
    loop_->run_until([&] { return at_client.end && at_server.end; });
    EXPECT_FALSE(TcpStream::is_end(*at_client.end));
    EXPECT_TRUE(TcpStream::is_end(*at_server.end)) << at_server.end->message();
  }

  std::unique_ptr<RealLoop> loop_ = std::make_unique<RealLoop>();
  std::unique_ptr<TcpListener> listener_;
  std::shared_ptr<TcpStream> client_;
  std::shared_ptr<TcpStream> server_;
  TestAuthority authority_;
};

TEST_F(TcpStreamTest, BothEndsTalkAtOnce) {
  connect();
  talk_at_once();
}

TEST_F(TcpStreamTest, BothEndsTalkAtOnceWithinTls) {
  connect_encrypted();
  talk_at_once();
}

TEST_F(TcpStreamTest, HeadsAndBodiesOfAnySizeKeepTheirOrder) {
  connect_encrypted();
  Reading got;
  read_all(client_, got);
  std::string sent;
  for (const size_t size : {0u, 1u, 16'384u, 16'385u, 100'000u}) {
    const std::string body(size, 'b');
    write(server_, "<", body);
    write(server_, body, ">");
    write(server_, "");
    sent += "<" + body + body + ">";
  }
  loop_->run_until([&] { return got.bytes.size() >= sent.size(); });
  EXPECT_TRUE(got.bytes == sent);
}

TEST_F(TcpStreamTest, KnowsItsPeer) {
  connect();
  EXPECT_EQ(server_->peer().address, "127.0.0.1");
  EXPECT_TRUE(server_->peer().local);
  server_->close();
  EXPECT_EQ(server_->peer().address, "");
}

TEST_F(TcpStreamTest, TheServerHasToProveItsName) {
  connect();
  EXPECT_FALSE(encrypt(authority_, "right.name").second);
  connect();
  EXPECT_TRUE(encrypt(authority_, "wrong.name").second);
  EXPECT_THAT(client_->certificate_trouble(), testing::HasSubstr("hostname mismatch"));
  connect();
  EXPECT_TRUE(encrypt(authority_, "127.0.0.2").second);
  EXPECT_THAT(client_->certificate_trouble(), testing::HasSubstr("IP address mismatch"));
  connect();
  EXPECT_TRUE(encrypt(TestAuthority("stranger"), "right.name").second);
  EXPECT_NE(client_->certificate_trouble(), "");
}

TEST_F(TcpStreamTest, AHandshakeThatIsNoneFails) {
  connect();
  const Certificate certificate = authority_.issue("server", "IP:127.0.0.1");
  std::optional<std::error_code> accepted;
  server_->accept_tls(*make_server_context({certificate.cert_pem, certificate.key_pem}, "cert", "key"),
                      store(accepted));
  write(client_, "GET / HTTP/1.1\r\n\r\n");
  loop_->run_until([&] { return accepted.has_value(); });
  EXPECT_EQ(accepted->message().substr(0, 12), "http request");
  connect();
  accepted.reset();
  server_->accept_tls(*make_server_context({certificate.cert_pem, certificate.key_pem}, "cert", "key"),
                      store(accepted));
  client_->close();
  loop_->run_until([&] { return accepted.has_value(); });
  EXPECT_TRUE(TcpStream::is_end(*accepted)) << accepted->message();
}

TEST_F(TcpStreamTest, TroubleThatOthersLeftInOpenSslIsNotItsOwn) {
  connect_encrypted();
  ERR_raise(ERR_LIB_USER, 1);
  Reading got;
  read_all(server_, got);
  write(client_, "abc");
  loop_->run_until([&] { return !got.bytes.empty() || got.end; });
  EXPECT_EQ(got.bytes, "abc");
  EXPECT_FALSE(got.end);
}

TEST_F(TcpStreamTest, BothSidesEndTlsAndSeeWhatComesBeneath) {
  connect_encrypted();
  std::optional<std::error_code> mine, yours;
  Reading got;
  read_all(client_, got);
  write(server_, "last words");
  server_->end_tls(store(mine));
  loop_->run_until([&] { return got.end.has_value(); });
  EXPECT_EQ(got.bytes, "last words");
  EXPECT_TRUE(TcpStream::is_end(*got.end)) << got.end->message();
  EXPECT_FALSE(mine) << "the other side has not answered";
  client_->end_tls(store(yours));
  loop_->run_until([&] { return mine && yours; });
  EXPECT_FALSE(*mine) << mine->message();
  Reading beneath;
  read_all(server_, beneath);
  write(client_, "plain");
  client_->stop_sending();
  loop_->run_until([&] { return beneath.end.has_value(); });
  EXPECT_EQ(beneath.bytes, "plain");
  EXPECT_TRUE(TcpStream::is_end(*beneath.end));
}

TEST_F(TcpStreamTest, WithoutTlsItEndsAtOnce) {
  connect();
  std::optional<std::error_code> ended;
  server_->end_tls(store(ended));
  ASSERT_TRUE(ended);
  EXPECT_FALSE(*ended);
}

TEST_F(TcpStreamTest, StopSendingLeavesTheOtherDirectionOpen) {
  connect();
  client_->stop_sending();
  Reading at_server, at_client;
  read_all(server_, at_server);
  loop_->run_until([&] { return at_server.end.has_value(); });
  EXPECT_TRUE(TcpStream::is_end(*at_server.end));
  read_all(client_, at_client);
  write(server_, "still here");
  server_->close();
  loop_->run_until([&] { return at_client.end.has_value(); });
  EXPECT_EQ(at_client.bytes, "still here");
}

TEST_F(TcpStreamTest, WhatIsThereAlreadyIsToldFromTheLoop) {
  connect_encrypted();
  write(client_, "abc");
  bool within = true;
  bool called = false;
  wait_a_little();
  server_->read([&](std::error_code error, std::string_view bytes) {
    EXPECT_FALSE(within);
    EXPECT_FALSE(error);
    EXPECT_EQ(bytes, "abc");
    called = true;
  });
  within = false;
  loop_->run_until([&] { return called; });
}

TEST_F(TcpStreamTest, CloseEndsEverythingWithAnError) {
  for (const bool tls : {false, true}) {
    connect();
    if (tls) encrypt(authority_, "127.0.0.1");
    Reading got;
    std::optional<std::error_code> written, done;
    read_all(server_, got);
    // More than anybody takes.
    server_->write("", std::string(64 << 20, 'x'), store(written));
    wait_a_little();
    EXPECT_FALSE(written);
    // Written at once, but not told yet.
    client_->write("a", "", store(done));
    client_->close();
    server_->close();
    loop_->run_until([&] { return got.end && written && done; });
    EXPECT_TRUE(*written);
    EXPECT_TRUE(*done);
    EXPECT_FALSE(TcpStream::is_end(*got.end));
  }
}

// The number of a descriptor that was closed goes to the next one that is opened.
TEST_F(TcpStreamTest, ClosedItTouchesNoDescriptor) {
  connect_encrypted();
  server_->close();
  std::vector<int> others;
  for (int i = 0; i < 4; ++i) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    others.insert(others.end(), {ends[0], ends[1]});
  }
  std::optional<std::error_code> written, ended;
  server_->write("secret", "", store(written));
  server_->end_tls(store(ended));
  loop_->run_until([&] { return written && ended; });
  EXPECT_TRUE(*written);
  EXPECT_TRUE(*ended);
  for (const int other : others) {
    char byte;
    EXPECT_EQ(::recv(other, &byte, 1, 0), -1);
  }
  for (const int other : others) ::close(other);
}

TEST_F(TcpStreamTest, SaysWhyItDoesNotConnect) {
  const auto attempt = [&](const std::string& host, const std::string& to_port) {
    auto stream = make_tcp_stream(*loop_);
    std::optional<std::error_code> connected;
    stream->connect(host, to_port, store(connected));
    loop_->run_until([&] { return connected.has_value(); });
    return *connected;
  };
  const std::string unused = port();
  listener_.reset();
  EXPECT_EQ(attempt("127.0.0.1", unused), std::errc::connection_refused);
  EXPECT_TRUE(attempt("no-such-host.invalid", "25"));
  EXPECT_TRUE(attempt("127.0.0.1", "no-such-service"));
}

TEST_F(TcpStreamTest, ClosedWhileConnectingItStaysClosed) {
  for (const bool early : {true, false}) {
    client_ = make_tcp_stream(*loop_);
    std::optional<std::error_code> connected;
    client_->connect("127.0.0.1", port(), store(connected));
    // The answer of the system's resolver is there, but not told, after a while.
    if (!early) std::this_thread::sleep_for(std::chrono::milliseconds{50});
    client_->close();
    loop_->run_until([&] { return connected.has_value(); });
    EXPECT_TRUE(*connected);
  }
}

TEST_F(TcpStreamTest, AListenerThatGoesTellsNobody) {
  bool told = false;
  listener_->accept([&](std::error_code, std::shared_ptr<TcpStream>) { told = true; });
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(listener_->port()));
  ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  listener_.reset();
  wait_a_little();
  EXPECT_FALSE(told);
  ::close(fd);
}

// What is under way owns the stream, also through what it was given: nothing may hold itself.
TEST_F(TcpStreamTest, ALoopThatGoesTakesItsOperationsAlong) {
  connect_encrypted();
  for (const auto& stream : {client_, server_}) {
    stream->read([stream](std::error_code, std::string_view) {});
    stream->write("", std::string(64 << 20, 'x'), [stream](std::error_code) {});
  }
  const std::weak_ptr<TcpStream> client = client_, server = server_;
  auto connecting = make_tcp_stream(*loop_);
  connecting->connect("127.0.0.1", port(), [connecting](std::error_code) {});
  const std::weak_ptr<TcpStream> third = connecting;
  client_.reset();
  server_.reset();
  connecting.reset();
  listener_.reset();
  loop_.reset();
  EXPECT_TRUE(client.expired());
  EXPECT_TRUE(server.expired());
  EXPECT_TRUE(third.expired());
}

}  // namespace
}  // namespace careen::io
