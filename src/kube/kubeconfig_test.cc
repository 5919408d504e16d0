#include "kube/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/virtual_time.h"
#include "kube/base64.h"

namespace careen::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr const char* kCert = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n";
constexpr const char* kKey = "-----BEGIN EC PRIVATE KEY-----\nx\n-----END EC PRIVATE KEY-----\n";

class KubeconfigTest : public ::testing::Test {
 protected:
  io::Result<Access> resolve(const std::string& text, const std::string& context = {}) {
    return resolve_kubeconfig(files_, {{"/etc/k/config", text}}, context);
  }
  // A whole file around the fields of one cluster and one user, written in flow style.
  io::Result<Access> with(const std::string& cluster, const std::string& user) {
    return resolve(
        "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\nclusters:\n- name: k\n  cluster: "
        "{" +
        cluster + "}\nusers:\n- name: u\n  user: {" + user + "}\n");
  }
  io::Result<Access> with_user(const std::string& user) { return with("server: 'https://s:6443'", user); }
  io::Result<Access> with_cluster(const std::string& cluster) { return with(cluster, "token: t"); }
  static std::string message(const io::Result<Access>& result) { return result ? "no error" : result.error().message; }

  io::VirtualTime time_;
  std::unique_ptr<io::Loop> loop_ = time_.make_loop();
  io::MemoryFiles files_{*loop_};
};

TEST(Base64Test, RoundTripsAndRefusals) {
  for (const char* text : {"", "a", "ab", "abc", "abcd", "\xff\xfe\x01"}) {
    EXPECT_EQ(base64_decode(base64_encode(text)), text);
  }
  EXPECT_EQ(base64_encode("careen!"), "Y2FyZWVuIQ==");
  EXPECT_EQ(base64_decode("Y2Fy\n ZWVu\r\nIQ==\n"), "careen!");
  for (const char* bad : {"Y", "YQ", "YQ=", "YQ===", "=", "YQ==YQ==", "Y=Q=", "Y2F-", "YWJj="}) {
    EXPECT_FALSE(base64_decode(bad)) << bad;
  }
}

TEST_F(KubeconfigTest, AnOrdinaryFileWithInlineData) {
  const auto cluster = resolve(
      "apiVersion: v1\n"
      "kind: Config\n"
      "preferences: {}\n"
      "current-context: dev\n"
      "clusters:\n"
      "- name: k\n"
      "  cluster:\n"
      "    server: https://k.example:6443/\n"
      "    certificate-authority-data: " +
      base64_encode(kCert) +
      "\n"
      "    tls-server-name: kubernetes\n"
      "    proxy-url: http://proxy:3128\n"
      "contexts:\n"
      "- name: dev\n"
      "  context: {cluster: k, user: admin, namespace: ops}\n"
      "users:\n"
      "- name: admin\n"
      "  user:\n"
      "    client-certificate-data: " +
      base64_encode(kCert) +
      "\n"
      "    client-key-data: " +
      base64_encode(kKey) + "\n");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->server, "https://k.example:6443");
  EXPECT_EQ(cluster->ca.text, kCert);
  EXPECT_EQ(cluster->ca.path, "");
  EXPECT_EQ(cluster->tls_server_name, "kubernetes");
  EXPECT_EQ(cluster->proxy, "http://proxy:3128");
  EXPECT_EQ(cluster->ns, "ops");
  EXPECT_EQ(cluster->user.client_cert.text, kCert);
  EXPECT_EQ(cluster->user.client_key.text, kKey);
  EXPECT_TRUE(std::holds_alternative<Anonymous>(cluster->user.method));
  EXPECT_FALSE(cluster->insecure);
}

TEST_F(KubeconfigTest, JsonIsYaml) {
  const auto cluster = resolve(
      "{\n\t\"kind\": \"Config\",\n\t\"current-context\": \"c\",\n"
      "\t\"clusters\": [{\"name\": \"k\", \"cluster\": {\"server\": \"https://s\"}}],\n"
      "\t\"users\": [{\"name\": \"u\", \"user\": {\"token\": \"t\"}}],\n"
      "\t\"contexts\": [{\"name\": \"c\", \"context\": {\"cluster\": \"k\", \"user\": \"u\"}}]\n}\n");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->ns, "default");
}

TEST_F(KubeconfigTest, FilesOfCertificates) {
  files_.write("/etc/k/pki/ca.crt", kCert);
  files_.write("/abs/me.crt", kCert);
  files_.write("/etc/k/me.key", kKey);
  const auto cluster = with("server: 'https://s', certificate-authority: pki/ca.crt",
                            "client-certificate: /abs/me.crt, client-key: me.key");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->ca.path, "/etc/k/pki/ca.crt");
  EXPECT_EQ(cluster->user.client_cert.path, "/abs/me.crt");
  EXPECT_EQ(cluster->user.client_key.path, "/etc/k/me.key");
  EXPECT_EQ(cluster->user.client_key.text, kKey);
}

TEST_F(KubeconfigTest, InlineDataGoesBeforeTheFile) {
  const auto cluster = with_cluster(
      "server: 'https://s', certificate-authority: nowhere, certificate-authority-data: " + base64_encode(kCert));
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->ca.path, "");
}

TEST_F(KubeconfigTest, ServersAsPeopleWriteThem) {
  EXPECT_EQ(with_cluster("server: 'https://s/prefix/'")->server, "https://s/prefix");
  EXPECT_EQ(with_cluster("server: 'https://s?x=y#z'")->server, "https://s");
  EXPECT_EQ(with_cluster("server: 's:8443', insecure-skip-tls-verify: true")->server, "https://s:8443");
  EXPECT_EQ(with_cluster("server: 'localhost:8080'")->server, "http://localhost:8080");
}

TEST_F(KubeconfigTest, NoCredentialsWithoutEncryption) {
  EXPECT_TRUE(std::holds_alternative<Anonymous>(with_cluster("server: 'http://s'")->user.method));
  EXPECT_TRUE(std::holds_alternative<Token>(with_cluster("server: 'https://s'")->user.method));
}

TEST_F(KubeconfigTest, WaysToLogIn) {
  EXPECT_EQ(std::get<Token>(with_user("token: abc")->user.method).text, "abc");
  EXPECT_EQ(std::get<Token>(with_user("token: 12345")->user.method).text, "12345");
  const auto basic = with_user("username: me, password: 's3cret:x'");
  EXPECT_EQ(std::get<BasicAuth>(basic->user.method).password, "s3cret:x");
  EXPECT_TRUE(std::holds_alternative<Anonymous>(with_user("")->user.method));

  files_.write("/etc/k/t", "from-file\n");
  const auto both = with_user("token: inline, tokenFile: t");
  EXPECT_EQ(std::get<Token>(both->user.method).text, "from-file");
  const auto fallback = with_user("token: inline, tokenFile: missing");
  EXPECT_EQ(std::get<Token>(fallback->user.method).text, "inline");
  EXPECT_EQ(std::get<Token>(fallback->user.method).path, "/etc/k/missing");
}

TEST_F(KubeconfigTest, ExecPlugins) {
  const auto cluster = with(
      "server: 'https://s', extensions: [{name: other, extension: 1},"
      " {name: client.authentication.k8s.io/exec, extension: {audience: a, n: 5, list: [true, '7', null]}}]",
      "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./bin/login, args: [get, '5'], interactiveMode: "
      "Never, env: [{name: A, value: b}, {name: E}], provideClusterInfo: true, installHint: get it}");
  ASSERT_TRUE(cluster) << cluster.error().message;
  const auto& plugin = std::get<ExecPlugin>(cluster->user.method);
  EXPECT_EQ(plugin.command, "/etc/k/./bin/login");
  EXPECT_THAT(plugin.arguments, ElementsAre("get", "5"));
  EXPECT_THAT(plugin.environment, ElementsAre(Pair("A", "b"), Pair("E", "")));
  EXPECT_EQ(plugin.install_hint, "get it");
  EXPECT_TRUE(plugin.provide_cluster_info);
  EXPECT_EQ(plugin.cluster_config, R"({"audience":"a","n":5,"list":[true,"7",null]})");

  // Found on the PATH; a mode is needed only since v1.
  const auto beta = with_user("exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws}");
  EXPECT_EQ(std::get<ExecPlugin>(beta->user.method).command, "aws");

  // Credentials that are there need no plugin.
  const auto token = with_user("token: t, exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws}");
  EXPECT_TRUE(std::holds_alternative<Token>(token->user.method));
}

TEST_F(KubeconfigTest, ExecPluginsThatCannotWork) {
  EXPECT_EQ(
      message(with_user("exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Always}")),
      "/etc/k/config:8:91: users[0].user.exec.interactiveMode: is Always, but careen has no terminal for the "
      "plugin to ask on");
  EXPECT_THAT(message(with_user("exec: {apiVersion: client.authentication.k8s.io/v1, command: x}")),
              HasSubstr("users[0].user.exec: interactiveMode: must be given"));
  EXPECT_THAT(
      message(with_user("exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Yes}")),
      HasSubstr("\"Yes\" is not known"));
  EXPECT_THAT(message(with_user("exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}")),
              HasSubstr("exec.apiVersion: must be client.authentication.k8s.io/v1 or"));
  EXPECT_THAT(message(with_user("exec: {apiVersion: client.authentication.k8s.io/v1beta1}")),
              HasSubstr("exec: command: must be given"));
  EXPECT_THAT(
      message(with_user("exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: x, env: [{value: b}]}")),
      HasSubstr("users[0].user.exec.env[0]: name: must be"));
  EXPECT_THAT(message(with_user("exec: [a]")), HasSubstr("users[0].user.exec: must be a mapping"));
  EXPECT_THAT(message(with_user("auth-provider: {name: gcp}")), HasSubstr("auth-provider: Kubernetes has removed"));
}

TEST_F(KubeconfigTest, Impersonation) {
  const auto cluster = with_user("token: t, as: bob, as-uid: '7', as-groups: [a, b], as-user-extra: {scope: [x, y]}");
  ASSERT_TRUE(cluster) << cluster.error().message;
  const Impersonation& impersonate = cluster->user.impersonate;
  EXPECT_EQ(impersonate.user, "bob");
  EXPECT_EQ(impersonate.uid, "7");
  EXPECT_THAT(impersonate.groups, ElementsAre("a", "b"));
  EXPECT_THAT(impersonate.extra, ElementsAre(Pair("scope", ElementsAre("x", "y"))));
  EXPECT_THAT(message(with_user("token: t, as-groups: [a]")), HasSubstr("users[0].user: as: must be given"));
  EXPECT_THAT(message(with_user("token: t, as: \"a\\nb\"")), HasSubstr("as: has a line break"));
}

TEST_F(KubeconfigTest, WrongFieldsAreNamedWithTheirPlace) {
  EXPECT_EQ(message(with_user("client-certificate-data: '%%%'")),
            "/etc/k/config:8:35: users[0].user.client-certificate-data: not valid base64");
  EXPECT_EQ(message(with_user("client-certificate-data: aGVsbG8=")),
            "/etc/k/config:8:35: users[0].user.client-certificate-data: holds no certificate in PEM");
  EXPECT_THAT(message(with_user("client-certificate-data: " + base64_encode(kCert))),
              HasSubstr("users[0].user: client-key: must be given with a client certificate"));
  EXPECT_THAT(message(with_user("client-certificate: missing.crt")),
              AllOf(HasSubstr("users[0].user.client-certificate: "), HasSubstr("/etc/k/missing.crt")));
  EXPECT_THAT(message(with_user("token: [a]")), HasSubstr("/etc/k/config:8:17: users[0].user.token: must be a text"));
  EXPECT_THAT(message(with_user("token: t, token: u")), HasSubstr("users[0].user.token: is given twice"));
  EXPECT_THAT(message(with_user("token: t, username: u")), HasSubstr("only one way to log in"));
  EXPECT_THAT(message(with_user("tokenFile: missing")), HasSubstr("users[0].user.tokenFile: "));
  files_.write("/etc/k/empty", "\n");
  EXPECT_THAT(message(with_user("tokenFile: empty")), HasSubstr("/etc/k/empty is empty"));
  EXPECT_THAT(message(with_cluster("")), HasSubstr("clusters[0].cluster: server: must be given"));
  EXPECT_THAT(message(with_cluster("server: 'ftp://s'")), HasSubstr("neither an https nor an http"));
  EXPECT_THAT(message(with_cluster("server: 'https://'")), HasSubstr("clusters[0].cluster.server: names no host"));
  EXPECT_THAT(message(with_cluster("server: 'https://:6443'")), HasSubstr("names no host"));
  EXPECT_THAT(message(with_cluster("server: 'https://a b'")), HasSubstr("has a blank"));
  EXPECT_THAT(message(with_cluster("server: 'https://s', insecure-skip-tls-verify: maybe")),
              HasSubstr("insecure-skip-tls-verify: must be true or false"));
  EXPECT_THAT(message(with_cluster("server: 'https://s', insecure-skip-tls-verify: true, certificate-authority-data: " +
                                   base64_encode(kCert))),
              HasSubstr("cannot be combined"));
  EXPECT_THAT(message(with_cluster("server: 'https://s', proxy-url: 'proxy:3128'")), HasSubstr("proxy-url: must be"));
}

// What is secret stays out of messages.
TEST_F(KubeconfigTest, SecretsAreNotRepeated) {
  EXPECT_THAT(message(with_user("token: \"top\\nsecret\"")), AllOf(HasSubstr("token"), Not(HasSubstr("secret"))));
  EXPECT_THAT(message(with_user("client-key-data: 'top%secret', client-certificate-data: " + base64_encode(kCert))),
              AllOf(HasSubstr("client-key-data: not valid base64"), Not(HasSubstr("secret"))));
}

TEST_F(KubeconfigTest, ContextsThatLeadNowhere) {
  const std::string tail =
      "clusters: [{name: k, cluster: {server: 'https://s'}}]\nusers: [{name: u, user: {token: t}}]\n";
  EXPECT_EQ(message(resolve("contexts: [{name: c, context: {cluster: k, user: u}}]\n" + tail)),
            "/etc/k/config: current-context: is not set, and no context was asked for; there are \"c\"");
  EXPECT_EQ(message(resolve("contexts: [{name: c, context: {cluster: k, user: u}}]\n" + tail, "d")),
            "/etc/k/config: contexts: there is no context named \"d\"; there are \"c\"");
  EXPECT_EQ(message(resolve("contexts: [{name: c, context: {cluster: x, user: u}}]\n" + tail, "c")),
            "/etc/k/config:1:41: contexts[0].context.cluster: there is no cluster named \"x\"; there are \"k\"");
  EXPECT_THAT(message(resolve("contexts: [{name: c, context: {cluster: k, user: x}}]\n" + tail, "c")),
              HasSubstr("there is no user named \"x\""));
  EXPECT_THAT(message(resolve("contexts: [{name: c, context: {cluster: k}}]\n" + tail, "c")),
              HasSubstr("contexts[0].context: user: must be given"));
  EXPECT_THAT(message(resolve("contexts: [{name: c, context: {cluster: k, user: u, namespace: A_B}}]\n" + tail, "c")),
              HasSubstr("\"A_B\" is not a namespace's name"));
}

// Only the chosen context has to make sense.
TEST_F(KubeconfigTest, OtherEntriesMayBeBroken) {
  EXPECT_TRUE(
      resolve("current-context: c\n"
              "contexts: [{name: c, context: {cluster: k, user: u}}, {name: d, context: {cluster: nowhere}}]\n"
              "clusters: [{name: k, cluster: {server: 'https://s'}}, {name: l, cluster: {server: [1]}}]\n"
              "users: [{name: u, user: {token: t}}, {name: v, user: {client-key-data: '%'}}]\n"));
}

TEST_F(KubeconfigTest, FilesThatAreNoKubeconfigs) {
  EXPECT_THAT(message(resolve("")), HasSubstr("current-context: is not set"));
  EXPECT_THAT(message(resolve("# nothing\n")), HasSubstr("current-context: is not set"));
  EXPECT_EQ(message(resolve("hello")), "/etc/k/config:1:1: must be a mapping");
  EXPECT_EQ(message(resolve("- a\n")), "/etc/k/config:1:1: must be a mapping");
  EXPECT_EQ(message(resolve("kind: Deployment\n")),
            "/etc/k/config:1:7: kind: is \"Deployment\"; that of a kubeconfig is \"Config\"");
  EXPECT_THAT(message(resolve("apiVersion: v2\n")), HasSubstr("apiVersion: \"v2\" is not known"));
  EXPECT_EQ(message(resolve("clusters:\n\t- name: x\n")), "/etc/k/config:2:1: indented with a tab; YAML wants spaces");
  EXPECT_THAT(message(resolve("clusters: [\n")), StartsWith("/etc/k/config:2:1: "));
  EXPECT_THAT(message(resolve("a: 'b\n")), StartsWith("/etc/k/config:"));
  EXPECT_THAT(message(resolve(std::string("a: b\0c", 6))), HasSubstr("is not a text file"));
  EXPECT_THAT(message(resolve(std::string(2 << 20, '#'))), HasSubstr("is larger than 1 MiB"));
  EXPECT_EQ(message(resolve("users: [5]\n")), "/etc/k/config:1:9: users[0]: must be a mapping");
  EXPECT_THAT(message(resolve("users: [{user: {}}]\n")), HasSubstr("users[0]: name: must be given"));
  EXPECT_THAT(message(resolve("users: [{name: a}]\n")), HasSubstr("users[0].user: must be given"));
  EXPECT_THAT(message(resolve("users: [{name: a, user: {}}, {name: a, user: {}}]\n")),
              HasSubstr("users[1].name: \"a\" is given twice"));
  EXPECT_THAT(message(resolve("? [a]\n: b\n")), HasSubstr("a key must be a text"));
  EXPECT_THAT(message(resolve("users: *nobody\n")), StartsWith("/etc/k/config:1:8: "));
}

TEST_F(KubeconfigTest, HostileYamlEndsQuickly) {
  std::string deep = "users: ";
  for (int i = 0; i < 100000; ++i) deep += '[';
  EXPECT_THAT(message(resolve(deep)), StartsWith("/etc/k/config:"));

  // Nine generations of nine aliases each would be 387 million texts.
  std::string bomb = "x0: &x0 [a, a, a, a, a, a, a, a, a]\n";
  for (int i = 1; i < 9; ++i) {
    bomb += "x" + std::to_string(i) + ": &x" + std::to_string(i) + " [";
    for (int j = 0; j < 9; ++j) bomb += "*x" + std::to_string(i - 1) + (j < 8 ? ", " : "]\n");
  }
  bomb +=
      "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
      "clusters: [{name: k, cluster: {server: 'https://s', extensions: "
      "[{name: client.authentication.k8s.io/exec, extension: *x8}]}}]\n"
      "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: x, "
      "provideClusterInfo: true}}}]\n";
  EXPECT_THAT(message(resolve(bomb)), HasSubstr("too large or too deep"));
}

class UntrustedKubeconfigTest : public ::testing::Test {
 protected:
  static io::Result<Access> with(const std::string& cluster, const std::string& user) {
    return resolve_untrusted_kubeconfig("Secret ops/k",
                                        "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u, "
                                        "namespace: n}}]\nclusters:\n- name: k\n"
                                        "  cluster: {" +
                                            cluster + "}\nusers:\n- name: u\n  user: {" + user + "}\n",
                                        "");
  }
  static std::string message(const io::Result<Access>& result) { return result ? "no error" : result.error().message; }
};

TEST_F(UntrustedKubeconfigTest, TakesWhatIsInline) {
  const std::string cert = base64_encode(kCert), key = base64_encode(kKey);
  const auto cluster = with("server: 'https://s:6443', tls-server-name: k, certificate-authority-data: " + cert,
                            "client-certificate-data: " + cert + ", client-key-data: " + key);
  ASSERT_TRUE(cluster) << message(cluster);
  EXPECT_EQ(cluster->server, "https://s:6443");
  EXPECT_EQ(cluster->ca.text, kCert);
  EXPECT_EQ(cluster->ns, "n");
  EXPECT_EQ(cluster->user.client_key.text, kKey);
  EXPECT_EQ(cluster->source, "kubeconfig Secret ops/k, context \"c\"");
  const auto token = with("server: 'https://s'", "token: secret");
  ASSERT_TRUE(token) << message(token);
  EXPECT_EQ(std::get<Token>(token->user.method).text, "secret");
}

// Each names the field, says what is wrong with it, and tells nothing of what is secret.
TEST_F(UntrustedKubeconfigTest, RefusesWhatReachesOut) {
  const std::string server = "server: 'https://s'";
  const std::string cert = base64_encode(kCert), key = base64_encode(kKey);
  const struct {
    std::string cluster, user, field, why;
  } cases[] = {
      {server + ", certificate-authority: /etc/ssl/ca.crt", "token: hush", "certificate-authority", "names a file"},
      {server + ", certificate-authority: ca.crt, certificate-authority-data: " + cert, "token: hush",
       "certificate-authority", "names a file"},
      {server, "tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token", "tokenFile", "names a file"},
      {server, "tokenFile: f, token: hush", "tokenFile", "names a file"},
      {server, "client-certificate: c.crt, client-key-data: " + key, "client-certificate", "names a file"},
      {server, "client-certificate-data: " + cert + ", client-key: k", "client-key", "names a file"},
      {server, "token: hush, exec: {command: sh}", "exec", "is a program"},
      {server, "auth-provider: {name: gcp}", "auth-provider", "Kubernetes has removed"},
      {server + ", proxy-url: 'http://evil:3128'", "token: hush", "proxy-url", "is not allowed"},
      {"server: 'http://s'", "token: hush", "server", "must be an https address"},
      {"server: s", "token: hush", "server", "must be an https address"},
  };
  for (const auto& one : cases) {
    const auto cluster = with(one.cluster, one.user);
    EXPECT_FALSE(cluster) << one.field;
    EXPECT_THAT(message(cluster), StartsWith("Secret ops/k:"));
    EXPECT_THAT(message(cluster), HasSubstr("." + one.field + ": " + one.why));
    EXPECT_THAT(message(cluster), Not(HasSubstr("hush")));
  }
}

// Only the entries that are used have to be harmless.
TEST_F(UntrustedKubeconfigTest, OtherContextsDoNotMatter) {
  const auto cluster =
      resolve_untrusted_kubeconfig("Secret ops/k",
                                   "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
                                   "clusters: [{name: k, cluster: {server: 'https://s'}}]\n"
                                   "users: [{name: u, user: {token: t}}, {name: other, user: {exec: {command: sh}}}]\n",
                                   "");
  EXPECT_TRUE(cluster) << message(cluster);
}

}  // namespace
}  // namespace careen::kube
