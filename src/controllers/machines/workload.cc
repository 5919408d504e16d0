#include "controllers/machines/workload.h"

#include <fmt/format.h>

#include <utility>

#include "controllers/machines/names.h"
#include "kube/base64.h"
#include "kube/kubeconfig.h"
#include "kube/raw_object.h"

namespace careen::machines {

using io::Task;

namespace {

constexpr const char* kUnusable = "kubeconfig";
// A cluster that is not heard of for so long may have changed: what is known of it allows nothing any more.
constexpr io::Duration kLongestBlindness = io::seconds{30};
constexpr io::Duration kLookAtSilence = io::seconds{5};

}  // namespace

io::Result<KubeconfigSecret> read_kubeconfig_secret(kube::RawObject& raw, kube::AtomPool& atoms) {
  namespace raws = kube::raw;
  return raws::guarded("a Secret", [&]() -> io::Result<KubeconfigSecret> {
    raws::Meta meta;
    KubeconfigSecret secret;
    raws::each_field(raw.object, [&](raws::Key key, raws::value& field) {
      if (key == "metadata") return raws::each_meta_field(field, meta, [](raws::Key, raws::value&) {});
      if (key != "data") return;
      raws::each_field(field, [&](raws::Key part, raws::value& value) {
        if (part == "value") secret.text = kube::base64_decode(raws::text(value).value_or("-"));
      });
    });
    if (auto ok = raws::complete(meta); !ok) return tl::make_unexpected(ok.error());
    secret.name = meta.name;
    secret.ns = atoms.intern(meta.ns);
    secret.uid = meta.uid;
    secret.version = meta.version;
    return secret;
  });
}

io::Result<KubeconfigSecret> read_kubeconfig_secret(std::string_view json, kube::AtomPool& atoms) {
  return kube::raw::on_text("a Secret", json, [&](kube::RawObject& raw) { return read_kubeconfig_secret(raw, atoms); });
}

// Whoever writes through it holds it, so it may outlive its owner.
struct Workload::Connection {
  Connection(Workload& whose, const WorkloadParts& p, const std::string& key, kube::Access access)
      : owner(&whose),
        cluster({p.loop, p.random, p.metrics, p.problems, p.log}, key, std::move(access), p.connect),
        client(cluster.make_client()),
        node_labels(p.health_check_changed ? NodeLabels::all : NodeLabels::own),
        nodes(cluster.watched<Node>(
            {.resource = kube::resources::nodes},
            [this](kube::RawObject& raw) { return read_node(raw, cluster.atoms(), node_labels); })),
        writer(
            *client, kube::resources::nodes, nodes.store(),
            [this](std::string_view json) { return read_node(json, cluster.atoms(), node_labels); }, p.log) {
    p.guard(*client);
    if (p.health_check_changed) watch_health_checks(p.log);
    nodes.on_synced([this] { tell(); });
    cluster.problems().on_change([this](const std::string&, const std::string*) { tell(); });
    nodes.start();
  }
  ~Connection() { cluster.problems().on_change(nullptr); }
  void tell() {
    if (owner) owner->changed_.notify();
  }
  // Most clusters have none, and nothing is wrong with that.
  void watch_health_checks(const io::Log& log) {
    health_checks = &cluster.watched<HealthCheck>({.resource = kHealthChecks, .optional = true},
                                                  [](kube::RawObject& raw) { return read_health_check(raw); });
    health_check_writer.emplace(
        *client, kHealthChecks, health_checks->store(), [](std::string_view json) { return read_health_check(json); },
        log);
    health_checks->start();
  }

  Workload* owner;
  kube::Cluster cluster;
  std::unique_ptr<kube::Client> client;
  const NodeLabels node_labels;
  kube::Watched<Node>& nodes;
  kube::ObjectWriter<Node> writer;
  kube::Watched<HealthCheck>* health_checks = nullptr;  // null: nobody asked for them
  std::optional<kube::ObjectWriter<HealthCheck>> health_check_writer;
};

Workload::Workload(WorkloadParts parts, std::string ns, std::string name)
    : p_(std::move(parts)),
      ns_(std::move(ns)),
      name_(std::move(name)),
      key_(kube::object_key(ns_, name_)),
      problems_(p_.problems, "cluster " + key_),
      since_(p_.loop.wall_now()),
      changed_(p_.loop),
      scope_(p_.loop) {
  const std::string secret = name_ + "-kubeconfig";
  secret_ = std::make_unique<kube::Watched<KubeconfigSecret>>(
      kube::WatchParts{p_.loop, p_.management, p_.unseen, problems_, p_.random, p_.log.named("kubeconfig")},
      kube::ReflectorOptions::of_one(kSecrets, ns_, secret, "secret " + kube::object_key(ns_, secret)),
      [this](kube::RawObject& raw) { return read_kubeconfig_secret(raw, p_.atoms); });
  secret_changes_ =
      secret_->store().subscribe([this](const KubeconfigSecret*, const KubeconfigSecret*) { changed_.notify(); });
  secret_->on_synced([this] { changed_.notify(); });
  problems_.on_change([this](const std::string&, const std::string*) { changed_.notify(); });
  secret_->start();
  scope_.spawn(run());
}

Workload::~Workload() {
  problems_.on_change(nullptr);
  if (connection_) connection_->owner = nullptr;
}

bool Workload::troubled() const { return connection_ && !connection_->cluster.problems().open().empty(); }

// Everything tells of itself, but for how long it is not heard of.
Task<void> Workload::run() {
  for (;;) {
    const io::Steady next = troubled() ? p_.loop.now() + kLookAtSilence : io::kNever;
    co_await io::race(p_.loop, io::wait_until(p_.loop, next), io::wait_for(changed_));
    take_secret();
    watch_state();
  }
}

void Workload::take_secret() {
  if (!secret_->synced()) return;
  const KubeconfigSecret* secret = nullptr;
  secret_->store().for_each([&](const KubeconfigSecret& one) { secret = &one; });
  const std::string from = fmt::format("Secret {}/{}-kubeconfig", ns_, name_);
  if (!secret) return refuse(fmt::format("there is no {}", from));
  if (!secret->text) return refuse(fmt::format("{} has no key \"value\" with a kubeconfig", from));
  auto access = kube::resolve_untrusted_kubeconfig(from, *secret->text, "");
  if (!access) return refuse(access.error().message);
  if (!refusal_.empty()) problems_.clear(kUnusable);
  refusal_.clear();
  if (!connection_) {
    connection_ = std::make_shared<Connection>(*this, p_, key_, std::move(*access));
    node_changes_ = connection_->nodes.store().subscribe(
        [this](const Node* before, const Node* after) { p_.node_changed(before, after); });
    if (connection_->health_checks) {
      health_check_changes_ = connection_->health_checks->store().subscribe(p_.health_check_changed);
    }
    ++taken_;
  } else if (!(connection_->cluster.access() == *access)) {
    connection_->cluster.change(std::move(*access));
    ++taken_;
  }
}

// Without a kubeconfig that can be used the one from before goes on: credentials that are taken away do not work any
// more in any case.
void Workload::refuse(std::string why) {
  if (refusal_ == why) return;
  refusal_ = std::move(why);
  problems_.raise(kUnusable, connection_ ? refusal_ + "; what was there before is used on" : refusal_);
}

void Workload::watch_state() {
  const State now = state();
  if (now == told_) return;
  told_ = now;
  since_ = p_.loop.wall_now();
  p_.state_changed();
}

Workload::State Workload::state() const {
  if (connection_) {
    if (!connection_->nodes.synced()) return troubled() ? State::failing : State::connecting;
    return connection_->nodes.blind_for() < kLongestBlindness ? State::connected : State::failing;
  }
  return refusal_.empty() && problems_.open().empty() ? State::connecting : State::failing;
}

io::Duration Workload::silence() const {
  const bool known = connection_ && connection_->nodes.synced();
  return known ? connection_->nodes.blind_for() : std::chrono::duration_cast<io::Duration>(p_.loop.wall_now() - since_);
}

std::string Workload::trouble() const {
  const auto first_of = [](const io::Problems& problems) {
    return problems.open().empty() ? std::string() : problems.open().begin()->second;
  };
  if (state() != State::failing) return {};
  if (connection_) {
    if (std::string trouble = first_of(connection_->cluster.problems()); !trouble.empty()) return trouble;
    if (connection_->nodes.synced()) {
      return fmt::format("it has not been heard of for {}", io::format_duration(connection_->nodes.blind_for()));
    }
  }
  return refusal_.empty() ? first_of(problems_) : refusal_;
}

std::string Workload::server() const { return connection_ ? connection_->cluster.access().server : std::string(); }

const kube::Store<Node>* Workload::nodes() const {
  return connection_ && connection_->nodes.synced() ? &connection_->nodes.store() : nullptr;
}

Task<kube::WriteResult> Workload::write(const Node& node, const NodeWrite& what) {
  const std::shared_ptr<Connection> held = connection_;
  kube::Json patch = kube::Json::object();
  patch.set({"metadata", "resourceVersion"}, std::to_string(node.version));
  for (const auto& [label, wanted] : what.labels) {
    patch.set({"metadata", "labels", label}, wanted ? kube::Json(kTrue) : kube::Json());
  }
  kube::WriteRequest request{.name = node.name, .body = patch.dump(), .version = node.version};
  co_return co_await held->writer.write(std::move(request));
}

const kube::Store<HealthCheck>* Workload::health_checks() const {
  const bool known = connection_ && connection_->health_checks && connection_->health_checks->synced();
  return known ? &connection_->health_checks->store() : nullptr;
}

// A merge patch replaces lists as a whole: that of the version which it names.
Task<kube::WriteResult> Workload::write(const HealthCheck& check, const std::vector<std::string>& pause_requests) {
  const std::shared_ptr<Connection> held = connection_;
  kube::Json list = pause_requests.empty() ? kube::Json() : kube::Json::array();
  for (const std::string& request : pause_requests) list.push_back(request);
  kube::Json patch = kube::Json::object();
  patch.set({"metadata", "resourceVersion"}, std::to_string(check.version));
  patch.set({"spec", "pauseRequests"}, std::move(list));
  kube::WriteRequest request{.name = check.name, .body = patch.dump(), .version = check.version};
  const auto is_so = [wanted = pause_requests](const HealthCheck& now) { return now.pause_requests == wanted; };
  co_return co_await held->health_check_writer->write(std::move(request), is_so);
}

Task<std::optional<kube::ApiError>> Workload::look(std::string node) {
  const std::shared_ptr<Connection> held = connection_;
  co_return co_await held->writer.look("", std::move(node));
}

std::string_view name_of(Workload::State state) {
  switch (state) {
    case Workload::State::connecting:
      return "Connecting";
    case Workload::State::failing:
      return "Failing";
    case Workload::State::connected:
      return "Connected";
  }
  return "";
}

}  // namespace careen::machines
