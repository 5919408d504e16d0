// The emergency stop, as `careen pause` and `careen resume` write it.
#include <fmt/format.h>

#include "actions.h"
#include "budget/pause.h"

namespace careen::scenarios {

using budget::PauseRecord;
using kube::Json;

namespace {

constexpr const char* kLease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/careen-pause";

// Damaged, it counts as empty: whoever pauses replaces it.
PauseRecord stored(Stage& stage) {
  const Json lease = stage.cluster.api.object(kLease);
  const auto text = lease["metadata"]["annotations"][PauseRecord::kAnnotation].text();
  return PauseRecord::parse(text.value_or("{}")).value_or(PauseRecord{});
}

void store(Stage& stage, const PauseRecord& record) {
  Json lease = stage.cluster.api.object(kLease);
  if (!lease.view().is_object()) lease = Json::object({{"kind", "Lease"}, {"apiVersion", "coordination.k8s.io/v1"}});
  lease.set({"metadata", "annotations", PauseRecord::kAnnotation}, record.text());
  stage.cluster.api.put(kLease, std::move(lease));
}

}  // namespace

// `all`, the name of a profile, or {profile: NAME, by: ana@host, reason: text}.
Perform read_pause(const Value& value, Reading& reading) {
  budget::Pause wanted{"", "ana@host", {}, ""};
  if (value.is_scalar()) {
    wanted.profile = read_text(value, "pause", reading.faults).value_or("");
  } else {
    Fields fields(value, "pause", reading.faults);
    wanted.profile = fields.text("profile").value_or("all");
    wanted.by = fields.text("by").value_or(wanted.by);
    wanted.reason = fields.text("reason").value_or("");
    fields.finish();
  }
  if (wanted.profile == "all") wanted.profile.clear();
  return [wanted](Stage& stage) -> std::string {
    PauseRecord record = stored(stage);
    budget::Pause pause = wanted;
    pause.since = std::chrono::floor<io::seconds>(stage.loop->wall_now());
    record.pauses.insert_or_assign(pause.profile, std::move(pause));
    store(stage, record);
    return {};
  };
}

// `all`, which lifts every pause, or the name of a profile.
Perform read_lift_pause(const Value& value, Reading& reading) {
  const std::string profile = read_text(value, "lift-pause", reading.faults).value_or("");
  return [profile](Stage& stage) -> std::string {
    PauseRecord record = stored(stage);
    if (profile != "all" && record.pauses.erase(profile) == 0) return fmt::format("{} is not paused", profile);
    if (profile == "all") record.pauses.clear();
    store(stage, record);
    return {};
  };
}

}  // namespace careen::scenarios
