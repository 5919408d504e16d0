#include "controllers/machines/picture.h"

#include <fmt/format.h>

#include "controllers/machines/names.h"
#include "kube/events.h"
#include "kube/json_writer.h"

namespace careen::machines {

namespace {

using kube::append_json;
using kube::Members;

void append_busy(std::string& out, const ShownCluster::Busy& busy) {
  Members members(out, '{', '}');
  append_json(members.next("name"), busy.machine.key());
  append_json(members.next("phase"), name_of(busy.phase));
  if (!busy.machine.node.empty()) append_json(members.next("node"), busy.machine.node);
  if (busy.machine.deleting) append_json(members.next("deleting"), *busy.machine.deleting);
}

std::string document_of(const ShownCluster& cluster) {
  std::string out;
  Members members(out, '{', '}');
  append_json(members.next("name"), cluster.name);
  append_json(members.next("phase"), cluster.state);
  append_json(members.next("since"), cluster.since);
  if (!cluster.server.empty()) append_json(members.next("server"), cluster.server);
  append_json(members.next("nodes"), cluster.nodes);
  {
    Members phases(members.next("machines"), '{', '}');
    for (const auto& [phase, count] : cluster.phases) append_json(phases.next(name_of(phase)), count);
  }
  {
    Members busy(members.next("busy"), '[', ']');
    for (const ShownCluster::Busy& one : cluster.busy) append_busy(busy.next(), one);
  }
  if (!cluster.upgrades.empty()) append_json(members.next("upgrades"), cluster.upgrades);
  if (!cluster.held_checks.empty()) {
    Members checks(members.next("pausedHealthChecks"), '[', ']');
    for (const std::string& check : cluster.held_checks) append_json(checks.next(), check);
  }
  if (!cluster.trouble.empty()) append_json(members.next("error"), cluster.trouble);
  return out;
}

class PictureOfClusters final : public controllers::Picture {
 public:
  explicit PictureOfClusters(std::vector<ShownCluster> clusters) : clusters_(std::move(clusters)) {}

  std::vector<std::string> documents() const override {
    std::vector<std::string> out;
    for (const ShownCluster& cluster : clusters_) out.push_back(document_of(cluster));
    return out;
  }
  // Nodes of its own cluster are out for nobody's sake here.
  std::vector<budget::Claim> claims() const override { return {}; }

 private:
  std::vector<ShownCluster> clusters_;
};

}  // namespace

std::unique_ptr<controllers::Picture> picture_of(std::vector<ShownCluster> clusters) {
  return std::make_unique<PictureOfClusters>(std::move(clusters));
}

std::string document_of_machine(const ShownMachine& shown) {
  const Machine& machine = *shown.machine;
  std::string out;
  Members members(out, '{', '}');
  append_json(members.next("time"), shown.now);
  append_json(members.next("kind"), kMachines.kind);
  append_json(members.next("name"), machine.key());
  append_json(members.next("cluster"), machine.cluster_key());
  append_json(members.next("phase"), name_of(shown.decision.phase));
  if (!machine.node.empty()) append_json(members.next("nodeName"), machine.node);
  if (shown.node) append_json(members.next("nodeReady"), shown.node->ready);
  if (machine.deleting) append_json(members.next("deleting"), *machine.deleting);
  if (machine.held_since && machine.hooked) append_json(members.next("heldSince"), *machine.held_since);
  if (!shown.host.empty()) append_json(members.next("host"), shown.host);
  if (!shown.trouble.empty()) append_json(members.next("error"), shown.trouble);
  append_why(members.next("why"), shown.decision.why);
  return out;
}

std::optional<controllers::Entry> entry_of(const kube::EventRecord& event, io::Wall time) {
  const std::string& kind = event.regarding.kind;
  if ((kind != kMachines.kind && kind != kClusters.kind) || event.controller != kEventSource) return std::nullopt;
  return controllers::Entry{
      .time = time,
      .kind = event.type == "Warning" ? controllers::Entry::Kind::error : controllers::Entry::Kind::maintenance,
      .text = fmt::format("{} {}/{}: {}", kind, event.regarding.ns, event.regarding.name, event.note)};
}

}  // namespace careen::machines
