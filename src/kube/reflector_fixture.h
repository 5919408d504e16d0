// What the tests of reflectors share: what a server says, and a reflector of nodes that follows a script of it.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/metrics.h"
#include "io/problems.h"
#include "io/random.h"
#include "io/virtual_time.h"
#include "kube/atoms.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/decode.h"
#include "kube/node.h"
#include "kube/reflector.h"
#include "kube/scripted_transport.h"
#include "kube/sink.h"

namespace careen::kube {

struct ErrorLines final : io::LogSink {
  bool enabled(io::LogLevel) const override { return true; }
  void write(io::LogLevel level, std::string_view, std::string_view message, const io::LogFields&) override {
    if (level == io::LogLevel::error) errors.emplace_back(message);
  }
  std::vector<std::string> errors;
};

inline std::string node(std::string_view name, int version, std::string_view colour = "red",
                        std::string_view uid = "u") {
  return fmt::format(R"({{"metadata":{{"name":"{}","uid":"{}","resourceVersion":"{}","labels":{{"colour":"{}"}}}}}})",
                     name, uid, version, colour);
}

inline std::string page(int version, const std::vector<std::string>& items, std::string_view token = {}) {
  return fmt::format(R"({{"metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[{}]}})", version, token,
                     fmt::join(items, ","));
}

inline std::string watch_event(std::string_view type, const std::string& object) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
}

inline std::string bookmark(int version) {
  return watch_event("BOOKMARK", fmt::format(R"({{"kind":"Node","metadata":{{"resourceVersion":"{}"}}}})", version));
}

inline std::string status_text(int code, std::string_view reason, std::string_view message) {
  return fmt::format(R"({{"kind":"Status","code":{},"reason":"{}","message":"{}"}})", code, reason, message);
}

inline io::Task<void> wait_for_refresh(Reflector& reflector, std::optional<uint64_t>& out) {
  out = co_await reflector.refresh();
}

class ReflectorTest : public testing::Test {
 protected:
  ReflectorTest() { make({.resource = resources::nodes}); }

  void make(ReflectorOptions options) {
    scope.cancel();
    reflector.reset();
    reflector = std::make_unique<Reflector>(*loop, client, metrics, problems, random, *sink, std::move(options));
  }
  void start() {
    subscription = store.subscribe([this](const Node* before, const Node* after) {
      const auto text = [](const Node* n) {
        return n ? n->name + "=" + std::string(n->label("colour")->view()) : std::string("-");
      };
      seen.push_back(text(before) + " -> " + text(after));
    });
    scope.spawn(reflector->run());
    time.settle();
  }
  // Started, and watching from version 100 with the nodes a and b.
  void start_watching() {
    transport.answer(200, page(100, {node("a", 10), node("b", 20)}));
    start();
    seen.clear();
    ASSERT_EQ(reflector->state(), Reflector::State::watching);
  }
  StreamFeed& stream() { return *transport.streams.back(); }
  void push(const std::string& text) {
    stream().push(text);
    time.settle();
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    store.for_each([&](const Node& n) { out.push_back(n.name); });
    return out;
  }
  std::string colour(std::string_view name) const {
    const Node* n = store.find(name);
    return n ? std::string(n->label("colour")->view()) : "-";
  }
  // The queries of all lists so far.
  std::vector<std::string> lists() const {
    std::vector<std::string> out;
    for (const Request& request : transport.requests) {
      if (request.path.find("watch=true") == std::string::npos) out.push_back(request.path);
    }
    return out;
  }
  double count(const std::string& metric, io::Labels labels) {
    labels["resource"] = "nodes";
    return metrics.counter(metric, "", labels).value();
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  std::shared_ptr<ErrorLines> lines = std::make_shared<ErrorLines>();
  io::Metrics metrics;
  io::Random random{1};
  io::Problems problems{io::Log(lines, "test")};
  ScriptedTransport transport{*loop};
  Client client{*loop, transport, metrics, random};
  AtomPool atoms;
  Store<Node> store;
  io::Subscription subscription;
  std::unique_ptr<Sink> sink = make_sink(store, atoms);
  std::unique_ptr<Reflector> reflector;
  io::Scope scope{*loop};
  std::vector<std::string> seen;
};

}  // namespace careen::kube
