#include "controllers/requests/picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/requests/names.h"
#include "controllers/slot/by_node.h"
#include "kube/events.h"
#include "kube/json_writer.h"
#include "kube/objects.h"

namespace careen::requests {

namespace {

using controllers::Cell;
using kube::append_json;
using Verdict = Why::Verdict;

// Until its status has been written, its state says how far it is.
Phase phase_of(const Request& request) {
  if (request.state != State::pending) return requests::phase_of(request.state);
  return request.status.phase == Phase::none ? Phase::waiting : request.status.phase;
}

std::string document_of(const Shown& one) {
  const Request& request = one.request;
  std::string out;
  kube::Members members(out, '{', '}');
  append_json(members.next("name"), request.name);
  append_json(members.next("node"), request.node);
  if (!request.client.empty()) append_json(members.next("client"), request.client);
  append_json(members.next("phase"), name_of(phase_of(request)));
  if (!request.status.reason.empty()) append_json(members.next("reason"), request.status.reason);
  if (request.state == State::pending && !request.status.message.empty()) {
    append_json(members.next("waits"), request.status.message);
  }
  if (request.status.position > 0) append_json(members.next("position"), request.status.position);
  append_json(members.next("since"), request.created);
  return out;
}

Why reason_of(const Shown& one) {
  if (!one.why.text.empty()) return one.why;
  Why why{one.request.running() ? Verdict::yes : Verdict::no,
          fmt::format("MaintenanceRequest {}: {}", one.request.name, name_of(one.request.state)),
          {}};
  if (!one.request.status.message.empty()) why.add(Verdict::note, one.request.status.message);
  return why;
}

class PictureOfRequests final : public controllers::Picture {
 public:
  explicit PictureOfRequests(std::vector<Shown> all)
      : shown_(
            std::move(all), [](const Shown& one) -> const std::string& { return one.request.name; },
            [](const Shown& one) { return one.request.node; }) {}

  Cell cell(std::string_view node) const override {
    Cell worst = Cell::none;
    shown_.for_each_on(node, [&](const Shown& one) {
      const State state = one.request.state;
      const Cell cell = state == State::in_progress || state == State::approved ? Cell::in_maintenance
                        : one.placed                                            ? Cell::draining
                                                                                : Cell::maintenance_required;
      worst = std::max(worst, cell);
    });
    return worst;
  }
  std::vector<Why> reasons(std::string_view node) const override { return shown_.map_on(node, reason_of); }
  std::vector<std::string> documents() const override { return shown_.map(document_of); }
  std::vector<std::string> documents_of(std::string_view node) const override {
    return shown_.map_on(node, document_of);
  }
  std::vector<budget::Claim> claims() const override {
    using Stage = budget::Claim::Stage;
    std::vector<budget::Claim> out;
    for (const Shown& one : shown_.all()) {
      const Request& request = one.request;
      if (!one.placed && !request.running()) continue;
      budget::Claim claim{.who = request.owner(), .node = request.node, .uid = one.node_uid};
      claim.since = request.approved_at ? request.approved_at : request.created;
      claim.stage = request.state == State::in_progress ? Stage::out : Stage::begun;
      out.push_back(std::move(claim));
    }
    return out;
  }

 private:
  controllers::ByNode<Shown> shown_;
};

}  // namespace

std::unique_ptr<controllers::Picture> picture_of(std::vector<Shown> all) {
  return std::make_unique<PictureOfRequests>(std::move(all));
}

std::optional<controllers::Entry> entry_of(const kube::EventRecord& event, io::Wall time, const std::string& node) {
  if (event.regarding.kind != kResource.kind || event.controller != kEventSource) return std::nullopt;
  return controllers::Entry{.time = time,
                            .kind = controllers::Entry::Kind::maintenance,
                            .text = fmt::format("MaintenanceRequest {}{}: {}", event.regarding.name,
                                                node.empty() ? "" : " (" + node + ")", event.note),
                            .node = node};
}

controllers::Job job_of(const kube::Object& object) {
  using Stage = controllers::Job::Stage;
  const Request request = parse_request(object);
  const Status& status = request.status;
  controllers::Job job;
  job.name = request.name;
  job.node = request.node;
  job.created = request.created;
  const bool steps = status.phase >= Phase::reserved && status.phase <= Phase::infra_draining;
  job.stage = request.state == State::rejected ? Stage::failed
              : request.running()              ? Stage::ready
              : steps                          ? Stage::working
                                               : Stage::waiting;
  job.ending = request.deleting;
  job.keeps_out = steps || request.running();
  job.given_up = job.over = request.finished();
  job.state = phase_of(request) == Phase::waiting ? "Pending" : std::string(name_of(phase_of(request)));
  job.reason = request.client.empty() ? "" : fmt::format("asked for by {}", request.client);
  job.held_up = status.message.empty() ? "it has not been taken up" : status.message;
  job.limit = "the limits of maintenance";
  return job;
}

}  // namespace careen::requests
