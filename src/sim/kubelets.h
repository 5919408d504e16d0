// The kubelets of the model's nodes, and the controller that watches over them. Heartbeats are a function of time:
// they are filled in when somebody reads a node or its lease, and are no changes. What a stopped kubelet leads to, and
// its return, are.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/loop.h"
#include "sim/api_server.h"
#include "sim/by_name.h"

namespace careen::sim {

class Kubelets {
 public:
  Kubelets(io::Loop& loop, ApiServer& api);
  ~Kubelets();
  Kubelets(const Kubelets&) = delete;
  Kubelets& operator=(const Kubelets&) = delete;

  using Labels = std::vector<std::pair<std::string, std::string>>;
  struct Machine {
    std::string cpu, memory, pods;
    io::Duration ready_after{};  // 0: ready as it registers
  };
  // The region and the zone of the node with that number: zones come in turn.
  static Labels usual_place(int index);
  static Machine usual_machine() { return {"32", "128Gi", "110", io::seconds{2}}; }
  // A node that registers now and is ready a little later. Labels come beside those every kubelet sets.
  void add(const std::string& name, const Labels& labels = {}, const Labels& annotations = {},
           const Machine& machine = usual_machine());

  // A node that is there already gets a kubelet: one that runs, or one that was given up long ago.
  void adopt(const std::string& name, bool running);

  // Its heartbeats stop; fifty seconds later the node is known to be unreachable.
  void stop(const std::string& node);
  void start(const std::string& node);
  bool running(const std::string& node) const;
  // Told when the kubelet of a node stops, starts, or is one of the model from now on. Followers must not make changes
  // themselves.
  void follow(std::function<void(const std::string& node)> follower) { followers_.push_back(std::move(follower)); }

 private:
  struct Kubelet {
    io::Steady since{};    // its heartbeats count from here
    io::Steady stopped{};  // kNever while it runs
    bool lost = false;     // the controller gave it up
    std::unique_ptr<io::Alarm> next{};
  };
  Text with_heartbeats(std::string_view name, const Text& text) const;
  Text with_renewal(std::string_view name, const Text& text) const;
  // The last beat at or before now, or before it stopped.
  io::Wall last_beat(const Kubelet& kubelet, io::Duration every) const;
  void become_ready(const std::string& name);
  void give_up(const std::string& name);
  kube::Json conditions(const char* ready, const char* other, const char* reason, const std::string& message,
                        const std::string& beat) const;
  void forget(const std::string& name);
  void tell(const std::string& node) const;

  io::Loop& loop_;
  ApiServer& api_;
  ByName<Kubelet> kubelets_;
  std::vector<std::function<void(const std::string&)>> followers_;
};

}  // namespace careen::sim
