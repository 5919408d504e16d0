// A MaintenanceRequest out of whatever JSON there is.
#include "controllers/requests/request.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/decode.h"
#include "kube/objects.h"

namespace careen::requests {
namespace {

Request parsed(std::string_view json) {
  const auto object = kube::decode_object(json);
  EXPECT_TRUE(object) << json;
  return object ? parse_request(*object) : Request{};
}

io::Wall at(std::string_view text) { return io::parse_rfc3339(text).value_or(io::Wall{}); }

TEST(ParseRequest, OfTheOriginal) {
  const Request request = parsed(R"({"apiVersion":"repairman.k8s.io/v1","kind":"MaintenanceRequest","metadata":
      {"name":"mr-x7k2p","uid":"u1","resourceVersion":"12","creationTimestamp":"2026-03-01T10:00:00Z",
       "labels":{"maintenancerequests.repairman.k8s.io/clientname":"rebooter"}},
      "spec":{"name":"Worker-7","type":"node","state":"Pending"}})");
  EXPECT_EQ(request.name, "mr-x7k2p");
  EXPECT_EQ(request.version, 12u);
  EXPECT_EQ(request.created, at("2026-03-01T10:00:00Z"));
  EXPECT_EQ(request.client, "rebooter");
  EXPECT_EQ(request.node, "worker-7") << "the client library compares names without regard to case";
  EXPECT_EQ(request.state, State::pending);
  EXPECT_TRUE(request.live());
  EXPECT_TRUE(request.askable());
  EXPECT_FALSE(request.running());
  EXPECT_TRUE(request.status.empty());
  EXPECT_EQ(request.owner(), "request/mr-x7k2p");
  EXPECT_EQ(request.actor(), "request/rebooter");
  EXPECT_EQ(request_of(request.owner()), "mr-x7k2p");
  EXPECT_EQ(request_of("profile/x"), std::nullopt);
}

TEST(ParseRequest, States) {
  const auto state = [](std::string_view text) {
    return parsed(R"({"metadata":{"name":"a","uid":"u","resourceVersion":"1"},"spec":{"state":)" + std::string(text) +
                  "}}")
        .state;
  };
  EXPECT_EQ(state(R"("Approved")"), State::approved);
  EXPECT_EQ(state(R"("InProgress")"), State::in_progress);
  EXPECT_EQ(state(R"("Completed")"), State::completed);
  EXPECT_EQ(state(R"("Rejected")"), State::rejected);
  EXPECT_EQ(state(R"("approved")"), State::pending);
  EXPECT_EQ(state("7"), State::pending);
  EXPECT_EQ(state("null"), State::pending);
}

TEST(ParseRequest, WhatIsOfAnotherTypeIsAbsent) {
  const Request request =
      parsed(R"({"metadata":{"name":"a","uid":"u","resourceVersion":"1","labels":[],"annotations":"no"},
      "spec":{"name":["n1"],"type":{"x":1},"state":["Approved"]},
      "status":{"phase":3,"conditions":{"type":"Approved"},"startTime":"yesterday","position":-4}})");
  EXPECT_EQ(request.node, "");
  EXPECT_EQ(request.type, "");
  EXPECT_EQ(request.state, State::pending);
  EXPECT_EQ(request.actor(), "request/a");
  EXPECT_FALSE(request.askable());
  EXPECT_TRUE(request.status.empty());
  EXPECT_FALSE(parsed(R"({"metadata":{"name":"a","uid":"u","resourceVersion":"1"},"spec":"all"})").askable());
}

TEST(ParseRequest, LongTextsAreCut) {
  const Request request = parsed(fmt::format(
      R"({{"metadata":{{"name":"a","uid":"u","resourceVersion":"1","annotations":{{"careen.dev/ended":"{0}"}}}},"spec":{{"name":"{0}"}},)"
      R"("status":{{"message":"{0}","bootID":"{0}"}}}})",
      std::string(100'000, 'x')));
  EXPECT_EQ(request.node.size(), 253u);
  EXPECT_EQ(request.status.message.size(), 1024u);
  EXPECT_EQ(request.status.boot_id.size(), 128u);
  ASSERT_TRUE(request.ended);
  EXPECT_EQ(request.ended->reason.size(), 128u);
}

TEST(ParseRequest, WhyItWasEnded) {
  const Request request = parsed(R"({"metadata":{"name":"a","uid":"u","resourceVersion":"1","annotations":
      {"careen.dev/ended":"NoWorkSeen: nothing: for 10m","careen.dev/approved":"2026-03-01T10:00:00.7Z"}}})");
  ASSERT_TRUE(request.ended);
  EXPECT_EQ(*request.ended, (Ended{"NoWorkSeen", "nothing: for 10m"}));
  EXPECT_EQ(request.ended->text(), "NoWorkSeen: nothing: for 10m");
  EXPECT_TRUE(request.ended->rejects());
  EXPECT_EQ(request.approved_at, at("2026-03-01T10:00:00Z"));
}

TEST(RequestStatus, IsReadAsItIsWritten) {
  Status status;
  status.phase = Phase::infra_draining;
  status.reason = "VolumesAttached";
  status.message = "2 volumes";
  status.position = 3;
  status.pending_since = at("2026-03-01T10:00:00Z");
  status.approved = at("2026-03-01T10:00:01Z");
  status.started = at("2026-03-01T10:00:02Z");
  status.finished = at("2026-03-01T10:00:03Z");
  status.work_seen = at("2026-03-01T10:00:04Z");
  status.boot_id = "b";
  status.set_condition(conditions::kDrained, true, "AllPodsLeft", "empty", at("2026-03-01T10:00:05.9Z"));
  kube::Object object;
  object.name = "a";
  object.document.set({"status"}, status_patch(status));
  EXPECT_EQ(parse_request(object).status, status);
  object.document.set({"status"}, status_patch({}));
  EXPECT_TRUE(parse_request(object).status.empty());
}

TEST(RequestStatus, AConditionKeepsItsTimeAsLongAsItSaysTheSame) {
  Status status;
  status.set_condition("Approved", false, "WaitingForPlace", "place 2", at("2026-03-01T10:00:00Z"));
  status.set_condition("Approved", false, "WaitingForPlace", "place 1", at("2026-03-01T11:00:00Z"));
  ASSERT_EQ(status.conditions.size(), 1u);
  EXPECT_EQ(status.conditions[0].since, at("2026-03-01T10:00:00Z"));
  EXPECT_EQ(status.conditions[0].message, "place 1");
  status.set_condition("Approved", true, "MaintenanceApproved", "", at("2026-03-01T12:00:00Z"));
  EXPECT_EQ(status.conditions[0].since, at("2026-03-01T12:00:00Z"));
}

}  // namespace
}  // namespace careen::requests
