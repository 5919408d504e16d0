#include "kube/cluster.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace careen::kube {

namespace {

// With other authorities the same address belongs to somebody else: to a cluster that was made anew, say.
bool same_server(const Access& a, const Access& b) {
  return a.server == b.server && a.ca == b.ca && a.tls_server_name == b.tls_server_name && a.insecure == b.insecure &&
         a.proxy == b.proxy;
}

}  // namespace

// Where requests go may change; each keeps what it was sent over until it has ended.
class Cluster::Way final : public Transport {
 public:
  void lead_to(std::shared_ptr<Transport> transport) { transport_ = std::move(transport); }

  io::Task<io::Result<Response>> send(Request request) override {
    const auto held = transport_;
    co_return co_await held->send(std::move(request));
  }
  io::Task<io::Result<StreamResponse>> open(Request request) override {
    const auto held = transport_;
    co_return co_await held->open(std::move(request));
  }
  std::string_view host() const override { return transport_->host(); }

 private:
  std::shared_ptr<Transport> transport_;
};

Cluster::Cluster(ClusterParts parts, std::string name, Access access, Connect connect)
    : parts_(std::move(parts)),
      name_(std::move(name)),
      access_(std::move(access)),
      connect_(std::move(connect)),
      requests_(std::make_unique<Way>()),
      leases_(std::make_unique<Way>()),
      tasks_(parts_.loop) {
  if (!name_.empty()) {
    own_metrics_.emplace(parts_.metrics, io::Labels{{"cluster", name_}});
    own_problems_.emplace(parts_.problems, "cluster " + name_);
    parts_.log = parts_.log.with("cluster", name_);
  }
  lead_ways();
  client_ = make_client();
}

Cluster::~Cluster() {
  tasks_.cancel();
  kept_.clear();
  if (watches_.empty()) return;
  std::fputs("careen: bug: a watch outlives its cluster\n", stderr);
  std::abort();
}

void Cluster::lead_ways() {
  Transports transports = connect_(access_);
  leases_->lead_to(transports.leases ? std::move(transports.leases) : transports.requests);
  requests_->lead_to(std::move(transports.requests));
}

void Cluster::change(Access access) {
  if (access == access_) return;
  const bool same = same_server(access, access_);
  access_ = std::move(access);
  lead_ways();
  parts_.log.info(same ? "the cluster is asked with other credentials" : "the cluster has another server", "server",
                  access_.server, "from", access_.source);
  // Listeners that hear of vanished objects may drop watches, or make new ones.
  for (Watch* watch : std::vector(watches_)) {
    if (std::find(watches_.begin(), watches_.end(), watch) == watches_.end() || !watch->started()) continue;
    if (!same) {
      watch->stop();
      watch->start();
    } else if (watch->blind_for() > io::Duration{0}) {
      watch->request_relist();
    }
  }
}

std::unique_ptr<Client> Cluster::make_client() {
  return std::make_unique<Client>(parts_.loop, *requests_, metrics(), parts_.random);
}

std::unique_ptr<Client> Cluster::make_lease_client() {
  return std::make_unique<Client>(parts_.loop, *leases_, metrics(), parts_.random);
}

WatchParts Cluster::watch_parts(std::string_view name) {
  return {parts_.loop, *client_, metrics(), problems(), parts_.random, parts_.log.named(name), &watches_};
}

}  // namespace careen::kube
