#include "drain/terminal_claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "drain/holds.h"
#include "kube/cache.h"
#include "kube/decode.h"
#include "kube/json.h"
#include "kube/node.h"

namespace careen::drain {
namespace {

using budget::Claim;
using testing::ElementsAre;
using testing::IsEmpty;

class TerminalClaimsTest : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& holds, bool unschedulable = true) {
    kube::Json node = kube::Json::object({{"kind", "Node"}, {"apiVersion", "v1"}});
    node.set({"metadata", "name"}, name).set({"metadata", "uid"}, "uid-" + name);
    node.set({"metadata", "resourceVersion"}, std::to_string(++version_));
    if (!holds.empty()) node.set({"metadata", "annotations", kHoldsAnnotation}, holds);
    if (unschedulable) node.set({"spec", "unschedulable"}, true);
    nodes_.put(*kube::decode_node(node.dump(), atoms_));
  }
  std::vector<Claim> claims() const { return terminal_claims(nodes_); }

 private:
  kube::AtomPool atoms_;
  kube::Store<kube::Node> nodes_;
  uint64_t version_ = 10;
};

TEST_F(TerminalClaimsTest, AHoldOfATerminalIsAClaim) {
  put("a", R"({"holds":{"terminal/ana@desk":{"since":"2026-03-01T10:00:00Z","cordon":true}}})");
  put("b", "");
  EXPECT_THAT(claims(), ElementsAre(Claim{.who = "terminal/ana@desk",
                                          .node = "a",
                                          .uid = "uid-a",
                                          .since = io::parse_rfc3339("2026-03-01T10:00:00Z")}));
  EXPECT_EQ(name_of(claims().front().stage), "out");
}

TEST_F(TerminalClaimsTest, EachTerminalHasAClaimOfItsOwn) {
  put("a", R"({"holds":{"terminal/ana@desk":{"cordon":true},"terminal/bo@desk":{"cordon":true}}})");
  ASSERT_EQ(claims().size(), 2u);
  EXPECT_EQ(claims()[0].who, "terminal/ana@desk");
  EXPECT_EQ(claims()[1].who, "terminal/bo@desk");
}

TEST_F(TerminalClaimsTest, HoldsOfControllersAreTheirOwnWordAndNoClaimHere) {
  put("a", R"({"holds":{"profile/p":{"cordon":true},"nodemaintenance/m":{"id":"u","cordon":true}}})");
  EXPECT_THAT(claims(), IsEmpty());
}

// A kubelet may write its node's annotations.
TEST_F(TerminalClaimsTest, ForgedHoldsOfUnknownKindsGiveNoClaim) {
  put("a", R"({"holds":{"terminals/x":{"cordon":true},"request/x":{"cordon":true},"x":{"cordon":true}}})");
  put("b", R"({"holds":{"terminal/x":{}}})");
  put("c", "no record at all");
  EXPECT_THAT(claims(), IsEmpty());
}

TEST_F(TerminalClaimsTest, NorDoesAHoldOfANodeThatIsSchedulable) {
  put("a", R"({"holds":{"terminal/ana@desk":{"cordon":true}}})", false);
  EXPECT_THAT(claims(), IsEmpty());
}

}  // namespace
}  // namespace careen::drain
