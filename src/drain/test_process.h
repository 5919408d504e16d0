// A process on a model cluster, as far as whatever drains has it: its client, its caches of pods and budgets, which it
// watches, and what the engine needs besides. Destroying it is a crash.
#pragma once

#include <memory>
#include <utility>

#include "budget/pause.h"
#include "drain/engine.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/random.h"
#include "io/sync.h"
#include "kube/client.h"
#include "kube/disruption_budget.h"
#include "kube/events.h"
#include "kube/reflector.h"
#include "kube/sink.h"
#include "sim/network.h"

namespace careen::drain {

struct TestProcess {
  TestProcess(std::unique_ptr<io::Loop> own, sim::Network& network)
      : loop(std::move(own)), transport(network.connect(*loop, "careen")) {}

  // A watch of its own for whatever else is to be known.
  kube::Reflector reflect(kube::Sink& sink, kube::ReflectorOptions options) {
    return {*loop, client, metrics, problems, random, sink, std::move(options)};
  }
  io::Task<void> tell_budgets(Engine& engine) {
    co_await budget_reflector.synced_gate().wait();
    engine.budgets_known();
  }

  std::unique_ptr<io::Loop> loop;
  std::unique_ptr<kube::Transport> transport;
  io::Metrics metrics;
  io::Random random{3};
  io::Problems problems{io::Log{}};
  kube::Client client{*loop, *transport, metrics, random};
  kube::AtomPool atoms;
  kube::PodStore pods{atoms};
  kube::Store<kube::DisruptionBudget> budgets;
  kube::EventRecorder events{*loop, client, metrics, problems, "host"};
  budget::Pauses pauses;
  std::unique_ptr<kube::Sink> pod_sink = kube::make_sink(pods);
  std::unique_ptr<kube::Sink> budget_sink =
      kube::make_sink(budgets, [](kube::RawObject& raw) { return kube::decode_disruption_budget(raw); });
  kube::Reflector pod_reflector = reflect(*pod_sink, {kube::resources::pods});
  kube::Reflector budget_reflector = reflect(*budget_sink, {kube::resources::disruption_budgets});
};

}  // namespace careen::drain
