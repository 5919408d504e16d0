#include "controllers/machines/machine_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "controllers/machines/names.h"
#include "io/problems.h"
#include "kube/client.h"
#include "kube/json.h"
#include "kube/sink.h"

namespace careen::machines {

using io::Task;

namespace {

constexpr const char* kNotServed = "machines";
constexpr const char* kWatchName = "machines.cluster.x-k8s.io";
constexpr io::Duration kLookForVersions = io::seconds{10};
// How long the watch may be without news before it is looked at which versions there are.
constexpr io::Duration kBlind = io::seconds{15};

}  // namespace

MachineWatch::MachineWatch(std::function<kube::WatchParts(std::string_view)> parts, kube::AtomPool& atoms)
    : parts_(parts(kWatchName)),
      make_parts_(std::move(parts)),
      atoms_(atoms),
      resource_(kMachines),
      synced_(parts_.loop),
      followed_(parts_.loop) {}

Task<void> MachineWatch::run() {
  for (;;) {
    std::string version;
    const Found found = co_await look(version);
    if (found == Found::version) {
      parts_.problems.clear(kNotServed);
      follow(std::move(version));
    } else if (found == Found::nothing) {
      parts_.problems.raise(kNotServed, fmt::format("the cluster does not serve {}: is Cluster API installed? careen "
                                                    "looks again every {}",
                                                    kWatchName, io::format_duration(kLookForVersions)));
    }
    do {
      co_await io::sleep_for(parts_.loop, kLookForVersions);
    } while (watch_ && watch_->blind_for() < kBlind);
  }
}

// Where nobody may ask which versions there are, the newest is tried.
Task<MachineWatch::Found> MachineWatch::look(std::string& version) {
  kube::Request request;
  request.path = fmt::format("/apis/{}", kGroup);
  const auto answer = co_await parts_.client.call(std::move(request), {"", "", "apis", "APIGroup"}, "discover");
  if (!answer && answer.error().not_found()) co_return Found::nothing;
  if (!answer && answer.error().code == 403 && !watch_) {
    version = kVersions[0];
    co_return Found::version;
  }
  const auto document = answer ? kube::Json::parse(*answer) : io::fail(io::ErrorKind::protocol, "");
  if (!document) co_return Found::no_answer;
  std::set<std::string, std::less<>> served;
  (*document)["versions"].for_each_element(
      [&](kube::JsonView one) { served.emplace(one["version"].text().value_or("")); });
  const auto* const best =
      std::ranges::find_if(kVersions, [&](std::string_view known) { return served.contains(known); });
  if (best == std::end(kVersions)) co_return Found::nothing;
  version = *best;
  co_return Found::version;
}

// What is known stays while they are listed anew: a Machine that is read in another version has not been away.
void MachineWatch::follow(std::string version) {
  if (watch_ && resource_.version == version) return;
  resource_.version = std::move(version);
  watch_.reset();
  watch_ = std::make_unique<kube::Watch>(
      make_parts_(kWatchName), kube::ReflectorOptions{.resource = resource_, .name = kWatchName},
      kube::make_sink(store_, [this](kube::RawObject& raw) { return read_machine(raw, atoms_); }));
  watch_->on_synced([this] { synced_.open(); });
  watch_->start();
  followed_.open();
  if (on_version_) on_version_();
}

Task<void> MachineWatch::refresh() {
  co_await followed_.wait();
  // Another one may take its place meanwhile, which lists them, too.
  const kube::Watch* const asked = watch_.get();
  watch_->request_relist();
  co_await synced_.wait();
  if (watch_.get() == asked) co_await watch_->refresh();
}

}  // namespace careen::machines
