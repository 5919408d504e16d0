#include "io/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/test_support.h"

namespace careen::io {
namespace {

using testing::HasSubstr;

class HttpServerTest : public testing::Test {
 protected:
  void serve(ServerHandler handler, ServerOptions options = {}) {
    if (options.address.empty()) options.address = "127.0.0.1:0";
    auto server = serve_http(loop_, std::move(options), std::move(handler));
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
  }
  void serve_hello(ServerOptions options = {}) {
    serve([](ServerRequest) { return hello(); }, std::move(options));
  }
  static Task<ServerResponse> hello() {
    ServerResponse response;
    response.body = "hello";
    co_return response;
  }

  std::string url(const std::string& path, const std::string& scheme = "http") const {
    return scheme + "://127.0.0.1:" + std::to_string(server_->port()) + path;
  }
  Result<HttpResponse> send(HttpRequest request, HttpClientOptions options = {}) {
    if (!client_) client_ = make_http_client(loop_, std::move(options));
    return run_task(loop_, client_->send(std::move(request)));
  }
  Result<HttpResponse> get(const std::string& path) {
    HttpRequest request;
    request.url = url(path);
    return send(request);
  }

  // Sends the text as it is on a connection of its own; everything that comes until the server closes.
  std::string raw(const std::string& text, bool half_close = false) {
    std::string out;
    std::atomic<bool> done{false};
    std::thread talk([&] {
      const int fd = connect();
      RawPeer::write_all(fd, text);
      if (half_close) ::shutdown(fd, SHUT_WR);
      char buffer[4096];
      for (ssize_t length; (length = ::recv(fd, buffer, sizeof buffer, 0)) > 0;) {
        out.append(buffer, static_cast<size_t>(length));
      }
      ::close(fd);
      done = true;
    });
    run_until_outside(loop_, [&] { return done.load(); });
    talk.join();
    return out;
  }
  int connect() const {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(server_->port()));
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) std::abort();
    return fd;
  }
  RealLoop loop_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<HttpClient> client_;
};

Task<ServerResponse> describe(ServerRequest request) {
  ServerResponse response;
  response.status = 202;
  response.content_type = "application/json";
  response.headers = {{"X-Test", "yes\r\nX-Forged: yes"}};
  response.body = request.method + "|" + request.path + "|" + request.query + "|" +
                  std::string(header(request.headers, "x-in")) + "|" + request.body;
  co_return response;
}

TEST_F(HttpServerTest, KnowsWhereARequestComesFrom) {
  for (const char* address : {"127.0.0.1:0", ":0"}) {
    ServerOptions options;
    options.address = address;
    ServerRequest seen;
    serve(
        [&](ServerRequest request) {
          seen = std::move(request);
          return hello();
        },
        std::move(options));
    ASSERT_TRUE(get("/"));
    EXPECT_EQ(seen.peer, "127.0.0.1") << address;
    EXPECT_TRUE(seen.local) << address;
  }
}

TEST_F(HttpServerTest, HandsOverTheRequestAndTheAnswer) {
  serve(describe);
  HttpRequest request;
  request.method = "PUT";
  request.url = url("/a%20b/c?x=%20&y");
  request.headers = {{"X-In", "value"}};
  request.body = "body";
  const auto response = send(request);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 202);
  EXPECT_EQ(header(response->headers, "Content-Type"), "application/json");
  EXPECT_EQ(header(response->headers, "X-Test"), "yesX-Forged: yes");
  EXPECT_EQ(header(response->headers, "X-Forged"), "");
  EXPECT_EQ(response->body, "PUT|/a b/c|x=%20&y|value|body");
}

TEST_F(HttpServerTest, KeepsConnectionsAndTakesPipelinedRequests) {
  serve_hello();
  const std::string answers =
      raw("GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"
          "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  size_t count = 0;
  for (size_t at = 0; (at = answers.find("HTTP/1.1 200 OK", at)) != std::string::npos; ++at) ++count;
  EXPECT_EQ(count, 3u) << answers;
}

TEST_F(HttpServerTest, HeadHasTheLengthOnly) {
  serve_hello();
  HttpRequest request;
  request.method = "HEAD";
  request.url = url("/");
  for (int i = 0; i < 2; ++i) {
    const auto response = send(request);
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(header(response->headers, "Content-Length"), "5");
    EXPECT_EQ(response->body, "");
  }
}

// Hands out its pieces, then waits for the gate; tells when it is destroyed.
class Pieces final : public BodyStream {
 public:
  Pieces(std::vector<std::string> pieces, Gate* gate, bool* gone, bool broken = false)
      : pieces_(std::move(pieces)), gate_(gate), gone_(gone), broken_(broken) {}
  ~Pieces() override {
    if (gone_) *gone_ = true;
  }
  Task<Result<bool>> read(std::string& into) override {
    if (next_ < pieces_.size()) {
      into += pieces_[next_++];
      co_return true;
    }
    if (gate_) co_await gate_->wait();
    if (broken_) co_return fail(ErrorKind::closed, "broken");
    co_return false;
  }

 private:
  std::vector<std::string> pieces_;
  size_t next_ = 0;
  Gate* gate_;
  bool* gone_;
  bool broken_;
};

Task<ServerResponse> in_pieces(std::vector<std::string> pieces, Gate* gate = nullptr, bool* gone = nullptr,
                               bool broken = false) {
  ServerResponse response;
  response.content_type = "application/json";
  response.stream = std::make_unique<Pieces>(std::move(pieces), gate, gone, broken);
  co_return response;
}

TEST_F(HttpServerTest, WritesABodyPieceByPiece) {
  serve([](ServerRequest) { return in_pieces({"first,", std::string(300'000, 'x'), ",last"}); });
  for (int i = 0; i < 2; ++i) {
    const auto response = get("/");
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(header(response->headers, "Transfer-Encoding"), "chunked");
    EXPECT_EQ(header(response->headers, "Content-Type"), "application/json");
    EXPECT_EQ(response->body, "first," + std::string(300'000, 'x') + ",last");
  }
  // Old clients get it until the end of the connection; HEAD gets none of it.
  EXPECT_THAT(raw("GET / HTTP/1.0\r\n\r\n"), testing::EndsWith("xxx,last"));
  EXPECT_THAT(raw("HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), testing::EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, APieceIsSentBeforeTheNextOneIsThere) {
  Gate gate(loop_);
  serve([&](ServerRequest) { return in_pieces({"now"}, &gate); });
  std::string seen;
  std::atomic<bool> came{false};
  std::thread talk([&] {
    const int fd = connect();
    RawPeer::write_all(fd, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    char buffer[4096];
    for (ssize_t length; (length = ::recv(fd, buffer, sizeof buffer, 0)) > 0;) {
      seen.append(buffer, static_cast<size_t>(length));
      if (seen.find("3\r\nnow\r\n") != std::string::npos) came = true;
    }
    ::close(fd);
  });
  run_until_outside(loop_, [&] { return came.load(); });
  EXPECT_THAT(seen, testing::Not(HasSubstr("0\r\n\r\n")));
  server_.reset();
  talk.join();
}

TEST_F(HttpServerTest, ABodyThatFailsBreaksTheConnection) {
  serve([](ServerRequest) { return in_pieces({"half"}, nullptr, nullptr, true); });
  EXPECT_FALSE(get("/"));
  EXPECT_THAT(raw("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), testing::EndsWith("4\r\nhalf\r\n"));
}

TEST_F(HttpServerTest, AClientThatGoesEndsTheBodyThatNobodyReads) {
  Gate never(loop_);
  bool gone = false;
  serve([&](ServerRequest) { return in_pieces({"now"}, &never, &gone); });
  std::thread talk([&] {
    const int fd = connect();
    RawPeer::write_all(fd, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    char byte;
    EXPECT_EQ(::recv(fd, &byte, 1, 0), 1);
    ::close(fd);
  });
  run_until_outside(loop_, [&] { return gone; });
  talk.join();
  EXPECT_TRUE(gone);
}

TEST_F(HttpServerTest, RefusesWhatIsMalformedOrTooLarge) {
  ServerOptions options;
  options.max_body = 1000;
  serve_hello(options);
  EXPECT_THAT(raw("nonsense\r\n\r\n"), HasSubstr("HTTP/1.1 400 "));
  EXPECT_THAT(raw("GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n"), HasSubstr("HTTP/1.1 400 "));
  EXPECT_THAT(raw("GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n"), HasSubstr("HTTP/1.1 400 "));
  EXPECT_THAT(raw("GET / HTTP/1.1\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n"), HasSubstr("HTTP/1.1 431 "));
  EXPECT_THAT(raw("POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n" + std::string(1001, 'x')),
              HasSubstr("HTTP/1.1 413 "));
  // Chunks hide the length until it is too late; the client still gets to see the answer.
  HttpRequest request;
  request.method = "POST";
  request.url = url("/");
  request.headers = {{"Transfer-Encoding", "chunked"}};
  request.body = std::string(5 << 20, 'x');
  const auto response = send(request);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 413);
  request.headers = {};
  request.body = std::string(1000, 'x');
  EXPECT_EQ(send(request)->status, 200);
}

TEST_F(HttpServerTest, AHalfRequestIsDroppedWithoutAnAnswer) {
  serve_hello();
  EXPECT_EQ(raw("GET / HTTP/1.1\r\nHos", true), "");
  EXPECT_EQ(raw("", true), "");
}

TEST_F(HttpServerTest, AnswersExpectContinue) {
  serve_hello();
  EXPECT_THAT(raw("POST / HTTP/1.1\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx"),
              testing::StartsWith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK"));
}

TEST_F(HttpServerTest, ClosesIdleConnections) {
  ServerOptions options;
  options.idle_timeout = options.head_timeout = milliseconds{50};
  serve_hello(options);
  EXPECT_EQ(raw(""), "");
  EXPECT_EQ(raw("GET / HTTP/1.1\r\n"), "");
  EXPECT_THAT(raw("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), HasSubstr("200 OK"));
}

// Clients that connect and say nothing must not keep a probe out.
TEST_F(HttpServerTest, IdleConnectionsMakeRoom) {
  ServerOptions options;
  options.max_connections = 2;
  serve_hello(options);
  std::vector<int> silent;
  for (int i = 0; i < 4; ++i) silent.push_back(connect());
  EXPECT_EQ(get("/")->body, "hello");
  for (const int fd : silent) ::close(fd);
}

Task<ServerResponse> answer_late(Gate* gate, int* running) {
  ++*running;
  co_await gate->wait();
  --*running;
  ServerResponse response;
  response.body = "late";
  co_return response;
}

TEST_F(HttpServerTest, ConnectionsBeyondTheLimitWait) {
  Gate gate(loop_);
  int running = 0;
  ServerOptions options;
  options.max_connections = 2;
  serve([&](ServerRequest) { return answer_late(&gate, &running); }, options);
  client_ = make_http_client(loop_, {});
  Scope scope(loop_);
  std::optional<Result<HttpResponse>> out[3];
  for (auto& o : out) {
    HttpRequest request;
    request.url = url("/");
    scope.spawn(store_result(client_->send(request), &o));
  }
  loop_.run_until([&] { return running == 2; });
  gate.open();
  loop_.run_until([&] { return out[0] && out[1] && out[2]; });
  for (auto& o : out) {
    ASSERT_TRUE(*o) << o->error().message;
    EXPECT_EQ((*o)->body, "late");
  }
}

TEST_F(HttpServerTest, AClientThatLeavesDuringAHandlerIsHarmless) {
  Gate gate(loop_);
  int running = 0;
  serve([&](ServerRequest) { return answer_late(&gate, &running); });
  const int fd = connect();
  RawPeer::write_all(fd, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  loop_.run_until([&] { return running == 1; });
  const linger reset{1, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  ::close(fd);
  gate.open();
  EXPECT_EQ(get("/")->body, "late");
}

TEST_F(HttpServerTest, DestroyedDuringAHandlerItClosesEverything) {
  Gate gate(loop_);
  int running = 0;
  serve([&](ServerRequest) { return answer_late(&gate, &running); });
  client_ = make_http_client(loop_, {});
  Scope scope(loop_);
  std::optional<Result<HttpResponse>> out;
  HttpRequest request;
  request.url = url("/");
  scope.spawn(store_result(client_->send(request), &out));
  const int idle = connect();
  loop_.run_until([&] { return running == 1; });
  server_.reset();
  loop_.run_until([&] { return out.has_value(); });
  EXPECT_EQ(out->error().kind, ErrorKind::closed);
  char byte = 0;
  EXPECT_LE(::recv(idle, &byte, 1, 0), 0);
  ::close(idle);
}

TEST_F(HttpServerTest, AddressForms) {
  for (const std::string address : {":0", "127.0.0.1:0", "0.0.0.0:0", "localhost:0"}) {
    ServerOptions options;
    options.address = address;
    client_.reset();
    serve_hello(options);
    EXPECT_EQ(get("/")->body, "hello") << address;
  }
  for (const std::string address : {"", "8080", "1:2:3", "127.0.0.1:", "127.0.0.1:x", "no-such-host.invalid:1"}) {
    ServerOptions options;
    options.address = address;
    const auto server = serve_http(loop_, options, describe);
    ASSERT_FALSE(server) << address;
    EXPECT_THAT(server.error().message, HasSubstr("cannot listen on \"" + address + "\""));
  }
  ServerOptions taken;
  taken.address = "127.0.0.1:" + std::to_string(server_->port());
  serve_hello();
  taken.address = "127.0.0.1:" + std::to_string(server_->port());
  const auto again = serve_http(loop_, taken, describe);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message, "cannot listen on \"" + taken.address + "\": Address already in use");
}

TEST_F(HttpServerTest, ServesIpv6) {
  ServerOptions options;
  options.address = "[::1]:0";
  auto server = serve_http(loop_, options, [](ServerRequest) { return hello(); });
  if (!server) GTEST_SKIP() << server.error().message;
  HttpRequest request;
  request.url = "http://[::1]:" + std::to_string((*server)->port()) + "/";
  EXPECT_EQ(send(request)->body, "hello");
}

class TlsTest : public HttpServerTest {
 protected:
  Task<bool> pause_a_little() {
    co_await sleep_for(loop_, milliseconds{50});
    co_return true;
  }
  void serve_tls(const Certificate& certificate) {
    install(certificate);
    ServerOptions options;
    options.tls_cert_file = folder_ / "tls.crt";
    options.tls_key_file = folder_ / "tls.key";
    serve_hello(options);
  }
  void install(const Certificate& certificate) const {
    write_file(folder_ / "tls.key", certificate.key_pem);
    write_file(folder_ / "tls.crt", certificate.cert_pem);
  }
  Result<HttpResponse> get_with(TlsOptions tls) {
    HttpClientOptions options;
    options.tls = std::move(tls);
    client_ = make_http_client(loop_, std::move(options));
    HttpRequest request;
    request.url = url("/", "https");
    return send(request);
  }
  TlsOptions trusting(const TestAuthority& authority) const {
    TlsOptions tls;
    tls.ca_pem = authority.ca_pem();
    return tls;
  }

  TemporaryFolder folder_;
  TestAuthority authority_;
};

TEST_F(TlsTest, TrustsTheGivenAuthorityOnly) {
  serve_tls(authority_.issue("server", "IP:127.0.0.1"));
  EXPECT_EQ(get_with(trusting(authority_))->body, "hello");
  const TestAuthority stranger("stranger");
  for (const TlsOptions& tls : {trusting(stranger), TlsOptions{}}) {
    const auto answer = get_with(tls);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, ErrorKind::tls);
    EXPECT_THAT(answer.error().message, HasSubstr("TLS failed: SSL certificate problem: "));
  }
  TlsOptions insecure;
  insecure.insecure = true;
  EXPECT_EQ(get_with(insecure)->body, "hello");
  TlsOptions broken;
  broken.ca_pem = "no certificate";
  EXPECT_EQ(get_with(broken).error().kind, ErrorKind::tls);
}

TEST_F(TlsTest, VerifiesTheNameOrTheOneGivenInstead) {
  serve_tls(authority_.issue("server", "DNS:kubernetes.default"));
  TlsOptions tls = trusting(authority_);
  const auto wrong = get_with(tls);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::tls);
  EXPECT_THAT(wrong.error().message, HasSubstr("127.0.0.1"));
  tls.server_name = "kubernetes.default";
  const auto right = get_with(tls);
  ASSERT_TRUE(right) << right.error().message;
  EXPECT_EQ(right->body, "hello");
  tls.server_name = "another.name";
  EXPECT_EQ(get_with(tls).error().kind, ErrorKind::tls);
}

TEST_F(TlsTest, AGivenServerNameLeavesTheHostHeaderAlone) {
  install(authority_.issue("server", "DNS:other.name"));
  ServerOptions options;
  options.tls_cert_file = folder_ / "tls.crt";
  options.tls_key_file = folder_ / "tls.key";
  std::string host;
  serve(
      [&](ServerRequest request) {
        host = header(request.headers, "Host");
        return hello();
      },
      options);
  TlsOptions tls = trusting(authority_);
  tls.server_name = "other.name";
  ASSERT_TRUE(get_with(tls));
  EXPECT_EQ(host, "127.0.0.1:" + std::to_string(server_->port()));
}

TEST_F(TlsTest, AClientCertificateIsAccepted) {
  serve_tls(authority_.issue("server", "IP:127.0.0.1"));
  TlsOptions tls = trusting(authority_);
  const Certificate mine = authority_.issue("client", "");
  tls.client_cert_pem = mine.cert_pem;
  tls.client_key_pem = mine.key_pem;
  EXPECT_EQ(get_with(tls)->body, "hello");
  tls.client_key_pem = authority_.issue("other", "").key_pem;
  const auto mismatched = get_with(tls);
  EXPECT_EQ(mismatched.error().kind, ErrorKind::tls) << mismatched.error().message;
  tls.client_key_pem = "";
  EXPECT_EQ(get_with(tls).error().kind, ErrorKind::invalid);
}

TEST_F(TlsTest, ReloadsTheCertificateWhenItChanges) {
  serve_tls(authority_.issue("server", "IP:127.0.0.1"));
  ASSERT_TRUE(get_with(trusting(authority_)));
  const TestAuthority next("next");
  install(next.issue("server", "IP:127.0.0.1"));
  const auto deadline = loop_.now() + seconds{30};
  while (!get_with(trusting(next))) ASSERT_LT(loop_.now(), deadline);
  EXPECT_FALSE(get_with(trusting(authority_)));
}

struct Errors final : LogSink {
  bool enabled(LogLevel level) const override { return level == LogLevel::error; }
  void write(LogLevel, std::string_view, std::string_view, const LogFields& fields) override {
    seen.push_back(fields.at(0).second);
  }
  std::vector<std::string> seen;
};

TEST_F(TlsTest, ABrokenCertificateKeepsTheLastGoodOne) {
  install(authority_.issue("server", "IP:127.0.0.1"));
  auto errors = std::make_shared<Errors>();
  ServerOptions options;
  options.tls_cert_file = folder_ / "tls.crt";
  options.tls_key_file = folder_ / "tls.key";
  options.log = Log(errors, "web");
  serve_hello(options);
  write_file(folder_ / "tls.crt", "broken");
  loop_.run_until([&] { return !errors->seen.empty(); });
  EXPECT_THAT(errors->seen.back(), HasSubstr("tls.crt holds no usable certificate"));
  EXPECT_TRUE(get_with(trusting(authority_)));
}

TEST_F(TlsTest, FilesThatDoNotFitAreAnErrorAtTheStart) {
  Certificate mixed = authority_.issue("server", "IP:127.0.0.1");
  mixed.key_pem = authority_.issue("other", "").key_pem;
  install(mixed);
  ServerOptions options;
  options.address = "127.0.0.1:0";
  options.tls_cert_file = folder_ / "tls.crt";
  const auto half = serve_http(loop_, options, describe);
  EXPECT_THAT(half.error().message, HasSubstr("only one of the files is given"));
  options.tls_key_file = folder_ / "tls.key";
  const auto unfit = serve_http(loop_, options, describe);
  ASSERT_FALSE(unfit);
  EXPECT_THAT(unfit.error().message, HasSubstr("tls.key holds no key that fits the certificate in"));
  options.tls_key_file = folder_ / "absent";
  const auto missing = serve_http(loop_, options, describe);
  EXPECT_THAT(missing.error().message, HasSubstr("No such file"));
}

// As a kubelet renews a mounted Secret: a new folder, then one link is replaced.
TEST_F(TlsTest, ReloadsWhenAMountedSecretIsSwapped) {
  const auto mount = [&](const std::string& name, const Certificate& certificate) {
    std::filesystem::create_directory(folder_ / name);
    write_file(folder_ / (name + "/tls.key"), certificate.key_pem);
    write_file(folder_ / (name + "/tls.crt"), certificate.cert_pem);
    std::filesystem::create_directory_symlink(name, folder_ / "..data_tmp");
    std::filesystem::rename(folder_ / "..data_tmp", folder_ / "..data");
  };
  mount("..1", authority_.issue("server", "IP:127.0.0.1"));
  std::filesystem::create_symlink("..data/tls.crt", folder_ / "tls.crt");
  std::filesystem::create_symlink("..data/tls.key", folder_ / "tls.key");
  ServerOptions options;
  options.tls_cert_file = folder_ / "tls.crt";
  options.tls_key_file = folder_ / "tls.key";
  serve_hello(options);
  ASSERT_TRUE(get_with(trusting(authority_)));
  const TestAuthority other("another authority");
  mount("..2", other.issue("server", "IP:127.0.0.1"));
  for (int attempt = 0; attempt < 200 && !get_with(trusting(other)); ++attempt) {
    run_task(loop_, pause_a_little());
  }
  EXPECT_TRUE(get_with(trusting(other)));
}

TEST_F(TlsTest, TakesTheCertificateFromAFunction) {
  std::shared_ptr<const KeyPair> pair;
  auto errors = std::make_shared<Errors>();
  ServerOptions options;
  options.tls_pair = [&] { return pair; };
  options.log = Log(errors, "web");
  serve_hello(options);
  EXPECT_FALSE(get_with(trusting(authority_))) << "there is none yet";
  const auto give = [&](const Certificate& c) {
    pair = std::make_shared<const KeyPair>(KeyPair{c.cert_pem, c.key_pem});
  };
  give(authority_.issue("server", "IP:127.0.0.1"));
  EXPECT_TRUE(get_with(trusting(authority_)));
  const TestAuthority other("another authority");
  give(other.issue("server", "IP:127.0.0.1"));
  EXPECT_TRUE(get_with(trusting(other)));
  EXPECT_FALSE(get_with(trusting(authority_)));
  pair = std::make_shared<const KeyPair>(KeyPair{"broken", pair->key});
  EXPECT_TRUE(get_with(trusting(other))) << "the last good one serves on";
  EXPECT_TRUE(get_with(trusting(other)));
  ASSERT_EQ(errors->seen.size(), 1u);
  EXPECT_THAT(errors->seen[0], HasSubstr("no usable certificate"));
}

TEST_F(TlsTest, CertificatesMadeHereAreTrusted) {
  const Wall now = loop_.wall_now();
  const auto authority = make_authority("careen", {now - hours{1}, now + hours{1}});
  const auto pair = issue_certificate(*authority, {"localhost", "127.0.0.1"}, {now - hours{1}, now + hours{1}});
  const auto ended = issue_certificate(*authority, {"127.0.0.1"}, {now - hours{2}, now - hours{1}});
  std::shared_ptr<const KeyPair> served = std::make_shared<const KeyPair>(*pair);
  ServerOptions options;
  options.tls_pair = [&] { return served; };
  serve_hello(options);
  TlsOptions tls;
  tls.ca_pem = authority->certificate;
  const auto answer = get_with(tls);
  EXPECT_TRUE(answer) << answer.error().message;
  served = std::make_shared<const KeyPair>(*ended);
  EXPECT_EQ(get_with(tls).error().kind, ErrorKind::tls);
}

std::string pin_of(const std::string& certificate) {
  const std::string digest = read_certificate(certificate)->key_digest;
  std::string text(64, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(digest.data()), static_cast<int>(digest.size()));
  return "sha256//" + text.substr(0, static_cast<size_t>(length));
}

// Everybody else is shown the usual certificate.
TEST_F(TlsTest, WhoAsksForANameIsShownAnotherKey) {
  const Certificate usual = authority_.issue("server", "IP:127.0.0.1");
  install(usual);
  const Wall now = loop_.wall_now();
  const auto named = make_self_signed({"named.example"}, {now - hours{2}, now - hours{1}});
  ServerOptions options;
  options.tls_cert_file = folder_ / "tls.crt";
  options.tls_key_file = folder_ / "tls.key";
  options.named_host = "named.example";
  options.named_pair = std::make_shared<const KeyPair>(*named);
  serve_hello(options);
  EXPECT_TRUE(get_with(trusting(authority_)));

  HttpClientOptions by_name;
  by_name.tls.server_name = "named.example";
  client_ = make_http_client(loop_, by_name);
  HttpRequest request;
  request.url = url("/", "https");
  EXPECT_EQ(send(request).error().kind, ErrorKind::tls) << "no authority stands for it";
  // Neither does its date count.
  request.pinned_key = pin_of(named->certificate);
  const auto pinned = send(request);
  ASSERT_TRUE(pinned) << pinned.error().message;
  EXPECT_EQ(pinned->body, "hello");
  request.pinned_key = pin_of(usual.cert_pem);
  EXPECT_EQ(send(request).error().kind, ErrorKind::tls);
  request.url = url("/", "http");
  EXPECT_EQ(send(request).error().kind, ErrorKind::invalid) << "without TLS nobody proves anything";
}

TEST_F(TlsTest, WritesABodyPieceByPiece) {
  install(authority_.issue("server", "IP:127.0.0.1"));
  ServerOptions options;
  options.tls_cert_file = folder_ / "tls.crt";
  options.tls_key_file = folder_ / "tls.key";
  serve([](ServerRequest) { return in_pieces({"first,", "last"}); }, options);
  const auto response = get_with(trusting(authority_));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "first,last");
}

TEST_F(TlsTest, PlainTextOnATlsPortIsDropped) {
  serve_tls(authority_.issue("server", "IP:127.0.0.1"));
  raw("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(get_with(trusting(authority_)));
}

}  // namespace
}  // namespace careen::io
