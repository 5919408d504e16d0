// The model API server's answers, as the real one gives them.
#include "sim/api_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/virtual_time.h"

namespace careen::sim {
namespace {

using kube::Json;
using kube::Request;
using kube::Response;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kMerge = "application/merge-patch+json";
constexpr const char* kStrategic = "application/strategic-merge-patch+json";
constexpr const char* kOperations = "application/json-patch+json";
constexpr const char* kApply = "application/apply-patch+yaml";
constexpr const char* kNodes = "/api/v1/nodes";
constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

class ApiServerTest : public ::testing::Test {
 protected:
  Response ask(std::string method, std::string path, std::string body = "", std::string type = "application/json",
               Caller caller = {}) {
    Request request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.body = std::move(body);
    request.content_type = std::move(type);
    return api.handle(request, caller);
  }
  Json json(const Response& response) { return Json::parse(response.body).value_or(Json()); }
  std::string message(const Response& response) { return text(json(response), "/message"); }
  std::string text(const Json& object, std::string_view pointer) {
    return std::string(object.at(pointer).text().value_or("(none)"));
  }
  std::string node(std::string name, std::string more = "") {
    return R"({"kind":"Node","apiVersion":"v1","metadata":{"name":")" + name + "\"" + more + "}}";
  }
  void add_node(const std::string& name, const std::string& more = "") {
    ASSERT_EQ(ask("POST", kNodes, node(name, more)).status, 201);
  }
  std::unique_ptr<Watch> watch(std::string path, Caller caller = {}) {
    Request request;
    request.path = std::move(path);
    auto opened = api.watch(request, caller);
    EXPECT_EQ(opened.head.status, 200) << opened.head.body;
    return std::move(opened.watch);
  }
  std::string read(Watch& watch, uint64_t up_to = UINT64_MAX) {
    std::string out;
    watch.read(out, up_to);
    return out;
  }
  // "ADDED a", one a line.
  std::string events(Watch& from) {
    std::string out;
    std::string rest = read(from);
    while (!rest.empty()) {
      const std::string line = rest.substr(0, rest.find('\n'));
      rest.erase(0, line.size() + 1);
      const Json event = *Json::parse(line);
      out += text(event, "/type") + " " + text(event, "/object/metadata/name") + "\n";
    }
    return out;
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  ApiServer api{*loop};
};

TEST_F(ApiServerTest, CreatesWithUidVersionAndTime) {
  const Response made = ask("POST", kNodes, node("a"));
  ASSERT_EQ(made.status, 201);
  const Json object = json(made);
  EXPECT_EQ(text(object, "/kind"), "Node");
  EXPECT_EQ(text(object, "/metadata/uid").size(), 36U);
  EXPECT_EQ(text(object, "/metadata/creationTimestamp").size(), 20U);
  EXPECT_EQ(text(object, "/metadata/resourceVersion"), std::to_string(api.version()));
  EXPECT_FALSE(object.at("/metadata/generation").exists());
  EXPECT_EQ(text(object, "/spec/taints/0/key"), "node.kubernetes.io/not-ready");
  EXPECT_EQ(ask("GET", "/api/v1/nodes/a").body, made.body);
}

TEST_F(ApiServerTest, RefusesWhatExistsAndWhatDoesNot) {
  add_node("a");
  EXPECT_EQ(
      ask("POST", kNodes, node("a")).body,
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"nodes \"a\" already exists","reason":"AlreadyExists","details":{"name":"a","kind":"nodes"},"code":409})");
  EXPECT_EQ(
      ask("GET", "/api/v1/nodes/b").body,
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"nodes \"b\" not found","reason":"NotFound","details":{"name":"b","kind":"nodes"},"code":404})");
}

TEST_F(ApiServerTest, UnknownPlaces) {
  EXPECT_EQ(ask("GET", "/apis/foo.io/v1/bars").body, "404 page not found\n");
  EXPECT_EQ(message(ask("GET", "/api/v1/nonsense")), "the server could not find the requested resource");
  EXPECT_EQ(message(ask("GET", "/apis/coordination.k8s.io/v9/leases")),
            "the server could not find the requested resource");
  EXPECT_EQ(ask("PUT", kNodes, "{}").status, 405);
  EXPECT_EQ(ask("POST", "/apis/coordination.k8s.io/v1/leases", "{}").status, 405);
  EXPECT_EQ(message(ask("POST", "/apis/coordination.k8s.io/v1/namespaces/nope/leases", R"({"metadata":{"name":"l"}})")),
            "namespaces \"nope\" not found");
}

TEST_F(ApiServerTest, GeneratesNames) {
  const Json made = json(ask("POST", kNodes, R"({"metadata":{"generateName":"gen-"}})"));
  EXPECT_THAT(text(made, "/metadata/name"), testing::MatchesRegex("gen-[bcdfghjklmnpqrstvwxz2456789]{5}"));
}

TEST_F(ApiServerTest, RefusesBodiesThatAreNone) {
  EXPECT_EQ(message(ask("POST", kNodes, R"({"metadata":)")),
            "the object provided is unrecognized (must be of type Node): couldn't get version/kind; json parse error: "
            "unexpected end of JSON input ({\"metadata\":)");
  EXPECT_EQ(message(ask("POST", kNodes, R"({"kind":"Nod","apiVersion":"v1","metadata":{"name":"pb"}})")),
            "Nod in version \"v1\" cannot be handled as a Node: no kind \"Nod\" is registered for version \"v1\" in "
            "scheme \"pkg/runtime/scheme.go:111\"");
  EXPECT_EQ(
      message(ask("POST", kNodes, R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"pb"}})")),
      "Pod in version \"v1\" cannot be handled as a Node: converting (v1.Pod) to (core.Node): unknown conversion");
  EXPECT_EQ(message(ask("POST", kNodes, R"({"metadata":{"name":"a","labels":{"x":5}}})")),
            "Node in version \"v1\" cannot be handled as a Node: json: cannot unmarshal number into Go struct field "
            "ObjectMeta.metadata.labels of type string");
  EXPECT_EQ(ask("POST", kNodes, "abc", "text/plain").status, 415);
  const Response versioned = ask("POST", kNodes, node("a", R"(,"resourceVersion":"12")"));
  EXPECT_EQ(versioned.status, 500);
  EXPECT_EQ(message(versioned), "resourceVersion should not be set on objects to be created");
}

TEST_F(ApiServerTest, ValidatesMetadata) {
  const Response wrong =
      ask("POST", kNodes, node("p_b", R"(,"labels":{"a b":"c"},"finalizers":["a"],"ownerReferences":[{"kind":"x"}])"));
  EXPECT_EQ(wrong.status, 422);
  EXPECT_THAT(message(wrong), StartsWith("Node \"p_b\" is invalid: [metadata.name: Invalid value: \"p_b\": a lowercase "
                                         "RFC 1123 subdomain must consist of"));
  EXPECT_THAT(message(wrong), HasSubstr("metadata.labels: Invalid value: \"a b\": name part must consist of"));
  EXPECT_THAT(message(wrong), HasSubstr("metadata.ownerReferences.uid: Invalid value: \"\": must not be empty"));
  EXPECT_THAT(message(wrong), HasSubstr("metadata.finalizers[0]: Invalid value: \"a\": name is neither a standard "
                                        "finalizer name nor is it fully qualified"));
  EXPECT_EQ(message(ask("POST", kNodes, R"({"metadata":{}})")),
            "Node \"\" is invalid: metadata.name: Required value: name or generateName is required");
  EXPECT_EQ(message(ask("POST", "/api/v1/namespaces", R"({"metadata":{"name":"t.1"}})")),
            "Namespace \"t.1\" is invalid: metadata.name: Invalid value: \"t.1\": must not contain dots");
}

TEST_F(ApiServerTest, AWriteThatChangesNothingKeepsTheVersion) {
  add_node("a", R"(,"labels":{"x":"1"})");
  const uint64_t before = api.version();
  const Response same = ask("PATCH", "/api/v1/nodes/a", R"({"metadata":{"labels":{"x":"1"}},"nonsense":1})", kMerge);
  EXPECT_EQ(same.status, 200);
  EXPECT_EQ(api.version(), before);
  EXPECT_EQ(api.count("PATCH nodes"), 1);
  EXPECT_EQ(api.count("PATCH nodes changed"), 0);
  const Response main = ask("PATCH", "/api/v1/nodes/a", R"({"status":{"phase":"y"}})", kMerge);
  EXPECT_EQ(api.version(), before) << "status is written through its own path: " << main.body;
  ask("PATCH", "/api/v1/nodes/a/status", R"({"status":{"phase":"y"},"spec":{"unschedulable":true}})", kMerge);
  EXPECT_EQ(text(api.object("/api/v1/nodes/a"), "/status/phase"), "y");
  EXPECT_FALSE(api.object("/api/v1/nodes/a").at("/spec/unschedulable").exists());
}

TEST_F(ApiServerTest, Conflicts) {
  add_node("a");
  EXPECT_EQ(message(ask("PATCH", "/api/v1/nodes/a", R"({"metadata":{"resourceVersion":"1"}})", kMerge)),
            "Operation cannot be fulfilled on nodes \"a\": the object has been modified; please apply your changes to "
            "the latest version and try again");
  EXPECT_EQ(message(ask("PATCH", "/api/v1/nodes/a", R"({"metadata":{"uid":"1"}})", kMerge)),
            "Node \"a\" is invalid: metadata.uid: Invalid value: \"1\": field is immutable");
  EXPECT_THAT(message(ask("PUT", "/api/v1/nodes/a", node("a", R"(,"uid":"x")"))),
              StartsWith("Operation cannot be fulfilled on nodes \"a\": StorageError: invalid object, Code: 4, Key: "
                         "/registry/minions/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
                         "precondition: x, UID in object meta: "));
  EXPECT_EQ(ask("PUT", "/api/v1/nodes/a", node("a")).status, 200) << "nodes may be updated without a version";
  EXPECT_EQ(message(ask("PUT", "/api/v1/nodes/a", node("b"))),
            "the name of the object (b) does not match the name on the URL (a)");
  EXPECT_EQ(ask("PUT", "/api/v1/nodes/nope", node("nope")).status, 404);
}

TEST_F(ApiServerTest, LeasesNeedAVersionAndMayBeMadeByUpdates) {
  const std::string lease = R"({"metadata":{"name":"l"},"spec":{}})";
  EXPECT_EQ(ask("PUT", std::string(kLeases) + "/l", lease).status, 201);
  EXPECT_EQ(message(ask("PUT", std::string(kLeases) + "/l", lease)),
            "leases.coordination.k8s.io \"l\" is invalid: metadata.resourceVersion: Invalid value: 0: must be "
            "specified for an update");
  EXPECT_EQ(message(ask("POST", kLeases, R"({"metadata":{"name":"x"},"spec":{"leaseDurationSeconds":0}})")),
            "Lease.coordination.k8s.io \"x\" is invalid: spec.leaseDurationSeconds: Invalid value: 0: must be greater "
            "than 0");
  EXPECT_EQ(message(ask("POST", kLeases, R"({"metadata":{"name":"x"},"spec":{"renewTime":"2026-01-01T00:00:00.5Z"}})")),
            "Lease in version \"v1\" cannot be handled as a Lease: parsing time \"2026-01-01T00:00:00.5Z\" as "
            "\"2006-01-02T15:04:05.000000Z07:00\": cannot parse \".5Z\" as \".000000\"");
  EXPECT_EQ(message(ask("POST", kLeases, R"({"metadata":{"name":"x"},"spec":{"leaseDurationSeconds":"5"}})")),
            "Lease in version \"v1\" cannot be handled as a Lease: json: cannot unmarshal string into Go struct field "
            "LeaseSpec.spec.leaseDurationSeconds of type int32");
}

TEST_F(ApiServerTest, NodeRules) {
  add_node("a");
  EXPECT_EQ(
      message(ask("PATCH", "/api/v1/nodes/a", R"({"spec":{"taints":[{"key":"a","effect":"Bad"}]}})", kMerge)),
      "Node \"a\" is invalid: metadata.taints[0].effect: Unsupported value: \"Bad\": supported values: \"NoSchedule\", "
      "\"PreferNoSchedule\", \"NoExecute\"");
  ASSERT_EQ(ask("PATCH", "/api/v1/nodes/a", R"({"spec":{"providerID":"x"}})", kMerge).status, 200);
  EXPECT_EQ(message(ask("PATCH", "/api/v1/nodes/a", R"({"spec":{"providerID":"y"}})", kMerge)),
            "Node \"a\" is invalid: spec.providerID: Forbidden: node updates may not change providerID except from "
            "\"\" to valid");
  EXPECT_THAT(message(ask("PATCH", "/api/v1/nodes/a", R"({"spec":{"unschedulable":"x"}})", kMerge)),
              HasSubstr("json: cannot unmarshal string into Go struct field NodeSpec.spec.unschedulable of type bool"));
}

TEST_F(ApiServerTest, JsonPatches) {
  add_node("a", R"(,"labels":{"x":"1"})");
  const auto patch = [&](const char* body) { return ask("PATCH", "/api/v1/nodes/a", body, kOperations); };
  EXPECT_EQ(
      patch(
          R"([{"op":"test","path":"/metadata/labels/x","value":"1"},{"op":"replace","path":"/metadata/labels/x","value":"2"},{"op":"add","path":"/metadata/labels/y~1z","value":"3"}])")
          .status,
      200);
  EXPECT_EQ(text(api.object("/api/v1/nodes/a"), "/metadata/labels/y~1z"), "3");
  EXPECT_EQ(
      patch(R"([{"op":"test","path":"/metadata/labels/x","value":"1"}])").body,
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server rejected our request due to an error in our request","reason":"Invalid","details":{},"code":422})");
  EXPECT_EQ(patch(R"([{"op":"remove","path":"/metadata/nix"}])").status, 422);
  EXPECT_EQ(patch(R"([{"op":"move","from":"/metadata/labels/x","path":"/metadata/labels/w"}])").status, 200);
  EXPECT_EQ(text(api.object("/api/v1/nodes/a"), "/metadata/labels/w"), "2");
  EXPECT_EQ(message(patch("{}")),
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp");
}

TEST_F(ApiServerTest, StrategicPatchesMergeListsByKey) {
  add_node("a");
  const auto status = [&](const char* body) { return ask("PATCH", "/api/v1/nodes/a/status", body, kStrategic).status; };
  ASSERT_EQ(status(R"({"status":{"conditions":[{"type":"A","status":"True"},{"type":"B","status":"True"}]}})"), 200);
  ASSERT_EQ(
      status(
          R"({"status":{"conditions":[{"type":"B","status":"False"},{"type":"A","$patch":"delete"},{"type":"C","status":"True"}]}})"),
      200);
  const Json node = api.object("/api/v1/nodes/a");
  EXPECT_EQ(node.at("/status/conditions").size(), 2U);
  EXPECT_EQ(text(node, "/status/conditions/0/status"), "False");
  EXPECT_EQ(text(node, "/status/conditions/1/type"), "C");
  // Taints are one value.
  ASSERT_EQ(
      ask("PATCH", "/api/v1/nodes/a", R"({"spec":{"taints":[{"key":"k","effect":"NoSchedule"}]}})", kStrategic).status,
      200);
  EXPECT_EQ(api.object("/api/v1/nodes/a").at("/spec/taints").size(), 1U);
}

TEST_F(ApiServerTest, ListsInPagesOfOneSnapshot) {
  for (const char* name : {"a", "b", "c"}) add_node(name);
  const Json first = json(ask("GET", "/api/v1/nodes?limit=2"));
  EXPECT_EQ(text(first, "/kind"), "NodeList");
  EXPECT_FALSE(first.at("/items/0/kind").exists());
  EXPECT_EQ(first.at("/metadata/remainingItemCount").integer(), 1);
  ask("DELETE", "/api/v1/nodes/c");
  add_node("d");
  const std::string token = text(first, "/metadata/continue");
  const Json second = json(ask("GET", "/api/v1/nodes?limit=2&continue=" + token));
  EXPECT_EQ(second.at("/items").size(), 1U);
  EXPECT_EQ(text(second, "/items/0/metadata/name"), "c") << "gone by now, but not then";
  EXPECT_EQ(text(second, "/metadata/resourceVersion"), text(first, "/metadata/resourceVersion"));
  api.compact();
  const Response expired = ask("GET", "/api/v1/nodes?limit=2&continue=" + token);
  EXPECT_EQ(expired.status, 410);
  EXPECT_THAT(message(expired), StartsWith("The provided continue parameter is too old"));
  const Json rest = json(ask("GET", "/api/v1/nodes?limit=2&continue=" + text(json(expired), "/metadata/continue")));
  EXPECT_EQ(text(rest, "/items/0/metadata/name"), "d");
}

TEST_F(ApiServerTest, ListsAtVersions) {
  add_node("a");
  const std::string then = std::to_string(api.version());
  add_node("b");
  EXPECT_EQ(json(ask("GET", "/api/v1/nodes?resourceVersionMatch=Exact&resourceVersion=" + then)).at("/items").size(),
            1U);
  EXPECT_EQ(json(ask("GET", "/api/v1/nodes?resourceVersion=" + then)).at("/items").size(), 2U);
  const Response late = ask("GET", "/api/v1/nodes?resourceVersion=99999");
  EXPECT_EQ(late.status, 504);
  EXPECT_EQ(late.retry_after, io::seconds{1});
  EXPECT_THAT(message(late), StartsWith("Timeout: Too large resource version: 99999, current: "));
  EXPECT_EQ(ask("GET", "/api/v1/nodes?resourceVersionMatch=Exact").status, 422);
}

TEST_F(ApiServerTest, AStaleReplicaAnswersOnlyReadsThatAllowIt) {
  add_node("a");
  const Caller behind{"x", api.version()};
  add_node("b");
  EXPECT_EQ(json(ask("GET", "/api/v1/nodes?resourceVersion=0", "", "", behind)).at("/items").size(), 1U);
  EXPECT_EQ(json(ask("GET", "/api/v1/nodes", "", "", behind)).at("/items").size(), 2U);
  EXPECT_EQ(ask("GET", "/api/v1/nodes/b?resourceVersion=0", "", "", behind).status, 404);
}

TEST_F(ApiServerTest, SelectsByLabelsAndFields) {
  add_node("a", R"(,"labels":{"x":"1","zone":"z"})");
  add_node("b", R"(,"labels":{"x":"2"})");
  const auto count = [&](const std::string& query) {
    return json(ask("GET", "/api/v1/nodes?" + query)).at("/items").size();
  };
  EXPECT_EQ(count("labelSelector=x%3D1"), 1U);
  EXPECT_EQ(count("labelSelector=x+in+(1,2),!zone"), 1U);
  EXPECT_EQ(count("labelSelector=x+notin+(1)"), 1U);
  EXPECT_EQ(count("labelSelector=zone"), 1U);
  EXPECT_EQ(count("fieldSelector=metadata.name%3Db"), 1U);
  EXPECT_EQ(count("fieldSelector=spec.unschedulable!%3Dtrue"), 2U);
  EXPECT_EQ(message(ask("GET", "/api/v1/nodes?labelSelector=a%20in%20b")),
            "unable to parse requirement: found 'b' expected: '('");
  EXPECT_EQ(message(ask("GET", "/api/v1/nodes?labelSelector=a,")), "found '', expected: identifier after ','");
  EXPECT_EQ(message(ask("GET", "/api/v1/nodes?fieldSelector=foo%3Dx")), "field label not supported: foo");
}

TEST_F(ApiServerTest, WatchesFromAVersion) {
  add_node("a");
  const auto stream = watch("/api/v1/nodes?watch=1&resourceVersion=" + std::to_string(api.version()));
  EXPECT_EQ(events(*stream), "");
  add_node("b");
  ask("PATCH", "/api/v1/nodes/a", R"({"metadata":{"labels":{"x":"1"}}})", kMerge);
  ask("DELETE", "/api/v1/nodes/b");
  EXPECT_EQ(events(*stream), "ADDED b\nMODIFIED a\nDELETED b\n");
}

TEST_F(ApiServerTest, WatchesWithASelectorSeeObjectsComeAndGo) {
  add_node("a");
  const auto stream = watch("/api/v1/nodes?watch=1&labelSelector=x&resourceVersion=" + std::to_string(api.version()));
  ask("PATCH", "/api/v1/nodes/a", R"({"metadata":{"labels":{"x":"1"}}})", kMerge);
  ask("PATCH", "/api/v1/nodes/a", R"({"metadata":{"labels":{"x":"2"}}})", kMerge);
  ask("PATCH", "/api/v1/nodes/a", R"({"metadata":{"labels":{"x":null}}})", kMerge);
  EXPECT_EQ(events(*stream), "ADDED a\nMODIFIED a\nDELETED a\n");
}

TEST_F(ApiServerTest, WatchesBeginWithWhatIsThere) {
  add_node("a");
  const auto stream =
      watch("/api/v1/nodes?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan");
  add_node("b");
  const std::string told = read(*stream);
  EXPECT_THAT(told, HasSubstr("k8s.io/initial-events-end"));
  EXPECT_LT(told.find("BOOKMARK"), told.find("\"name\":\"b\""));
  const auto plain = watch("/api/v1/nodes?watch=1&resourceVersion=0");
  EXPECT_EQ(events(*plain), "ADDED a\nADDED b\n");
  std::string bookmark;
  plain->bookmark(bookmark);
  EXPECT_EQ(bookmark, "") << "it did not ask for them";
}

TEST_F(ApiServerTest, AWatchThatCompactionOvertookEndsWithAnError) {
  add_node("a");
  const auto old = watch("/api/v1/nodes?watch=1&resourceVersion=2");
  const auto open = watch("/api/v1/nodes?watch=1&resourceVersion=" + std::to_string(api.version()));
  api.compact();
  EXPECT_EQ(read(*old),
            "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":"
            "\"Failure\",\"message\":\"too old resource version: 2 (" +
                std::to_string(api.version()) + ")\",\"reason\":\"Expired\",\"code\":410}}\n");
  EXPECT_TRUE(old->ended());
  EXPECT_EQ(read(*open), "") << "it had seen everything";
  EXPECT_FALSE(open->ended());
}

TEST_F(ApiServerTest, DeletesWithPreconditions) {
  add_node("a");
  EXPECT_THAT(message(ask("DELETE", "/api/v1/nodes/a", R"({"preconditions":{"uid":"x"}})")),
              StartsWith("Operation cannot be fulfilled on Node \"a\": the UID in the precondition (x) does not match "
                         "the UID in record ("));
  EXPECT_THAT(message(ask("DELETE", "/api/v1/nodes/a", R"({"preconditions":{"resourceVersion":"1"}})")),
              HasSubstr("the ResourceVersion in the precondition (1) does not match the ResourceVersion in record ("));
  EXPECT_EQ(ask("DELETE", "/api/v1/nodes/a?dryRun=All").status, 200);
  const Json gone = json(ask("DELETE", "/api/v1/nodes/a"));
  EXPECT_EQ(text(gone, "/status"), "Success");
  EXPECT_EQ(text(gone, "/details/kind"), "nodes");
  EXPECT_EQ(ask("DELETE", "/api/v1/nodes/a").status, 404);
}

TEST_F(ApiServerTest, FinalizersHoldObjects) {
  add_node("a", R"(,"finalizers":["x.io/a"])");
  const Json marked = json(ask("DELETE", "/api/v1/nodes/a"));
  EXPECT_NE(text(marked, "/metadata/deletionTimestamp"), "(none)");
  EXPECT_EQ(marked.at("/metadata/deletionGracePeriodSeconds").integer(), 0);
  EXPECT_EQ(message(ask("PATCH", "/api/v1/nodes/a", R"({"metadata":{"finalizers":["x.io/a","x.io/b"]}})", kMerge)),
            "Node \"a\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is "
            "being deleted, found new finalizers []string{\"x.io/b\"}");
  EXPECT_EQ(ask("PATCH", "/api/v1/nodes/a", R"({"metadata":{"finalizers":null}})", kMerge).status, 200);
  EXPECT_EQ(ask("GET", "/api/v1/nodes/a").status, 404);
}

TEST_F(ApiServerTest, PodsStayUntilTheirKubeletEndsThem) {
  const std::string pods = "/api/v1/namespaces/default/pods";
  const auto pod = [](const char* node) {
    return std::string(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],"nodeName":")") +
           node + "\"}}";
  };
  ASSERT_EQ(ask("POST", pods, pod("a")).status, 201);
  EXPECT_EQ(json(ask("DELETE", pods + "/p", R"({"gracePeriodSeconds":10})"))
                .at("/metadata/deletionGracePeriodSeconds")
                .integer(),
            10);
  EXPECT_EQ(json(ask("DELETE", pods + "/p", R"({"gracePeriodSeconds":5})"))
                .at("/metadata/deletionGracePeriodSeconds")
                .integer(),
            5);
  EXPECT_EQ(json(ask("DELETE", pods + "/p", R"({"gracePeriodSeconds":50})"))
                .at("/metadata/deletionGracePeriodSeconds")
                .integer(),
            5);
  ask("DELETE", pods + "/p", R"({"gracePeriodSeconds":0})");
  EXPECT_EQ(ask("GET", pods + "/p").status, 404);
  ASSERT_EQ(ask("POST", pods, pod("")).status, 201);
  ask("DELETE", pods + "/p");
  EXPECT_EQ(ask("GET", pods + "/p").status, 404) << "nobody runs it";
}

TEST_F(ApiServerTest, NamespacesTakeTheirContentAlong) {
  ask("POST", "/api/v1/namespaces", R"({"metadata":{"name":"t","finalizers":["x.io/a"]}})");
  const std::string maps = "/api/v1/namespaces/t/configmaps";
  ASSERT_EQ(ask("POST", maps, R"({"metadata":{"name":"m"}})").status, 201);
  EXPECT_EQ(text(json(ask("DELETE", "/api/v1/namespaces/t")), "/status/phase"), "Terminating");
  EXPECT_EQ(ask("GET", maps + "/m").status, 404);
  EXPECT_EQ(
      message(ask("POST", maps, R"({"metadata":{"name":"x"}})")),
      "configmaps \"x\" is forbidden: unable to create new content in namespace t because it is being terminated");
  ask("PATCH", "/api/v1/namespaces/t", R"({"metadata":{"finalizers":null}})", kMerge);
  EXPECT_EQ(ask("GET", "/api/v1/namespaces/t").status, 404);
  EXPECT_EQ(message(ask("DELETE", "/api/v1/namespaces/default")),
            "namespaces \"default\" is forbidden: this namespace may not be deleted");
}

TEST_F(ApiServerTest, DependentsGoWithTheirOwner) {
  add_node("a");
  const std::string uid = text(api.object("/api/v1/nodes/a"), "/metadata/uid");
  ASSERT_EQ(ask("POST", kLeases,
                R"({"metadata":{"name":"l","ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"a","uid":")" +
                    uid + R"("}]}})")
                .status,
            201);
  ask("DELETE", "/api/v1/nodes/a", R"({"propagationPolicy":"Foreground"})");
  EXPECT_FALSE(api.text(std::string(kLeases) + "/l"));
  EXPECT_FALSE(api.text("/api/v1/nodes/a"));
}

// Pages of one node's pods tell what was there when the list began, whoever came, went or was moved since.
TEST_F(ApiServerTest, ListsThePodsOfANodeAsTheyWere) {
  const auto put_pod = [&](const std::string& name, const std::string& on) {
    Json pod;
    pod.set({"spec", "nodeName"}, on).set({"metadata", "labels", "nodeName"}, "a");
    api.put("/api/v1/namespaces/default/pods/" + name, pod);
  };
  const auto names = [&](const Json& list) {
    std::string out;
    list.at("/items").for_each_element([&](kube::JsonView one) { out += *one.at("/metadata/name").text(); });
    return out;
  };
  for (const char* name : {"1", "2", "3", "4"}) put_pod(name, "a");
  put_pod("5", "b");
  const std::string of_a = "/api/v1/pods?fieldSelector=spec.nodeName%3Da";
  const Json first = json(ask("GET", of_a + "&limit=1"));
  EXPECT_EQ(names(first), "1");
  api.erase("/api/v1/namespaces/default/pods/2");
  put_pod("3", "b");
  put_pod("5", "a");
  put_pod("6", "a");
  EXPECT_EQ(names(json(ask("GET", of_a + "&continue=" + text(first, "/metadata/continue")))), "234");
  EXPECT_EQ(names(json(ask("GET", of_a))), "1456");
  EXPECT_EQ(names(json(ask("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Db"))), "3");
}

TEST_F(ApiServerTest, EventsHaveTwoFacesAndAnHourToLive) {
  const std::string newer = "/apis/events.k8s.io/v1/namespaces/default/events";
  ASSERT_EQ(
      ask("POST", newer,
          R"({"metadata":{"name":"e"},"regarding":{"kind":"Node","name":"a"},"reason":"r","note":"m","type":"Normal","action":"x","eventTime":"2026-01-01T00:00:00.000000Z","reportingController":"c.io/x","reportingInstance":"i"})")
          .status,
      201);
  const Json core = json(ask("GET", "/api/v1/namespaces/default/events/e"));
  EXPECT_EQ(text(core, "/message"), "m");
  EXPECT_EQ(text(core, "/involvedObject/name"), "a");
  EXPECT_EQ(text(json(ask("GET", newer + "/e")), "/note"), "m");
  EXPECT_EQ(json(ask("GET", newer + "?fieldSelector=regarding.name%3Da")).at("/items").size(), 1U);
  const auto stream = watch("/api/v1/events?watch=1&resourceVersion=" + std::to_string(api.version()));
  time.run_for(io::minutes{50});
  ask("PATCH", newer + "/e", R"({"series":{"count":2,"lastObservedTime":"2026-01-01T00:00:00.000000Z"}})", kMerge);
  time.run_for(io::minutes{50});
  EXPECT_TRUE(api.text("/api/v1/namespaces/default/events/e")) << "written again";
  time.run_for(io::minutes{11});
  EXPECT_EQ(events(*stream), "MODIFIED e\nDELETED e\n");
}

TEST_F(ApiServerTest, AppliersOwnWhatTheySay) {
  add_node("a");
  const auto apply = [&](const char* manager, const char* labels, const char* more = "") {
    return ask("PATCH", std::string("/api/v1/nodes/a?fieldManager=") + manager + more,
               std::string(R"({"kind":"Node","apiVersion":"v1","metadata":{"name":"a","labels":)") + labels + "}}",
               kApply);
  };
  ASSERT_EQ(apply("m", R"({"a":"1","b":"1"})").status, 200);
  EXPECT_EQ(
      apply("m2", R"({"a":"2"})").body,
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Apply failed with 1 conflict: conflict with \"m\": .metadata.labels.a","reason":"Conflict","details":{"causes":[{"reason":"FieldManagerConflict","message":"conflict with \"m\"","field":".metadata.labels.a"}]},"code":409})");
  ASSERT_EQ(apply("m2", R"({"a":"2"})", "&force=true").status, 200);
  ASSERT_EQ(apply("m", "{}").status, 200);
  const Json node = api.object("/api/v1/nodes/a");
  EXPECT_EQ(text(node, "/metadata/labels/a"), "2");
  EXPECT_FALSE(node.at("/metadata/labels/b").exists());
  EXPECT_EQ(ask("PATCH", "/api/v1/nodes/a", "{}", kApply).status, 422) << "needs a field manager";
}

TEST_F(ApiServerTest, TellsOfItself) {
  EXPECT_THAT(ask("GET", "/api/v1").body, HasSubstr("\"name\":\"nodes/status\""));
  EXPECT_THAT(ask("GET", "/apis").body, HasSubstr("coordination.k8s.io/v1"));
  Request request;
  request.path = "/apis";
  request.accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  EXPECT_THAT(api.handle(request).body, StartsWith("{\"kind\":\"APIGroupDiscoveryList\""));
  add_node("a");
  ask("PATCH", "/api/v1/nodes/a", R"({"spec":{"unschedulable":true}})", kMerge);
  request.path = kNodes;
  request.accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
  EXPECT_THAT(api.handle(request).body, HasSubstr("\"cells\":[\"a\",\"Unknown,SchedulingDisabled\",\"<none>\",\"0s\""));
}

TEST_F(ApiServerTest, PeopleGetTheirWayAtOnce) {
  api.put("/api/v1/nodes/a", Json::object({{"kind", "Node"}}));
  api.merge("/api/v1/nodes/a", *Json::parse(R"({"metadata":{"labels":{"x":"1"}}})"));
  EXPECT_EQ(text(api.object("/api/v1/nodes/a"), "/metadata/labels/x"), "1");
  int seen = 0;
  api.for_each(kNodes, [&](const std::string& path, const Text&) { seen += path == "/api/v1/nodes/a"; });
  EXPECT_EQ(seen, 1);
  api.erase("/api/v1/nodes/a");
  EXPECT_FALSE(api.text("/api/v1/nodes/a"));
  api.put("/apis/my.io/v1/namespaces/default/things/t", Json::object());
  EXPECT_EQ(ask("GET", "/apis/my.io/v1/namespaces/default/things/t").status, 200) << "made up on the way";
}

}  // namespace
}  // namespace careen::sim
