// decide(): what should happen to one node, given the world and the time, and why. A pure function: no I/O, no clock,
// no randomness. The caller reserves the admission before the next decision is made.
#pragma once

#include <string_view>

#include "controllers/profiles/decision.h"
#include "io/time.h"

namespace careen::budget {
class Ledger;
class Pauses;
}  // namespace careen::budget

namespace careen::kube {
class Json;
struct Node;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::profiles {

class Deliveries;
struct Config;
struct Facts;

struct World {
  const kube::Store<kube::Node>& nodes;
  const Config& config;
  const Facts& facts;
  const Deliveries& deliveries;
  // Messages are sent before the state machine moves on, as with the original.
  bool notify_blocking = false;
  // The node as the API server has it, for templates that print all of it; null until it was asked for.
  const kube::Json* document = nullptr;
  // The messages will not be read: what is cached of the node is enough for them.
  bool only_explained = false;
  const budget::Pauses* pauses = nullptr;  // null: nothing is paused
  const budget::Ledger* ledger = nullptr;  // null: it has room for everybody
};

// Reasons are for people and cost more than the decision itself.
enum class Detail { verdicts, reasons };

// Without reasons `why` says nothing of use; all else is the same.
Decision decide(const World& world, std::string_view node, io::Wall now, Detail detail = Detail::reasons);

}  // namespace careen::profiles
