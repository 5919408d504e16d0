// A model cluster with pods and budgets, as tests of what becomes of them use it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "io/virtual_time.h"
#include "sim/api_server.h"

namespace careen::sim {

class PodTestWorld : public ::testing::Test {
 protected:
  static constexpr const char* kPods = "/api/v1/namespaces/default/pods/";
  static constexpr const char* kBudgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/";

  kube::Response ask(std::string method, std::string path, const kube::Json& body = {},
                     std::string type = "application/json") {
    kube::Request request;
    request.method = std::move(method);
    request.path = std::move(path);
    if (!body.view().is_null()) request.body = body.dump();
    request.content_type = std::move(type);
    return api.handle(request);
  }
  static kube::Json parsed(std::string_view text) {
    auto json = kube::Json::parse(text);
    EXPECT_TRUE(json) << text;
    return json.value_or(kube::Json());
  }
  std::string at(const std::string& path, std::string_view pointer) {
    const kube::Json object = api.object(path);
    const kube::JsonView found = object.at(pointer);
    return found.text() ? std::string(*found.text()) : found.exists() ? found.dump() : "(none)";
  }
  // Through the server, labels app=a, on a node unless that is empty.
  void add_pod(const std::string& name, const std::string& node = "n", const kube::Json& more = {}) {
    kube::Json pod =
        parsed(R"({"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}})");
    pod.set({"metadata", "name"}, name);
    if (!node.empty()) pod.set({"spec", "nodeName"}, node);
    more["annotations"].for_each_member([&](std::string_view key, kube::JsonView value) {
      pod.set({"metadata", "annotations", key}, kube::Json(value));
    });
    if (more["finalizers"]) pod.set({"metadata", "finalizers"}, kube::Json(more["finalizers"]));
    if (more["ownerReferences"]) pod.set({"metadata", "ownerReferences"}, kube::Json(more["ownerReferences"]));
    const auto made = ask("POST", "/api/v1/namespaces/default/pods", pod);
    ASSERT_EQ(made.status, 201) << made.body;
  }
  void set_running(const std::string& name, bool ready = true) {
    kube::Json patch = parsed(R"({"status":{"phase":"Running"}})");
    patch.set({"status", "conditions"},
              kube::Json::array({kube::Json::object({{"type", "Ready"}, {"status", ready ? "True" : "False"}})}));
    api.merge(kPods + name, patch);
  }
  void add_running(const std::string& name, bool ready = true) {
    add_pod(name);
    set_running(name, ready);
  }
  void add_budget(const std::string& name, std::string_view spec) {
    kube::Json budget = kube::Json::object();
    budget.set({"metadata", "name"}, name).set({"spec"}, parsed(spec));
    if (!budget.at("/spec/selector")) budget.set({"spec", "selector", "matchLabels", "app"}, "a");
    const auto made = ask("POST", "/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget);
    ASSERT_EQ(made.status, 201) << made.body;
  }
  kube::Response evict(const std::string& name, std::string_view options = "") {
    kube::Json eviction = kube::Json::object({{"kind", "Eviction"}, {"apiVersion", "policy/v1"}});
    eviction.set({"metadata", "name"}, name);
    if (!options.empty()) eviction.set({"deleteOptions"}, parsed(options));
    return ask("POST", kPods + name + "/eviction", eviction);
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  ApiServer api{*loop};
};

}  // namespace careen::sim
