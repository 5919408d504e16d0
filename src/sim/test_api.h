// The model's API server and the way to it, as tests of single parts use them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sim/api_server.h"
#include "sim/network.h"

namespace careen::sim {

class TestApi {
 public:
  explicit TestApi(io::Loop& loop) : server(loop), network(loop, server) {
    network.treat = [this](const Sending& sending) {
      const auto chosen = sending.stream ? nullptr : treat;
      return chosen ? chosen(sending.request) : Treatment{};
    };
    server.observe([this](const Change& change) {
      if (!changed) return;
      const bool gone = change.type == Change::Type::deleted;
      const kube::Json object = gone ? kube::Json() : *kube::Json::parse(*change.object);
      const std::string place = change.ns.empty() ? "" : "/namespaces/" + change.ns;
      const size_t plural = change.collection.rfind('/');
      changed(change.collection.substr(0, plural) + place + change.collection.substr(plural) + "/" + change.name,
              gone ? kube::JsonView() : object.view());
    });
  }

  std::unique_ptr<kube::Transport> connect(io::Loop& client) { return network.connect(client, "careen"); }

  // Asked for each request but watches; without it everything goes through at once. It may replace itself.
  std::function<Treatment(const kube::Request&)> treat;
  // Called after each change of an object; `object` is nothing when it was deleted.
  std::function<void(std::string_view path, kube::JsonView object)> changed;

  void release_held() { network.release_held(); }
  size_t held() const { return network.held(); }
  void delay_watches(io::Duration delay) { network.set_weather("", {.delay = delay}); }
  void freeze_watches(bool frozen) { network.set_weather("", {.frozen = frozen}); }
  void break_watches() { network.end_streams(); }

  void put(std::string_view path, kube::Json object) { server.put(path, std::move(object)); }
  void merge(std::string_view path, const kube::Json& patch) { server.merge(path, patch); }
  void erase(std::string_view path) { server.erase(path); }
  kube::Json object(std::string_view path) const { return server.object(path); }
  int count(std::string_view what) const { return server.count(what); }

  ApiServer server;
  Network network;
};

}  // namespace careen::sim
