// By which objects careen is found: Leases by their names, ConfigMaps by what is in them.
#include "commands/home_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/metrics.h"
#include "io/random.h"
#include "io/virtual_time.h"
#include "kube/client.h"
#include "sim/test_api.h"

namespace careen::app {
namespace {

using kube::Json;
using kube::LockKind;
using testing::ElementsAre;

constexpr const char* kLockName = "controller-leader-election-helper";

class HomeObjects : public testing::Test {
 protected:
  void config_map(const std::string& ns, const std::string& name, std::string_view annotations) {
    api.put("/api/v1/namespaces/" + ns + "/configmaps/" + name,
            *Json::parse(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":)" +
                         std::string(annotations) + "}}"));
  }
  // The namespaces of those that are found, each with its holder.
  std::vector<std::string> found(replica::HomeObject named) {
    std::optional<kube::Result<std::vector<Json>>> answer;
    io::Scope scope(*loop);
    scope.spawn(io::keep(find_home_objects(client, named), answer));
    time.run_until([&] { return answer.has_value(); }, io::minutes{1});
    std::vector<std::string> out;
    if (!answer || !*answer) return {"no answer"};
    for (const Json& one : **answer) {
      out.push_back(std::string(one["metadata"]["namespace"].text().value_or("")) + " " + holder_of(named, one));
    }
    return out;
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> server = time.make_loop(), loop = time.make_loop();
  sim::TestApi api{*server};
  std::unique_ptr<kube::Transport> transport = api.connect(*loop);
  io::Metrics metrics;
  io::Random random{1};
  kube::Client client{*loop, *transport, metrics, random};
};

TEST_F(HomeObjects, TheLeasesComeFirst) {
  const auto& all = home_objects();
  const auto lease = [](const replica::HomeObject& one) { return one.kind == LockKind::lease; };
  EXPECT_TRUE(std::ranges::is_partitioned(all, lease));
  for (const char* name : {"maintenance-controller-leader-election.cloud.sap", "careen-ledger", "careen-pause"}) {
    EXPECT_THAT(all, testing::Contains(replica::HomeObject{.name = name}));
  }
}

TEST_F(HomeObjects, OfConfigMapsOnlyTheLockOfACareenCounts) {
  config_map("home", kLockName,
             R"({"control-plane.alpha.kubernetes.io/leader": "{\"holderIdentity\":\"careen-0_1\"}",
                 "careen.dev/holder": "careen-0_1"})");
  config_map("tenant", kLockName, R"({"control-plane.alpha.kubernetes.io/leader": "{\"holderIdentity\":\"old_1\"}"})");
  config_map("went-back", kLockName,
             R"({"control-plane.alpha.kubernetes.io/leader": "{\"holderIdentity\":\"old_2\"}",
                 "careen.dev/holder": "careen-0_1"})");
  config_map("damaged", kLockName, R"({"control-plane.alpha.kubernetes.io/leader": "{",  "careen.dev/holder": "x"})");
  EXPECT_THAT(found({LockKind::config_map, kLockName}), ElementsAre("home careen-0_1"));
}

TEST_F(HomeObjects, ALedgerNamesWhoWritesIt) {
  config_map("home", "careen-ledger-requests",
             R"({"careen.dev/ledger": "{\"epoch\":1,\"writer\":\"careen-0_1\",\"write\":1,\"admitted\":[]}"})");
  config_map("tenant", "careen-ledger-requests", "{}");
  EXPECT_THAT(found({LockKind::config_map, "careen-ledger-requests"}), ElementsAre("home careen-0_1"));
}

}  // namespace
}  // namespace careen::app
