#include "kube/lock_object.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace careen::kube {

namespace {

// What client-go's resourcelock.LeaderElectionRecordAnnotationKey names.
constexpr std::string_view kRecordAnnotation = "control-plane.alpha.kubernetes.io/leader";

// The fields are those of a Lease's spec, but for the name of the transitions.
LockRecord record_of(JsonView fields, std::string_view transitions) {
  LockRecord record;
  record.holder = fields["holderIdentity"].text().value_or("");
  record.renew_time = fields["renewTime"].text().value_or("");
  record.duration =
      io::seconds{std::clamp<int64_t>(fields["leaseDurationSeconds"].integer().value_or(0), 0, INT32_MAX)};
  record.transitions = fields[transitions].integer().value_or(0);
  record.whole = fields.exists() ? fields.dump() : "";
  return record;
}

int64_t seconds_of(io::Duration duration) { return std::chrono::ceil<io::seconds>(duration).count(); }

class LeaseLock final : public LockObject {
 public:
  const Resource& resource() const override { return resources::leases; }
  std::string_view noun() const override { return "lease"; }
  io::Result<LockRecord> read(const Json& object) const override {
    return record_of(object["spec"], "leaseTransitions");
  }
  void write(Json& object, const LockTerm& term) const override {
    if (term.transitions) object.set({"spec", "leaseTransitions"}, *term.transitions);
    if (term.acquired) object.set({"spec", "acquireTime"}, *term.acquired);
    object.set({"spec", "holderIdentity"}, term.holder);
    object.set({"spec", "leaseDurationSeconds"}, seconds_of(term.duration));
    object.set({"spec", "renewTime"}, term.renewed);
  }
};

// client-go writes whole seconds here and reads any fraction; ours has microseconds, since it also tells our writes
// apart.
class ConfigMapLock final : public LockObject {
 public:
  const Resource& resource() const override { return resources::config_maps; }
  std::string_view noun() const override { return "ConfigMap"; }
  io::Result<LockRecord> read(const Json& object) const override {
    return fields_of(object).map([](const Json& fields) {
      return fields.view().is_null() ? LockRecord{} : record_of(fields.view(), "leaderTransitions");
    });
  }
  void write(Json& object, const LockTerm& term) const override {
    Json fields = fields_of(object).value_or(Json());
    fields.set({"holderIdentity"}, term.holder);
    fields.set({"leaseDurationSeconds"}, seconds_of(term.duration));
    if (term.acquired) fields.set({"acquireTime"}, *term.acquired);
    fields.set({"renewTime"}, term.renewed);
    if (term.transitions) fields.set({"leaderTransitions"}, *term.transitions);
    object.set({"metadata", "annotations", kRecordAnnotation}, fields.dump());
    object.set({"metadata", "annotations", kCareenHolder}, term.holder);
  }

 private:
  // Null when there is no record.
  static io::Result<Json> fields_of(const Json& object) {
    const auto text = object["metadata"]["annotations"][kRecordAnnotation].text();
    if (!text) return Json();
    io::Result<Json> fields = Json::parse(*text);
    if (!fields || !fields->view().is_object()) {
      return io::fail(io::ErrorKind::invalid,
                      "annotation " + std::string(kRecordAnnotation) + " is no record of a leader election");
    }
    return fields;
  }
};

}  // namespace

bool is_lock_of_careen(const Json& config_map, const LockRecord& record) {
  return !record.holder.empty() && config_map["metadata"]["annotations"][kCareenHolder].text() == record.holder;
}

const LockObject& lock_object(LockKind kind) {
  static const LeaseLock lease;
  static const ConfigMapLock config_map;
  switch (kind) {
    case LockKind::lease:
      return lease;
    case LockKind::config_map:
      return config_map;
  }
  std::abort();
}

}  // namespace careen::kube
