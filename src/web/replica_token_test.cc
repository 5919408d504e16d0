#include "web/replica_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/metrics.h"
#include "io/random.h"
#include "io/sync.h"
#include "io/virtual_time.h"
#include "kube/client.h"
#include "kube/scripted_transport.h"

namespace careen::web {
namespace {

using io::Task;

constexpr const char* kPod = R"({"metadata": {"uid": "u-1"}, "spec": {"serviceAccountName": "careen"}})";

class ReplicaTokenTest : public testing::Test {
 protected:
  std::string authorization(ReplicaToken& token) {
    std::optional<std::string> out;
    io::Scope scope(*loop);
    scope.spawn(keep(token.authorization(), out));
    EXPECT_TRUE(time.run_until([&] { return out.has_value(); }, io::minutes{1}));
    return out.value_or("");
  }
  static Task<void> keep(Task<std::string> task, std::optional<std::string>& out) { out = co_await std::move(task); }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  kube::ScriptedTransport transport{*loop};
  io::Metrics metrics;
  io::Random random{1};
  kube::Client client{*loop, transport, metrics, random};
};

TEST_F(ReplicaTokenTest, IsMadeForTheViewAloneEndsWithThePodAndIsUsedForAWhile) {
  ReplicaToken token(client, "careen-system", "careen-0");
  transport.answer(200, kPod);
  transport.answer(201, R"({"status": {"token": "first"}})");
  EXPECT_EQ(authorization(token), "Bearer first");
  ASSERT_EQ(transport.requests.size(), 2u);
  EXPECT_EQ(transport.requests[1].path, "/api/v1/namespaces/careen-system/serviceaccounts/careen/token");
  EXPECT_THAT(transport.requests[1].body, testing::HasSubstr(R"("audiences":["careen.dev/view"])"));
  EXPECT_THAT(transport.requests[1].body,
              testing::HasSubstr(R"("boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":"careen-0","uid":"u-1"})"));
  EXPECT_EQ(authorization(token), "Bearer first");
  EXPECT_EQ(transport.requests.size(), 2u);

  time.run_for(io::minutes{6});
  transport.answer(200, kPod);
  transport.answer(201, R"({"status": {"token": "second"}})");
  EXPECT_EQ(authorization(token), "Bearer second");
}

TEST_F(ReplicaTokenTest, WithoutTheRightThereIsNone) {
  ReplicaToken token(client, "careen-system", "careen-0");
  transport.answer(200, kPod);
  transport.answer(403, R"({"kind": "Status", "reason": "Forbidden", "message": "no"})");
  EXPECT_EQ(authorization(token), "");
  // It is not asked for again and again.
  EXPECT_EQ(authorization(token), "");
  EXPECT_EQ(transport.requests.size(), 2u);
}

TEST_F(ReplicaTokenTest, OutsideOfAPodThereIsNone) {
  ReplicaToken token(client, "careen-system", "");
  EXPECT_EQ(authorization(token), "");
  EXPECT_TRUE(transport.requests.empty());
}

}  // namespace
}  // namespace careen::web
