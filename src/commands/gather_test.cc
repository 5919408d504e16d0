// careen gather on the model cluster: which objects and pods it finds, and that nothing secret gets into its files.
#include "commands/gather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "commands/gather_folder.h"
#include "commands/plan_files.h"
#include "io/virtual_time.h"
#include "session/kube_session.h"
#include "sim/cluster.h"

namespace careen::app {
namespace {

using kube::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> names_of(const std::vector<kube::JsonView>& objects) {
  std::vector<std::string> names;
  for (const kube::JsonView one : objects) names.emplace_back(one["metadata"]["name"].text().value_or(""));
  return names;
}

Json pod_named(std::string_view name, std::string_view label, std::string_view owner) {
  Json pod = Json::object();
  pod.set({"metadata", "name"}, name);
  if (!label.empty()) pod.set({"metadata", "labels", label}, label == "app.kubernetes.io/name" ? "careen" : "");
  if (!owner.empty()) pod.set({"metadata", "ownerReferences"}, Json::array({Json::object({{"uid", owner}})}));
  return pod;
}

TEST(GatherTest, PodsOfCareenAreFoundByLabelLockAndOwner) {
  const std::vector<Json> pods = {pod_named("careen-1", "app.kubernetes.io/name", "a"),
                                  pod_named("swapped-1", "node-maintenance-operator", ""),
                                  pod_named("leader", "", "b"),
                                  pod_named("follower", "", "b"),
                                  pod_named("stranger", "", "c"),
                                  pod_named("alone", "", "")};
  EXPECT_THAT(names_of(pods_of_careen(pods, {"leader", ""})),
              ElementsAre("careen-1", "swapped-1", "leader", "follower"));
}

TEST(GatherTest, ValuesOfTheEnvironmentAreHidden) {
  const auto pod = *Json::parse(R"({"metadata": {"name": "x", "managedFields": [{"manager": "m"}],
      "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "hunter2", "kept": "yes"}},
      "spec": {"containers": [{"name": "c", "args": ["--flag"],
        "env": [{"name": "TOKEN", "value": "hunter2"}, {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "f"}}}]}],
        "tolerations": [{"key": "k", "value": "v"}]}})");
  const std::string text = shareable_object(kube::resources::pods, pod.view()).dump();
  EXPECT_THAT(text, Not(HasSubstr("hunter2")));
  EXPECT_THAT(text, Not(HasSubstr("managedFields")));
  EXPECT_THAT(text, HasSubstr(R"("value":"***")"));
  EXPECT_THAT(text, HasSubstr(R"("value":"v")"));
  EXPECT_THAT(text, HasSubstr(R"("fieldPath":"f")"));
  EXPECT_THAT(text, HasSubstr(R"("kept":"yes")"));
  EXPECT_THAT(text, HasSubstr(R"("kind":"Pod")"));
}

TEST(GatherTest, NamesCannotLeaveTheFolder) {
  EXPECT_EQ(file_name("node-1.example"), "node-1.example");
  EXPECT_EQ(file_name("../../etc/passwd"), ".._.._etc_passwd");
  EXPECT_EQ(file_name(".."), "_");
  EXPECT_EQ(file_name(""), "_");
}

class GatherCommandTest : public testing::Test {
 protected:
  GatherCommandTest() {
    for (const char* ns : {"ops", "medik8s-leases", "elsewhere"})
      put_object("/api/v1/namespaces/" + std::string(ns), R"({"kind":"Namespace"})");
    put_object("/api/v1/nodes/node-1", R"({"kind":"Node","metadata":{"annotations":{"careen.dev/holds":"[]"}}})");
    lease("ops", "careen-ledger");
    lease("medik8s-leases", "node-node-1");
    lease("elsewhere", "of-others");
  }
  ~GatherCommandTest() override { std::filesystem::remove_all(folder); }

  void put_object(const std::string& path, std::string_view text) { cluster.api.put(path, *Json::parse(text)); }
  void lease(const std::string& ns, const std::string& name) {
    put_object("/apis/coordination.k8s.io/v1/namespaces/" + ns + "/leases/" + name, R"({"kind":"Lease"})");
  }
  bool has(const std::string& path) const { return std::filesystem::exists(folder + "/" + path); }
  std::string file(const std::string& path) const { return read_whole(folder + "/" + path).value_or("(none)"); }

  int run(std::string dest) {
    Screen screen({.out = [](std::string_view) {}, .err = [this](std::string_view text) { err += text; }});
    KubeSession session({*loop, {}, connect, random, screen, "ana@host"});
    std::optional<int> code;
    io::Scope scope(*loop);
    scope.spawn(keep_code(gather(session, {.dest = std::move(dest), .lease_namespaces = {"medik8s-leases"}}), &code));
    EXPECT_TRUE(time.run_until([&] { return code.has_value(); }, io::minutes{10}));
    return code.value_or(-1);
  }
  static io::Task<void> keep_code(io::Task<int> task, std::optional<int>* code) { *code = co_await std::move(task); }

  const std::string folder = testing::TempDir() + "careen-gather-test";
  io::VirtualTime time{1, *io::parse_rfc3339("2026-03-01T10:00:00Z")};
  std::unique_ptr<io::Loop> server = time.make_loop(), loop = time.make_loop();
  sim::Cluster cluster{*server};
  kube::Connect connect = [this](const kube::Access&) {
    return kube::Transports{cluster.network.connect(*loop, "terminal")};
  };
  io::Random random{1};
  std::string err;
};

TEST_F(GatherCommandTest, TakesWhatIsThereAndNamesWhatIsMissing) {
  EXPECT_EQ(run(folder), 0) << err;
  EXPECT_THAT(file("version"), testing::StartsWith("careen\n"));
  EXPECT_THAT(file("cluster-scoped-resources/core/nodes/node-1.yaml"), HasSubstr("careen.dev/holds"));
  EXPECT_TRUE(has("namespaces/ops/coordination.k8s.io/leases/careen-ledger.yaml"));
  EXPECT_TRUE(has("namespaces/medik8s-leases/coordination.k8s.io/leases/node-node-1.yaml"));
  EXPECT_FALSE(has("namespaces/elsewhere"));
  EXPECT_TRUE(has("careen-snapshot.json.gz"));
  EXPECT_THAT(file("missing.txt"), HasSubstr("the definition nodemaintenances.nodemaintenance.medik8s.io: "));
}

TEST_F(GatherCommandTest, AFolderThatCannotBeWrittenIsAnError) {
  EXPECT_EQ(run("/proc/nowhere"), 1);
  EXPECT_THAT(err, HasSubstr("/proc/nowhere"));
}

}  // namespace
}  // namespace careen::app
