#include "replica/model_process.h"

#include "controllers/profiles/hosted.h"
#include "controllers/slot/kind.h"
#include "io/http.h"
#include "io/mail.h"
#include "kube/transport.h"
#include "sim/cluster.h"

namespace careen::replica {

namespace {

// What answers at an address where there is no cluster.
class Nobody final : public kube::Transport {
 public:
  explicit Nobody(std::string host) : host_(std::move(host)) {}
  io::Task<io::Result<kube::Response>> send(kube::Request) override { co_return refused<kube::Response>(); }
  io::Task<io::Result<kube::StreamResponse>> open(kube::Request) override { co_return refused<kube::StreamResponse>(); }
  std::string_view host() const override { return host_; }

 private:
  template <class T>
  io::Result<T> refused() const {
    return io::fail(io::ErrorKind::connect, "nobody answers at " + host_);
  }
  std::string host_;
};

}  // namespace

ModelProcess::ModelProcess(io::VirtualTime& time, sim::Cluster& cluster, std::string config,
                           ModelProcessOptions options)
    : time_(time),
      name_(options.name),
      loop_(time.make_loop(options.skew)),
      files_(*loop_),
      random_(options.seed),
      http_(cluster.outside.connect(*loop_)),
      mail_(cluster.outside.connect_mail(*loop_)),
      scope_(*loop_) {
  files_.write(kConfig, std::move(config));
  const auto environment = [variables =
                                std::move(options.environment)](std::string_view name) -> std::optional<std::string> {
    const auto it = variables.find(std::string(name));
    if (it == variables.end()) return std::nullopt;
    return it->second;
  };
  const auto connect = [&cluster, this, elsewhere = options.elsewhere](const kube::Access& access) {
    // Its own cluster needs no address here.
    if (!access.server.empty()) {
      sim::Network* const network = elsewhere ? elsewhere(access) : nullptr;
      if (!network) return kube::Transports{std::make_shared<Nobody>(access.server)};
      return kube::Transports{network->connect(*loop_, name_)};
    }
    return kube::Transports{cluster.network.connect(*loop_, name_), cluster.network.connect(*loop_, name_ + "/lease")};
  };
  const auto own = profiles::with_options({.config = kConfig,
                                           .cache_pods = options.cache_pods,
                                           .controller = options.controller,
                                           .adjust_config = std::move(options.adjust_config)});
  if (options.profiles && !options.hub) options.controllers.insert(options.controllers.begin(), own);
  replica_ = std::make_unique<Replica>(
      ReplicaParts{*loop_, files_, random_, {}, connect, *http_, *mail_, environment, options.log},
      ReplicaOptions{.host = name_,
                     .ns = "kube-system",
                     .controllers = std::move(options.controllers),
                     .leader_election = options.leader_election,
                     .dry_run = options.controller.dry_run,
                     .own_pod = options.own_pod,
                     .awaits_pauses = options.awaits_pauses,
                     .hub = options.hub ? std::optional(HubOptions{"careen.dev/hub=true", {own}}) : std::nullopt});
  scope_.spawn(main());
}

ModelProcess::~ModelProcess() = default;

void ModelProcess::serve_webhooks(turnstile::Reach reach) {
  webhooks_.add(replica_->webhooks({}));
  replica_->webhooks_served(std::move(reach));
}

void ModelProcess::ask(io::ServerRequest request, std::function<void(io::ServerResponse)> tell) {
  scope_.spawn(answer(std::move(request), std::move(tell)));
}

io::Task<void> ModelProcess::answer(io::ServerRequest request, std::function<void(io::ServerResponse)> tell) {
  auto response = co_await webhooks_.answer(std::move(request));
  tell(std::move(response));
}

io::Task<void> ModelProcess::main() { exit_code_ = co_await replica_->main(); }

}  // namespace careen::replica
