#include "web/webhook_certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "io/virtual_time.h"
#include "kube/base64.h"
#include "sim/test_api.h"

namespace careen::web {
namespace {

using kube::Json;
using testing::HasSubstr;

constexpr const char* kSecret = "/api/v1/namespaces/ops/secrets/hook-cert";
constexpr const char* kConfiguration = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/careen";

// Ages in hours what takes months and years in earnest.
RotationOptions fast() {
  RotationOptions options;
  options.serving_lifetime = io::hours{6};
  options.authority_lifetime = io::hours{24};
  return options;
}

struct Replica {
  Replica(io::VirtualTime& time, sim::TestApi& api, const std::string& name)
      : loop(time.make_loop()), transport(api.network.connect(*loop, name)) {
    scope.spawn(certificates.run());
  }
  std::string served() const { return certificates.current() ? certificates.current()->certificate : ""; }

  std::unique_ptr<io::Loop> loop;
  std::unique_ptr<kube::Transport> transport;
  io::Metrics metrics;
  io::Random random{1};
  io::Problems problems{io::Log()};
  kube::Client client{*loop, *transport, metrics, random};
  WebhookCertificates certificates{{*loop, client, metrics, problems, random, {}},
                                   {.ns = "ops",
                                    .secret = "hook-cert",
                                    .service = "hook",
                                    .configuration = "careen",
                                    .hosts = {"127.0.0.1"},
                                    .rotation = fast()}};
  io::Scope scope{*loop};
};

class WebhookCertificatesTest : public testing::Test {
 protected:
  WebhookCertificatesTest() {
    api.put("/api/v1/namespaces/ops", *Json::parse(R"({"apiVersion":"v1","kind":"Namespace"})"));
    put_configuration();
  }
  void put_configuration() {
    api.put(kConfiguration, *Json::parse(R"({"kind":"ValidatingWebhookConfiguration","webhooks":[
        {"name":"a","clientConfig":{"service":{"namespace":"ops","name":"hook","path":"/a"}}},
        {"name":"b","clientConfig":{"service":{"namespace":"ops","name":"foreign"},"caBundle":"Zm9yZWlnbg=="}},
        {"name":"c","clientConfig":{"url":"https://127.0.0.1:9443/c"}}]})"));
  }
  std::string bundle(int webhook) const {
    const Json configuration = api.object(kConfiguration);
    const auto text = configuration.at("/webhooks/" + std::to_string(webhook) + "/clientConfig/caBundle").text();
    return text ? kube::base64_decode(*text).value_or("?") : "";
  }
  std::string kept(const std::string& key) const {
    const Json secret = api.object(kSecret);
    const auto text = secret["data"][key].text();
    return text ? kube::base64_decode(*text).value_or("?") : "";
  }
  // Whatever a replica serves must be signed by what the API server trusts.
  bool trusted(const std::string& certificate) const {
    std::string rest = bundle(0);
    for (;;) {
      const size_t end = rest.find("-----END CERTIFICATE-----\n");
      if (end == std::string::npos) return false;
      if (io::signed_by(certificate, rest.substr(0, end + 26))) return true;
      rest = rest.substr(end + 26);
    }
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  sim::TestApi api{*loop};
};

TEST_F(WebhookCertificatesTest, MakesTheSecretAndTellsTheServer) {
  Replica replica(time, api, "one");
  EXPECT_FALSE(replica.certificates.ready());
  ASSERT_TRUE(time.run_until([&] { return replica.certificates.ready(); }, io::seconds{10}));
  const Json secret = api.object(kSecret);
  EXPECT_EQ(secret["type"].text(), "kubernetes.io/tls");
  EXPECT_EQ(kept("tls.crt"), replica.served());
  EXPECT_EQ(kept("tls.key"), replica.certificates.current()->key);
  EXPECT_EQ(io::read_certificate(replica.served())->names,
            (std::vector<std::string>{"hook.ops.svc", "hook.ops.svc.cluster.local", "127.0.0.1"}));
  EXPECT_EQ(bundle(0), kept("ca.crt"));
  EXPECT_EQ(bundle(1), "foreign");
  EXPECT_EQ(bundle(2), kept("ca.crt"));
  EXPECT_TRUE(trusted(replica.served()));
  EXPECT_TRUE(replica.problems.open().empty());
  EXPECT_THAT(replica.metrics.expose(), HasSubstr("careen_webhook_certificate_expiry_timestamp_seconds 1"));
}

TEST_F(WebhookCertificatesTest, TwoReplicasThatBeginAtOnceServeTheSame) {
  // Neither sees the other's Secret before it writes its own.
  api.network.treat = [](const sim::Sending& sending) {
    sim::Treatment treatment;
    if (sending.request.method == "POST") treatment.before = io::milliseconds{sending.client == "one" ? 50 : 60};
    return treatment;
  };
  Replica one(time, api, "one");
  Replica two(time, api, "two");
  ASSERT_TRUE(time.run_until([&] { return one.certificates.ready() && two.certificates.ready(); }, io::seconds{10}));
  EXPECT_EQ(api.count("POST secrets"), 2);
  EXPECT_EQ(one.served(), two.served());
  EXPECT_EQ(one.served(), kept("tls.crt"));
  EXPECT_TRUE(trusted(one.served()));
  EXPECT_TRUE(two.problems.open().empty());
}

TEST_F(WebhookCertificatesTest, RenewalAndRotationNeverServeWhatIsNotTrusted) {
  Replica one(time, api, "one");
  Replica two(time, api, "two");
  ASSERT_TRUE(time.run_until([&] { return one.certificates.ready() && two.certificates.ready(); }, io::seconds{10}));
  std::set<std::string> certificates, authorities;
  for (int minute = 0; minute < 3 * 60; minute += 5) {
    // Until shortly before two thirds of the authority's life in one go, then closely.
    time.run_for(minute == 0 ? io::Duration(io::hours{15}) : io::minutes{5});
    ASSERT_EQ(one.served(), two.served()) << minute;
    ASSERT_TRUE(trusted(one.served())) << minute;
    ASSERT_LT(one.loop->wall_now(), io::read_certificate(one.served())->validity.until);
    certificates.insert(one.served());
    authorities.insert(bundle(0));
  }
  EXPECT_GE(certificates.size(), 2u);
  EXPECT_EQ(authorities.size(), 4u) << "old, old and new, new and old, new";
  EXPECT_EQ(kept("next-ca.crt"), "");
  EXPECT_EQ(kept("old-ca.crt"), "");
  EXPECT_TRUE(one.problems.open().empty() && two.problems.open().empty());
}

TEST_F(WebhookCertificatesTest, ABundleThatSomebodyChangesIsPutBack) {
  Replica replica(time, api, "one");
  ASSERT_TRUE(time.run_until([&] { return replica.certificates.ready(); }, io::seconds{10}));
  time.run_for(io::minutes{1});
  const std::string right = bundle(0);
  const int patches = api.count("PATCH validatingwebhookconfigurations");
  put_configuration();
  EXPECT_TRUE(time.run_until([&] { return bundle(0) == right && bundle(2) == right; }, io::seconds{5}));
  EXPECT_EQ(api.count("PATCH validatingwebhookconfigurations"), patches + 1);
  time.run_for(io::minutes{5});
  EXPECT_EQ(api.count("PATCH validatingwebhookconfigurations"), patches + 1);
  EXPECT_TRUE(replica.problems.open().empty());
}

TEST_F(WebhookCertificatesTest, SomebodyWhoKeepsChangingItIsNamed) {
  Replica replica(time, api, "one");
  ASSERT_TRUE(time.run_until([&] { return replica.certificates.ready(); }, io::seconds{10}));
  for (int i = 0; i < 6; ++i) {
    put_configuration();
    time.run_for(io::seconds{5});
  }
  ASSERT_TRUE(replica.problems.open().contains(WebhookCertificates::kConfigurationProblem));
  EXPECT_THAT(replica.problems.open().find(WebhookCertificates::kConfigurationProblem)->second,
              HasSubstr("somebody keeps changing caBundle"));
  time.run_for(io::minutes{25});
  EXPECT_TRUE(replica.problems.open().empty());
}

TEST_F(WebhookCertificatesTest, AnIdleReplicaSendsNearlyNothing) {
  Replica replica(time, api, "one");
  ASSERT_TRUE(time.run_until([&] { return replica.certificates.ready(); }, io::seconds{10}));
  time.run_for(io::minutes{1});
  const int before = api.count("GET secrets");
  time.run_for(io::hours{1});
  EXPECT_LE(api.count("GET secrets") - before, 20) << "a look every ten minutes, and watches that are opened again";
  EXPECT_EQ(api.count("PUT secrets"), 0);
}

TEST_F(WebhookCertificatesTest, ASecretOfOthersIsLeftAlone) {
  api.put(kSecret, *Json::parse(R"({"apiVersion":"v1","kind":"Secret","data":{"tls.crt":"eA==","tls.key":"eA=="}})"));
  Replica replica(time, api, "one");
  time.run_for(io::minutes{1});
  EXPECT_EQ(replica.certificates.current(), nullptr);
  EXPECT_EQ(kept("tls.crt"), "x");
  EXPECT_THAT(replica.problems.open().find(WebhookCertificates::kSecretProblem)->second,
              HasSubstr("Secret ops/hook-cert holds a certificate that careen did not make"));
  api.erase(kSecret);
  EXPECT_TRUE(time.run_until([&] { return replica.certificates.ready(); }, io::minutes{1}));
  EXPECT_TRUE(replica.problems.open().empty());
}

TEST_F(WebhookCertificatesTest, AnEmptySecretIsFilledAndKeepsWhatElseItHas) {
  api.put(kSecret, *Json::parse(R"({"apiVersion":"v1","kind":"Secret","metadata":{"labels":{"by":"helm"}},
                                    "data":{"note":"aGk=","tls.crt":"","tls.key":""}})"));
  Replica replica(time, api, "one");
  ASSERT_TRUE(time.run_until([&] { return replica.certificates.ready(); }, io::seconds{10}));
  EXPECT_EQ(kept("note"), "hi");
  EXPECT_EQ(api.object(kSecret).at("/metadata/labels/by").text(), "helm");
  EXPECT_EQ(kept("tls.crt"), replica.served());
}

TEST_F(WebhookCertificatesTest, ADeletedSecretIsMadeAnew) {
  Replica replica(time, api, "one");
  ASSERT_TRUE(time.run_until([&] { return replica.certificates.ready(); }, io::seconds{10}));
  time.run_for(io::minutes{1});
  const std::string first = replica.served();
  api.erase(kSecret);
  EXPECT_TRUE(time.run_until([&] { return replica.served() != first && trusted(replica.served()); }, io::seconds{10}));
}

TEST_F(WebhookCertificatesTest, MissingRightsAreNamed) {
  api.treat = [](const kube::Request& request) {
    sim::Treatment treatment;
    if (request.path.find("secrets") != std::string::npos && request.method == "POST") {
      treatment.refuse = sim::ApiServer::refusal(403, "Forbidden", "secrets is forbidden: cannot create");
    }
    if (request.path.find("webhookconfigurations") != std::string::npos && request.method == "PATCH") {
      treatment.refuse = sim::ApiServer::refusal(403, "Forbidden", "webhooks is forbidden: cannot patch");
    }
    return treatment;
  };
  Replica replica(time, api, "one");
  time.run_for(io::minutes{2});
  EXPECT_EQ(replica.certificates.current(), nullptr);
  EXPECT_THAT(replica.problems.open().find(WebhookCertificates::kSecretProblem)->second,
              testing::AllOf(HasSubstr("cannot be written; the webhook waits for it"), HasSubstr("cannot create")));
  api.put(kSecret, *Json::parse(R"({"apiVersion":"v1","kind":"Secret"})"));
  time.run_for(io::minutes{2});
  EXPECT_NE(replica.certificates.current(), nullptr);
  EXPECT_FALSE(replica.certificates.ready());
  EXPECT_THAT(replica.problems.open().find(WebhookCertificates::kConfigurationProblem)->second,
              HasSubstr("cannot patch"));
  api.treat = nullptr;
  time.run_for(io::minutes{2});
  EXPECT_TRUE(replica.certificates.ready());
  EXPECT_TRUE(replica.problems.open().empty());
}

TEST_F(WebhookCertificatesTest, AMissingConfigurationIsNamedAndAwaited) {
  api.erase(kConfiguration);
  Replica replica(time, api, "one");
  time.run_for(io::minutes{2});
  EXPECT_NE(replica.certificates.current(), nullptr) << "it could serve";
  EXPECT_FALSE(replica.certificates.ready());
  EXPECT_TRUE(replica.problems.open().contains(WebhookCertificates::kConfigurationProblem));
  api.put(kConfiguration, *Json::parse(R"({"webhooks":[{"name":"b","clientConfig":{"service":{"name":"x"}}}]})"));
  time.run_for(io::minutes{2});
  EXPECT_THAT(replica.problems.open().find(WebhookCertificates::kConfigurationProblem)->second,
              HasSubstr("has no webhook whose service is ops/hook"));
  put_configuration();
  EXPECT_TRUE(time.run_until([&] { return replica.certificates.ready(); }, io::minutes{2}));
  EXPECT_TRUE(time.run_until([&] { return replica.problems.open().empty(); }, io::minutes{1}));
}

}  // namespace
}  // namespace careen::web
