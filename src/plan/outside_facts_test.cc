#include "plan/outside_facts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "io/metrics.h"
#include "io/virtual_time.h"
#include "kube/client.h"
#include "plan/test_snapshot.h"
#include "plan/upcoming.h"
#include "sim/cluster.h"
#include "sim/value.h"

namespace careen::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The change that makes an expression true, or false, on a node with label update=wanted.
struct Found {
  bool possible = false;
  Edit edit;
};
Found found(const std::string& expression, bool wanted = true, Editor editor = Editor::maintainer) {
  const std::string config = fmt::format(R"(
intervals: {{requeue: 30s}}
instances:
  check:
  - {{name: wanted, type: hasLabel, config: {{key: update, value: wanted}}}}
  - {{name: done, type: hasLabel, config: {{key: update, value: done}}}}
  - {{name: role, type: hasLabel, config: {{key: node-role.kubernetes.io/worker}}}}
  - {{name: ok, type: hasAnnotation, config: {{key: ok}}}}
  - {{name: ready, type: condition, config: {{type: Ready, status: "True"}}}}
  - {{name: waited, type: wait, config: {{duration: 1h}}}}
  - {{name: outdated, type: clusterSemver, config: {{key: version}}}}
profiles:
- name: p
  operational: {{transitions: [{{check: "{}", next: maintenance-required}}]}}
)",
                                         expression);
  auto report = examine_facts(config, "c.yaml", {});
  if (!report.config) throw std::runtime_error(report.errors.at(0).to_text());
  const auto node = sim::parse(R"({"metadata":{"labels":{"update":"wanted","node-role.kubernetes.io/worker":"",
    "version":"1.0.0"}},"status":{"conditions":[{"type":"Ready","status":"False"}]}})");
  const NodeState state{*node, nullptr, [](const std::string&) { return "1.2.0"; }};
  const auto& transition = report.config->find_profile("p")->at(profiles::State::operational).transitions.at(0);
  const auto edit = edit_for(*report.config, transition.check, wanted, state, editor);
  return edit ? Found{true, *edit} : Found{};
}

TEST(OutsideFacts, ChangesAsLittleAsItCan) {
  EXPECT_TRUE(found("wanted").edit.empty());
  EXPECT_EQ(found("ok").edit.annotations.at("ok"), "true");
  EXPECT_EQ(found("!wanted").edit.labels.at("update"), std::nullopt);
  EXPECT_EQ(found("done").edit.labels.at("update"), "done");
  EXPECT_EQ(found("ready").edit.conditions.at("Ready"), "True");
  EXPECT_TRUE(found("wanted || ok").edit.empty());
}

TEST(OutsideFacts, LeavesTheClockToItself) {
  const Found both = found("waited && ok");
  EXPECT_TRUE(both.possible);
  EXPECT_EQ(both.edit.annotations.size(), 1u);
  // A node that is done sooner says so.
  EXPECT_EQ(found("waited || ok").edit.annotations.size(), 1u);
  EXPECT_TRUE(found("waited").edit.empty());
}

TEST(OutsideFacts, HeedsNegationsAndContradictions) {
  EXPECT_EQ(found("!(wanted || !ok)").edit.labels.at("update"), std::nullopt);
  EXPECT_FALSE(found("done && !done").possible);
  // The way without one is taken.
  EXPECT_EQ(found("(done && !done) || ok").edit.annotations.size(), 1u);
}

// A node keeps its role when the need for maintenance ends.
TEST(OutsideFacts, EndsTheNeedAndNotTheRole) {
  const Found end = found("role && wanted", false);
  EXPECT_EQ(end.edit.labels.size(), 1u);
  EXPECT_TRUE(end.edit.labels.contains("update"));
}

TEST(OutsideFacts, UpdatesOnlyWhileMaintaining) {
  EXPECT_EQ(found("outdated", false).edit.labels.at("version"), "1.2.0");
  EXPECT_EQ(found("!outdated && ok").edit.labels.at("version"), "1.2.0");
  EXPECT_TRUE(found("!outdated", true, Editor::approver).edit.empty());
}

// The dashboard's plan of a cluster that is there, made once a minute.
TEST(Upcoming, PlansTheClusterAsItIs) {
  io::VirtualTime time(1, kMonday);
  const auto loop = time.make_loop();
  sim::Cluster cluster(*loop);
  for (int i = 0; i < 3; ++i) {
    cluster.kubelets.add(fmt::format("n{}", i), {{"cloud.sap/maintenance-profile", "update"}, {"update", "wanted"}});
  }
  const auto transport = cluster.network.connect(*loop, "careen");
  io::Metrics metrics;
  io::Random random(1);
  kube::Client client(*loop, *transport, metrics, random);
  int asked = 0;
  Upcoming upcoming({*loop, client, [&]() -> io::Result<std::string> {
                       ++asked;
                       return sample_config();
                     }});
  const auto document = [&] {
    std::string text;
    io::Scope scope(*loop);
    const auto ask = [&]() -> io::Task<void> { text = co_await upcoming.document(24); };
    scope.spawn(ask());
    EXPECT_TRUE(time.run_until([&] { return !text.empty(); }, io::minutes{1}));
    return parsed(text);
  };
  const kube::Json first = document();
  EXPECT_EQ(first["complete"].boolean(), true) << first.dump();
  EXPECT_EQ(first["rows"].size(), 3u);
  EXPECT_THAT(first["until"].text().value_or(""), HasSubstr("2026-03-03T10:00"));
  EXPECT_EQ(document(), first);
  EXPECT_EQ(asked, 1);
  time.run_for(io::minutes{2});
  document();
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace careen::plan
