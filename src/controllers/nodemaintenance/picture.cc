#include "controllers/nodemaintenance/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "controllers/nodemaintenance/decide.h"
#include "controllers/nodemaintenance/drain_report.h"
#include "controllers/nodemaintenance/maintenance.h"
#include "controllers/nodemaintenance/names.h"
#include "controllers/slot/by_node.h"
#include "drain/holds.h"
#include "kube/cache.h"
#include "kube/events.h"
#include "kube/json_writer.h"
#include "kube/node.h"
#include "kube/objects.h"

namespace careen::nodemaintenance {

namespace {

using controllers::Cell;
using kube::append_json;
using Verdict = Why::Verdict;

std::string_view phase_text(const Maintenance& maintenance) {
  return maintenance.deleting ? "Ending" : name_of(maintenance.status.phase);
}

// As `careen status` has it.
std::string state_text(const Maintenance& maintenance) {
  if (maintenance.deleting) return "Releasing";
  const std::string_view phase = name_of(maintenance.status.phase);
  return phase.empty() ? "Pending" : std::string(phase);
}

std::string_view error_of(const Maintenance& maintenance) {
  return maintenance.mistake.empty() ? maintenance.status.last_error : maintenance.mistake;
}

Cell cell_of(const Maintenance& maintenance) {
  if (maintenance.status.phase == Phase::failed || !maintenance.mistake.empty()) return Cell::failing;
  return maintenance.status.phase == Phase::succeeded ? Cell::in_maintenance : Cell::draining;
}

Why reason_of(const Maintenance& maintenance) {
  const Status& status = maintenance.status;
  const bool failed = status.phase == Phase::failed || !maintenance.mistake.empty();
  const std::string_view phase = status.phase == Phase::none ? "not begun" : name_of(status.phase);
  Why why{failed                             ? Verdict::error
          : status.phase == Phase::succeeded ? Verdict::yes
                                             : Verdict::no,
          fmt::format("NodeMaintenance {}: {}", maintenance.name, phase),
          {}};
  if (!maintenance.mistake.empty()) why.add(Verdict::error, maintenance.mistake);
  if (!status.last_error.empty()) why.add(Verdict::error, status.last_error);
  return why;
}

std::string document_of(const Maintenance& maintenance) {
  std::string out;
  append_maintenance(out, maintenance);
  return out;
}

bool waits_for_place(const Maintenance& maintenance) {
  const Condition* const blocked = maintenance.status.condition(kBlocked);
  return blocked && blocked->holds && blocked->reason == kNoPlace;
}

// It has the node out from its first write to the node until it lets go of it. A hold is a stranger's word, and proves
// nothing but with the object that it names.
std::optional<budget::Claim> claim_of(const Maintenance& maintenance, const kube::Node* node) {
  const std::string owner = hold_owner(maintenance.name);
  budget::Claim claim{.who = owner, .node = maintenance.node, .uid = {}};
  const Phase phase = maintenance.status.phase;
  bool held = false;
  if (node) {
    claim.uid = node->uid;
    const drain::Holds holds = node->annotation(drain::kHoldsAnnotation) ? drain::holds_of(*node) : drain::Holds{};
    const auto hold = holds.by_owner.find(owner);
    held = hold != holds.by_owner.end() && hold->second.id == maintenance.uid;
    if (held) claim.since = hold->second.since;
  }
  if (!held && ((phase != Phase::running && phase != Phase::succeeded) || waits_for_place(maintenance))) {
    return std::nullopt;
  }
  if (!claim.since) claim.since = io::parse_rfc3339(maintenance.created);
  claim.stage = phase == Phase::succeeded ? budget::Claim::Stage::out : budget::Claim::Stage::begun;
  return claim;
}

class PictureOfMaintenances final : public controllers::Picture {
 public:
  PictureOfMaintenances(const kube::Store<kube::Object>& store, const kube::Store<kube::Node>& nodes)
      : nodes_(nodes),
        maintenances_(
            parsed(store), [](const Maintenance& one) -> const std::string& { return one.name; },
            [](const Maintenance& one) { return one.node; }) {}

  Cell cell(std::string_view node) const override {
    Cell worst = Cell::none;
    maintenances_.for_each_on(node, [&](const Maintenance& one) { worst = std::max(worst, cell_of(one)); });
    return worst;
  }
  std::vector<Why> reasons(std::string_view node) const override { return maintenances_.map_on(node, reason_of); }
  std::vector<std::string> documents() const override { return maintenances_.map(document_of); }
  std::vector<std::string> documents_of(std::string_view node) const override {
    return maintenances_.map_on(node, document_of);
  }

  std::vector<budget::Claim> claims() const override {
    std::vector<budget::Claim> out;
    for (const Maintenance& one : maintenances_.all()) {
      if (auto claim = claim_of(one, nodes_.find(one.node))) out.push_back(std::move(*claim));
    }
    return out;
  }

 private:
  static std::vector<Maintenance> parsed(const kube::Store<kube::Object>& store) {
    std::vector<Maintenance> all;
    all.reserve(store.size());
    store.for_each([&](const kube::Object& object) { all.push_back(parse_maintenance(object)); });
    return all;
  }

  const kube::Store<kube::Node>& nodes_;
  controllers::ByNode<Maintenance> maintenances_;
};

std::string event_text(std::string_view reason, const std::string& name, std::string_view node) {
  const std::string where = node.empty() ? std::string() : fmt::format(" of {}", node);
  if (reason == "BeginMaintenance") return fmt::format("NodeMaintenance {}{} begins", name, where);
  if (reason == "SucceedMaintenance") return fmt::format("NodeMaintenance {}{}: the node is drained", name, where);
  if (reason == "FailedMaintenance") return fmt::format("NodeMaintenance {}{} has failed", name, where);
  if (reason == "RemovedMaintenance") return fmt::format("NodeMaintenance {}{} is over", name, where);
  return {};
}

}  // namespace

std::unique_ptr<controllers::Picture> picture_of(const kube::Store<kube::Object>& maintenances,
                                                 const kube::Store<kube::Node>& nodes) {
  return std::make_unique<PictureOfMaintenances>(maintenances, nodes);
}

controllers::Job job_of(const kube::Object& object) {
  using Stage = controllers::Job::Stage;
  const Maintenance maintenance = parse_maintenance(object);
  const Status& status = maintenance.status;
  controllers::Job job;
  job.name = maintenance.name;
  job.node = maintenance.node;
  job.ending = maintenance.deleting;
  job.given_up = maintenance.given_up();
  job.state = state_text(maintenance);
  job.reason = maintenance.reason;
  job.blocked_by = maintenance.blocked_by();
  job.percent = status.progress;
  job.pending_pods = status.pending.size();
  if (const auto created = io::parse_rfc3339(maintenance.created)) job.created = *created;
  const bool waits = waits_for_place(maintenance);
  job.stage = waits || status.phase == Phase::none ? Stage::waiting
              : status.phase == Phase::running     ? Stage::working
              : status.phase == Phase::failed      ? Stage::failed
                                                   : Stage::ready;
  job.limit = waits ? "MaintenanceLimits" : "the drain";
  if (!maintenance.mistake.empty()) {
    job.held_up = maintenance.mistake;
  } else if (!job.blocked_by.empty()) {
    job.held_up = job.blocked_by;
  } else {
    job.held_up =
        status.pending.empty() ? "it has not been taken up" : fmt::format("{} pods are left", status.pending.size());
  }
  return job;
}

void append_maintenance(std::string& out, const Maintenance& maintenance) {
  const Status& status = maintenance.status;
  kube::Members members(out, '{', '}');
  append_json(members.next("name"), maintenance.name);
  append_json(members.next("node"), maintenance.node);
  if (!maintenance.reason.empty()) append_json(members.next("reason"), maintenance.reason);
  append_json(members.next("phase"), phase_text(maintenance));
  const bool begun = status.phase != Phase::none;
  if (begun) append_json(members.next("percent"), status.progress);
  if (begun) append_json(members.next("pending"), status.pending.size());
  if (const std::string_view error = error_of(maintenance); !error.empty()) append_json(members.next("error"), error);
  if (const auto since = io::parse_rfc3339(maintenance.created)) append_json(members.next("since"), *since);
}

std::optional<controllers::Entry> Told::entry_of(const kube::EventRecord& event, io::Wall time, const NodeOf& node_of) {
  if (event.regarding.kind != kResource.kind) return std::nullopt;
  const std::string& name = event.regarding.name;
  if (auto node = node_of(name)) nodes_[name] = std::move(*node);
  const auto known = nodes_.find(name);
  const std::string node = known == nodes_.end() ? std::string() : known->second;
  if (event.reason == "RemovedMaintenance") nodes_.erase(name);
  controllers::Entry entry{.time = time, .kind = controllers::Entry::Kind::maintenance, .text = {}, .node = node};
  entry.text = event_text(event.reason, name, node);
  if (entry.text.empty()) return std::nullopt;
  return entry;
}

}  // namespace careen::nodemaintenance
