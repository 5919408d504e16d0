#include "plan/snapshot.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "io/metrics.h"
#include "io/virtual_time.h"
#include "kube/client.h"
#include "plan/config_assumptions.h"
#include "plan/take_snapshot.h"
#include "plan/test_snapshot.h"
#include "sim/cluster.h"
#include "sim/value.h"

namespace careen::plan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

kube::Json reduced(Kind kind, std::string_view text) { return reduce(kind, *sim::parse(text)); }

// Each secret place of a pod holds the same word; it must not come out.
constexpr const char* kSecretPod = R"({"metadata":{"name":"p","namespace":"a","uid":"u","labels":{"app":"x"},
  "annotations":{"vault":"hunter2","kubernetes.io/config.mirror":"m"},"managedFields":[{"manager":"hunter2"}],
  "ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"x","uid":"o","controller":true,"blockOwnerDeletion":true}]},
  "spec":{"nodeName":"n","priority":7,"terminationGracePeriodSeconds":45,"serviceAccountName":"hunter2",
   "imagePullSecrets":[{"name":"hunter2"}],
   "containers":[{"name":"hunter2","image":"registry/hunter2","command":["--password=hunter2"],"args":["hunter2"],
     "env":[{"name":"PASSWORD","value":"hunter2"}],"envFrom":[{"secretRef":{"name":"hunter2"}}],
     "resources":{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"cpu":"1"}}}],
   "volumes":[{"name":"hunter2","secret":{"secretName":"hunter2"}},{"name":"cache","emptyDir":{"medium":"Memory"}}]},
  "status":{"phase":"Running","podIP":"10.0.0.1","message":"hunter2",
   "conditions":[{"type":"Ready","status":"True","message":"hunter2"}],
   "containerStatuses":[{"name":"hunter2","image":"hunter2"}]}})";

TEST(Reduce, KeepsOfAPodWhatADrainNeedsAndNoSecret) {
  const kube::Json pod = reduced(Kind::pods, kSecretPod);
  EXPECT_THAT(pod.dump(), Not(HasSubstr("hunter2")));
  EXPECT_EQ(pod.at("/spec/nodeName").text(), "n");
  EXPECT_EQ(pod.at("/spec/priority").integer(), 7);
  EXPECT_EQ(pod.at("/spec/terminationGracePeriodSeconds").integer(), 45);
  EXPECT_EQ(pod.at("/spec/containers/0/resources/requests/cpu").text(), "100m");
  EXPECT_TRUE(pod.at("/spec/volumes/0/emptyDir"));
  EXPECT_EQ(pod.at("/spec/volumes").size(), 1u);
  EXPECT_EQ(pod.at("/metadata/annotations/kubernetes.io~1config.mirror").text(), "m");
  EXPECT_EQ(pod.at("/metadata/ownerReferences/0/uid").text(), "o");
  EXPECT_EQ(pod.at("/status/conditions/0/status").text(), "True");
}

TEST(Reduce, KeepsOfAWorkloadNoSecret) {
  const kube::Json set = reduced(Kind::stateful_sets, R"({"metadata":{"name":"s","namespace":"a","uid":"u",
    "annotations":{"kubectl.kubernetes.io/last-applied-configuration":"hunter2"}},
    "spec":{"replicas":3,"selector":{"matchLabels":{"app":"x"}},"volumeClaimTemplates":[{"metadata":{"name":"hunter2"}}],
    "template":{"metadata":{"labels":{"app":"x"},"annotations":{"a":"hunter2"}},
    "spec":{"terminationGracePeriodSeconds":9,"containers":[{"name":"c","env":[{"name":"A","value":"hunter2"}]}]}}}})");
  EXPECT_THAT(set.dump(), Not(HasSubstr("hunter2")));
  EXPECT_EQ(set.at("/spec/replicas").integer(), 3);
  EXPECT_EQ(set.at("/spec/template/spec/terminationGracePeriodSeconds").integer(), 9);
  EXPECT_EQ(set.at("/spec/template/metadata/labels/app").text(), "x");
}

TEST(Reduce, KeepsOfANodeWhatChecksLookAt) {
  const kube::Json node = reduced(Kind::nodes, R"({"metadata":{"name":"n","uid":"u","labels":{"a":"b"},
    "annotations":{"c":"d"},"managedFields":[{"manager":"kubelet"}]},"spec":{"unschedulable":true,"podCIDR":"10.0.0.0/8"},
    "status":{"capacity":{"cpu":"4"},"images":[{"names":["x"]}],"nodeInfo":{"kubeletVersion":"v1"},
    "conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2026-03-02T10:00:00Z"}]}})");
  EXPECT_EQ(node.at("/metadata/annotations/c").text(), "d");
  EXPECT_EQ(node.at("/spec/unschedulable").boolean(), true);
  EXPECT_EQ(node.at("/status/nodeInfo/kubeletVersion").text(), "v1");
  EXPECT_THAT(node.dump(), AllOf(Not(HasSubstr("managedFields")), Not(HasSubstr("images"))));
}

TEST(Reduce, KeepsOfACordonWhoseItIs) {
  const kube::Json node = reduced(Kind::nodes, R"({"metadata":{"name":"n","uid":"u","managedFields":[
    {"manager":"kubelet","fieldsV1":{"f:status":{"f:images":{}}}},
    {"manager":"kubectl","operation":"Update","apiVersion":"v1","time":"2026-03-02T10:00:00Z",
     "fieldsV1":{"f:spec":{"f:unschedulable":{},"f:taints":{}}}}]},"spec":{"unschedulable":true}})");
  EXPECT_EQ(node.at("/metadata/managedFields").size(), 1u);
  EXPECT_EQ(node.at("/metadata/managedFields/0/manager").text(), "kubectl");
  EXPECT_EQ(node.at("/metadata/managedFields/0/time").text(), "2026-03-02T10:00:00Z");
  EXPECT_THAT(node.dump(), AllOf(Not(HasSubstr("kubelet")), Not(HasSubstr("f:taints"))));
}

TEST(Snapshot, ReadsWhatItWrote) {
  Snapshot snapshot = sample_snapshot(3);
  add_workload(snapshot, "web", 4, 1);
  snapshot.config = "profiles: []\n# \"quoted\"";
  snapshot.missing = {"jobs: forbidden"};
  const auto read = parse_snapshot(snapshot_text(snapshot));
  ASSERT_TRUE(read) << read.error().message;
  // What was read is reduced, and stays so.
  const std::string text = snapshot_text(*read);
  EXPECT_EQ(snapshot_text(*parse_snapshot(text)), text);
  EXPECT_EQ(read->time, kMonday);
  EXPECT_EQ(read->config, snapshot.config);
  EXPECT_THAT(read->of(Kind::pods), SizeIs(4));
}

TEST(Snapshot, IsPackedByItsName) {
  const std::string text = snapshot_text(sample_snapshot(50));
  EXPECT_EQ(pack_for("a.json", text), text);
  const std::string packed = pack_for("a.json.gz", text);
  EXPECT_LT(packed.size(), text.size() / 4);
  EXPECT_EQ(*unpack(packed), text);
  EXPECT_EQ(*unpack(text), text);
  EXPECT_THAT(unpack(packed.substr(0, packed.size() / 2)).error().message, HasSubstr("cut short"));
}

TEST(Snapshot, SaysWhatIsWrongAndWhere) {
  const auto error = [](std::string_view text) {
    const auto read = parse_snapshot(text);
    return read ? std::string("(none)") : read.error().message;
  };
  EXPECT_THAT(error("{"), HasSubstr("is no JSON document"));
  EXPECT_THAT(error("[]"), HasSubstr("must be a JSON object"));
  EXPECT_THAT(error(R"({"kind":"List"})"), HasSubstr("kind: must be CareenSnapshot"));
  EXPECT_THAT(error(R"({"kind":"CareenSnapshot","format":9})"), HasSubstr("format: is 9"));
  const std::string head = R"({"kind":"CareenSnapshot","format":1,"time":"2026-03-02T10:00:00Z","objects":)";
  EXPECT_THAT(error(R"({"kind":"CareenSnapshot","format":1,"time":"soon"})"), HasSubstr("time: must be a time"));
  EXPECT_THAT(error(head + R"({"cats":[]}})"), HasSubstr("objects.cats: is not known; there may be nodes, pods"));
  EXPECT_THAT(error(head + R"({"pods":{}}})"), HasSubstr("objects.pods: must be a list"));
  EXPECT_EQ(error(head + R"({"nodes":[{"metadata":{"name":"a"}},{"metadata":{}}]}})"),
            "objects.nodes[1].metadata.name: must be the name of an object");
  EXPECT_EQ(error(head + R"({"pods":[{"metadata":{"name":"a"}}]}})"),
            "objects.pods[0].metadata.namespace: must be the name of a namespace");
  EXPECT_EQ(error(head + R"({"nodes":[{"metadata":{"name":"a","labels":{"x":1}}}]}})"),
            "objects.nodes[0].metadata.labels.x: must be a text");
}

// Through the API server, in pages, with what is not needed left out.
TEST(TakeSnapshot, ReadsAClusterThatIsThere) {
  io::VirtualTime time(1, kMonday);
  const auto loop = time.make_loop();
  sim::Cluster cluster(*loop);
  for (int i = 0; i < 7; ++i) cluster.kubelets.add(fmt::format("n{}", i));
  cluster.api.put("/api/v1/namespaces/a/pods/p", parsed(kSecretPod));
  cluster.api.put("/api/v1/namespaces/a/secrets/s", parsed(R"({"data":{"password":"hunter2"}})"));
  cluster.api.put("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/stagger-0",
                  parsed(R"({"spec":{"holderIdentity":"n0"}})"));
  const auto transport = cluster.network.connect(*loop, "careen");
  io::Metrics metrics;
  io::Random random(1);
  kube::Client client(*loop, *transport, metrics, random);
  std::optional<kube::Result<Snapshot>> taken;
  io::Scope scope(*loop);
  const auto take = [&]() -> io::Task<void> {
    SnapshotScope wanted;
    wanted.page_size = 3;
    taken = co_await take_snapshot(client, std::move(wanted));
  };
  scope.spawn(take());
  ASSERT_TRUE(time.run_until([&] { return taken.has_value(); }, io::minutes{1}));
  ASSERT_TRUE(*taken) << taken->error().message;
  const Snapshot& snapshot = **taken;
  EXPECT_THAT(snapshot.of(Kind::nodes), SizeIs(7));
  EXPECT_THAT(snapshot.of(Kind::pods), SizeIs(1));
  EXPECT_THAT(snapshot.of(Kind::leases), SizeIs(1));
  EXPECT_THAT(snapshot_text(snapshot), Not(HasSubstr("hunter2")));
  EXPECT_TRUE(snapshot.missing.empty()) << snapshot.missing[0];
}

TEST(WithoutSecrets, KeepsTheConfigurationUsable) {
  const std::string config = R"(
intervals: {requeue: 30s}
instances:
  notify:
  - name: told
    type: slackThread
    config: {token: xoxb-hunter2, channel: c, title: t, message: m, leaseName: l, leaseNamespace: n, period: 1m}
    schedule: {type: oneshot, config: {delay: 1m}}
profiles:
- name: update
)";
  const auto shareable = without_secrets(config, "c.yaml", {});
  ASSERT_TRUE(shareable) << shareable.error().message;
  EXPECT_THAT(*shareable, AllOf(Not(HasSubstr("hunter2")), HasSubstr("token: hidden")));
}

// A secret that is written in a way that cannot be found in the text does not get out either.
TEST(WithoutSecrets, RefusesWhatItCannotTakeOut) {
  const std::string config = R"(
intervals: {requeue: 30s}
instances:
  notify:
  - name: told
    type: slackThread
    config: {token: "xoxb-hunter\u0032", channel: c, title: t, message: m, leaseName: l, leaseNamespace: n, period: 1m}
    schedule: {type: oneshot, config: {delay: 1m}}
profiles:
- name: update
)";
  const auto shareable = without_secrets(config, "c.yaml", {});
  ASSERT_FALSE(shareable);
  EXPECT_THAT(shareable.error().message, HasSubstr("c.yaml: a secret"));
}

}  // namespace
}  // namespace careen::plan
