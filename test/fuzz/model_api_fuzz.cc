// Requests to the model's API server out of any text: each gets an answer that can be read, and what is stored stays
// JSON. Requests are separated by lines of "%%"; the first line of each is METHOD PATH [CONTENT-TYPE], the rest its
// body.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "io/virtual_time.h"
#include "kube/json.h"
#include "sim/cluster.h"

namespace {

using namespace careen;

void expect(bool holds, const char* what, std::string_view about) {
  if (holds) return;
  std::fprintf(stderr, "model api fuzz: %s: %.*s\n", what, static_cast<int>(about.size()), about.data());
  std::abort();
}

std::string_view cut(std::string_view& rest, std::string_view separator) {
  const size_t at = rest.find(separator);
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + separator.size());
  return part;
}

constexpr const char* kWidgets = R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
"names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},
"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{
"type":"object","properties":{"spec":{"type":"object","required":["size"],"properties":{
"size":{"type":"integer","minimum":1,"default":3},"colour":{"type":"string","enum":["red","blue"],"pattern":"^[a-z]+$"},
"parts":{"type":"array","items":{"type":"string"}}}},"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}]}})";

void send(sim::ApiServer& api, std::string_view text) {
  std::string_view body = text;
  std::string_view line = cut(body, "\n");
  kube::Request request;
  request.method = std::string(cut(line, " "));
  request.path = std::string(cut(line, " "));
  request.content_type = std::string(line);
  request.body = std::string(body);
  if (request.path.empty() || request.path[0] != '/') return;
  const bool watches = request.method == "GET" && request.path.find("watch=") != std::string::npos;
  if (watches) {
    const auto opened = api.watch(request, {});
    if (!opened.watch) return;
    std::string events;
    opened.watch->read(events, UINT64_MAX);
    opened.watch->bookmark(events);
    std::string_view rest = events;
    while (!rest.empty()) {
      const std::string_view event = cut(rest, "\n");
      expect(kube::Json::parse(event).has_value(), "an event is no JSON", event);
    }
    return;
  }
  const kube::Response response = api.handle(request, {});
  expect(response.status >= 200 && response.status < 600, "no status", text);
  // Only what is no resource at all is answered with plain text.
  if (response.status == 404 && response.body.starts_with("404")) return;
  expect(kube::Json::parse(response.body).has_value(), "the answer is no JSON", response.body);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  io::VirtualTime time;
  const auto loop = time.make_loop();
  sim::Cluster cluster(*loop);
  cluster.kubelets.add("a");
  send(cluster.api,
       std::string("POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions application/json\n") + kWidgets);
  std::string_view rest(reinterpret_cast<const char*>(bytes), size);
  while (!rest.empty()) send(cluster.api, cut(rest, "\n%%\n"));
  time.run_for(io::seconds{5});
  for (const char* collection :
       {"/api/v1/nodes", "/apis/example.com/v1/widgets", "/apis/coordination.k8s.io/v1/leases"}) {
    cluster.api.for_each(collection, [](const std::string& path, const sim::Text& text) {
      expect(kube::Json::parse(*text).has_value(), "a stored object is no JSON", path);
    });
  }
  return 0;
}
