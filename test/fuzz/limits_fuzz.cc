// MaintenanceLimits and nodes out of any text: a limit's numbers are in bounds whatever it says, a mistake names its
// field, and what a node says of being out is bounded, in order, and harmless to read.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "drain/holds.h"
#include "io/printable.h"
#include "kube/decode.h"
#include "limits/facts.h"
#include "limits/limit.h"
#include "limits/other_objects.h"

namespace {

using namespace careen;
using limits::Fact;
using limits::Limit;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "limits fuzz: %s\n", what);
  std::abort();
}

void expect_numbers(const Limit& limit) {
  int64_t before = 0;
  for (const int64_t total : {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{5000}, int64_t{INT32_MAX}}) {
    const int64_t nominal = limit.nominal(total), parallel = limit.parallel(total);
    expect(nominal >= before && nominal <= INT32_MAX, "how many may be out is no number of nodes");
    expect(parallel >= 0 && parallel <= INT32_MAX, "how many may be worked on is no number of nodes");
    expect(total > 0 || (nominal == 0 && parallel == 0), "of no nodes some may be out");
    before = nominal;
  }
}

void expect_spans(const Limit& limit) {
  const io::Duration most = io::seconds{INT32_MAX};
  for (const io::Duration span :
       {limit.settle, limit.foreign_cordon_after, limit.drain.timeout, limit.drain.after, limit.infra_drain.timeout,
        limit.infra_drain.after, limit.timeouts.pending, limit.timeouts.approved, limit.timeouts.in_progress,
        limit.timeouts.evidence, limit.interval, limit.ttl.value_or(io::Duration{})}) {
    expect(span >= io::Duration{} && span <= most, "a span is negative or endless");
  }
  expect(limit.drain.options.grace_seconds >= -1, "a grace period below zero");
}

void expect_lists(const Limit& limit) {
  expect(limit.group_by.size() <= 8 && limit.reserve.size() <= 64 && limit.governors.size() <= 5, "a list is too long");
  expect(std::set(limit.group_by.begin(), limit.group_by.end()).size() == limit.group_by.size(),
         "a key is there twice");
  for (const limits::Reserve& reserve : limit.reserve) {
    expect(!reserve.actor.empty() && reserve.nodes >= 0, "places are reserved for nobody");
    expect(io::printable(reserve.actor) == reserve.actor, "an actor's name is not printable");
  }
}

void expect_mistake(const Limit& limit) {
  expect(limit.mistake.empty() == limit.mistake_reason.empty(), "a mistake without a reason");
  if (!limit.mistake.empty()) {
    expect(limit.mistake.starts_with("spec"), "a mistake without its field");
    // Names of objects are in it, and they may be as long as this text.
    expect(limit.mistake.size() <= 1024 + limit.name.size(), "a mistake that nobody reads to its end");
    return;
  }
  if (limit.subject == limits::Subject::node) {
    expect(limit.mode == limits::Mode::observe || limit.count == limits::Count::all, "what is refused is not counted");
    expect(!limit.infra_drain.enabled || limit.drain.enabled, "volumes are detached under running pods");
  } else {
    expect(limit.mode == limits::Mode::observe && limit.group_by.empty() && !limit.drain.enabled,
           "a limit about workloads is about nodes");
  }
}

void take_limit(std::string_view text) {
  const auto object = kube::decode_object(text);
  if (!object) return expect(!object.error().message.empty(), "refused without a message");
  const Limit limit = limits::parse_limit(*object);
  expect_numbers(limit);
  expect_spans(limit);
  expect_lists(limit);
  expect_mistake(limit);
  const Limit compatible = limits::parse_limit(*object, {.floor_of_one = true});
  expect(compatible.nominal(100) >= limit.nominal(100), "the original's floor takes places away");
  if (limit.subject == limits::Subject::node && !limit.minimum) {
    expect(compatible.nominal(100) >= 1, "the original's floor is not there");
  }
}

void take_node(std::string_view text) {
  kube::AtomPool atoms;
  const auto node = kube::decode_node(text, atoms);
  if (!node) return expect(!node.error().message.empty(), "refused without a message");
  const auto facts = limits::facts_of(*node);
  expect(facts.size() <= drain::Holds::kMostOwners + 32, "more facts than there can be");
  expect(facts == limits::facts_of(*node), "the same node says something else");
  io::Wall last = io::Wall::min();
  size_t cordons = 0, down = 0;
  for (const Fact& fact : facts) {
    expect(!fact.actor.empty() && !fact.what.empty(), "nobody does nothing");
    expect(fact.what.size() <= 512 && fact.actor.size() <= 512, "a text that nobody reads to its end");
    expect(io::printable(fact.what) == fact.what, "a text is not printable");
    if (!fact.own) expect(io::printable(fact.actor) == fact.actor, "an actor's name is not printable");
    expect(fact.since.value_or(io::Wall::max()) >= last, "they are not in order");
    last = fact.since.value_or(io::Wall::max());
    cordons += fact.cordon;
    down += fact.kind == Fact::Kind::down;
    expect(!fact.cordon || (node->unschedulable && !fact.own), "a cordon that is not there");
    expect(!fact.own || !drain::holds_of(*node).empty(), "a hold that is not there");
  }
  expect(cordons <= 1 && down <= 1, "a node is cordoned or down twice");
  expect(limits::is_not_ready(*node) || !limits::is_not_ready(*node, true), "ready and not ready");
  if (limits::is_not_ready(*node)) expect(down == 1, "a node that is not ready is not down");
}

// Whatever an object says, the node it names gets one fact of it at most.
void take_machine(std::string_view text) {
  kube::AtomPool atoms;
  for (const kube::MachineKind kind : kube::kMachineKinds) {
    auto machine = kube::decode_machine(text, kind, atoms);
    if (!machine) return expect(!machine.error().message.empty(), "refused without a message");
    kube::Node node;
    node.name = machine->node;
    node.uid = machine->node_uid;
    const bool says = machine->deleting || machine->worked_on;
    machine->version = 1;
    limits::OtherObjects others;
    others.of(kind).put(std::move(*machine));
    std::vector<Fact> facts;
    others.add_facts(node, facts);
    expect(facts.size() <= (says && !node.name.empty() ? 1 : 0), "more facts than there can be");
    for (const Fact& fact : facts) expect(!fact.actor.empty() && io::printable(fact.actor) == fact.actor, "an actor");
    for (const Fact& fact : facts) expect(io::printable(fact.what) == fact.what, "a text is not printable");
    (void)others.set_of(node);
  }
  const auto set = kube::decode_machine_set(text);
  if (set) expect(set->replicas.value_or(0) >= 0, "less than no nodes");
}

void take_lock(std::string_view text) {
  const limits::KuredLock lock = limits::parse_kured_lock(text);
  expect(lock.size() <= 1'000, "more owners than there can be");
  expect(!lock.contains(""), "a node without a name");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  take_limit(text);
  take_node(text);
  take_machine(text);
  take_lock(text);
  return 0;
}
