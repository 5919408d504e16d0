// The definitions that are shipped, as an API server takes them, and whether it and careen agree on what they allow.
#include "controllers/slot/definition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/virtual_time.h"
#include "kube/decode.h"
#include "limits/limit.h"
#include "sim/api_server.h"

namespace careen::controllers {
namespace {

using kube::Json;
using testing::HasSubstr;

class LimitDefinitionTest : public testing::Test {
 protected:
  LimitDefinitionTest() {
    EXPECT_EQ(ask("POST", kDefinitionsPath, shipped_definition("maintenancelimit").dump()).status, 201);
  }
  kube::Response ask(std::string method, std::string path, std::string body) {
    kube::Request request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.body = std::move(body);
    request.content_type = "application/json";
    return api.handle(request);
  }
  kube::Response make(const std::string& spec, const std::string& name = "node") {
    return ask("POST", limits::kLimitResource.path(),
               R"({"apiVersion":"repairman.k8s.io/v1","kind":"MaintenanceLimit","metadata":{"name":")" + name +
                   R"("},"spec":)" + spec + "}");
  }
  static std::string mistake_in(const std::string& spec) {
    const auto object =
        kube::decode_object(R"({"metadata":{"name":"node","resourceVersion":"1"},"spec":)" + spec + "}");
    EXPECT_TRUE(object);
    return limits::parse_limit(*object).mistake;
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  sim::ApiServer api{*loop};
};

// A field that the definition does not name would be dropped without a word.
TEST_F(LimitDefinitionTest, EveryFieldIsKept) {
  const std::string spec = R"({"type":"node","selector":{"matchLabels":{"a":"b"},
    "matchExpressions":[{"key":"c","operator":"In","values":["d"]}]},"groupBy":["zone"],"unit":"host","limit":5,
    "maxUnavailable":"10%","maxParallel":3,"minimum":1,"policies":["NotReady","Sleepy"],"mode":"Queue","count":"All",
    "settleSeconds":120,"foreignCordonAfter":"10m","reserve":[{"actor":"karpenter","nodes":1}],"governors":["kured"],
    "drain":{"enabled":true,"cordonOnly":false,"gracePeriodSeconds":-1,"timeoutSeconds":600,"deleteEmptyDirData":true,
      "force":false,"ignoreDaemonSets":true,"podSelector":"a=b","afterSeconds":1,"onTimeout":"Reject","uncordon":true},
    "infraDrain":{"enabled":true,"timeoutSeconds":300,"afterSeconds":0,"onTimeout":"Continue"},
    "timeouts":{"pendingSeconds":1,"approvedSeconds":2,"inProgressSeconds":3,"evidenceSeconds":600},
    "intervalSeconds":10,"ttlSecondsAfterFinished":60})";
  EXPECT_EQ(mistake_in(spec), "");
  const kube::Response made = make(spec);
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ((*Json::parse(made.body))["spec"], Json::parse(spec)->view());
  const std::string workloads = R"({"type":"deployment","namespaceSelector":{"matchLabels":{"tier":"prod"}}})";
  const kube::Response other = make(workloads, "web");
  ASSERT_EQ(other.status, 201) << other.body;
  EXPECT_EQ((*Json::parse(other.body))["spec"], Json::parse(workloads)->view());
}

TEST_F(LimitDefinitionTest, WhatTheServerRefusesCareenDoesNotUnderstandEither) {
  for (const char* spec :
       {R"({"limit":101})", R"({"limit":-1})", R"({"maxUnavailable":"abc"})", R"({"maxParallel":"5%%"})",
        R"({"mode":"Strict"})", R"({"count":"Some"})", R"({"minimum":-1})", R"({"settleSeconds":-1})",
        R"({"type":"pod"})", R"({"governors":["me"]})", R"({"drain":{"onTimeout":"Wait"}})",
        R"({"drain":{"gracePeriodSeconds":-2}})", R"({"drain":{"enabled":"yes"}})", R"({"reserve":[{"nodes":-1}]})",
        R"({"timeouts":{"pendingSeconds":-1}})", R"({"intervalSeconds":99999999999})"}) {
    const kube::Response answer = make(spec);
    EXPECT_EQ(answer.status, 422) << spec << answer.body;
    EXPECT_NE(mistake_in(spec), "") << spec;
  }
}

TEST_F(LimitDefinitionTest, TheStatusIsKept) {
  ASSERT_EQ(make("{}").status, 201);
  Json object = *Json::parse(ask("GET", limits::kLimitResource.path("", "node"), "").body);
  const std::string status = R"({"limit":3,"unavailable":{"n1":"NotReady"},"total":10,"running":1,"pending":2,
    "lastApprovalTime":"2026-03-01T10:00:00Z","lastFinishTime":"2026-03-01T10:00:00Z","observedGeneration":1,
    "groups":[{"values":["a"],"total":10,"expected":11,"cap":3,"used":2,"missing":1,"free":1,"parallel":3,"working":1,
      "waiting":2,"usedBy":[{"actor":"kubectl","nodes":1,"node":"n1","since":"2026-03-01T10:00:00Z"}]}],
    "queue":[{"node":"n2","actor":"profile/os","class":"campaign","since":"2026-03-01T10:00:00Z",
      "expected":"2026-03-01T11:00:00Z"}],
    "conditions":[{"type":"Valid","status":"True","reason":"Valid","message":"","observedGeneration":1,
      "lastTransitionTime":"2026-03-01T10:00:00Z"}]})";
  object.set({"status"}, *Json::parse(status));
  const kube::Response put = ask("PUT", limits::kLimitResource.path("", "node", "status"), object.dump());
  ASSERT_EQ(put.status, 200) << put.body;
  EXPECT_EQ((*Json::parse(put.body))["status"], Json::parse(status)->view());
}

}  // namespace
}  // namespace careen::controllers
