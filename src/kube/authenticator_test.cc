#include "kube/authenticator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "io/real_loop.h"
#include "io/test_support.h"
#include "io/virtual_time.h"
#include "kube/http_transport.h"

namespace careen::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr const char* kV1 = "client.authentication.k8s.io/v1";

template <class T>
io::Task<void> store(io::Task<T> task, std::optional<T>* into) {
  into->emplace(co_await std::move(task));
}

std::string answer(const std::string& status) {
  return std::string(R"({"kind":"ExecCredential","apiVersion":")") + kV1 + R"(","status":{)" + status + "}}";
}

class AuthenticatorTest : public ::testing::Test {
 protected:
  void make(Access access) {
    access.server = "https://s";
    auth_ = std::make_unique<Authenticator>(
        *loop_, files_, [this](io::ProcessRequest request) { return plugin(std::move(request)); }, std::move(access));
  }
  void make_with_plugin() {
    Access access;
    ExecPlugin plugin;
    plugin.command = "login";
    plugin.arguments = {"now"};
    plugin.environment = {{"A", "b"}};
    plugin.api_version = kV1;
    access.user.method = plugin;
    make(std::move(access));
  }
  void make_with_token_file() {
    files_.write("/token", "one\n");
    Access access;
    access.user.method = Token{"one", "/token"};
    make(std::move(access));
  }
  io::Task<io::Result<io::ProcessResult>> plugin(io::ProcessRequest request) {
    runs_.push_back(std::move(request));
    co_await io::sleep_for(*loop_, plugin_takes_);
    co_return plugin_result_;
  }
  void plugin_prints(std::string out) { plugin_result_ = io::ProcessResult{0, std::move(out), ""}; }
  std::string expiring_in(io::Duration life, const std::string& token) {
    return answer(R"("token":")" + token + R"(","expirationTimestamp":")" +
                  io::format_rfc3339(loop_->wall_now() + life) + "\"");
  }
  template <class T>
  T run(io::Task<T> task) {
    std::optional<T> result;
    io::Scope scope(*loop_);
    scope.spawn(store(std::move(task), &result));
    EXPECT_TRUE(time_.run_until([&] { return result.has_value(); }, io::hours{1}));
    return std::move(result).value();
  }
  io::Result<Authenticator::Held> get() { return run(auth_->get(io::seconds{10})); }
  std::string token() {
    const auto held = get();
    return held ? std::string(io::header((*held)->headers, "Authorization")) : "error: " + held.error().message;
  }

  io::VirtualTime time_;
  std::unique_ptr<io::Loop> loop_ = time_.make_loop();
  io::MemoryFiles files_{*loop_};
  std::vector<io::ProcessRequest> runs_;
  io::Duration plugin_takes_ = io::seconds{1};
  io::Result<io::ProcessResult> plugin_result_ = io::ProcessResult{};
  std::unique_ptr<Authenticator> auth_;
};

TEST_F(AuthenticatorTest, HeadersOfEachWayToLogIn) {
  make({});
  EXPECT_TRUE((*get())->headers.empty());

  Access basic;
  basic.user.method = BasicAuth{"me", "pass:word"};
  make(basic);
  EXPECT_EQ(token(), "Basic bWU6cGFzczp3b3Jk");

  Access impersonating;
  impersonating.user.method = Token{"t", ""};
  impersonating.user.impersonate = {"bob", "7", {"a", "b"}, {{"example.com/x y", {"1", "2"}}}};
  make(impersonating);
  EXPECT_THAT((*get())->headers,
              ElementsAre(Pair("Authorization", "Bearer t"), Pair("Impersonate-User", "bob"),
                          Pair("Impersonate-Uid", "7"), Pair("Impersonate-Group", "a"), Pair("Impersonate-Group", "b"),
                          Pair("Impersonate-Extra-example.com%2Fx%20y", "1"),
                          Pair("Impersonate-Extra-example.com%2Fx%20y", "2")));
}

TEST_F(AuthenticatorTest, ATokenFileIsReadAgainWhenItChanges) {
  make_with_token_file();
  EXPECT_EQ(token(), "Bearer one");
  files_.write("/token", "two\n");
  time_.settle();
  EXPECT_EQ(token(), "Bearer two");
}

// The notice of change may get lost: half a minute later nothing, a minute later the new token.
TEST_F(AuthenticatorTest, ATokenFileIsReadAgainEachMinute) {
  class Unwatched final : public io::Files {
   public:
    io::Result<std::string> read(const std::string&) override { return content; }
    std::unique_ptr<Watch> watch(const std::string&, std::function<void()>) override {
      return std::make_unique<Watch>();
    }
    std::string content = "one";
  } files;
  Access access;
  access.user.method = Token{"one", "/token"};
  auth_ = std::make_unique<Authenticator>(*loop_, files, nullptr, std::move(access));
  files.content = "two";
  time_.run_for(io::seconds{30});
  EXPECT_EQ(token(), "Bearer one");
  time_.run_for(io::seconds{30});
  EXPECT_EQ(token(), "Bearer two");
}

TEST_F(AuthenticatorTest, ATokenThatVanishesStaysInUse) {
  make_with_token_file();
  files_.remove("/token");
  time_.run_for(io::minutes{5});
  EXPECT_EQ(token(), "Bearer one");
  files_.write("/token", "  \n");
  time_.settle();
  EXPECT_EQ(token(), "Bearer one");
  files_.write("/token", "three");
  time_.settle();
  EXPECT_EQ(token(), "Bearer three");
}

TEST_F(AuthenticatorTest, AfterA401OnlyDifferentCredentialsAreWorthATry) {
  make_with_token_file();
  const auto used = *get();
  EXPECT_EQ(*run(auth_->renew(used, io::seconds{1})), nullptr);
  files_.write("/token", "two");
  const auto fresh = *run(auth_->renew(used, io::seconds{1}));
  ASSERT_NE(fresh, nullptr);
  EXPECT_EQ(io::header(fresh->headers, "Authorization"), "Bearer two");
  EXPECT_EQ(*run(auth_->renew(used, io::seconds{1})), fresh);
}

TEST_F(AuthenticatorTest, RotatedCertificatesMakeNewTlsOptions) {
  files_.write("/crt", "cert1");
  files_.write("/key", "key1");
  Access access;
  access.tls_server_name = "k";
  access.user.client_cert = {"cert1", "/crt"};
  access.user.client_key = {"key1", "/key"};
  make(access);
  const auto before = (*get())->tls;
  EXPECT_EQ(before->client_cert_pem, "cert1");
  EXPECT_EQ(before->server_name, "k");
  time_.run_for(io::minutes{2});
  EXPECT_EQ((*get())->tls, before);
  files_.write("/crt", "cert2");
  files_.write("/key", "key2");
  time_.settle();
  const auto after = (*get())->tls;
  EXPECT_NE(after, before);
  EXPECT_EQ(after->client_cert_pem, "cert2");
  EXPECT_EQ(after->client_key_pem, "key2");
}

TEST_F(AuthenticatorTest, ThePluginIsAskedOnceForAll) {
  plugin_prints(answer(R"("token":"p1")"));
  make_with_plugin();
  std::optional<io::Result<Authenticator::Held>> first, second;
  io::Scope scope(*loop_);
  scope.spawn(store(auth_->get(io::seconds{10}), &first));
  scope.spawn(store(auth_->get(io::seconds{10}), &second));
  time_.run_for(io::seconds{2});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(**first, **second);
  time_.run_for(io::hours{24 * 365});
  EXPECT_EQ(token(), "Bearer p1");
  ASSERT_EQ(runs_.size(), 1u);
  EXPECT_THAT(runs_[0].argv, ElementsAre("login", "now"));
  EXPECT_THAT(
      runs_[0].environment,
      ElementsAre(Pair("A", "b"), Pair("KUBERNETES_EXEC_INFO",
                                       R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",)"
                                       R"("spec":{"interactive":false}})")));
}

// Nobody waits for a renewal as long as the old answer is good.
TEST_F(AuthenticatorTest, ThePluginRunsAgainShortlyBeforeExpiry) {
  plugin_prints(expiring_in(io::minutes{15}, "p1"));
  make_with_plugin();
  EXPECT_EQ(token(), "Bearer p1");
  time_.run_for(io::minutes{13});
  EXPECT_EQ(token(), "Bearer p1");
  EXPECT_EQ(runs_.size(), 1u);
  plugin_prints(expiring_in(io::minutes{15}, "p2"));
  time_.run_for(io::seconds{70});
  const io::Steady before = time_.now();
  EXPECT_EQ(token(), "Bearer p1");
  EXPECT_EQ(time_.now(), before);
  time_.settle();
  EXPECT_EQ(runs_.size(), 2u);
  time_.run_for(io::seconds{2});
  EXPECT_EQ(token(), "Bearer p2");
}

TEST_F(AuthenticatorTest, AnExpiredAnswerIsNotUsedWhileTheNextOneComes) {
  plugin_prints(expiring_in(io::minutes{15}, "p1"));
  make_with_plugin();
  EXPECT_EQ(token(), "Bearer p1");
  time_.run_for(io::hours{1});
  plugin_prints(expiring_in(io::minutes{15}, "p2"));
  EXPECT_EQ(token(), "Bearer p2");
}

// A plugin that prints what has already expired must not run for every request.
TEST_F(AuthenticatorTest, AnswersThatCameExpiredDoNotStartAStorm) {
  plugin_takes_ = io::milliseconds{10};
  plugin_prints(expiring_in(-io::minutes{5}, "old"));
  make_with_plugin();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(token(), "Bearer old");
    time_.run_for(io::milliseconds{100});
  }
  EXPECT_LE(runs_.size(), 3u);
}

TEST_F(AuthenticatorTest, AFailingPluginBacksOff) {
  plugin_result_ = io::ProcessResult{3, "", "no such profile\n"};
  make_with_plugin();
  EXPECT_EQ(token(), "error: exec plugin \"login\" gave no credentials: it ended with code 3: no such profile");
  EXPECT_EQ(token(), "error: exec plugin \"login\" gave no credentials: it ended with code 3: no such profile");
  EXPECT_EQ(runs_.size(), 1u);
  plugin_prints(answer(R"("token":"p1")"));
  time_.run_for(io::seconds{1});
  EXPECT_EQ(token(), "Bearer p1");
}

TEST_F(AuthenticatorTest, ASlowPluginGoesOnForTheNext) {
  plugin_takes_ = io::seconds{15};
  plugin_prints(answer(R"("token":"p1")"));
  make_with_plugin();
  EXPECT_EQ(token(), "error: exec plugin \"login\" gave no credentials in time");
  EXPECT_EQ(token(), "Bearer p1");
  EXPECT_EQ(runs_.size(), 1u);
}

TEST_F(AuthenticatorTest, A401RunsThePluginAgainOnce) {
  plugin_prints(answer(R"("token":"p1")"));
  make_with_plugin();
  const auto used = *get();
  // The answer is fresh: running again would say the same.
  EXPECT_EQ(*run(auth_->renew(used, io::seconds{9})), nullptr);
  EXPECT_EQ(runs_.size(), 1u);
  time_.run_for(io::minutes{1});
  plugin_prints(answer(R"("token":"p2")"));
  const auto fresh = *run(auth_->renew(used, io::seconds{9}));
  ASSERT_NE(fresh, nullptr);
  EXPECT_EQ(io::header(fresh->headers, "Authorization"), "Bearer p2");
  EXPECT_EQ(*run(auth_->renew(used, io::seconds{9})), fresh);
  EXPECT_EQ(runs_.size(), 2u);
}

TEST_F(AuthenticatorTest, ThePluginsCertificateIsUsed) {
  plugin_prints(answer(R"("clientCertificateData":"C","clientKeyData":"K")"));
  make_with_plugin();
  const auto held = *get();
  EXPECT_TRUE(held->headers.empty());
  EXPECT_EQ(held->tls->client_cert_pem, "C");
  EXPECT_EQ(held->tls->client_key_pem, "K");
}

// Destroyed while the plugin runs: the run is cancelled with it.
TEST_F(AuthenticatorTest, MayEndWhileThePluginRuns) {
  make_with_plugin();
  {
    std::optional<io::Result<Authenticator::Held>> result;
    io::Scope scope(*loop_);
    scope.spawn(store(auth_->get(io::seconds{10}), &result));
    time_.settle();
    EXPECT_EQ(runs_.size(), 1u);
  }
  auth_.reset();
  time_.run_for(io::minutes{1});
}

TEST(PluginAnswerTest, WhatIsMissingIsSaid) {
  const auto message = [](const std::string& text) {
    const auto parsed = parse_plugin_answer(kV1, text);
    return parsed ? "fine" : parsed.error().message;
  };
  EXPECT_EQ(message(answer(R"("token":"t")")), "fine");
  EXPECT_EQ(message("hello"), "it printed no JSON object");
  EXPECT_EQ(message("[]"), "it printed no JSON object");
  EXPECT_EQ(message("{}"), "it printed no ExecCredential");
  EXPECT_THAT(message(R"({"kind":"ExecCredential","apiVersion":"v9"})"), HasSubstr("\"v9\" but is configured for"));
  EXPECT_EQ(message(std::string(R"({"kind":"ExecCredential","apiVersion":")") + kV1 + "\"}"), "it printed no status");
  EXPECT_EQ(message(answer("")), "it printed neither token nor certificate");
  EXPECT_EQ(message(answer(R"("clientKeyData":"k","token":"t")")),
            "it printed a certificate without its key or the other way round");
  EXPECT_THAT(message(answer(R"("token":"a\nb")")), HasSubstr("a token with a line break"));
  EXPECT_THAT(message(answer(R"("token":"t","expirationTimestamp":"soon")")), HasSubstr("\"soon\", which is no time"));
}

TEST(PluginExecInfoTest, TellsTheClusterWhenAsked) {
  Access access;
  access.server = "https://s";
  access.ca.text = "CA";
  access.insecure = false;
  ExecPlugin plugin;
  plugin.api_version = kV1;
  plugin.provide_cluster_info = true;
  plugin.cluster_config = R"({"a":1})";
  EXPECT_EQ(plugin_exec_info(access, plugin),
            R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false,)"
            R"("cluster":{"server":"https://s","certificate-authority-data":"Q0E=","config":{"a":1}}}})");
}

// A real program, found through a real kubeconfig beside it.
TEST(ExecPluginTest, ARealScript) {
  const io::TemporaryFolder folder;
  io::write_file(folder / "login.sh",
                 "#!/bin/sh\n"
                 "echo noise >&2\n"
                 "case \"$KUBERNETES_EXEC_INFO\" in *https://s*) ;; *) exit 4;; esac\n"
                 "printf '{\"kind\":\"ExecCredential\",\"apiVersion\":\"%s\",' client.authentication.k8s.io/v1\n"
                 "printf '\"status\":{\"token\":\"%s-%s\"}}' \"$1\" \"$WHO\"\n");
  ASSERT_EQ(::chmod((folder / "login.sh").c_str(), 0700), 0);
  io::write_file(folder / "config",
                 "current-context: c\n"
                 "clusters: [{name: k, cluster: {server: 'https://s'}}]\n"
                 "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
                 "users:\n"
                 "- name: u\n"
                 "  user:\n"
                 "    exec:\n"
                 "      apiVersion: client.authentication.k8s.io/v1\n"
                 "      command: ./login.sh\n"
                 "      args: [token]\n"
                 "      env: [{name: WHO, value: bob}]\n"
                 "      interactiveMode: Never\n"
                 "      provideClusterInfo: true\n");
  io::RealLoop loop;
  io::RealFiles files(loop);
  auto access = load_access(files, Environment{[](std::string_view) { return std::nullopt; }}, {folder / "config", ""});
  ASSERT_TRUE(access) << access.error().message;
  const auto auth = make_authenticator(loop, files, std::move(*access));
  const auto held = io::run_task(loop, auth->get(io::seconds{60}));
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_EQ(io::header((*held)->headers, "Authorization"), "Bearer token-bob");
}

TEST(ExecPluginTest, AProgramThatIsNotThere) {
  io::RealLoop loop;
  io::RealFiles files(loop);
  Access access;
  ExecPlugin plugin;
  plugin.command = "careen-no-such-plugin";
  plugin.api_version = kV1;
  plugin.install_hint = "install it from example.com";
  access.user.method = plugin;
  const auto auth = make_authenticator(loop, files, access);
  const auto held = io::run_task(loop, auth->get(io::seconds{60}));
  ASSERT_FALSE(held);
  EXPECT_THAT(held.error().message, HasSubstr("careen-no-such-plugin"));
  EXPECT_THAT(held.error().message, HasSubstr("install it from example.com"));
}

}  // namespace
}  // namespace careen::kube
