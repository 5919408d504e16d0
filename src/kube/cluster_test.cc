#include "kube/cluster.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/random.h"
#include "io/virtual_time.h"
#include "kube/kubeconfig.h"
#include "sim/test_api.h"

namespace careen::kube {
namespace {

using io::minutes;
using io::seconds;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kServerA = "https://a.example";
constexpr const char* kServerB = "https://b.example";

class LinesOfClusters final : public io::LogSink {
 public:
  bool enabled(io::LogLevel) const override { return true; }
  void write(io::LogLevel, std::string_view name, std::string_view message, const io::LogFields& fields) override {
    std::string line = fmt::format("{}: {}", name, message);
    for (const auto& [key, value] : fields) line += fmt::format(" {}={}", key, value);
    lines.push_back(std::move(line));
  }
  std::vector<std::string> lines;
};

// Two model clusters behind two addresses. Their connections are named after the token with which they are made.
class ClusterTest : public testing::Test {
 protected:
  ClusterTest() {
    put_node(a, "a-1");
    put_node(a, "a-2");
    put_node(b, "b-1");
  }
  static void put_node(sim::TestApi& api, const std::string& name) { api.put("/api/v1/nodes/" + name, Json::object()); }
  static Access access(std::string server, std::string token = "one") {
    Access made;
    made.server = std::move(server);
    made.user.method = Token{std::move(token), {}};
    return made;
  }
  Transports connect(const Access& to) {
    const std::string token = std::get<Token>(to.user.method).text;
    return {(to.server == kServerA ? a : b).network.connect(*loop, token), nullptr};
  }
  std::unique_ptr<Cluster> make(std::string name, Access to) {
    return std::make_unique<Cluster>(ClusterParts{*loop, random, metrics, problems, io::Log(log, "kube")},
                                     std::move(name), std::move(to), [this](const Access& it) { return connect(it); });
  }
  Watched<Node>& watch_nodes(Cluster& cluster) {
    auto& nodes = cluster.watched<Node>({.resource = resources::nodes}, cluster.node_decoder());
    tellers.push_back(nodes.store().subscribe([this](const Node* before, const Node* after) {
      told.push_back((after ? "+" : "-") + (after ? after : before)->name);
    }));
    nodes.start();
    return nodes;
  }
  static std::vector<std::string> names(const Watched<Node>& nodes) {
    std::vector<std::string> found;
    nodes.store().for_each([&](const Node& node) { found.push_back(node.name); });
    return found;
  }
  // No request that reaches it is answered.
  static void hang(sim::TestApi& api) {
    api.network.treat = [](const sim::Sending&) { return sim::Treatment{.lost = true}; };
  }
  static io::Task<void> read(Client& client, int* answered) {
    for (;;) {
      (void)co_await client.list(resources::nodes, "");
      ++*answered;
    }
  }
  std::vector<std::string> open_problems() const {
    std::vector<std::string> keys;
    for (const auto& [key, message] : problems.open()) keys.push_back(key + " | " + message);
    return keys;
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> server_loop = time.make_loop();
  sim::TestApi a{*server_loop}, b{*server_loop};
  std::unique_ptr<io::Loop> loop = time.make_loop();
  io::Random random{7};
  io::Metrics metrics;
  std::shared_ptr<LinesOfClusters> log = std::make_shared<LinesOfClusters>();
  io::Problems problems{io::Log(log, "problems")};
  std::vector<std::string> told;
  std::vector<io::Subscription> tellers;
};

std::string kubeconfig(const std::string& cluster, const std::string& user) {
  return fmt::format(
      "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
      "clusters: [{{name: k, cluster: {{server: '{}'{}}}}}]\nusers: [{{name: u, user: {{{}}}}}]\n"
      "contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n",
      kServerA, cluster, user);
}

TEST_F(ClusterTest, IsMadeFromTheTextOfAKubeconfig) {
  auto access = resolve_untrusted_kubeconfig("Secret fleet/eu-1-kubeconfig", kubeconfig("", "token: secret"), "");
  ASSERT_TRUE(access) << access.error().message;
  const auto cluster = make("eu-1", std::move(*access));
  const auto& nodes = watch_nodes(*cluster);
  time.run_for(seconds{1});
  EXPECT_THAT(names(nodes), ElementsAre("a-1", "a-2"));
  EXPECT_THAT(cluster->access().source, HasSubstr("Secret fleet/eu-1-kubeconfig"));
  EXPECT_EQ(std::get<Token>(cluster->access().user.method).text, "secret");
}

TEST(UntrustedClusterTest, ATextMayNeitherNameFilesNorProgramsNorProxies) {
  const auto refusal = [](const std::string& cluster, const std::string& user) {
    const auto access = resolve_untrusted_kubeconfig("Secret fleet/x-kubeconfig", kubeconfig(cluster, user), "");
    return access ? std::string("taken") : access.error().message;
  };
  EXPECT_EQ(refusal("", "token: t"), "taken");
  EXPECT_THAT(refusal("", "tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token"),
              AllOf(HasSubstr("Secret fleet/x-kubeconfig"), HasSubstr("tokenFile"), HasSubstr("names a file")));
  EXPECT_THAT(refusal(", certificate-authority: /etc/ssl/ca.crt", "token: t"), HasSubstr("names a file"));
  EXPECT_THAT(refusal("", "client-certificate: /c, client-key: /k"), HasSubstr("names a file"));
  EXPECT_THAT(refusal("", "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never}"),
              HasSubstr("none is started"));
  EXPECT_THAT(refusal(", proxy-url: 'http://p:1'", "token: t"), HasSubstr("proxy-url"));
}

TEST_F(ClusterTest, AnIdleOneCostsOneWatch) {
  const auto cluster = make("a", access(kServerA));
  watch_nodes(*cluster);
  time.run_for(seconds{1});
  int requests = 0;
  a.network.treat = [&](const sim::Sending& sending) {
    if (!sending.stream) ++requests;
    return sim::Treatment{};
  };
  time.run_for(io::hours{1});
  EXPECT_EQ(requests, 0);
  EXPECT_EQ(a.network.open_streams(), 1u);
}

TEST_F(ClusterTest, CareensOwnHasNoLabel) {
  const auto own = make("", access(kServerA));
  watch_nodes(*own);
  hang(b);
  const auto other = make("b", access(kServerB));
  watch_nodes(*other);
  time.run_for(minutes{5});
  EXPECT_THAT(metrics.expose(), HasSubstr("careen_cache_objects{resource=\"nodes\"} 2\n"));
  own->problems().raise("ledger", "is full");
  EXPECT_THAT(open_problems(), Contains("ledger | is full"));
}

TEST_F(ClusterTest, TwoSideBySideCanBeToldApart) {
  const auto first = make("a", access(kServerA));
  const auto second = make("b", access(kServerB));
  const auto& a_nodes = watch_nodes(*first);
  const auto& b_nodes = watch_nodes(*second);
  time.run_for(seconds{1});
  EXPECT_THAT(names(a_nodes), ElementsAre("a-1", "a-2"));
  EXPECT_THAT(names(b_nodes), ElementsAre("b-1"));
  const std::string text = metrics.expose();
  EXPECT_THAT(text, HasSubstr("careen_cache_objects{cluster=\"a\",resource=\"nodes\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("careen_cache_objects{cluster=\"b\",resource=\"nodes\"} 1\n"));
  EXPECT_THAT(text,
              HasSubstr("careen_api_requests_total{cluster=\"b\",code=\"200\",resource=\"nodes\",verb=\"list\"} 1"));
  hang(b);
  b.break_watches();
  time.run_for(minutes{5});
  EXPECT_THAT(open_problems(), ElementsAre(AllOf(HasSubstr("cluster b: watch nodes | cluster b: cannot watch nodes:"),
                                                 HasSubstr("the server does not answer"))));
  second->change(access(kServerB, "two"));
  EXPECT_THAT(log->lines, Contains(AllOf(HasSubstr("asked with other credentials"), HasSubstr("cluster=b"))));
}

TEST_F(ClusterTest, OneThatHangsDelaysTheOtherNotAtAll) {
  hang(a);
  const auto hanging = make("a", access(kServerA));
  watch_nodes(*hanging);
  const auto well = make("b", access(kServerB));
  const auto& nodes = watch_nodes(*well);
  const auto begun = time.now();
  EXPECT_TRUE(time.run_until([&] { return nodes.synced(); }, minutes{1}));
  EXPECT_EQ(time.now(), begun) << "the model answers at once";
  for (int i = 2; i < 100; ++i) {
    time.run_for(seconds{7});
    put_node(b, fmt::format("b-{}", i));
    const auto put = time.now();
    EXPECT_TRUE(time.run_until([&] { return nodes.store().find(fmt::format("b-{}", i)) != nullptr; }, minutes{1}));
    EXPECT_EQ(time.now(), put);
  }
  EXPECT_THAT(open_problems(), ElementsAre(HasSubstr("cluster a: watch nodes")));
  EXPECT_THAT(well->problems().open(), IsEmpty());
}

TEST_F(ClusterTest, IsDroppedWholeWithAllThatIsUnderWay) {
  auto cluster = make("a", access(kServerA));
  watch_nodes(*cluster);
  time.run_for(seconds{1});
  // One watch is open, a list and a read hang, and there is a problem.
  hang(a);
  auto& pods =
      cluster->watched<Object>({.resource = resources::pods}, [](RawObject& raw) { return decode_object(raw); });
  pods.start();
  int answered = 0;
  cluster->tasks().spawn(read(cluster->client(), &answered));
  time.run_for(minutes{3});
  const int answered_before = answered;
  ASSERT_EQ(a.network.open_streams(), 1u);
  ASSERT_THAT(open_problems(), ElementsAre(HasSubstr("cluster a: watch pods")));
  ASSERT_THAT(metrics.expose(), HasSubstr("cluster=\"a\""));
  told.clear();
  cluster.reset();
  EXPECT_THAT(problems.open(), IsEmpty());
  EXPECT_THAT(metrics.expose(), Not(HasSubstr("cluster=\"a\"")));
  int requests = 0;
  a.network.treat = [&](const sim::Sending&) {
    ++requests;
    return sim::Treatment{};
  };
  time.run_for(minutes{30});
  EXPECT_EQ(requests, 0);
  EXPECT_EQ(answered, answered_before);
  EXPECT_EQ(a.network.open_streams(), 0u);
  EXPECT_THAT(told, IsEmpty());
  EXPECT_THAT(log->lines, Not(Contains(HasSubstr("the problem is gone")))) << "nobody knows whether it is";
}

TEST_F(ClusterTest, OtherCredentialsKeepWhatIsWatched) {
  const auto cluster = make("a", access(kServerA, "one"));
  const auto& nodes = watch_nodes(*cluster);
  time.run_for(seconds{1});
  told.clear();
  cluster->change(access(kServerA, "two"));
  std::vector<std::string> asked_by;
  a.network.treat = [&](const sim::Sending& sending) {
    asked_by.push_back(sending.client + (sending.stream ? " watch" : ""));
    return sim::Treatment{};
  };
  put_node(a, "a-3");
  int answered = 0;
  cluster->tasks().spawn(read(cluster->client(), &answered));
  ASSERT_TRUE(time.run_until([&] { return answered > 0; }, seconds{1}));
  cluster->tasks().cancel();
  time.run_for(minutes{11});
  EXPECT_THAT(told, ElementsAre("+a-3"));
  EXPECT_THAT(names(nodes), ElementsAre("a-1", "a-2", "a-3"));
  EXPECT_THAT(asked_by, AllOf(Contains("two"), Contains("two watch"), Not(Contains(HasSubstr("one")))));
}

TEST_F(ClusterTest, CredentialsThatAreTakenHealWithinSeconds) {
  a.network.treat = [](const sim::Sending& sending) {
    sim::Treatment treatment;
    if (sending.client == "one") treatment.refuse = Response{403, R"({"kind":"Status","code":403})", std::nullopt};
    return treatment;
  };
  const auto cluster = make("a", access(kServerA, "one"));
  const auto& nodes = watch_nodes(*cluster);
  time.run_for(minutes{20});
  ASSERT_THAT(open_problems(), ElementsAre(HasSubstr("forbidden")));
  cluster->change(access(kServerA, "two"));
  EXPECT_TRUE(time.run_until([&] { return nodes.synced(); }, seconds{1}));
  EXPECT_THAT(problems.open(), IsEmpty());
}

TEST_F(ClusterTest, AnotherServerIsListedAnew) {
  // Its versions say nothing about those of the first.
  for (int i = 0; i < 50; ++i) a.put(fmt::format("/api/v1/nodes/a-{}", i), Json::object());
  b.put("/api/v1/nodes/a-1", Json::object());
  const auto cluster = make("a", access(kServerA));
  const auto& nodes = watch_nodes(*cluster);
  time.run_for(seconds{1});
  // A list of the old one that hangs holds nothing up.
  auto& pods =
      cluster->watched<Object>({.resource = resources::pods}, [](RawObject& raw) { return decode_object(raw); });
  hang(a);
  pods.start();
  time.run_for(seconds{1});
  cluster->change(access(kServerB));
  EXPECT_THAT(names(nodes), IsEmpty());
  EXPECT_TRUE(time.run_until([&] { return nodes.synced() && pods.synced(); }, seconds{1}));
  EXPECT_THAT(names(nodes), ElementsAre("a-1", "b-1"));
  put_node(b, "b-2");
  put_node(a, "a-99");
  time.run_for(seconds{1});
  EXPECT_THAT(names(nodes), ElementsAre("a-1", "b-1", "b-2"));
  EXPECT_EQ(a.network.open_streams(), 0u);
  EXPECT_THAT(problems.open(), IsEmpty());
}

}  // namespace
}  // namespace careen::kube
