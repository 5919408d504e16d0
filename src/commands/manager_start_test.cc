// For which program careen stands when it is started as /manager.
#include "commands/manager_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace careen::app {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> started(std::vector<std::string> flags) {
  flags.insert(flags.begin(), {"/manager", "run"});
  return flags;
}

struct ByFlags {
  std::vector<std::string> flags;
  bool has_config;
  std::string_view meant;  // empty: the cluster is asked
};

// As the manifests of each program start it, and what may come with that.
TEST(ManagerStart, FlagsThatOneProgramHasTell) {
  const ByFlags table[] = {
      {{"--leader-elect"}, false, "nodemaintenance"},
      {{"--health-probe-bind-address=:8081"}, true, "nodemaintenance"},
      {{"--metrics-bind-address=:8443"}, false, "nodemaintenance"},
      {{"--enable-http2=false"}, false, "nodemaintenance"},
      {{"--leader-elect", "--zap-log-level=info"}, false, "nodemaintenance"},
      {{"--health-addr=:8081"}, false, "profiles"},
      {{"--pprof-addr=0"}, false, "profiles"},
      {{"--kubecontext", "dev"}, false, "profiles"},
      {{"--metrics-timeout=5s"}, false, "profiles"},
      {{"--enable-esx-maintenance=false"}, false, "profiles"},
      {{"--enable-kubernikus-maintenance=false"}, false, "profiles"},
      {{"--zap-devel=false"}, false, "profiles"},
      {{"--metrics-addr=:8080"}, true, "profiles"},
      {{}, true, "profiles"},
      {{"--master=https://api"}, true, "profiles"},
      {{"--master=https://api"}, false, "requests"},
      {{"--metrics-addr=127.0.0.1:8080"}, false, ""},
      {{"--metrics-addr=:8080", "--enable-leader-election", "--kubeconfig=/k"}, false, ""},
      {{"--leader-election-namespace=ops"}, false, ""},
      {{}, false, ""},
  };
  for (const ByFlags& one : table) {
    EXPECT_EQ(controller_by_flags(started(one.flags), one.has_config), one.meant)
        << testing::PrintToString(one.flags) << one.has_config;
  }
}

TEST(ManagerStart, WhoeverNamesTheControllersIsAsked) {
  EXPECT_TRUE(says_controllers(started({"--controllers=requests"})));
  EXPECT_TRUE(says_controllers(started({"--config", "x"})));
  EXPECT_FALSE(says_controllers(started({"--controllersx", "--configmap"})));
}

std::string by_cluster(ManagerSurroundings found) {
  const auto meant = controller_by_cluster(found);
  return meant ? std::string(*meant) : meant.error();
}

TEST(ManagerStart, TheClusterTellsWhereTheFlagsDoNot) {
  const std::string home = "repairman-system", other = "kube-system";
  for (const bool pods : {false, true}) {
    EXPECT_EQ(by_cluster({.ns = home, .serves_limits = true, .may_update_limits = true, .may_list_pods = pods}),
              "requests");
    EXPECT_EQ(by_cluster({.ns = other, .serves_limits = false, .may_list_pods = pods}), "profiles");
    EXPECT_EQ(by_cluster({.ns = other, .serves_limits = true, .may_list_pods = pods}), "profiles");
    EXPECT_EQ(by_cluster({.ns = other, .serves_limits = false, .may_update_limits = true, .may_list_pods = pods}),
              "profiles")
        << "a role of everything";
  }
  EXPECT_EQ(by_cluster({.ns = other, .serves_limits = true, .may_update_limits = true}), "requests");
}

TEST(ManagerStart, InDoubtItSaysWhatWasFoundAndWhatDecides) {
  EXPECT_THAT(by_cluster({.ns = "ops", .serves_limits = true, .may_update_limits = true, .may_list_pods = true}),
              AllOf(HasSubstr("repairman.k8s.io/v1 is served"), HasSubstr("maintenancelimits may be updated"),
                    HasSubstr("pods may be listed"), HasSubstr("namespace is \"ops\""),
                    HasSubstr("--controllers: profiles, ")));
  const std::string home = "repairman-system";
  EXPECT_THAT(by_cluster({.ns = home}),
              AllOf(HasSubstr("is not served"), HasSubstr("may not be updated"), HasSubstr("may not be listed")));
  EXPECT_THAT(by_cluster({.ns = home, .serves_limits = true}), HasSubstr("in doubt"));
  EXPECT_THAT(by_cluster({.ns = home, .may_update_limits = true}), HasSubstr("in doubt"));
}

TEST(ManagerStart, ItStartsAsTheOriginalsManifestSaysAndChangesNothingThatIsSaid) {
  const auto words = as_manager(started({"--leader-elect", "--metrics-secure=false", "--enable-http2=false"}),
                                "nodemaintenance", {.may_lock = true});
  EXPECT_THAT(words, Contains("--controllers=nodemaintenance"));
  EXPECT_THAT(words, Contains("--webhook-bind-address=:9443"));
  EXPECT_THAT(words, Not(Contains("--metrics-secure")));
  EXPECT_THAT(words, Not(Contains("--enable-leader-election"))) << "its lock is a Lease, and said";
  EXPECT_THAT(as_manager(started({"--metrics-addr=:1"}), "profiles", {.may_lock = true}),
              ElementsAre("/manager", "run", "--metrics-addr=:1", "--controllers=profiles"));
}

TEST(ManagerStart, HowRequestsRunIsUpToTheRole) {
  EXPECT_TRUE(starts_as_its_role_allows("requests"));
  EXPECT_FALSE(starts_as_its_role_allows("profiles"));
  const std::vector<std::string> shipped = started({"--metrics-addr=127.0.0.1:8080"});
  EXPECT_THAT(as_manager(shipped, "requests", {.may_lock = true}),
              ElementsAre("/manager", "run", "--metrics-addr=127.0.0.1:8080", "--controllers=requests",
                          "--health-addr=0", "--enable-leader-election", "--await-pauses=false"));
  EXPECT_THAT(as_manager(shipped, "requests", {.may_lock = true, .may_pause = true}),
              Not(Contains("--await-pauses=false")));
  EXPECT_THAT(as_manager(shipped, "requests", {}),
              AllOf(Not(Contains("--enable-leader-election")), Not(Contains("--await-pauses=false"))))
      << "what is refused while nothing is allowed may still be unknown";
  EXPECT_THAT(as_manager(started({"--enable-leader-election=false"}), "requests", {.may_lock = true}),
              Not(Contains("--enable-leader-election")));
}

}  // namespace
}  // namespace careen::app
