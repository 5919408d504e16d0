#include "plan/planner.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/nodemaintenance/hosted.h"
#include "plan/test_snapshot.h"

namespace careen::plan {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Plan planned(Snapshot snapshot, std::string config, PlannerOptions options = {}) {
  auto plan = make_plan(std::move(snapshot), std::move(config), std::move(options));
  if (!plan) throw std::runtime_error(plan.error().message);
  return std::move(*plan);
}

PlannerOptions for_days(int days) {
  PlannerOptions options;
  options.span = io::hours{24 * days};
  return options;
}

// 02T10:00 in whole minutes, which is how people compare plans.
std::string minute(io::Wall time) {
  return io::format_rfc3339(std::chrono::round<std::chrono::minutes>(time)).substr(8, 8);
}

std::vector<std::string> begins(const Plan& plan) {
  std::vector<std::string> out;
  for (const PlanRow& row : plan.rows) out.push_back(row.node.substr(5) + " " + minute(row.begin));
  return out;
}

// Two at once, twenty minutes each: the next begin when the first are done.
TEST(Planner, GivesEachNodeItsTime) {
  const Plan plan = planned(sample_snapshot(5), sample_config(), for_days(1));
  EXPECT_TRUE(plan.complete);
  EXPECT_THAT(begins(plan),
              ElementsAre("0000 02T10:00", "0001 02T10:00", "0002 02T10:20", "0003 02T10:20", "0004 02T10:40"));
  EXPECT_EQ(minute(*plan.rows.back().end), "02T11:00");
  EXPECT_THAT(plan.stuck, IsEmpty());
  EXPECT_THAT(plan.left, IsEmpty());
  ASSERT_THAT(plan.campaigns, SizeIs(1));
  EXPECT_EQ(plan.campaigns[0].maintained, 5u);
  EXPECT_EQ(plan.campaigns[0].at_once, 2u);
  EXPECT_EQ(minute(*plan.campaigns[0].end), "02T11:00");
  ASSERT_FALSE(plan.limits.empty());
  EXPECT_EQ(plan.limits[0].what, "maxMaintenance few");
  EXPECT_NEAR(plan.limits[0].share, 1.0, 0.01);
}

// Of two places one is another's: what it has out stays out.
TEST(Planner, KeepsTheLimitsOfAllActors) {
  Snapshot snapshot = sample_snapshot(5);
  snapshot.objects[Kind::limits].push_back(
      parsed(R"({"metadata":{"name":"workers","uid":"l"},"spec":{"type":"node","maxUnavailable":2}})"));
  kube::Json& other = snapshot.objects[Kind::nodes][4];
  other.remove({"metadata", "labels"});
  other.set({"spec", "unschedulable"}, true);
  other.set({"metadata", "managedFields"},
            parsed(R"([{"manager":"kubectl","operation":"Update","apiVersion":"v1","time":"2026-03-02T07:00:00Z",
                        "fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:unschedulable":{}}}}])"));
  const Plan plan = planned(snapshot, sample_config("few", "", 9), for_days(1));
  EXPECT_THAT(begins(plan), ElementsAre("0000 02T10:00", "0001 02T10:20", "0002 02T10:40", "0003 02T11:00"));
  EXPECT_THAT(plan.assumptions,
              Contains("a node that others have out stays out and counts in MaintenanceLimits: kubectl on node-0004"));
  ASSERT_FALSE(plan.limits.empty());
  EXPECT_EQ(plan.limits[0].what, "MaintenanceLimits");
}

TEST(Planner, MovesOnlyWhileTheWindowIsOpen) {
  const std::string night =
      "  - {name: night, type: timeWindow, config: {start: \"02:00\", end: \"03:00\", weekdays: "
      "[mon, tue, wed, thu, fri, sat, sun]}}";
  // An hour a night, two at a time, twenty minutes each: six begin each night.
  const Plan plan = planned(sample_snapshot(14), sample_config("few && night", night), for_days(4));
  std::map<std::string, int> a_night;
  for (const PlanRow& row : plan.rows) {
    EXPECT_THAT(minute(row.begin), HasSubstr("T02:"));
    ++a_night[minute(row.begin).substr(0, 2)];
  }
  EXPECT_THAT(a_night, ElementsAre(std::pair("03", 6), std::pair("04", 6), std::pair("05", 2)));
  ASSERT_FALSE(plan.limits.empty());
  EXPECT_EQ(plan.limits[0].what, "timeWindow night");
}

TEST(Planner, KeepsTheDistanceOfStagger) {
  const std::string distance =
      "  - {name: distance, type: stagger, config: {duration: 15m, leaseName: update, leaseNamespace: kube-system}}";
  const Plan plan = planned(sample_snapshot(3), sample_config("distance", distance), for_days(1));
  EXPECT_THAT(begins(plan), ElementsAre("0000 02T10:00", "0001 02T10:15", "0002 02T10:30"));
  EXPECT_EQ(plan.limits[0].what, "stagger distance");
  EXPECT_EQ(plan.at_once, 2u);
}

// A lease that somebody holds when the snapshot is taken counts.
TEST(Planner, HeedsLeasesOfTheSnapshot) {
  const std::string distance =
      "  - {name: distance, type: stagger, config: {duration: 15m, leaseName: update, leaseNamespace: kube-system}}";
  Snapshot snapshot = sample_snapshot(1);
  snapshot.objects[Kind::leases].push_back(
      parsed(R"({"metadata":{"name":"update-0","namespace":"kube-system","uid":"l"},"spec":{"holderIdentity":"x",
                 "leaseDurationSeconds":900,"acquireTime":"2026-03-02T09:55:00.000000Z",
                 "renewTime":"2026-03-02T09:55:00.000000Z","leaseTransitions":1}})"));
  const Plan plan = planned(std::move(snapshot), sample_config("distance", distance), for_days(1));
  EXPECT_THAT(begins(plan), ElementsAre("0000 02T10:10"));
}

TEST(Planner, CountsLimitsByZone) {
  const std::string zone =
      "  - {name: in_zone, type: maxMaintenance, config: {max: 1, groupLabel: topology.kubernetes.io/zone}}";
  const Plan plan = planned(sample_snapshot(6), sample_config("in_zone", zone), for_days(1));
  EXPECT_EQ(plan.at_once, 3u);
  EXPECT_THAT(begins(plan), ElementsAre("0000 02T10:00", "0001 02T10:00", "0002 02T10:00", "0003 02T10:20",
                                        "0004 02T10:20", "0005 02T10:20"));
}

constexpr const char* kApproved = "  - {name: approved, type: hasAnnotation, config: {key: approved, value: \"yes\"}}";

TEST(Planner, AssumesApprovals) {
  PlannerOptions options = for_days(1);
  const Plan given = planned(sample_snapshot(1), sample_config("few && approved", kApproved), options);
  EXPECT_THAT(begins(given), ElementsAre("0000 02T10:00"));
  options.assumptions.approvals = *parse_approvals("after=45m");
  const Plan later = planned(sample_snapshot(1), sample_config("few && approved", kApproved), options);
  EXPECT_THAT(begins(later), ElementsAre("0000 02T10:45"));
}

TEST(Planner, ReportsWhatNobodyApproves) {
  PlannerOptions options = for_days(1);
  options.assumptions.approvals = *parse_approvals("none");
  ASSERT_TRUE(add_assumption(options.assumptions, "update/node-0001:approvals=given"));
  const Plan plan = planned(sample_snapshot(3), sample_config("few && approved", kApproved), options);
  EXPECT_THAT(begins(plan), ElementsAre("0001 02T10:00"));
  ASSERT_THAT(plan.stuck, SizeIs(2));
  EXPECT_EQ(plan.stuck[0].node, "node-0000");
  EXPECT_THAT(plan.stuck[0].why, HasSubstr("hasAnnotation approved: annotation approved not present"));
  EXPECT_FALSE(plan.campaigns[0].end);
  EXPECT_EQ(plan.limits[0].what, "hasAnnotation approved");
}

TEST(Planner, NodesOfOneMomentAreInTheOrderPeopleCount) {
  Snapshot snapshot = sample_snapshot(2);
  snapshot.objects[Kind::nodes][0].set({"metadata", "name"}, "node-10");
  snapshot.objects[Kind::nodes][1].set({"metadata", "name"}, "node-9");
  EXPECT_THAT(begins(planned(snapshot, sample_config(), for_days(1))), ElementsAre("9 02T10:00", "10 02T10:00"));
  PlannerOptions options = for_days(1);
  options.assumptions.approvals = *parse_approvals("none");
  const Plan plan = planned(snapshot, sample_config("few && approved", kApproved), options);
  ASSERT_THAT(plan.stuck, SizeIs(2));
  EXPECT_EQ(plan.stuck[0].node, "node-9");
  EXPECT_EQ(plan.stuck[1].node, "node-10");
}

TEST(Planner, TellsWhoIsLeftWhenThePlanEnds) {
  PlannerOptions options;
  options.span = io::hours{1};
  const Plan plan = planned(sample_snapshot(10), sample_config(), options);
  EXPECT_THAT(plan.stuck, IsEmpty());
  EXPECT_EQ(plan.rows.size() + plan.left.size(), 10u + 2);
  EXPECT_THAT(plan.left.back().why, HasSubstr("2 of 2 in maintenance"));
}

TEST(Planner, TakesDurationsFromFlagsAndOverrides) {
  PlannerOptions options = for_days(1);
  options.assumptions.maintenance = io::minutes{5};
  ASSERT_TRUE(add_assumption(options.assumptions, "update/node-0000:maintenance=1h"));
  const Plan plan = planned(sample_snapshot(3), sample_config(), options);
  EXPECT_THAT(begins(plan), ElementsAre("0000 02T10:00", "0001 02T10:00", "0002 02T10:05"));
  EXPECT_EQ(minute(*plan.rows[0].end), "02T11:00");
}

constexpr const char* kTelling = R"(
intervals: {requeue: 30s}
instances:
  notify:
  - {name: told, type: slack, config: {hook: "https://slack.example/x", channel: c, message: m}, schedule: {type: oneshot, config: {delay: 1m}}}
  check:
  - {name: wanted, type: hasLabel, config: {key: update, value: wanted}}
profiles:
- name: update
  operational: {transitions: [{check: wanted, next: maintenance-required}]}
  maintenance-required: {transitions: [{check: wanted, next: in-maintenance}]}
  in-maintenance: {notify: told, transitions: [{check: "!wanted", next: operational}]}
)";

TEST(Planner, LearnsHowLongMaintenanceTook) {
  Snapshot snapshot = sample_snapshot(4);
  const char* const ends[] = {"09:31:00", "09:41:00", "09:51:00"};
  for (int i = 0; i < 3; ++i) {
    kube::Json& node = snapshot.objects[Kind::nodes][static_cast<size_t>(i)];
    node.set({"metadata", "labels", "update"}, "done");
    node.set({"metadata", "annotations", "cloud.sap/maintenance-data"},
             fmt::format(R"({{"Profiles":{{"update":{{"Transition":"2026-03-02T{}Z","Current":"operational",)"
                         R"("Previous":"operational"}}}},"Notifications":{{"told":"2026-03-02T09:01:00Z"}}}})",
                         ends[i]));
  }
  const Plan plan = planned(std::move(snapshot), kTelling, for_days(1));
  EXPECT_THAT(plan.assumptions,
              Contains("maintenance by profile update takes 41m, the median of the latest of 3 nodes"));
  ASSERT_THAT(plan.rows, SizeIs(1));
  EXPECT_EQ(minute(*plan.rows[0].end), "02T10:41");
}

TEST(Planner, DrainsAndHeedsBudgets) {
  Snapshot snapshot = sample_snapshot(4);
  add_workload(snapshot, "web", 8, 1);
  const Plan plan = planned(std::move(snapshot), sample_config("few", "", 1, "drain"), for_days(1));
  ASSERT_THAT(plan.rows, SizeIs(4));
  EXPECT_EQ(minute(plan.rows[0].begin), "02T10:00");
  // Two pods on the first node, one after the other: the second goes when the first one's successor is ready, after 20
  // s, and ends 30 s later.
  ASSERT_TRUE(plan.rows[0].drain);
  EXPECT_GE(*plan.rows[0].drain, io::seconds{50});
  EXPECT_LE(*plan.rows[0].drain, io::seconds{52});
  EXPECT_THAT(plan.stuck, IsEmpty());
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("pods end after 30s")));
}

TEST(Planner, ReportsADrainThatNeverEnds) {
  Snapshot snapshot = sample_snapshot(2);
  add_workload(snapshot, "single", 1, 1);
  snapshot.objects[Kind::budgets][0].set({"spec"},
                                         parsed(R"({"minAvailable":1,"selector":{"matchLabels":{"app":"single"}}})"));
  const Plan plan = planned(std::move(snapshot), sample_config("few", "", 1, "drain"), for_days(1));
  // The other one waits for its place, for ever.
  ASSERT_THAT(plan.stuck, SizeIs(2));
  EXPECT_EQ(plan.stuck[0].node, "node-0000");
  EXPECT_THAT(plan.stuck[0].why, HasSubstr("default/single"));
  EXPECT_EQ(plan.stuck[1].node, "node-0001");
}

TEST(Planner, PlansNodeMaintenances) {
  Snapshot snapshot = sample_snapshot(2);
  for (kube::Json& node : snapshot.objects[Kind::nodes]) node.remove({"metadata", "labels", "update"});
  add_workload(snapshot, "web", 4, 1);
  snapshot.objects[kind_of(nodemaintenance::kind())].push_back(
      parsed(R"({"metadata":{"name":"disk","uid":"m","creationTimestamp":"2026-03-02T09:59:00Z"},
                 "spec":{"nodeName":"node-0001","reason":"disk"}})"));
  const Plan plan = planned(std::move(snapshot), sample_config(), for_days(1));
  ASSERT_THAT(plan.rows, SizeIs(1)) << (plan.stuck.empty() ? "" : plan.stuck[0].why);
  EXPECT_EQ(plan.rows[0].profile, "nodemaintenance/disk");
  EXPECT_EQ(plan.rows[0].node, "node-0001");
  ASSERT_TRUE(plan.rows[0].drain);
  ASSERT_TRUE(plan.rows[0].end);
  EXPECT_EQ(minute(*plan.rows[0].end), "02T10:21");
  EXPECT_EQ(plan.campaigns[0].profile, "nodemaintenance");
}

TEST(Planner, AssumesAnswersOfChecks) {
  const std::string quiet =
      "  - {name: quiet, type: prometheusInstant, config: {url: \"http://p\", query: q, expr: "
      "\"value < 1\"}}";
  PlannerOptions options = for_days(1);
  const Plan passes = planned(sample_snapshot(1), sample_config("quiet", quiet), options);
  EXPECT_THAT(passes.rows, SizeIs(1));
  EXPECT_THAT(passes.assumptions, Contains("check quiet passes"));
  options.assumptions.checks["quiet"] = false;
  const Plan never = planned(sample_snapshot(1), sample_config("quiet", quiet), options);
  EXPECT_THAT(never.rows, IsEmpty());
  EXPECT_THAT(never.stuck, SizeIs(1));
}

// What had begun before the snapshot continues from there.
TEST(Planner, GoesOnWithWhatIsUnderWay) {
  Snapshot snapshot = sample_snapshot(2);
  kube::Json& node = snapshot.objects[Kind::nodes][1];
  node.set({"metadata", "labels", "cloud.sap/maintenance-state"}, "in-maintenance");
  node.set({"metadata", "annotations", "cloud.sap/maintenance-data"},
           R"({"Profiles":{"update":{"Transition":"2026-03-02T09:50:00Z","Current":"in-maintenance",)"
           R"("Previous":"in-maintenance"}},"Notifications":{}})");
  const Plan plan = planned(std::move(snapshot), sample_config("few", "", 1), for_days(1));
  EXPECT_THAT(begins(plan), ElementsAre("0001 02T09:50", "0000 02T10:10"));
  EXPECT_EQ(minute(*plan.rows[0].end), "02T10:10");
}

std::vector<PlanRow> planned_with(uint64_t seed, bool workloads) {
  PlannerOptions options = for_days(2);
  options.seed = seed;
  Snapshot snapshot = sample_snapshot(12);
  if (workloads) add_workload(snapshot, "web", 30, 2);
  if (workloads) add_workload(snapshot, "db", 7, 1, 5);
  return planned(std::move(snapshot), sample_config("few", "", 3, "drain"), options).rows;
}

// The plan is what happens: another run in another order gives the same timetable, to the nanosecond.
TEST(Planner, IsTheSameForEverySeed) {
  const auto first = planned_with(1, false);
  EXPECT_THAT(first, SizeIs(12));
  for (const uint64_t seed : {2, 5, 24, 25, 77}) EXPECT_EQ(planned_with(seed, false), first) << seed;
}

// Where pods that come back at the same moment are put depends on which of them comes first, and with it how long the
// next drains take; not who follows whom.
TEST(Planner, GoesTheSameWayWhereverPodsAreMoved) {
  const auto first = planned_with(1, true);
  ASSERT_THAT(first, SizeIs(12));
  EXPECT_EQ(planned_with(1, true), first);
  for (const uint64_t seed : {2, 24, 25, 77}) {
    const auto other = planned_with(seed, true);
    ASSERT_THAT(other, SizeIs(12)) << seed;
    for (size_t i = 0; i < other.size(); ++i) {
      EXPECT_EQ(other[i].node, first[i].node) << seed;
      EXPECT_LT(std::chrono::abs(other[i].begin - first[i].begin), io::minutes{5}) << seed << " " << other[i].node;
    }
  }
}

TEST(Planner, CanBeInterrupted) {
  auto planner = Planner::make(sample_snapshot(5), sample_config(), for_days(1));
  ASSERT_TRUE(planner);
  int breaks = 0;
  while (!(*planner)->advance([] { return true; })) {
    const double done = (*planner)->progress();
    EXPECT_GE(done, 0);
    EXPECT_LE(done, 1);
    if (++breaks % 100 == 0) EXPECT_FALSE((*planner)->plan().complete);
  }
  EXPECT_GT(breaks, 10);
  EXPECT_TRUE((*planner)->plan().complete);
  EXPECT_EQ((*planner)->plan().rows, planned(sample_snapshot(5), sample_config(), for_days(1)).rows);
}

TEST(Planner, RefusesWhatItCannotPlan) {
  EXPECT_THAT(make_plan(sample_snapshot(1), "", {}).error().message, HasSubstr("no configuration"));
  EXPECT_THAT(make_plan(sample_snapshot(1), "profiles: 7", {}).error().message, HasSubstr("maintenance.yaml:"));
  PlannerOptions options;
  options.assumptions.checks["nothing"] = true;
  EXPECT_THAT(make_plan(sample_snapshot(1), sample_config(), options).error().message,
              AllOf(HasSubstr("\"nothing\""), HasSubstr("wanted, done, few")));
}

}  // namespace
}  // namespace careen::plan
