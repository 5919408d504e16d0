// Leases that others hold, processes that crash, servers that refuse, objects that the original operator began.
#include "controllers/nodemaintenance/test_cluster.h"

namespace careen::nodemaintenance {
namespace {

using io::milliseconds;
using io::minutes;
using io::seconds;
using testing::HasSubstr;

class RecoveryTest : public MaintenanceTest {
 protected:
  void drain_empty_node() {
    add_node("n1");
    add_pod("a");
    launch();
    maintain();
    ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{5}));
    time.run_for(seconds{2});
  }
};

TEST_F(RecoveryTest, ALeaseThatIsHeldFromTheStartIsWaitedFor) {
  add_node("n1");
  add_pod("a");
  put_foreign_lease();
  launch();
  maintain();
  time.run_for(seconds{5});
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(
      last_error(),
      "failed to obtain a lease that is not owned by us : can't update or invalidate the lease because it is held "
      "by different owner: node-healthcheck errorOnLeaseCount 0");
  EXPECT_EQ(number("errorOnLeaseCount"), 0);
  EXPECT_EQ(condition("Blocked"), "True LeaseHeld");
  EXPECT_TRUE(untouched());
  EXPECT_EQ(events("FailedMaintenance"), 0);
  const size_t writes = sent.size();
  time.run_for(minutes{10});
  EXPECT_EQ(sent.size(), writes) << "it is watched, not asked for";
  cluster.api.erase(lease_path());
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{3}));
  EXPECT_EQ(last_error(), "");
}

TEST_F(RecoveryTest, AForeignLeaseThatRunsOutIsTakenOver) {
  add_node("n1");
  put_foreign_lease();
  launch();
  maintain();
  time.run_for(seconds{5});
  ASSERT_TRUE(untouched());
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, minutes{61}));
  const kube::Json lease = object(lease_path());
  EXPECT_EQ(lease.at("/spec/holderIdentity").text(), "node-maintenance");
  EXPECT_EQ(lease.at("/spec/leaseTransitions").integer(), 1);
}

TEST_F(RecoveryTest, TheLeaseIsRenewedAtHalfItsTime) {
  drain_empty_node();
  const std::string first = text(object(lease_path()).at("/spec/renewTime"));
  time.run_for(minutes{29});
  EXPECT_EQ(text(object(lease_path()).at("/spec/renewTime")), first);
  time.run_for(minutes{2});
  const std::string second = text(object(lease_path()).at("/spec/renewTime"));
  EXPECT_GT(second, first);
  EXPECT_EQ(object(lease_path()).at("/spec/acquireTime").text(), first);
  time.run_for(io::hours{5});
  EXPECT_EQ(requests("PATCH " + lease_path()), 11);
}

TEST_F(RecoveryTest, ALeaseThatIsLostTwiceAndComesBack) {
  drain_empty_node();
  put_foreign_lease();
  time.run_for(milliseconds{400});
  EXPECT_THAT(last_error(),
              HasSubstr("failed to extend a lease that used to be owned by us, incrementing error on lease "
                        "count: can't update"));
  EXPECT_EQ(number("errorOnLeaseCount"), 2);
  EXPECT_EQ(phase(), "Succeeded");
  cluster.api.erase(lease_path());
  time.run_for(seconds{2});
  EXPECT_EQ(phase(), "Succeeded");
  EXPECT_EQ(number("errorOnLeaseCount"), 0);
  EXPECT_EQ(last_error(), "");
  EXPECT_TRUE(in_maintenance());
  EXPECT_EQ(events("FailedMaintenance"), 0);
}

TEST_F(RecoveryTest, ALeaseThatIsLostForGoodEndsTheMaintenanceOnce) {
  drain_empty_node();
  put_foreign_lease();
  ASSERT_TRUE(runs_until([&] { return phase() == "Failed"; }, seconds{2}));
  time.run_for(seconds{1});
  EXPECT_EQ(last_error(), "maintenance failed: lease could not be extended after 4 attempts");
  EXPECT_EQ(number("errorOnLeaseCount"), 4);
  EXPECT_EQ(number("drainProgress"), 100);
  EXPECT_EQ(events("FailedMaintenance"), 1);
  EXPECT_EQ(events("UncordonNode"), 1);
  EXPECT_TRUE(untouched());
  EXPECT_EQ(object(lease_path()).at("/spec/holderIdentity").text(), "node-healthcheck");
  // Neither time nor a restart makes it act again.
  merge(node_path(), R"({"spec":{"unschedulable":true}})");
  crash();
  launch();
  time.run_for(minutes{5});
  EXPECT_TRUE(cordoned());
  EXPECT_TRUE(sent.empty()) << sent.front();
  end();
  ASSERT_TRUE(runs_until([&] { return !exists(path()); }, seconds{1}));
  EXPECT_TRUE(cordoned());
}

TEST_F(RecoveryTest, ARestartRepeatsNothing) {
  drain_empty_node();
  crash();
  launch();
  time.run_for(minutes{1});
  EXPECT_TRUE(sent.empty()) << sent.front();
  EXPECT_EQ(phase(), "Succeeded");
  EXPECT_EQ(events("SucceedMaintenance"), 1);
  EXPECT_EQ(events("BeginMaintenance"), 1);
  end();
  ASSERT_TRUE(runs_until([&] { return !exists(path()); }, seconds{1}));
  EXPECT_TRUE(untouched());
}

TEST_F(RecoveryTest, ARestartInMidDrainGoesOnFromThere) {
  add_node("n1");
  add_pod("db-0", "n1", "db");
  add_pod("web");
  add_budget("db", "db");
  launch();
  maintain();
  time.run_for(seconds{4});
  ASSERT_EQ(number("drainProgress"), 50);
  crash();
  launch();
  time.run_for(seconds{3});
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(number("evictionPods"), 2);
  EXPECT_EQ(number("drainProgress"), 50);
  free_budget("db");
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{5}));
}

// A process dies right after each of its writes, and the next one goes on; at the end all is as if none had.
TEST_F(RecoveryTest, CrashesAfterEachWriteLeadToTheSameEnd) {
  add_node("n1");
  merge(node_path(), R"({"spec":{"unschedulable":true}})");
  add_pod("a");
  put("/api/v1/namespaces/medik8s-leases", R"({"apiVersion":"v1","kind":"Namespace","status":{"phase":"Active"}})");
  const auto run_with_crashes = [&](const std::function<bool()>& done) {
    int processes = 0;
    for (; processes < 40 && !done(); ++processes) {
      int left = 1;
      treat = [&left](const kube::Request& request) {
        const bool counts = request.method != "GET" && request.path.find("/events") == std::string::npos;
        return sim::Treatment{.lost = counts && left-- <= 0};
      };
      launch();
      time.run_for(seconds{2});
      crash();
      treat = nullptr;
    }
    return processes;
  };
  time.run_for(seconds{5});
  maintain();
  EXPECT_GE(run_with_crashes([&] { return phase() == "Succeeded"; }), 6);
  ASSERT_EQ(phase(), "Succeeded");
  EXPECT_TRUE(cordoned());
  EXPECT_EQ(label(), "true");
  end();
  EXPECT_GE(run_with_crashes([&] { return !exists(path()); }), 3);
  ASSERT_FALSE(exists(path()));
  EXPECT_TRUE(cordoned()) << "it was before";
  EXPECT_EQ(label(), "");
  EXPECT_FALSE(exists(lease_path()));
}

// The node goes and comes back, and what was to be said of that arrives when everything is as it was before.
TEST_F(RecoveryTest, AStatusThatArrivesLateDoesNotStay) {
  for (const bool new_process : {false, true}) {
    add_node("n1");
    launch();
    maintain();
    ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{5}));
    bool on_its_way = false;
    treat = [&](const kube::Request& request) {
      const bool first = request.path.find("/status") != std::string::npos && !std::exchange(on_its_way, true);
      return sim::Treatment{.held = first};
    };
    cluster.api.erase(node_path());
    ASSERT_TRUE(runs_until([&] { return on_its_way; }, seconds{5}));
    add_node("n1");
    if (new_process) {
      crash();
      launch();
    }
    time.run_for(seconds{15});
    ASSERT_EQ(phase(), "Succeeded");
    cluster.network.release_held();
    treat = nullptr;
    ASSERT_EQ(phase(), "Failed");
    ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{5}));
    end();
    time.run_for(seconds{5});
    ASSERT_FALSE(exists(path()));
    crash();
    cluster.api.erase(node_path());
  }
}

TEST_F(RecoveryTest, WhatTheOriginalBeganIsTakenOverAndUndoneInTheEnd) {
  add_node("n1");
  add_predecessor();
  launch();
  time.run_for(seconds{10});
  EXPECT_EQ(phase(), "Succeeded");
  EXPECT_EQ(events("BeginMaintenance") + events("SucceedMaintenance"), 0);
  EXPECT_TRUE(in_maintenance());
  EXPECT_TRUE(object(path())["metadata"]["annotations"][kBegunAnnotation].exists());
  EXPECT_TRUE(exists(lease_path()));
  end();
  ASSERT_TRUE(runs_until([&] { return !exists(path()); }, seconds{1}));
  EXPECT_TRUE(untouched());
}

TEST_F(RecoveryTest, WhatTheOriginalBeganAndIsBeingDeletedIsUndone) {
  add_node("n1");
  add_predecessor();
  end();
  launch();
  ASSERT_TRUE(runs_until([&] { return !exists(path()); }, seconds{1}));
  EXPECT_TRUE(untouched());
  EXPECT_EQ(process->problems.open().size(), 0u);
}

TEST_F(RecoveryTest, AHoldWhoseMaintenanceIsGoneIsReleased) {
  drain_empty_node();
  crash();
  merge(path(), R"({"metadata":{"finalizers":null}})");
  cluster.api.erase(path());
  ASSERT_TRUE(in_maintenance());
  launch();
  ASSERT_TRUE(runs_until([&] { return untouched(); }, seconds{2}));
}

TEST_F(RecoveryTest, LeasesThatCannotBeDeletedAreFreed) {
  drain_empty_node();
  treat = [](const kube::Request& request) {
    sim::Treatment out;
    if (request.method == "DELETE" && request.path.find("/leases/") != std::string::npos) {
      out.refuse = sim::ApiServer::refusal(403, "Forbidden", "leases is forbidden");
    }
    return out;
  };
  end();
  ASSERT_TRUE(runs_until([&] { return !exists(path()); }, seconds{1}));
  EXPECT_TRUE(untouched());
  EXPECT_FALSE(object(lease_path()).at("/spec/holderIdentity").exists());
  EXPECT_FALSE(object(lease_path()).at("/spec/renewTime").exists());
  ASSERT_EQ(process->problems.open().size(), 1u);
  EXPECT_THAT(process->problems.open().begin()->second, HasSubstr("leases is forbidden; they are freed instead"));
}

TEST_F(RecoveryTest, NodesThatCannotBeWrittenAreToldAndTriedAgainSlowly) {
  add_node("n1");
  launch();
  treat = [](const kube::Request& request) {
    sim::Treatment out;
    if (request.method == "PATCH" && request.path.starts_with("/api/v1/nodes/")) {
      out.refuse = sim::ApiServer::refusal(403, "Forbidden", "nodes \"n1\" is forbidden");
    }
    return out;
  };
  maintain();
  time.run_for(seconds{5});
  EXPECT_EQ(last_error(), "patching node failed: nodes \"n1\" is forbidden");
  EXPECT_EQ(condition("Blocked"), "True WriteFailed");
  EXPECT_EQ(process->problems.open().size(), 1u);
  const size_t before = sent.size();
  time.run_for(minutes{10});
  EXPECT_LT(sent.size(), before + 20);
  treat = nullptr;
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, minutes{2}));
  EXPECT_EQ(last_error(), "");
  EXPECT_TRUE(process->problems.open().empty());
}

TEST_F(RecoveryTest, WhoSetsTheClockBackHoldsUpNothing) {
  add_node("n1");
  add_pod("a");
  launch();
  treat = [](const kube::Request& request) {
    sim::Treatment out;
    if (request.method == "PATCH" && request.path.starts_with("/api/v1/nodes/")) {
      out.refuse = sim::ApiServer::refusal(403, "Forbidden", "nodes \"n1\" is forbidden");
    }
    return out;
  };
  maintain();
  time.run_for(seconds{5});
  EXPECT_EQ(condition("Blocked"), "True WriteFailed");
  treat = nullptr;
  time.step_clock(*process->loop, -io::hours{2});
  process->controller.clock_stepped(-io::hours{2});
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, minutes{2}));
  EXPECT_EQ(last_error(), "");
}

TEST_F(RecoveryTest, AProblemGoesWithTheLastMaintenanceThatHadIt) {
  add_node("n1");
  launch();
  treat = [](const kube::Request& request) {
    sim::Treatment out;
    if (request.path.find("/leases") != std::string::npos) {
      out.refuse = sim::ApiServer::refusal(403, "Forbidden", "leases is forbidden");
    }
    return out;
  };
  maintain();
  time.run_for(seconds{5});
  ASSERT_TRUE(process->problems.open().contains("write leases of nodes"));
  end();
  ASSERT_TRUE(runs_until([&] { return !exists(path()); }, minutes{5}));
  time.run_for(seconds{1});
  EXPECT_FALSE(process->problems.open().contains("write leases of nodes"));
}

TEST_F(RecoveryTest, ConflictsAndLostAnswersAreOvercome) {
  add_node("n1");
  add_pod("a");
  launch();
  int count = 0;
  treat = [&count](const kube::Request& request) {
    sim::Treatment out;
    if (request.method != "PATCH" && request.method != "DELETE") return out;
    switch (++count % 3) {
      case 0:
        out.cut = true;
        break;
      case 1:
        out.refuse = sim::ApiServer::refusal(409, "Conflict", "the object has been modified");
        break;
      default:
        break;
    }
    return out;
  };
  maintain();
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, minutes{1}));
  end();
  ASSERT_TRUE(runs_until([&] { return !exists(path()); }, minutes{1}));
  EXPECT_TRUE(untouched());
  EXPECT_FALSE(exists(lease_path()));
  time.run_for(seconds{10});
  EXPECT_EQ(events("SucceedMaintenance"), 1);
  EXPECT_EQ(events("RemovedMaintenance"), 1);
}

TEST_F(RecoveryTest, ADryRunWritesNothing) {
  add_node("n1");
  add_pod("a");
  launch({.dry_run = true});
  maintain();
  time.run_for(minutes{1});
  EXPECT_TRUE(sent.empty());
  EXPECT_TRUE(untouched());
  EXPECT_EQ(log->count("dry run"), 1);
}

// The original's CRD drops what it does not know.
class OriginalDefinitionTest : public MaintenanceTest {
 protected:
  OriginalDefinitionTest() : MaintenanceTest(original_definition()) {}
};

TEST_F(OriginalDefinitionTest, PrunedFieldsAreNotWrittenAgainAndAgain) {
  add_node("n1");
  add_pod("db-0", "n1", "db");
  add_budget("db", "db");
  launch();
  maintain();
  time.run_for(seconds{10});
  EXPECT_FALSE(status()["conditions"].exists());
  EXPECT_THAT(last_error(), HasSubstr("error when evicting"));
  sent.clear();
  time.run_for(minutes{5});
  EXPECT_EQ(static_cast<int>(sent.size()), requests("/eviction")) << "the pod is asked for, and nothing is written";
  free_budget("db");
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{5}));
  time.run_for(seconds{5});
  crash();
  launch();
  time.run_for(minutes{1});
  EXPECT_TRUE(sent.empty()) << sent.front();
}

class MaskedRecoveryTest : public RecoveryTest, public testing::WithParamInterface<int> {};

// Every write takes effect, and a proxy denies it: everything is done all the same, and told once.
TEST_P(MaskedRecoveryTest, WhatIsDeniedAfterwardsIsFoundOut) {
  treat = [](const kube::Request& request) {
    sim::Treatment out;
    const bool ours = request.path.find("/nodemaintenances/") != std::string::npos ||
                      request.path.starts_with("/api/v1/nodes/") || request.path.find("/leases") != std::string::npos;
    if (request.method != "GET" && ours) {
      out.mask = sim::ApiServer::refusal(GetParam(), GetParam() == 409 ? "Conflict" : "", "somebody on the way");
    }
    return out;
  };
  put("/api/v1/namespaces/medik8s-leases", R"({"apiVersion":"v1","kind":"Namespace"})");
  add_node("n1");
  add_pod("a");
  launch();
  maintain();
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, minutes{1}));
  time.run_for(seconds{10});
  end();
  ASSERT_TRUE(runs_until([&] { return !exists(path()); }, minutes{1}));
  time.run_for(seconds{10});
  EXPECT_TRUE(untouched());
  for (const char* reason : {"BeginMaintenance", "SucceedMaintenance", "UncordonNode", "RemovedMaintenance"}) {
    EXPECT_EQ(events(reason), 1) << reason;
  }
}

INSTANTIATE_TEST_SUITE_P(Recovery, MaskedRecoveryTest, testing::Values(409, 429, 500, 502, 503, 504));

}  // namespace
}  // namespace careen::nodemaintenance
