// A model cluster in virtual time, and a careen on it, for tests of what careen watches there.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "controllers/slot/definition.h"
#include "io/virtual_time.h"
#include "kube/json.h"
#include "replica/model_process.h"
#include "sim/api_server.h"
#include "sim/cluster.h"

namespace careen::replica {

class ModelTest : public testing::Test {
 protected:
  void ask(const std::string& method, const std::string& path, const kube::Json& body) {
    kube::Request request;
    request.method = method;
    request.path = path;
    request.body = body.dump();
    request.content_type = "application/json";
    const kube::Response response = cluster.api.handle(request, {"people"});
    ASSERT_LT(response.status, 300) << response.body;
  }
  void put(const std::string& path, const std::string& json) { cluster.api.put(path, *kube::Json::parse(json)); }
  // A definition as the API server takes it, of objects with any content.
  void define(const std::string& group, const std::string& version, const std::string& plural, const std::string& kind,
              const char* scope = "Namespaced") {
    ask("POST", controllers::kDefinitionsPath,
        *kube::Json::parse(fmt::format(
            R"({{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
                "metadata":{{"name":"{0}.{1}"}},"spec":{{"group":"{1}","scope":"{4}",
                "names":{{"plural":"{0}","singular":"{5}","kind":"{3}","listKind":"{3}List"}},
                "versions":[{{"name":"{2}","served":true,"storage":true,"subresources":{{"status":{{}}}},
                "schema":{{"openAPIV3Schema":{{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}}]}}}})",
            plural, group, version, kind, scope, plural.substr(0, plural.size() - 1))));
  }
  std::string problems() {
    std::string all;
    for (const auto& [key, message] : careen->replica().problems().open()) all += key + ": " + message + "\n";
    return all;
  }
  // `series`: the end of a line of the metrics of caches, or a part of it.
  bool is_cached(const std::string& series) {
    return careen->replica().metrics().expose().find("careen_cache_objects{resource=\"" + series) != std::string::npos;
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> server = time.make_loop();
  sim::Cluster cluster{*server};
  std::optional<ModelProcess> careen;
};

}  // namespace careen::replica
