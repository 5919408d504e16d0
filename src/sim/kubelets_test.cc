// Nodes of the model: ready, alive without changes, lost and back.
#include "sim/kubelets.h"

#include <gtest/gtest.h>

#include "io/virtual_time.h"

namespace careen::sim {
namespace {

class KubeletsTest : public ::testing::Test {
 protected:
  std::string at(const std::string& path, std::string_view pointer) {
    const kube::Json object = api.object(path);
    return std::string(object.at(pointer).text().value_or("(none)"));
  }
  // Ready stands last.
  std::string ready() { return at("/api/v1/nodes/a", "/status/conditions/3/status"); }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  ApiServer api{*loop};
  Kubelets kubelets{*loop, api};
  const std::string lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a";
};

TEST_F(KubeletsTest, NodesBecomeReadyAndHeartbeatsAreNoChanges) {
  kubelets.add("a", {{"role", "worker"}});
  EXPECT_EQ(ready(), "False");
  time.run_for(io::seconds{5});
  EXPECT_EQ(ready(), "True");
  EXPECT_EQ(at("/api/v1/nodes/a", "/metadata/labels/role"), "worker");
  EXPECT_EQ(api.object("/api/v1/nodes/a").at("/spec/taints/0").exists(), false);
  const uint64_t version = api.version();
  const std::string renewed = at(lease, "/spec/renewTime");
  const std::string beat = at("/api/v1/nodes/a", "/status/conditions/3/lastHeartbeatTime");
  time.run_for(io::minutes{6});
  EXPECT_NE(at(lease, "/spec/renewTime"), renewed);
  EXPECT_NE(at("/api/v1/nodes/a", "/status/conditions/3/lastHeartbeatTime"), beat);
  EXPECT_EQ(api.version(), version);
}

TEST_F(KubeletsTest, AStoppedKubeletIsFoundOutAndComesBack) {
  kubelets.add("a");
  time.run_for(io::minutes{1});
  kubelets.stop("a");
  const std::string renewed = at(lease, "/spec/renewTime");
  time.run_for(io::seconds{39});
  EXPECT_EQ(ready(), "True") << "nobody knows yet";
  time.run_for(io::seconds{12});
  EXPECT_EQ(ready(), "Unknown");
  EXPECT_EQ(at("/api/v1/nodes/a", "/status/conditions/3/reason"), "NodeStatusUnknown");
  EXPECT_EQ(at("/api/v1/nodes/a", "/spec/taints/1/effect"), "NoExecute");
  EXPECT_EQ(at(lease, "/spec/renewTime"), renewed);
  kubelets.start("a");
  time.run_for(io::seconds{2});
  EXPECT_EQ(ready(), "True");
  EXPECT_EQ(at("/api/v1/nodes/a", "/spec/taints/0/key"), "(none)");
}

TEST_F(KubeletsTest, ADeletedNodeTakesItsLeaseAndKubeletAlong) {
  kubelets.add("a");
  api.erase("/api/v1/nodes/a");
  EXPECT_FALSE(api.text(lease));
  EXPECT_FALSE(kubelets.running("a"));
  time.run_for(io::minutes{1});
  EXPECT_FALSE(api.text("/api/v1/nodes/a"));
}

}  // namespace
}  // namespace careen::sim
