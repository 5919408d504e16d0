#include "machines_people.h"

#include <algorithm>
#include <utility>

#include "controllers/machines/names.h"

namespace careen::explore {

using io::minutes;
using io::seconds;
using kube::Json;

namespace {

constexpr const char* kByHand = "by hand";

}  // namespace

MachinesPeople::MachinesPeople(const MachinesPlan& plan, sim::ApiServer& management, sim::MachineWorld& world,
                               MachinesProfiles& profiles, Later later, uint64_t seed)
    : plan_(plan), management_(management), world_(world), profiles_(profiles), later_(std::move(later)), draw_(seed) {}

std::string MachinesPeople::path_of(const SlotPlan& slot, const std::string& machine) const {
  return sim::MachineWorld::machine_path(plan_.cluster_of(slot).ns, machine);
}

void MachinesPeople::plan(io::Duration after, std::function<void()> act) {
  ++steps_;
  later_(after, [this, act = std::move(act)] {
    --steps_;
    act();
  });
}

void MachinesPeople::begin() {
  for (const SlotPlan& slot : plan_.slots) {
    if (!world_.has(slot.id)) continue;
    for (const MachineStep& step : slot.steps) plan(step.at, [this, &slot, &step] { take(slot, step); });
  }
}

void MachinesPeople::take(const SlotPlan& slot, const MachineStep& step) {
  using Kind = MachineStep::Kind;
  switch (step.kind) {
    case Kind::request:
      return request(slot, {.machine = {}, .works_for = step.span, .patience = step.patience, .repeats = step.repeats});
    case Kind::remove:
      return remove(slot);
    case Kind::disable:
      return disable(slot.id, step.span);
    case Kind::enable:
      return set_enabled(slot.id, std::string(machines::kTrue));
    case Kind::skip:
      return skip(slot, step.span);
    case Kind::fail:
      return fail(slot.id, step.span);
    case Kind::unmaintain:
      return leave_node(slot.id, step.span);
    case Kind::renew_node:
      return world_.renew_node(slot.id, step.span);
  }
}

// ---- A maintenance -----------------------------------------------------------------------------------------------

void MachinesPeople::set_asked(const SlotPlan& slot, const std::string& machine, const char* value) {
  Json patch = Json::object();
  patch.set({"metadata", "labels", machines::kMaintenance}, value ? Json(value) : Json());
  management_.merge(path_of(slot, machine), patch, "people");
}

void MachinesPeople::request(const SlotPlan& slot, Errand errand) {
  errand.machine = world_.machine_of(slot.id);
  if (errand.machine.empty() || errands_.contains(slot.id)) return;
  later_(errand.patience, [this, id = slot.id, machine = errand.machine] {
    const auto still = errands_.find(id);
    if (still != errands_.end() && still->second.machine == machine) withdraw(id);
  });
  set_asked(slot, errand.machine, "requested");
  errands_.emplace(slot.id, std::move(errand));
}

void MachinesPeople::withdraw(const std::string& id) {
  const auto errand = errands_.find(id);
  if (errand == errands_.end() || errand->second.begun) return;
  set_asked(plan_.slot(id), errand->second.machine, nullptr);
  errands_.erase(errand);
}

void MachinesPeople::changed(const sim::Change& change) {
  const auto errand = std::ranges::find_if(errands_, [&](const auto& one) {
    return one.second.machine == change.name && plan_.cluster_of(plan_.slot(one.first)).ns == change.ns;
  });
  if (errand == errands_.end()) return;
  const std::string id = errand->first, machine = change.name;
  if (change.type == sim::Change::Type::deleted) {
    if (errand->second.down) later_({}, [this, id] { set_down(id, -1); });
    errands_.erase(errand);
    return;
  }
  if (errand->second.begun || !MachineFacts::read(*change.object).approved()) return;
  errand->second.begun = true;
  later_(draw_.between(io::Duration{0}, seconds{5}), [this, id, machine] { begin_work(id, machine); });
}

void MachinesPeople::begin_work(const std::string& id, const std::string& machine) {
  const auto errand = errands_.find(id);
  if (errand == errands_.end() || errand->second.machine != machine) return;
  // Where nobody powers the host, whoever works on it does so himself.
  if (!plan_.relay.metal3 && draw_.one_in(2)) {
    errand->second.down = true;
    set_down(id, +1);
  }
  later_(errand->second.works_for, [this, id, machine] { end_work(id, machine); });
}

void MachinesPeople::end_work(const std::string& id, const std::string& machine) {
  const auto errand = errands_.find(id);
  if (errand == errands_.end() || errand->second.machine != machine) return;
  Errand next = errand->second;
  if (next.down) set_down(id, -1);
  errands_.erase(errand);
  set_asked(plan_.slot(id), machine, nullptr);
  if (next.repeats == 0) return;
  next.begun = next.down = false;
  --next.repeats;
  plan(draw_.between(seconds{1}, minutes{1}), [this, id, next] { request(plan_.slot(id), next); });
}

// ---- Everything else ---------------------------------------------------------------------------------------------

void MachinesPeople::remove(const SlotPlan& slot) {
  const std::string machine = world_.machine_of(slot.id);
  if (!machine.empty()) ask("DELETE", path_of(slot, machine), Json::object());
}

void MachinesPeople::erase(const std::string& id, bool scaled_down) {
  if (scaled_down) world_.close(id);
  management_.erase(path_of(plan_.slot(id), world_.newest_of(id)), "people");
}

void MachinesPeople::set_enabled(const std::string& id, const std::string& value) {
  if (!given_up_.contains(plan_.slot(id).cluster)) world_.set_label(id, std::string(machines::kEnabled), value);
}

void MachinesPeople::disable(const std::string& id, io::Duration span) {
  set_enabled(id, draw_.one_in(2) ? "false" : "");
  if (span != io::Duration::max()) plan(span, [this, id] { set_enabled(id, std::string(machines::kTrue)); });
}

void MachinesPeople::annotate(const std::string& path, const char* value) {
  Json patch = Json::object();
  patch.set({"metadata", "annotations", machines::kSkipRemediation}, value ? Json(value) : Json());
  management_.merge(path, patch, "people");
}

void MachinesPeople::skip(const SlotPlan& slot, io::Duration span) {
  const std::string machine = world_.machine_of(slot.id);
  if (machine.empty()) return;
  const std::string path = path_of(slot, machine);
  annotate(path, kByHand);
  plan(span, [this, path] {
    const sim::Text now = management_.text(path);
    if (now && MachineFacts::read(*now).skip == kByHand) annotate(path, nullptr);
  });
}

void MachinesPeople::leave_node(const std::string& id, io::Duration span) {
  profiles_.leave_alone(id, +1);
  plan(span, [this, id] { profiles_.leave_alone(id, -1); });
}

void MachinesPeople::fail(const std::string& id, io::Duration span) {
  set_down(id, +1);
  plan(span, [this, id] { set_down(id, -1); });
}

void MachinesPeople::set_down(const std::string& id, int more) {
  int& wanted = down_[id];
  wanted += more;
  world_.set_down(id, wanted > 0);
}

// Either they take its Machines out of careen's care and delete them then; or the whole cluster is deleted, and
// Cluster API waits for no hook.
void MachinesPeople::give_up(int number, std::function<void()> done) {
  const bool gently = plan_.clusters[static_cast<size_t>(number)].given_up_by_disabling;
  for (const SlotPlan& slot : plan_.slots) {
    if (slot.cluster != number || !world_.has(slot.id)) continue;
    world_.close(slot.id);
    if (gently) set_enabled(slot.id, "");
    plan(gently ? minutes{3} : seconds{1}, [this, &slot, gently] {
      remove(slot);
      if (gently) return;
      Json patch = Json::object();
      patch.set({"metadata", "finalizers"}, Json());
      ask("PATCH", path_of(slot, world_.newest_of(slot.id)), patch);
    });
  }
  given_up_.insert(number);
  plan(gently ? minutes{5} : seconds{2}, std::move(done));
}

void MachinesPeople::ask(const char* method, const std::string& path, const Json& body) {
  kube::Request request;
  request.method = method;
  request.path = path;
  request.body = body.dump();
  if (request.method == "PATCH") request.content_type = "application/merge-patch+json";
  management_.handle(request, {"people"});
}

}  // namespace careen::explore
