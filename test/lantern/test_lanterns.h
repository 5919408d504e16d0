// A model cluster with nodes and Lanterns, and careen on it, in virtual time.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "controllers/slot/definition.h"
#include "io/virtual_time.h"
#include "kind.h"
#include "kube/json.h"
#include "replica/model_process.h"
#include "sim/cluster.h"

namespace careen::lantern {

class LanternTest : public testing::Test {
 protected:
  LanternTest() {
    ask("POST", controllers::kDefinitionsPath, kind().definitions().front());
    for (const char* name : {"n1", "n2", "n3"}) {
      ask("POST", "/api/v1/nodes",
          kube::Json::object(
              {{"kind", "Node"}, {"apiVersion", "v1"}, {"metadata", kube::Json::object({{"name", name}})}}));
    }
    cluster.api.observe([this](const sim::Change& change) {
      if (change.collection == "/api/v1/nodes") most = std::max(most, lit().size());
    });
  }

  void ask(std::string method, std::string path, const kube::Json& body) {
    kube::Request request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.body = body.dump();
    request.content_type = "application/json";
    const kube::Response response = cluster.api.handle(request, {"people"});
    ASSERT_LT(response.status, 300) << response.body;
  }
  void hang(const std::string& name, const std::string& node, const std::string& color = "red") {
    auto object = kube::Json::object({{"apiVersion", kResource.api_version()}, {"kind", kResource.kind}});
    object.set({"metadata", "name"}, name).set({"spec", "nodeName"}, node).set({"spec", "color"}, color);
    ask("POST", kResource.path(), object);
  }
  void take_down(const std::string& name) { ask("DELETE", kResource.path("", name), kube::Json::object()); }

  replica::Replica& start(Options options = {}, replica::ModelProcessOptions process = {}) {
    process.profiles = false;
    process.controllers = {with_options(options)};
    careen.emplace(time, cluster, "", std::move(process));
    return careen->replica();
  }
  // name=color of the nodes that are lit.
  std::vector<std::string> lit() const {
    std::vector<std::string> found;
    cluster.api.for_each("/api/v1/nodes", [&](const std::string&, const sim::Text& text) {
      const auto node = kube::Json::parse(*text);
      const auto color = (*node)["metadata"]["labels"][kLit].text();
      if (color) found.push_back(fmt::format("{}={}", (*node)["metadata"]["name"].text().value_or(""), *color));
    });
    return found;
  }
  std::string status(const std::string& name) const {
    const kube::Json status(cluster.api.object(kResource.path("", name))["status"]);
    return fmt::format("{}: {}", status["phase"].text().value_or("none"), status["message"].text().value_or(""));
  }
  std::string ledger() const {
    const kube::Json lease = cluster.api.object("/api/v1/namespaces/kube-system/configmaps/careen-ledger-lantern");
    return std::string(lease["metadata"]["annotations"]["careen.dev/ledger"].text().value_or(""));
  }
  void run(io::Duration span = io::seconds{30}) { time.run_for(span); }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> server = time.make_loop();
  sim::Cluster cluster{*server};
  std::optional<replica::ModelProcess> careen;
  size_t most = 0;  // that were ever lit at once
};

}  // namespace careen::lantern
