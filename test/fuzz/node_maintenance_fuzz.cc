// NodeMaintenances and the leases of nodes out of any text: what is read is in bounds, a mistake names its field, and
// a status reads back as it was written.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "controllers/nodemaintenance/drain_spec.h"
#include "controllers/nodemaintenance/maintenance.h"
#include "controllers/nodemaintenance/node_lease.h"
#include "kube/decode.h"
#include "kube/json.h"

namespace {

using namespace careen;
using nodemaintenance::Maintenance;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "node maintenance fuzz: %s\n", what);
  std::abort();
}

void expect_sound(const drain::Options& options) {
  expect(options.force && options.ignore_daemon_sets && options.delete_emptydir_data, "a drain that is refused");
  expect(!options.disable_eviction, "a drain that evicts nothing");
  expect(options.grace_seconds >= -1, "a grace period below zero");
  expect(!options.delete_after || options.delete_after->count() >= 0, "pods are deleted before their eviction");
  expect(!options.kill_after || options.kill_after->count() >= 0, "pods are killed before their time");
  for (const auto* list : {&options.skip, &options.wait_for, &options.tiers}) {
    for (const auto& selector : *list) expect(!selector.empty(), "a selector for every pod");
  }
}

// Times are written in whole seconds.
std::string facts_of(const nodemaintenance::Status& status) {
  return nodemaintenance::status_patch(status, io::Wall{}).dump();
}

void expect_status_round_trip(const Maintenance& maintenance, const kube::Object& object) {
  kube::Object written = object;
  written.document.set({"status"}, nodemaintenance::status_patch(maintenance.status, io::Wall{}));
  const Maintenance again = nodemaintenance::parse_maintenance(written);
  expect(facts_of(again.status) == facts_of(maintenance.status), "writing changed the status");
  expect(again.status.last_update == io::Wall{}, "the time of the update is not kept");
  expect(again.options == maintenance.options && again.mistake == maintenance.mistake,
         "the spec depends on the status");
}

void take_maintenance(std::string_view text) {
  const auto object = kube::decode_object(text);
  if (!object) return expect(!object.error().message.empty(), "refused without a message");
  const Maintenance maintenance = nodemaintenance::parse_maintenance(*object);
  expect(!maintenance.before(maintenance), "it came before itself");
  expect(!maintenance.of_predecessor() || maintenance.has_finalizer(), "begun without a finalizer");
  if (maintenance.mistake.empty()) {
    expect_sound(maintenance.options);
  } else {
    expect(maintenance.mistake.starts_with("spec.drain"), "a mistake without its field");
  }
  expect_status_round_trip(maintenance, *object);
}

void take_lease(std::string_view text) {
  kube::AtomPool atoms;
  const auto lease = kube::decode_lease(text, atoms);
  if (!lease) return;
  kube::Node node;
  node.name = "N1";
  node.uid = "u";
  using std::chrono::years;
  for (const io::Wall now : {io::Wall{}, io::Wall{years{56}}, lease->renewed.value_or(io::Wall{years{200}})}) {
    const bool foreign = nodemaintenance::is_foreign(*lease, now);
    expect(!foreign || !nodemaintenance::is_ours(*lease), "a lease is foreign and ours");
    if (foreign) expect(nodemaintenance::due(*lease) >= now, "a foreign lease is valid after its end");
    if (nodemaintenance::is_ours(*lease)) nodemaintenance::renew_at(*lease);
    expect(!nodemaintenance::held_by_other(*lease).empty(), "nobody holds it in no words");
    if (foreign) continue;
    const auto request = nodemaintenance::lease_request(&*lease, node, "medik8s-leases", now);
    if (request) expect(kube::Json::parse(request->dump()).has_value(), "a lease that is no JSON");
  }
  expect(kube::Json::parse(nodemaintenance::lease_surrender(*lease).dump()).has_value(), "a patch that is no JSON");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  take_maintenance(text);
  take_lease(text);
  return 0;
}
