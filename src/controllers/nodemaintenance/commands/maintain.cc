#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/redraw.h"
#include "controllers/nodemaintenance/commands/commands.h"
#include "controllers/nodemaintenance/commands/maintenances.h"
#include "controllers/nodemaintenance/names.h"
#include "kube/json.h"
#include "kube/name_order.h"
#include "session/kube_session.h"
#include "session/node_choice.h"
#include "session/object_watch.h"

namespace careen::nodemaintenance {

using app::Colour;
using app::kFailed;
using app::kInterrupted;
using app::KubeSession;
using app::NodeView;
using io::Task;

namespace {

// A controller that is responsible has taken it up long before.
constexpr io::Duration kNobodyThere = io::seconds{15};

kube::Json document_of(const std::string& name, const std::string& node, const std::string& reason) {
  kube::Json document = kube::Json::object({{"apiVersion", kResource.group + "/" + kResource.version},
                                            {"kind", kResource.kind},
                                            {"metadata", kube::Json::object({{"name", name}})},
                                            {"spec", kube::Json::object({{"nodeName", node}})}});
  if (!reason.empty()) document.set({"spec", "reason"}, reason);
  return document;
}

// Follows maintenances until each has come to its end.
class Follower {
 public:
  Follower(KubeSession& session, const std::vector<std::string>& names)
      : session_(session), changed_(session.loop), watch_(session, kResource, changed_), begun_(session.loop.now()) {
    for (const std::string& name : names) open_[name] = {};
  }

  Task<int> main(io::Duration timeout) {
    session_.heeds_interrupt = true;
    const bool in_time = co_await app::ends_within(session_.loop, timeout, followed_or_interrupted());
    session_.screen.redraw({});
    if (session_.interrupted.is_open()) {
      session_.screen.note("Interrupted: the maintenance goes on without this command; \"careen release\" ends it.");
      co_return kInterrupted;
    }
    if (!in_time) {
      for (const auto& [name, told] : open_) {
        session_.screen.error(fmt::format("timed out waiting for {}{}", full_name(name),
                                          told.blocked.empty() ? "" : ": " + told.blocked));
      }
    }
    co_return in_time && !failed_ ? 0 : kFailed;
  }

 private:
  struct Told {
    bool seen = false;
    int gone = -1, total = -1;
    std::string blocked = {};
  };

  Task<void> followed_or_interrupted() {
    co_await io::race(session_.loop, follow(), io::wait_for(session_.interrupted));
  }

  Task<void> follow() {
    co_await watch_.known().wait();
    while (true) {
      show();
      if (open_.empty()) co_return;
      co_await app::heard_within(session_.loop, app::kRedrawEvery, changed_);
    }
  }

  void show() {
    std::vector<NodeView> views;
    bool taken_up = false;
    for (auto it = open_.begin(); it != open_.end();) {
      const kube::Object* object = watch_.store().find(it->first);
      if (!object) {
        failed_ = true;
        session_.screen.error(fmt::format("{} was deleted meanwhile", full_name(it->first)));
        it = open_.erase(it);
        continue;
      }
      const Maintenance maintenance = parse_maintenance(*object);
      if (ended(maintenance)) {
        taken_up = true;
        it = open_.erase(it);
        continue;
      }
      taken_up = taken_up || maintenance.status.phase != Phase::none;
      views.push_back(view_of(maintenance, session_.now()));
      tell(maintenance, views.back(), it->second);
      ++it;
    }
    session_.screen.redraw(app::frame(views, session_.screen));
    if (taken_up || open_.empty() || session_.loop.now() - begun_ < kNobodyThere) return;
    if (std::exchange(warned_, true)) return;
    session_.screen.warning("nobody has taken it up yet: does \"careen run\", or node-maintenance-operator, run here?");
  }

  bool ended(const Maintenance& maintenance) {
    if (maintenance.status.phase == Phase::succeeded) {
      session_.screen.line(full_name(maintenance.name) + " " + session_.screen.paint(Colour::green, "succeeded") +
                           fmt::format(": node/{} is drained", maintenance.node));
      return true;
    }
    if (maintenance.status.phase != Phase::failed) return false;
    failed_ = true;
    session_.screen.error(fmt::format("{} failed: {}", full_name(maintenance.name), maintenance.status.last_error));
    return true;
  }

  // For output that is not a terminal.
  void tell(const Maintenance& maintenance, const NodeView& view, Told& told) {
    const std::string why = maintenance.blocked_by();
    const bool news = told.gone != view.gone || told.total != view.total || told.blocked != why || !told.seen;
    told = {true, view.gone, view.total, why};
    if (!news || session_.screen.live() || maintenance.status.phase == Phase::none) return;
    session_.screen.line(fmt::format("node/{}: {} of {} pods gone{}", maintenance.node, view.gone, view.total,
                                     why.empty() ? "" : "; blocked: " + why));
  }

  KubeSession& session_;
  io::Signal changed_;
  app::ObjectWatch watch_;
  io::Steady begun_;
  std::map<std::string, Told, kube::NameOrder> open_;
  bool failed_ = false;
  bool warned_ = false;
};

}  // namespace

Task<int> maintain_nodes(KubeSession& session, MaintainOptions options) {
  // Where a webhook checks the node too, this is for its better words; where there is none it is the only check.
  const app::ChosenNodes chosen = co_await app::choose_nodes(session, {options.nodes, ""});
  if (!chosen.forbidden && !chosen.errors.empty()) {
    for (const std::string& error : chosen.errors) session.screen.error(error);
    co_return kFailed;
  }
  std::vector<std::string> created;
  bool failed = false;
  for (const std::string& node : options.nodes) {
    const std::string name = options.name.empty() ? node : options.name;
    const auto answer = co_await session.client.create(kResource, "", document_of(name, node, options.reason).dump());
    if (answer) {
      created.push_back(name);
      session.screen.line(full_name(name) + " created");
      continue;
    }
    failed = true;
    session.screen.error(answer.error().not_found() ? missing_kind() : app::server_error(answer.error()));
    if (answer.error().not_found()) co_return kFailed;
  }
  if (!options.wait || created.empty()) co_return failed ? kFailed : 0;
  Follower follower(session, created);
  const int code = co_await follower.main(options.timeout);
  co_return code == 0 && failed ? kFailed : code;
}

}  // namespace careen::nodemaintenance
