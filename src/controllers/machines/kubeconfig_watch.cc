#include "controllers/machines/kubeconfig_watch.h"

#include <fmt/format.h>

#include <utility>

#include "controllers/machines/names.h"
#include "kube/kubeconfig.h"

namespace careen::machines {

using io::Task;

namespace {

constexpr const char* kUnusableKubeconfig = "kubeconfig";

kube::ReflectorOptions of_secret(const std::string& ns, const std::string& cluster) {
  const std::string name = cluster + "-kubeconfig";
  return kube::ReflectorOptions::of_one(kSecrets, ns, name, "secret " + kube::object_key(ns, name));
}

}  // namespace

KubeconfigWatch::KubeconfigWatch(kube::WatchParts parts, kube::AtomPool& atoms, const std::string& ns,
                                 const std::string& cluster, std::function<void()> changed)
    : loop_(parts.loop),
      problems_(parts.problems),
      from_(fmt::format("Secret {}/{}-kubeconfig", ns, cluster)),
      changed_(std::move(changed)),
      secret_(std::move(parts), of_secret(ns, cluster),
              [&atoms](kube::RawObject& raw) { return read_kubeconfig_secret(raw, atoms); }),
      heard_(loop_),
      scope_(loop_) {
  changes_ = secret_.store().subscribe([this](const KubeconfigSecret*, const KubeconfigSecret*) { heard_.notify(); });
  secret_.on_synced([this] { heard_.notify(); });
  secret_.start();
  scope_.spawn(run());
}

Task<void> KubeconfigWatch::run() {
  for (;;) {
    co_await heard_.wait();
    if (secret_.synced()) take();
  }
}

void KubeconfigWatch::take() {
  const KubeconfigSecret* secret = nullptr;
  secret_.store().for_each([&](const KubeconfigSecret& one) { secret = &one; });
  std::string why;
  std::optional<kube::Access> access;
  if (!secret) {
    why = fmt::format("there is no {}", from_);
  } else if (!secret->text) {
    why = fmt::format("{} has no key \"value\" with a kubeconfig", from_);
  } else if (auto read = kube::resolve_untrusted_kubeconfig(from_, *secret->text, "")) {
    access = std::move(*read);
  } else {
    why = read.error().message;
  }
  const bool same = why == refusal_ && (!access || access == access_);
  if (why.empty()) {
    problems_.clear(kUnusableKubeconfig);
  } else {
    problems_.raise(kUnusableKubeconfig, access_ ? why + "; what was there before is used on" : why);
  }
  refusal_ = std::move(why);
  if (access) access_ = std::move(access);
  if (!same) changed_();
}

}  // namespace careen::machines
