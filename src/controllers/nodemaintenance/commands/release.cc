#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "config/suggest.h"
#include "controllers/nodemaintenance/commands/commands.h"
#include "controllers/nodemaintenance/commands/maintenances.h"
#include "controllers/nodemaintenance/names.h"
#include "session/kube_session.h"
#include "session/object_watch.h"

namespace careen::nodemaintenance {

using app::kFailed;
using app::kInterrupted;
using app::KubeSession;
using app::Screen;
using io::Task;

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
  io::Signal changed(session.loop);
  app::ObjectWatch watch(session, kResource, changed);
  co_await watch.known().wait();
  while (true) {
    bool there = false;
    watch.store().for_each([&](const kube::Object& object) { there |= uids.contains(parse_maintenance(object).uid); });
    if (!there) co_return;
    co_await changed.wait();
  }
}

Task<void> gone_or_interrupted(KubeSession& session, std::set<std::string> uids) {
  co_await io::race(session.loop, until_gone(session, std::move(uids)), io::wait_for(session.interrupted));
}

Task<int> wait_until_gone(KubeSession& session, std::set<std::string> uids, io::Duration timeout) {
  session.heeds_interrupt = true;
  const bool in_time = co_await app::ends_within(session.loop, timeout, gone_or_interrupted(session, std::move(uids)));
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
  const auto listed = co_await app::list_objects(session, kResource);
  if (!listed) {
    session.screen.error(listed.error().not_found() ? missing_kind() : app::server_error(listed.error()));
    co_return kFailed;
  }
  std::vector<Maintenance> all;
  for (const kube::Object& object : *listed) all.push_back(parse_maintenance(object));
  bool failed = false;
  std::set<std::string> uids;
  for (const Maintenance& maintenance : chosen(all, options, session.screen, failed)) {
    if (!uids.insert(maintenance.uid).second) continue;
    kube::DeleteOptions what;
    what.preconditions.uid = maintenance.uid;
    const auto answer = co_await session.client.remove(kResource, "", maintenance.name, what);
    if (answer || answer.error().not_found()) {
      session.screen.line(fmt::format("nodemaintenance.{} \"{}\" deleted", kResource.group, maintenance.name));
      continue;
    }
    failed = true;
    session.screen.error(app::server_error(answer.error()));
  }
  if (!options.wait || uids.empty()) co_return failed ? kFailed : 0;
  const int code = co_await wait_until_gone(session, std::move(uids), options.timeout);
  co_return code == 0 && failed ? kFailed : code;
}

}  // namespace careen::nodemaintenance
