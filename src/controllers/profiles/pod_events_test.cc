#include "controllers/profiles/pod_events.h"

#include <gtest/gtest.h>

#include "drain/pod_request.h"
#include "kube/node.h"

namespace careen::profiles {
namespace {

using Kind = drain::PodRequest::Kind;

drain::PodRequest request_for(Kind kind, std::vector<std::string> owners) {
  return {kind, "shop", "web-1", "uid-p", "n1", std::move(owners)};
}

TEST(PodEvents, AreOnlyOfProfiles) {
  EXPECT_TRUE(is_of_profile(request_for(Kind::leave, {"nodemaintenance/a", "profile/p/begun"})));
  EXPECT_FALSE(is_of_profile(request_for(Kind::leave, {"nodemaintenance/a", "terminal/me@host"})));
}

// Word for word what the replaced program writes.
TEST(PodEvents, SayWhatTheOriginalSays) {
  kube::Node node;
  node.uid = "uid-n";
  const kube::EventRecord evicting = pod_event(request_for(Kind::leave, {"profile/p"}), &node);
  EXPECT_EQ(evicting.api, kube::EventRecord::Api::events_v1);
  EXPECT_EQ(evicting.type, "Normal");
  EXPECT_EQ(evicting.reason, "Evicting");
  EXPECT_EQ(evicting.action, "Drain");
  EXPECT_EQ(evicting.note, "Evicting pod during node drain");
  EXPECT_EQ(evicting.controller, "maintenance");
  EXPECT_EQ(evicting.regarding.kind, "Pod");
  EXPECT_EQ(evicting.regarding.ns, "shop");
  EXPECT_EQ(evicting.regarding.uid, "uid-p");
  ASSERT_TRUE(evicting.related);
  EXPECT_EQ(evicting.related->kind, "Node");
  EXPECT_EQ(evicting.related->name, "n1");
  EXPECT_EQ(evicting.related->uid, "uid-n");
  const kube::EventRecord killing = pod_event(request_for(Kind::kill, {"profile/p"}), nullptr);
  EXPECT_EQ(killing.reason, "ForceDeleting");
  EXPECT_EQ(killing.note, "Force deleting pod that exceeded grace period during node drain");
  EXPECT_EQ(pod_event(request_for(Kind::remove, {"profile/p"}), nullptr).reason, "ForceDeleting");
}

}  // namespace
}  // namespace careen::profiles
