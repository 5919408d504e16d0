// What becomes of writes without an answer.
#include "controllers/profiles/settler.h"

#include <gtest/gtest.h>

#include <optional>

#include "controllers/profiles/failing_nodes.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/node_meters.h"
#include "controllers/profiles/test_support.h"
#include "kube/object_writer.h"
#include "kube/queue.h"

namespace careen::profiles {
namespace {

using Fate = Settler::Fate;

class SettlerTest : public WorldTest {
 protected:
  SettlerTest() {
    api.put(kPath, kube::Json::object({{"kind", "Node"}, {"apiVersion", "v1"}}));
    hear();
  }
  // The world hears of the node as it is.
  void hear() { writer.enter(api.object(kPath).dump()); }
  const kube::Node& node() const { return *nodes.find("a"); }
  UnansweredWrite write() const { return {"a", node().uid, node().version}; }
  void begin(UnansweredWrite what) {
    scope.spawn([](Settler& settler, UnansweredWrite w, std::optional<Fate>& out) -> io::Task<void> {
      out = co_await settler.settle(std::move(w));
    }(settler, std::move(what), fate));
  }
  bool touched() const { return api.object(kPath)["metadata"]["annotations"][kTouchAnnotation].exists(); }

  static constexpr const char* kPath = "/api/v1/nodes/a";
  std::shared_ptr<const Config> no_config = std::make_shared<Config>();
  kube::WorkQueue queue{*loop};
  NodeMeters meters{metrics};
  FailingNodes failing{*loop, queue, problems, meters, no_config};
  kube::ObjectWriter<kube::Node> writer{client, kube::resources::nodes, nodes,
                                        [this](std::string_view text) { return kube::decode_node(text, atoms); }};
  Settler settler{client, nodes, writer, failing, meters, io::Log{}};
  std::optional<Fate> fate;
  io::Scope scope{*loop};
};

TEST_F(SettlerTest, AnUnchangedNodeIsChangedSoThatTheWriteMustFail) {
  begin(write());
  time.run_for(io::seconds{1});
  EXPECT_EQ(fate, Fate::never);
  EXPECT_TRUE(touched());
}

TEST_F(SettlerTest, ANodeThatHasChangedIsLeftAlone) {
  const UnansweredWrite late = write();
  api.merge(kPath, kube::Json::object().set({"metadata", "labels", "changed"}, "yes"));
  begin(late);
  time.run_for(io::seconds{1});
  EXPECT_EQ(fate, Fate::over);
  EXPECT_FALSE(touched());
}

TEST_F(SettlerTest, OfANodeThatIsGoneNothingCanArrive) {
  const UnansweredWrite late = write();
  api.erase(kPath);
  begin(late);
  time.run_for(io::seconds{1});
  EXPECT_EQ(fate, Fate::over);
}

TEST_F(SettlerTest, WithoutAVersionItIsAskedWhetherTheWriteHasArrived) {
  UnansweredWrite arrived{"a", node().uid};
  arrived.has_arrived = [] { return true; };
  begin(std::move(arrived));
  time.run_for(io::seconds{1});
  EXPECT_EQ(fate, Fate::over);
  EXPECT_FALSE(touched());
}

TEST_F(SettlerTest, ANodeThatCannotBeReadIsAProblemAndIsReadAgain) {
  api.treat = [](const kube::Request&) { return sim::Treatment{.refuse = sim::ApiServer::refusal(403, "Forbidden")}; };
  begin(write());
  time.run_for(io::hours{1});
  EXPECT_FALSE(fate) << "what cannot be read is never taken for lost";
  EXPECT_EQ(problems.open().size(), 1U);
  api.treat = nullptr;
  time.run_for(io::minutes{1});
  EXPECT_EQ(fate, Fate::never);
}

TEST_F(SettlerTest, WhatCannotBeTouchedIsTakenForLostAfterTenMinutes) {
  api.treat = [](const kube::Request& request) {
    sim::Treatment treatment;
    if (request.method == "PATCH") treatment.refuse = sim::ApiServer::refusal(403, "Forbidden");
    return treatment;
  };
  begin(write());
  time.run_for(io::minutes{9});
  EXPECT_FALSE(fate);
  time.run_for(io::minutes{2});
  EXPECT_EQ(fate, Fate::over);
}

}  // namespace
}  // namespace careen::profiles
