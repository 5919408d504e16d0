#include "commands/pause_place.h"

#include <fmt/format.h>

#include <set>

#include "budget/ledger.h"
#include "commands/home_objects.h"
#include "commands/pause.h"
#include "kube/decode.h"
#include "kube/json.h"

namespace careen::app {

using budget::PauseRecord;
using io::Task;
using kube::Json;

namespace {

// Of that name, in all namespaces.
Task<kube::Result<std::vector<kube::Lease>>> find_leases(KubeSession& session, std::string name) {
  std::vector<kube::Lease> out;
  const auto listed =
      co_await read_list(session, kube::resources::leases, "fieldSelector=" + url_text("metadata.name=" + name),
                         [&](kube::RawObject& raw) -> io::Result<bool> {
                           auto lease = kube::decode_lease(raw, session.atoms);
                           if (!lease) return tl::make_unexpected(lease.error());
                           out.push_back(std::move(*lease));
                           return true;
                         });
  if (!listed) co_return tl::make_unexpected(listed.error());
  co_return out;
}

PauseLease stored_in(const std::string* annotation, std::string version) {
  PauseLease out;
  out.version = std::move(version);
  auto record = annotation ? PauseRecord::parse(*annotation) : PauseRecord{};
  if (record) {
    out.record = std::move(*record);
  } else {
    out.mistake = std::move(record.error());
  }
  return out;
}

}  // namespace

Task<std::optional<std::string>> find_careen(KubeSession& session, std::string wanted) {
  if (!wanted.empty()) co_return wanted;
  std::set<std::string> found;
  for (const replica::HomeObject& named : home_objects()) {
    // ConfigMaps, which a person may be kept from listing, are only looked at where careen has no Leases.
    const bool lease = named.kind == kube::LockKind::lease;
    if (!lease && !found.empty()) break;
    const auto objects = co_await find_home_objects(session.client, named);
    if (!objects) {
      std::string why = fmt::format("careen's namespace cannot be looked for: {}; name it with --namespace",
                                    server_error(objects.error()));
      if (!lease) {
        session.screen.note(std::move(why));
        break;
      }
      session.screen.error(std::move(why));
      co_return std::nullopt;
    }
    for (const Json& one : *objects) found.insert(std::string(one["metadata"]["namespace"].text().value_or("")));
  }
  if (found.size() > 1) {
    session.screen.error(several_homes(found));
    co_return std::nullopt;
  }
  if (found.size() == 1) co_return *found.begin();
  session.screen.note(fmt::format("No lock of careen was found: does it run here? Namespace {} is taken.", session.ns));
  co_return session.ns;
}

Task<kube::Result<PauseLease>> read_pause_lease(KubeSession& session, std::string ns) {
  const auto answer = co_await session.client.get(kube::resources::leases, ns, std::string(PauseRecord::kLease));
  if (!answer && answer.error().not_found()) co_return stored_in(nullptr, "");
  if (!answer) co_return tl::make_unexpected(answer.error());
  const auto lease = kube::decode_lease(*answer, session.atoms);
  if (!lease) co_return tl::make_unexpected(kube::to_api_error(lease.error()));
  co_return stored_in(lease->annotation(PauseRecord::kAnnotation), std::to_string(lease->version));
}

Task<kube::Result<std::string>> write_pause_lease(KubeSession& session, std::string ns, PauseLease stored,
                                                  PauseRecord record) {
  Json body = Json::object();
  body.set({"metadata", "annotations", PauseRecord::kAnnotation}, record.text());
  const std::string name(PauseRecord::kLease);
  if (!stored.version.empty()) {
    body.set({"metadata", "resourceVersion"}, stored.version);
    co_return co_await session.client.patch(kube::resources::leases, ns, name, kube::PatchType::merge, body.dump());
  }
  body.set({"apiVersion"}, "coordination.k8s.io/v1").set({"kind"}, "Lease");
  body.set({"metadata", "name"}, name).set({"metadata", "namespace"}, ns);
  co_return co_await session.client.create(kube::resources::leases, ns, body.dump());
}

Task<std::string> find_pause(KubeSession& session) {
  const auto leases = co_await find_leases(session, std::string(PauseRecord::kLease));
  if (!leases) {
    session.screen.warning(fmt::format("it cannot be read whether careen is paused: {}", server_error(leases.error())));
    co_return "";
  }
  for (const kube::Lease& lease : *leases) {
    const PauseLease stored = stored_in(lease.annotation(PauseRecord::kAnnotation), "");
    const std::string where = fmt::format("lease {}/{}", lease.ns, lease.name);
    if (!stored.record) co_return fmt::format("paused: {} cannot be read: {}", where, stored.mistake);
    const auto all = stored.record->pauses.find("");
    if (all != stored.record->pauses.end()) co_return fmt::format("{} ({})", all->second.text(), where);
  }
  co_return "";
}

}  // namespace careen::app
