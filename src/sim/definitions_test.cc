// Custom resources: what their schemas drop, add and refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/virtual_time.h"
#include "sim/api_server.h"

namespace careen::sim {
namespace {

using kube::Json;
using kube::Response;
using ::testing::HasSubstr;

constexpr const char* kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr const char* kFoos = "/apis/x.io/v1/namespaces/default/foos";
constexpr const char* kFoo = R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"foos.x.io"},"spec":{"group":"x.io","scope":"Namespaced",
"names":{"plural":"foos","kind":"Foo","shortNames":["fo"]},
"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
"additionalPrinterColumns":[{"name":"N","type":"integer","jsonPath":".spec.n"}],
"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","required":["nodeName"],"properties":{
"nodeName":{"type":"string","minLength":2,"maxLength":5,"pattern":"^[a-z]+$"},
"n":{"type":"integer","minimum":1,"maximum":5,"default":3},"e":{"type":"string","enum":["a","b"]},
"l":{"type":"array","items":{"type":"string"},"maxItems":2},"ios":{"x-kubernetes-int-or-string":true},
"any":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
"o":{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}},"oneOf":[{"required":["x"]},{"required":["y"]}]}}},
"status":{"type":"object","properties":{"p":{"type":"string"}}}}}}},
{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})";

class DefinitionsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(ask("POST", kDefinitions, kFoo).status, 201); }
  Response ask(std::string method, std::string path, std::string body = "", std::string type = "application/json") {
    kube::Request request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.body = std::move(body);
    request.content_type = std::move(type);
    return api.handle(request);
  }
  Response make(const std::string& spec, const char* more = "") {
    return ask("POST", kFoos,
               R"({"apiVersion":"x.io/v1","kind":"Foo","metadata":{"name":"a"},"spec":)" + spec + more + "}");
  }
  std::string message(const Response& response) {
    return std::string(Json::parse(response.body)->at("/message").text().value_or("(none)"));
  }
  std::string invalid(const std::string& what) { return "Foo.x.io \"a\" is invalid: " + what; }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  ApiServer api{*loop};
};

TEST_F(DefinitionsTest, PrunesDefaultsAndCountsGenerations) {
  ASSERT_EQ(make(R"({"nodeName":"abc","zzz":1,"any":{"kept":1},"e":null})", R"(,"status":{"p":"x"})").status, 201);
  const std::string path = std::string(kFoos) + "/a";
  EXPECT_EQ(Json(api.object(path)["spec"]).dump(), R"({"nodeName":"abc","any":{"kept":1},"n":3})");
  EXPECT_FALSE(api.object(path)["status"].exists());
  const auto generation = [&] { return api.object(path).at("/metadata/generation").integer(); };
  ask("PATCH", path, R"({"spec":{"n":4}})", "application/merge-patch+json");
  EXPECT_EQ(generation(), 2);
  ask("PATCH", path, R"({"metadata":{"labels":{"a":"b"}}})", "application/merge-patch+json");
  EXPECT_EQ(generation(), 2);
  ask("PATCH", path + "/status", R"({"spec":{"n":5},"status":{"p":"z"},"metadata":{"labels":{"a":"c"}}})",
      "application/merge-patch+json");
  EXPECT_EQ(generation(), 2);
  EXPECT_EQ(api.object(path).at("/status/p").text(), "z");
  EXPECT_EQ(api.object(path).at("/metadata/labels/a").text(), "b");
  EXPECT_EQ(ask("PATCH", path, "{}", "application/strategic-merge-patch+json").status, 415);
}

TEST_F(DefinitionsTest, RefusesInTheServersWords) {
  EXPECT_EQ(message(make("{}")), invalid("spec.nodeName: Required value"));
  EXPECT_EQ(message(make("3")),
            invalid("spec: Invalid value: \"integer\": spec in body must be of type object: \"integer\""));
  EXPECT_EQ(message(make(R"({"nodeName":"abc","n":"x"})")),
            invalid("spec.n: Invalid value: \"string\": spec.n in body must be of type integer: \"string\""));
  EXPECT_EQ(message(make(R"({"nodeName":"abc","n":9})")),
            invalid("spec.n: Invalid value: 9: spec.n in body should be less than or equal to 5"));
  EXPECT_EQ(message(make(R"({"nodeName":"abc","e":"z"})")),
            invalid("spec.e: Unsupported value: \"z\": supported values: \"a\", \"b\""));
  EXPECT_EQ(message(make(R"({"nodeName":"abcdefgh"})")),
            invalid("spec.nodeName: Too long: may not be more than 5 bytes"));
  EXPECT_EQ(message(make(R"({"nodeName":"A1"})")),
            invalid("spec.nodeName: Invalid value: \"A1\": spec.nodeName in body should match '^[a-z]+$'"));
  EXPECT_EQ(message(make(R"({"nodeName":"abc","l":["a","b","c"]})")),
            invalid("spec.l: Too many: 3: must have at most 2 items"));
  EXPECT_EQ(
      message(make(R"({"nodeName":"abc","ios":true})")),
      invalid("spec.ios: Invalid value: \"boolean\": spec.ios in body must be of type integer,string: \"boolean\""));
  EXPECT_THAT(message(make(R"({"nodeName":"abc","o":{"x":"1","y":"2"}})")),
              HasSubstr("\"spec.o\" must validate one and only one schema (oneOf). Found 2 valid alternatives"));
  EXPECT_EQ(message(ask("POST", kFoos, R"({"apiVersion":"x.io/v2","kind":"Foo","metadata":{"name":"b"}})")),
            "the API version in the data (x.io/v2) does not match the expected API version (x.io/v1)");
}

TEST_F(DefinitionsTest, VersionsShowTheSameObjects) {
  ASSERT_EQ(make(R"({"nodeName":"abc"})").status, 201);
  const Json seen = *Json::parse(ask("GET", "/apis/x.io/v2/namespaces/default/foos/a").body);
  EXPECT_EQ(seen["apiVersion"].text(), "x.io/v2");
  const Json list = *Json::parse(ask("GET", kFoos).body);
  EXPECT_EQ(list["kind"].text(), "FooList");
  EXPECT_EQ(list.at("/items/0/kind").text(), "Foo");
  EXPECT_THAT(ask("GET", "/apis/x.io/v1").body, HasSubstr("\"shortNames\":[\"fo\"]"));
}

TEST_F(DefinitionsTest, ADefinitionTakesItsObjectsAlong) {
  ASSERT_EQ(make(R"({"nodeName":"abc"})").status, 201);
  ask("PATCH", std::string(kFoos) + "/a", R"({"metadata":{"finalizers":["x.io/f"]}})", "application/merge-patch+json");
  const std::string definition = std::string(kDefinitions) + "/foos.x.io";
  EXPECT_EQ(ask("DELETE", definition).status, 200);
  EXPECT_EQ(ask("GET", definition).status, 200) << "an object is held";
  ask("PATCH", std::string(kFoos) + "/a", R"({"metadata":{"finalizers":null}})", "application/merge-patch+json");
  EXPECT_EQ(ask("GET", definition).status, 404);
  EXPECT_EQ(ask("GET", kFoos).status, 404);
}

}  // namespace
}  // namespace careen::sim
