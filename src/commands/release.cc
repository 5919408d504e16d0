#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "commands/kube_session.h"
#include "commands/maintenances.h"
#include "config/suggest.h"
#include "controllers/nodemaintenance/names.h"

namespace careen::app {

using io::Task;
using nodemaintenance::kResource;

namespace {

// Those of the nodes and those of the names; it reports the ones without any.
std::vector<Maintenance> chosen(const std::vector<Maintenance>& all, const ReleaseOptions& options, Screen& screen,
                                bool& failed) {
  std::vector<Maintenance> out;
  const auto pick = [&](const std::string& wanted, auto&& field, const std::string& what) {
    std::vector<std::string_view> known;
    bool found = false;
    for (const Maintenance& one : all) {
      known.push_back(field(one));
      if (field(one) != wanted) continue;
      found = true;
      out.push_back(one);
    }
    if (found) return;
    failed = true;
    screen.error(fmt::format("{}{}", fmt::format(fmt::runtime(what), wanted), config::did_you_mean(wanted, known)));
  };
  for (const std::string& node : options.nodes) {
    pick(
        node, [](const Maintenance& one) -> const std::string& { return one.node; },
        "there is no NodeMaintenance for node \"{}\"");
  }
  for (const std::string& name : options.names) {
    pick(
        name, [](const Maintenance& one) -> const std::string& { return one.name; },
        "there is no NodeMaintenance named \"{}\"");
  }
  return out;
}

Task<void> until_gone(KubeSession& session, std::set<std::string> uids) {
  MaintenanceWatch watch(session);
  co_await watch.known().wait();
  while (true) {
    const auto all = watch.all();
    const bool there =
        std::any_of(all.begin(), all.end(), [&](const Maintenance& one) { return uids.contains(one.uid); });
    if (!there) co_return;
    co_await watch.changed();
  }
}

Task<void> gone_or_interrupted(KubeSession& session, std::set<std::string> uids) {
  co_await io::race(session.loop, until_gone(session, std::move(uids)), io::wait_for(session.interrupted));
}

Task<int> wait_until_gone(KubeSession& session, std::set<std::string> uids, io::Duration timeout) {
  session.heeds_interrupt = true;
  const bool in_time = co_await ends_within(session.loop, timeout, gone_or_interrupted(session, std::move(uids)));
  if (session.interrupted.is_open()) {
    session.screen.note("Interrupted: the deletion goes on without this command.");
    co_return kInterrupted;
  }
  if (in_time) co_return 0;
  session.screen.error("timed out waiting for the deletion; \"careen status\" shows what is left");
  co_return kFailed;
}

}  // namespace

Task<int> release_nodes(KubeSession& session, ReleaseOptions options) {
  const auto all = co_await list_maintenances(session);
  if (!all) {
    session.screen.error(all.error().not_found() ? missing_kind() : server_error(all.error()));
    co_return kFailed;
  }
  bool failed = false;
  std::set<std::string> uids;
  for (const Maintenance& maintenance : chosen(*all, options, session.screen, failed)) {
    if (!uids.insert(maintenance.uid).second) continue;
    kube::DeleteOptions what;
    what.preconditions.uid = maintenance.uid;
    const auto answer = co_await session.client.remove(kResource, "", maintenance.name, what);
    if (answer || answer.error().not_found()) {
      session.screen.line(fmt::format("nodemaintenance.{} \"{}\" deleted", kResource.group, maintenance.name));
      continue;
    }
    failed = true;
    session.screen.error(server_error(answer.error()));
  }
  if (!options.wait || uids.empty()) co_return failed ? kFailed : 0;
  const int code = co_await wait_until_gone(session, std::move(uids), options.timeout);
  co_return code == 0 && failed ? kFailed : code;
}

}  // namespace careen::app
