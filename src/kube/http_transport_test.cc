#include "kube/http_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>

#include "io/http_server.h"
#include "io/sync.h"
#include "io/test_support.h"
#include "io/virtual_time.h"
#include "kube/base64.h"

namespace careen::kube {
namespace {

using ::testing::Contains;
using ::testing::Pair;

// What all the clients of one test have in common.
struct Server {
  std::vector<io::HttpRequest> requests;
  std::vector<io::HttpClientOptions> clients;  // as they were made
  std::vector<size_t> by_client;               // which client each request went through
  std::deque<io::Result<io::HttpResponse>> answers;
  int clients_alive = 0;
  int streams_alive = 0;
  io::Duration delay{};
  std::function<void()> on_request = [] {};
};

class FakeStream final : public io::HttpStream {
 public:
  FakeStream(Server& server, io::HttpResponse response) : server_(server), response_(std::move(response)) {
    ++server_.streams_alive;
  }
  ~FakeStream() override {
    // A stream may not outlive the client it came from.
    EXPECT_GT(server_.clients_alive, 0);
    --server_.streams_alive;
  }
  int status() const override { return response_.status; }
  const io::Headers& headers() const override { return response_.headers; }
  io::Task<io::Result<bool>> read(std::string& into) override {
    if (response_.body.empty()) co_return false;
    into += std::exchange(response_.body, {});
    co_return true;
  }

 private:
  Server& server_;
  io::HttpResponse response_;
};

class FakeClient final : public io::HttpClient {
 public:
  FakeClient(io::Loop& loop, Server& server, io::HttpClientOptions options)
      : loop_(loop), server_(server), number_(server.clients.size()) {
    server_.clients.push_back(std::move(options));
    ++server_.clients_alive;
  }
  ~FakeClient() override { --server_.clients_alive; }
  io::Task<io::Result<io::HttpResponse>> send(io::HttpRequest request) override {
    server_.requests.push_back(std::move(request));
    server_.by_client.push_back(number_);
    server_.on_request();
    auto answer = server_.answers.empty() ? io::HttpResponse{200, {}, "{}"} : server_.answers.front();
    if (!server_.answers.empty()) server_.answers.pop_front();
    co_await io::sleep_for(loop_, server_.delay);
    co_return answer;
  }
  io::Task<io::Result<std::unique_ptr<io::HttpStream>>> open(io::HttpRequest request) override {
    auto answer = co_await send(std::move(request));
    if (!answer) co_return tl::make_unexpected(answer.error());
    co_return std::make_unique<FakeStream>(server_, std::move(*answer));
  }

 private:
  io::Loop& loop_;
  Server& server_;
  size_t number_;
};

class HttpTransportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    files_.write("/token", "one");
    files_.write("/ca", "CA1");
    Access access;
    access.server = "https://k.example:6443/prefix";
    access.ca = {"CA1", "/ca"};
    access.proxy = "http://proxy";
    access.user.method = Token{"one", "/token"};
    auth_ = std::make_shared<Authenticator>(*loop_, files_, nullptr, access);
    transport_ = make();
  }
  std::unique_ptr<HttpTransport> make() {
    return std::make_unique<HttpTransport>(*loop_, auth_, [this](io::HttpClientOptions options) {
      return std::make_unique<FakeClient>(*loop_, server_, std::move(options));
    });
  }
  template <class T>
  static io::Task<void> store(io::Task<T> task, std::optional<T>* into) {
    into->emplace(co_await std::move(task));
  }
  template <class T>
  T run(io::Task<T> task) {
    std::optional<T> result;
    io::Scope scope(*loop_);
    scope.spawn(store(std::move(task), &result));
    EXPECT_TRUE(time_.run_until([&] { return result.has_value(); }, io::hours{1}));
    return std::move(result).value();
  }
  static Request request(std::string method, std::string path) {
    Request made;
    made.method = std::move(method);
    made.path = std::move(path);
    return made;
  }

  io::VirtualTime time_;
  std::unique_ptr<io::Loop> loop_ = time_.make_loop();
  io::MemoryFiles files_{*loop_};
  Server server_;
  std::shared_ptr<Authenticator> auth_;
  std::unique_ptr<HttpTransport> transport_;
};

TEST_F(HttpTransportTest, RequestsCarryCredentialsAndContentType) {
  server_.answers.push_back(io::HttpResponse{201, {{"retry-after", "3"}}, "body"});
  Request made = request("PATCH", "/api/v1/nodes/n?x=y");
  made.content_type = "application/merge-patch+json";
  made.body = "{}";
  made.timeout = io::seconds{7};
  const auto response = run(transport_->send(made));
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 201);
  EXPECT_EQ(response->body, "body");
  EXPECT_EQ(response->retry_after, io::seconds{3});
  const io::HttpRequest& sent = server_.requests.at(0);
  EXPECT_EQ(sent.method, "PATCH");
  EXPECT_EQ(sent.url, "https://k.example:6443/prefix/api/v1/nodes/n?x=y");
  EXPECT_EQ(sent.body, "{}");
  EXPECT_EQ(sent.timeout, io::seconds{7});
  EXPECT_EQ(sent.connect_timeout, io::seconds{7});
  EXPECT_THAT(sent.headers, Contains(Pair("Authorization", "Bearer one")));
  EXPECT_THAT(sent.headers, Contains(Pair("Accept", "application/json")));
  EXPECT_THAT(sent.headers, Contains(Pair("Content-Type", "application/merge-patch+json")));
  EXPECT_EQ(server_.clients.at(0).tls.ca_pem, "CA1");
  EXPECT_EQ(server_.clients.at(0).proxy, "http://proxy");
  EXPECT_EQ(transport_->host(), "k.example:6443");
}

TEST_F(HttpTransportTest, OddRetryAfterIsIgnored) {
  for (const char* text : {"", "soon", "-1", "1.5", "Wed, 21 Oct 2026 07:28:00 GMT", "99999999999999999999"}) {
    server_.answers.push_back(io::HttpResponse{429, {{"Retry-After", text}}, ""});
    EXPECT_EQ(run(transport_->send(request("GET", "/")))->retry_after, std::nullopt) << text;
  }
}

TEST_F(HttpTransportTest, A401IsTriedAgainWithTheNewToken) {
  run(transport_->send(request("GET", "/a")));
  // Written without anybody noticing yet.
  server_.answers.push_back(io::HttpResponse{401, {}, "who are you"});
  server_.answers.push_back(io::HttpResponse{200, {}, "fine"});
  server_.delay = io::seconds{2};
  std::optional<io::Result<Response>> response;
  io::Scope scope(*loop_);
  Request made = request("POST", "/b");
  made.timeout = io::seconds{5};
  scope.spawn(store(transport_->send(made), &response));
  time_.run_for(io::seconds{1});
  files_.write("/token", "two");
  time_.run_for(io::seconds{9});
  ASSERT_TRUE(response && *response);
  EXPECT_EQ((*response)->body, "fine");
  ASSERT_EQ(server_.requests.size(), 3u);
  EXPECT_EQ(io::header(server_.requests[1].headers, "Authorization"), "Bearer one");
  EXPECT_EQ(io::header(server_.requests[2].headers, "Authorization"), "Bearer two");
  // Both attempts together stay within the caller's time.
  EXPECT_EQ(server_.requests[2].timeout, io::seconds{3});
  // A new token needs no new connection.
  EXPECT_EQ(server_.clients.size(), 1u);
}

TEST_F(HttpTransportTest, A401WithoutOtherCredentialsIsReturned) {
  server_.answers.push_back(io::HttpResponse{401, {}, "who are you"});
  const auto response = run(transport_->send(request("GET", "/")));
  EXPECT_EQ(response->status, 401);
  EXPECT_EQ(response->body, "who are you");
  EXPECT_EQ(server_.requests.size(), 1u);
}

// Even when each time another token is found.
TEST_F(HttpTransportTest, OnlyOneMoreAttemptAfterA401) {
  for (int i = 0; i < 5; ++i) server_.answers.push_back(io::HttpResponse{401, {}, "no"});
  server_.on_request = [this] { files_.write("/token", "t" + std::to_string(server_.requests.size())); };
  EXPECT_EQ(run(transport_->send(request("GET", "/")))->status, 401);
  EXPECT_EQ(server_.requests.size(), 2u);
  EXPECT_EQ(run(transport_->open(request("GET", "/")))->head.status, 401);
  EXPECT_EQ(server_.requests.size(), 4u);
}

TEST_F(HttpTransportTest, NewCertificatesMeanANewClient) {
  run(transport_->send(request("GET", "/1")));
  server_.delay = io::seconds{5};
  std::optional<io::Result<Response>> slow;
  io::Scope scope(*loop_);
  scope.spawn(store(transport_->send(request("GET", "/slow")), &slow));
  time_.run_for(io::seconds{1});
  files_.write("/ca", "CA2");
  time_.run_for(io::seconds{1});
  server_.delay = {};
  run(transport_->send(request("GET", "/2")));
  ASSERT_EQ(server_.clients.size(), 2u);
  EXPECT_EQ(server_.clients[1].tls.ca_pem, "CA2");
  EXPECT_THAT(server_.by_client, ::testing::ElementsAre(0, 0, 1));
  // The old one lives until its last request has ended.
  EXPECT_EQ(server_.clients_alive, 2);
  time_.run_for(io::seconds{5});
  EXPECT_TRUE(slow && *slow);
  EXPECT_EQ(server_.clients_alive, 1);
}

TEST_F(HttpTransportTest, TwoTransportsHaveTheirOwnClients) {
  const auto second = make();
  run(transport_->send(request("GET", "/1")));
  run(second->send(request("GET", "/2")));
  EXPECT_EQ(server_.clients.size(), 2u);
}

TEST_F(HttpTransportTest, StreamsKeepTheirClient) {
  server_.answers.push_back(io::HttpResponse{200, {}, "event\n"});
  auto opened = run(transport_->open(request("GET", "/watch")));
  ASSERT_TRUE(opened && opened->stream);
  EXPECT_EQ(opened->head.status, 200);
  transport_.reset();
  EXPECT_EQ(server_.clients_alive, 1);
  std::string into;
  EXPECT_TRUE(run(opened->stream->read(into)).value());
  EXPECT_EQ(into, "event\n");
  EXPECT_FALSE(run(opened->stream->read(into)).value());
  opened->stream.reset();
  EXPECT_EQ(server_.clients_alive, 0);
}

TEST_F(HttpTransportTest, ARefusedStreamGivesItsBody) {
  server_.answers.push_back(io::HttpResponse{410, {{"Retry-After", "1"}}, "gone"});
  const auto refused = run(transport_->open(request("GET", "/watch")));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->stream, nullptr);
  EXPECT_EQ(refused->head.status, 410);
  EXPECT_EQ(refused->head.body, "gone");
  EXPECT_EQ(refused->head.retry_after, io::seconds{1});
  EXPECT_EQ(server_.streams_alive, 0);
}

TEST_F(HttpTransportTest, AStreamIsOpenedAgainAfterA401) {
  run(transport_->send(request("GET", "/a")));
  server_.answers.push_back(io::HttpResponse{401, {}, "who"});
  server_.answers.push_back(io::HttpResponse{200, {}, "x"});
  server_.delay = io::seconds{1};
  std::optional<io::Result<StreamResponse>> opened;
  io::Scope scope(*loop_);
  scope.spawn(store(transport_->open(request("GET", "/watch")), &opened));
  time_.settle();
  files_.write("/token", "two");
  time_.run_for(io::seconds{5});
  ASSERT_TRUE(opened && *opened);
  EXPECT_EQ((*opened)->head.status, 200);
  EXPECT_EQ(server_.streams_alive, 1);
}

TEST_F(HttpTransportTest, NetworkErrorsPassThrough) {
  server_.answers.push_back(io::fail(io::ErrorKind::closed, "gone away"));
  const auto response = run(transport_->send(request("GET", "/")));
  EXPECT_EQ(response.error().kind, io::ErrorKind::closed);
}

// A plugin that eats the request's time leaves nothing to send with: surely not sent.
TEST_F(HttpTransportTest, NothingIsSentWithoutCredentials) {
  Access access;
  access.server = "https://s";
  ExecPlugin plugin;
  plugin.command = "slow";
  access.user.method = plugin;
  struct Slow {
    static io::Task<io::Result<io::ProcessResult>> run(io::Loop* loop) {
      co_await io::sleep_for(*loop, io::seconds{30});
      co_return io::ProcessResult{};
    }
  };
  auth_ = std::make_shared<Authenticator>(
      *loop_, files_, [this](io::ProcessRequest) { return Slow::run(loop_.get()); }, access);
  transport_ = make();
  Request made = request("PATCH", "/x");
  made.timeout = io::seconds{5};
  const auto response = run(transport_->send(made));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().kind, io::ErrorKind::process);
  EXPECT_TRUE(server_.requests.empty());
}

// From the kubeconfig to the answer over TLS, with a token that is replaced while we run.
TEST(RealHttpTransportTest, ReachesAServerOverTls) {
  io::RealLoop loop;
  io::RealFiles files(loop);
  const io::TemporaryFolder folder;
  const io::TestAuthority authority;
  const io::Certificate certificate = authority.issue("server", "IP:127.0.0.1");
  io::write_file(folder / "tls.crt", certificate.cert_pem);
  io::write_file(folder / "tls.key", certificate.key_pem);
  io::write_file(folder / "token", "one");
  std::string valid = "Bearer one";
  struct Handler {
    static io::Task<io::ServerResponse> answer(io::ServerRequest request, const std::string* valid) {
      io::ServerResponse response;
      response.status = io::header(request.headers, "Authorization") == *valid ? 200 : 401;
      response.body = request.method + " " + request.path + "?" + request.query;
      co_return response;
    }
  };
  io::ServerOptions options;
  options.address = "127.0.0.1:0";
  options.tls_cert_file = folder / "tls.crt";
  options.tls_key_file = folder / "tls.key";
  auto server = io::serve_http(
      loop, options, [&valid](io::ServerRequest request) { return Handler::answer(std::move(request), &valid); });
  ASSERT_TRUE(server) << server.error().message;
  const std::string address = "https://127.0.0.1:" + std::to_string((*server)->port());
  io::write_file(folder / "config",
                 "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
                 "clusters: [{name: k, cluster: {server: '" +
                     address + "', certificate-authority-data: " + base64_encode(authority.ca_pem()) +
                     "}}]\nusers: [{name: u, user: {tokenFile: token}}]\n");
  auto access = load_access(files, Environment{[](std::string_view) { return std::nullopt; }}, {folder / "config", ""});
  ASSERT_TRUE(access) << access.error().message;
  const auto transport = make_http_transport(loop, make_authenticator(loop, files, *access));

  Request request;
  request.path = "/api/v1/nodes?limit=5";
  auto response = io::run_task(loop, transport->send(request));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "GET /api/v1/nodes?limit=5");

  valid = "Bearer two";
  EXPECT_EQ(io::run_task(loop, transport->send(request))->status, 401);
  io::write_file(folder / "token", "two");
  EXPECT_EQ(io::run_task(loop, transport->send(request))->status, 200);

  const auto opened = io::run_task(loop, transport->open(request));
  ASSERT_TRUE(opened && opened->stream);
  std::string text;
  EXPECT_TRUE(io::run_task(loop, opened->stream->read(text)).value());
  EXPECT_EQ(text, "GET /api/v1/nodes?limit=5");

  // Without the authority nothing is sent.
  access->ca = {};
  const auto distrustful = make_http_transport(loop, make_authenticator(loop, files, *access));
  const auto refused = io::run_task(loop, distrustful->send(request));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, io::ErrorKind::tls);
}

}  // namespace
}  // namespace careen::kube
