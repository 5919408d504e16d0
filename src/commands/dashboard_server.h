// The address where a replica is looked at: metrics, the info document, the view API with its stream, and the
// dashboard.
//
// The server lives on a RealLoop. The replica may live on another loop, as it does in a demonstration on virtual time,
// provided that the same thread drives both in turn: documents read the replica's world in place, times in them are its
// loop's, and changes are sent at the pace of the server's clock. Then `reviewer` and `http` must still be the
// RealLoop's, or there are none: such a replica leads, and asks nobody.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands/local_careens.h"
#include "io/http_server.h"
#include "io/real_loop.h"
#include "replica/replica.h"
#include "view/changes.h"
#include "view/chronicle.h"
#include "web/server.h"
#include "web/site.h"

namespace careen::plan {
class Upcoming;
}

namespace careen::app {

struct DashboardParts {
  io::RealLoop& loop;
  replica::Replica& replica;
  // To the replica that leads, if this one may not: directly, and with TLS by the name kReplicaHost.
  io::HttpClient& http;
  // Asks the API server about tokens. Null: no token is any good, so only who needs none may look.
  kube::Client* reviewer = nullptr;
  // Our own Authorization header, for what is asked of the leader.
  web::ViewApi::Authorization own_authorization = {};
  io::Log log = {};
};

struct DashboardOptions {
  std::string address;  // empty or 0: nowhere
  web::ViewPolicy policy = web::ViewPolicy::loopback;
  // Metrics over TLS, and with a token.
  std::optional<web::ServingTls> tls = {};
  // With TLS: by which the other replicas know this one, as its identity says.
  std::shared_ptr<const io::KeyPair> replica_pair = {};
  std::function<void()> on_scrape = {};
  std::function<double()> speed = [] { return 1.0; };
  // Under which `--server auto` finds it on this machine, such as careen run; empty: not at all.
  std::string known_as = {};
  // The text of the configuration of profiles as it is now, for plans; empty: there are none.
  std::function<io::Result<std::string>()> config = {};
};

class DashboardServer {
 public:
  // Everything must outlive it. It listens to the replica from now on: make it before the replica runs, so that the
  // timeline misses nothing.
  DashboardServer(DashboardParts parts, DashboardOptions options);
  ~DashboardServer();
  DashboardServer(const DashboardServer&) = delete;
  DashboardServer& operator=(const DashboardServer&) = delete;

  // What it answers; it must outlive them.
  std::vector<web::Route> routes();
  // Opens the port; the error names the address or the files.
  io::Result<void> open();
  // 0 when it is not open.
  int port() const { return server_ ? server_->port() : 0; }
  // Where it is reached from this machine; nothing when it is not open, not on a loopback address, or has TLS.
  std::optional<std::string> local_url() const;
  // Of careen's own cluster, whose name is empty, and of those that it looks after as a hub.
  void for_each_chronicle(
      const std::function<void(const std::string& cluster, const view::Chronicle& chronicle)>& visit) const;
  bool has_dashboard() const;

 private:
  void leave_record();
  // Null: there are no plans.
  std::unique_ptr<plan::Upcoming> upcoming(replica::Replica& replica);
  web::ViewAnswers answers();
  // Of a workload cluster that is run from here.
  struct Elsewhere;

  DashboardParts p_;
  DashboardOptions options_;
  view::Chronicle chronicle_;
  view::Changes changes_;
  std::unique_ptr<plan::Upcoming> upcoming_;
  std::map<std::string, std::shared_ptr<Elsewhere>, std::less<>> elsewhere_;
  web::Leader leader_;
  web::InfoApi info_;
  std::unique_ptr<web::TokenAuth> auth_;
  web::ViewApi view_;
  std::unique_ptr<io::HttpServer> server_;  // after all that its handlers use
  std::unique_ptr<LocalRecord> record_;     // gone before the server is
};

}  // namespace careen::app
