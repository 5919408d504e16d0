#include "kube/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/virtual_time.h"

namespace careen::kube {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kCa = "-----BEGIN CERTIFICATE-----\nca\n-----END CERTIFICATE-----\n";
const std::string kAccount = "/var/run/secrets/kubernetes.io/serviceaccount/";

std::string config(const std::string& name, const std::string& server, const std::string& token) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: " + name + "\nclusters:\n- name: " + name +
         "\n  cluster: {server: " + server + "}\nusers:\n- name: " + name + "\n  user: {token: " + token +
         "}\ncontexts:\n- name: " + name + "\n  context: {cluster: " + name + ", user: " + name + "}\n";
}

class CredentialsTest : public ::testing::Test {
 protected:
  io::Result<Access> load(ClusterFlags flags = {}) {
    return load_access(files_, Environment{[this](std::string_view name) -> std::optional<std::string> {
                         const auto it = variables_.find(name);
                         return it == variables_.end() ? std::nullopt : std::optional(it->second);
                       }},
                       flags);
  }
  void be_in_a_pod() {
    variables_["KUBERNETES_SERVICE_HOST"] = "10.0.0.1";
    variables_["KUBERNETES_SERVICE_PORT"] = "443";
    files_.write(kAccount + "token", "abc\n");
    files_.write(kAccount + "ca.crt", kCa);
    files_.write(kAccount + "namespace", "ops\n");
  }
  static std::string token_of(const io::Result<Access>& access) { return std::get<Token>(access->user.method).text; }

  io::VirtualTime time_;
  std::unique_ptr<io::Loop> loop_ = time_.make_loop();
  io::MemoryFiles files_{*loop_};
  std::map<std::string, std::string, std::less<>> variables_;
};

TEST_F(CredentialsTest, TheSourcesGoInOrder) {
  variables_["HOME"] = "/home/me";
  files_.write("/home/me/.kube/config", config("home", "https://home", "t-home"));
  EXPECT_EQ(load()->server, "https://home");
  EXPECT_FALSE(load()->in_cluster);

  be_in_a_pod();
  EXPECT_EQ(load()->server, "https://10.0.0.1:443");
  EXPECT_TRUE(load()->in_cluster);

  variables_["KUBECONFIG"] = "/env/config";
  files_.write("/env/config", config("env", "https://env", "t-env"));
  EXPECT_EQ(load()->server, "https://env");
  EXPECT_EQ(load()->source, "kubeconfig /env/config, context \"env\"");

  files_.write("/flag", config("flag", "https://flag", "t-flag"));
  EXPECT_EQ(load({"/flag", ""})->server, "https://flag");
}

TEST_F(CredentialsTest, AServerThatIsGivenReplacesTheOneOfAKubeconfig) {
  files_.write("/flag", config("flag", "https://flag, tls-server-name: inside", "t-flag"));
  EXPECT_EQ(load({"/flag"})->tls_server_name, "inside");
  const auto access = load({.kubeconfig = "/flag", .server = "https://other:6443/"});
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->server, "https://other:6443");
  EXPECT_EQ(access->tls_server_name, "") << "that was the name of the other one";
  EXPECT_EQ(token_of(access), "t-flag");
  const auto in_the_clear = load({.kubeconfig = "/flag", .server = "http://other"});
  EXPECT_TRUE(std::holds_alternative<Anonymous>(in_the_clear->user.method)) << "no credentials without TLS";
  EXPECT_THAT(load({.kubeconfig = "/flag", .server = "ftp://x"}).error().message, StartsWith("--master: \"ftp://x\""));
  be_in_a_pod();
  EXPECT_EQ(load({.server = "https://other"})->server, "https://10.0.0.1:443") << "a pod's token is for its cluster";
}

TEST_F(CredentialsTest, ThePodsServiceAccount) {
  be_in_a_pod();
  const auto cluster = load();
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(token_of(cluster), "abc");
  EXPECT_EQ(std::get<Token>(cluster->user.method).path, kAccount + "token");
  EXPECT_EQ(cluster->ca.text, kCa);
  EXPECT_EQ(cluster->ca.path, kAccount + "ca.crt");
  EXPECT_EQ(cluster->ns, "ops");

  variables_["KUBERNETES_SERVICE_HOST"] = "fd00::1";
  EXPECT_EQ(load()->server, "https://[fd00::1]:443");

  files_.remove(kAccount + "ca.crt");
  EXPECT_THAT(load().error().message, HasSubstr("ca.crt"));
}

// A pod without a mounted token may still have a kubeconfig.
TEST_F(CredentialsTest, APodWithoutATokenLooksFurther) {
  be_in_a_pod();
  files_.remove(kAccount + "token");
  variables_["HOME"] = "/home/me";
  files_.write("/home/me/.kube/config", config("home", "https://home", "t"));
  EXPECT_EQ(load()->server, "https://home");
}

TEST_F(CredentialsTest, WithoutAnySourceTheErrorSaysWhatWasTried) {
  variables_["HOME"] = "/home/me";
  const auto cluster = load();
  ASSERT_FALSE(cluster);
  EXPECT_THAT(cluster.error().message, StartsWith("no cluster is configured: "));
  EXPECT_THAT(cluster.error().message, HasSubstr("KUBECONFIG"));
  EXPECT_THAT(cluster.error().message, HasSubstr("not in a pod"));
  EXPECT_THAT(cluster.error().message, HasSubstr("/home/me/.kube/config"));
  variables_.clear();
  EXPECT_THAT(load().error().message, HasSubstr("HOME is not set"));
}

TEST_F(CredentialsTest, AnExplicitFileMustExist) {
  be_in_a_pod();
  EXPECT_THAT(load({"/nowhere", ""}).error().message, HasSubstr("/nowhere"));
}

TEST_F(CredentialsTest, ListedFilesMergeFirstWins) {
  files_.write("/a", config("red", "https://first", "t-first"));
  files_.write("/b", config("red", "https://second", "t-second"));
  files_.write("/c", config("blue", "https://blue", "t-blue"));
  variables_["KUBECONFIG"] = "/missing:/a::/b:/c";
  EXPECT_EQ(load()->server, "https://first");
  EXPECT_EQ(token_of(load()), "t-first");
  EXPECT_EQ(load({"", "blue"})->server, "https://blue");
  variables_["KUBECONTEXT"] = "blue";
  EXPECT_EQ(load()->server, "https://blue");
  EXPECT_EQ(load({"", "red"})->server, "https://first");
}

// Not even fields that the first file's entry lacks come from the second.
TEST_F(CredentialsTest, EntriesAreNotMixed) {
  files_.write("/a", "users: [{name: red, user: {username: u}}]\n");
  files_.write("/b",
               "clusters: [{name: red, cluster: {server: 'https://b'}}]\n"
               "users: [{name: red, user: {token: t, password: p}}]\n"
               "contexts: [{name: red, context: {cluster: red, user: red, namespace: n}}]\n"
               "current-context: red\n");
  variables_["KUBECONFIG"] = "/a:/b";
  const auto cluster = load();
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(std::get<BasicAuth>(cluster->user.method).username, "u");
  EXPECT_EQ(std::get<BasicAuth>(cluster->user.method).password, "");
  EXPECT_EQ(cluster->ns, "n");
}

TEST_F(CredentialsTest, RelativePathsCountFromTheFileThatHasThem) {
  files_.write("/a/config", config("red", "https://red", "t"));
  files_.write("/b/dir/config",
               "clusters: [{name: x, cluster: {server: 'https://x', certificate-authority: ../ca.pem}}]\n"
               "users: [{name: x, user: {tokenFile: token}}]\n"
               "contexts: [{name: x, context: {cluster: x, user: x}}]\n");
  files_.write("/b/dir/../ca.pem", kCa);
  files_.write("/b/dir/token", "  from-file\n");
  variables_["KUBECONFIG"] = "/a/config:/b/dir/config";
  const auto cluster = load({"", "x"});
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->ca.text, kCa);
  EXPECT_EQ(token_of(cluster), "from-file");
  EXPECT_EQ(std::get<Token>(cluster->user.method).path, "/b/dir/token");
}

TEST_F(CredentialsTest, AllListedFilesMissingIsAnError) {
  be_in_a_pod();
  variables_["KUBECONFIG"] = "/x:/y";
  EXPECT_EQ(load().error().message, "KUBECONFIG: none of the files in \"/x:/y\" exists");
}

TEST_F(CredentialsTest, ABrokenFileInTheListIsNamed) {
  files_.write("/a", config("red", "https://red", "t"));
  files_.write("/b", "clusters: {}\n");
  variables_["KUBECONFIG"] = "/a:/b";
  EXPECT_EQ(load().error().message, "/b:1:11: clusters: must be a list");
}

}  // namespace
}  // namespace careen::kube
