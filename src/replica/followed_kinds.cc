#include "replica/followed_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "controllers/machines/names.h"
#include "kube/client.h"
#include "kube/json.h"
#include "kube/sink.h"

namespace careen::replica {

using io::Task;

namespace {

// How long a watch may be without news before it is looked at whether its kind is still there.
constexpr io::Duration kBlind = io::seconds{30};

std::string name_of(const kube::Resource& resource) {
  return resource.group.empty() ? resource.plural : fmt::format("{}.{}", resource.plural, resource.group);
}

kube::Result<kube::Json> parsed(const kube::Result<std::string>& answer) {
  if (!answer) return tl::make_unexpected(answer.error());
  auto document = kube::Json::parse(*answer);
  if (!document) return tl::make_unexpected(kube::to_api_error(document.error()));
  return std::move(*document);
}

}  // namespace

FollowedPlace FollowedPlace::all_of(kube::Cluster& cluster) {
  return {cluster.client(), [&cluster](std::string_view name) { return cluster.watch_parts(name); }};
}

std::string FollowedPlace::of_the_cluster() const {
  return cluster.empty() ? "" : fmt::format("{}={}", machines::kClusterLabel, cluster);
}

FollowedKinds::FollowedKinds(io::Loop& loop, std::string purpose, std::function<void()> on_synced)
    : loop_(loop), purpose_(std::move(purpose)), on_synced_(std::move(on_synced)) {}

FollowedKinds::Kind& FollowedKinds::add(const FollowedPlace& place, kube::Resource resource,
                                        std::function<std::unique_ptr<kube::Sink>()> sink) {
  Kind kind{.resource = std::move(resource), .sink = std::move(sink), .place = &place};
  kind.discovered = kind.resource.version.empty();
  return kinds_.emplace_back(std::move(kind));
}

Task<bool> FollowedKinds::look() {
  bool all = true;
  const FollowedPlace* place = nullptr;
  kube::Result<Versions> versions;
  std::string group;
  kube::Result<Plurals> plurals;
  for (Kind& kind : kinds_) {
    if (!kind.wanted) {
      stop(kind);
      kind.looked = false;
      continue;
    }
    if (kind.discovered) {
      if (std::exchange(place, kind.place) != kind.place) {
        versions = co_await preferred(place->client);
        group.clear();
      }
      if (!versions) {
        all &= !kind.watch && take_refusal(kind, versions.error());
        continue;
      }
      const auto version = versions->find(kind.resource.group);
      if (version == versions->end()) {
        absent(kind);
        continue;
      }
      if (std::exchange(group, kind.resource.group) != kind.resource.group) {
        plurals = co_await served(place->client, group, version->second);
      }
      if (!plurals) {
        all &= !kind.watch && take_refusal(kind, plurals.error());
        continue;
      }
      if (!find(kind, version->second, *plurals)) continue;
    }
    all &= co_await look_at(kind);
  }
  co_return all;
}

// False: it is not served.
bool FollowedKinds::find(Kind& kind, const std::string& version, const Plurals& served) {
  const bool there = served.contains(kind.resource.plural);
  if (!there) absent(kind);
  if (!there) return false;
  if (std::exchange(kind.resource.version, version) == version) return true;
  stop(kind);
  kind.looked = false;
  return true;
}

void FollowedKinds::absent(Kind& kind) {
  stop(kind);
  kind.looked = true;
}

// Whether it may be read is asked before it is watched: a watch that is refused makes a noise of its own.
Task<bool> FollowedKinds::look_at(Kind& kind) {
  if (kind.watch && kind.watch->blind_for() < kBlind) co_return true;
  kube::CallOptions call;
  call.query = "limit=1" + (kind.name.empty() ? "" : "&fieldSelector=metadata.name%3D" + kind.name);
  const auto answer = co_await kind.place->client.list(kind.resource, kind.place->ns, std::move(call));
  if (!answer && answer.error().not_found()) stop(kind);
  if (!answer) co_return take_refusal(kind, answer.error());
  kind.refusals.granted();
  kind.refused = false;
  kind.looked = true;
  kind.error.clear();
  start(kind);
  co_return true;
}

// True: it is certain that it may not be read.
bool FollowedKinds::take_refusal(Kind& kind, const kube::ApiError& error) {
  kind.error = error.message;
  if (!kind.refusals.missing(error, loop_.now())) return false;
  stop(kind);
  kind.refused = true;
  kind.looked = true;
  return true;
}

Task<kube::Result<FollowedKinds::Versions>> FollowedKinds::preferred(kube::Client& client) {
  Versions versions;
  kube::Request request;
  request.path = "/apis";
  const auto document = parsed(co_await client.call(std::move(request), {"", "", "apis", "APIGroupList"}, "discover"));
  if (!document) co_return tl::make_unexpected(document.error());
  (*document)["groups"].for_each_element([&](kube::JsonView group) {
    const auto name = group["name"].text();
    const auto version = group["preferredVersion"]["version"].text();
    if (name && version) versions.emplace(*name, *version);
  });
  co_return versions;
}

Task<kube::Result<FollowedKinds::Plurals>> FollowedKinds::served(kube::Client& client, std::string group,
                                                                 std::string version) {
  kube::Request request;
  request.path = fmt::format("/apis/{}/{}", group, version);
  const auto answer = co_await client.call(std::move(request), {"", "", "apis", "APIResourceList"}, "discover");
  Plurals plurals;
  if (!answer && answer.error().not_found()) co_return plurals;
  const auto document = parsed(answer);
  if (!document) co_return tl::make_unexpected(document.error());
  (*document)["resources"].for_each_element(
      [&](kube::JsonView one) { plurals.emplace(one["name"].text().value_or("")); });
  co_return plurals;
}

void FollowedKinds::start(Kind& kind) {
  if (kind.watch) return;
  const std::string name = name_of(kind.resource) + (purpose_.empty() ? "" : " for " + purpose_);
  kube::ReflectorOptions options{
      .resource = kind.resource, .ns = kind.place->ns, .label_selector = kind.label_selector, .name = name};
  if (!kind.name.empty()) options = kube::ReflectorOptions::of_one(kind.resource, kind.place->ns, kind.name, name);
  kind.watch = std::make_unique<kube::Watch>(kind.place->watch(name), std::move(options), kind.sink());
  if (on_synced_) kind.watch->on_synced(on_synced_);
  kind.watch->start();
}

void FollowedKinds::stop(Kind& kind) {
  kind.refused = false;
  kind.error.clear();
  if (!kind.watch) return;
  kind.watch->stop();
  kind.watch.reset();
}

void FollowedKinds::stop_all() {
  for (Kind& kind : kinds_) {
    stop(kind);
    kind.looked = false;
    kind.refusals.granted();
  }
}

std::string FollowedKinds::refused() const {
  std::string names;
  for (const Kind& kind : kinds_) {
    if (!kind.wanted || !kind.refused) continue;
    names += names.empty() ? "" : ", ";
    names += name_of(kind.resource);
  }
  return names;
}

}  // namespace careen::replica
