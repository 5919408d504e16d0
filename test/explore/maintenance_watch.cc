#include "maintenance_watch.h"

#include <fmt/format.h>

#include <set>
#include <tuple>

#include "kube/json.h"

namespace careen::explore {

using kube::Json;
using kube::JsonView;

namespace {

constexpr std::string_view kFinalizer = "foregroundDeleteNodeMaintenance";
constexpr std::string_view kMark = "careen.dev/begun";
constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/leases";
constexpr std::string_view kLeasePrefix = "/apis/coordination.k8s.io/v1/namespaces/medik8s-leases/leases/node-";

bool has_finalizer(JsonView object) {
  bool found = false;
  object["metadata"]["finalizers"].for_each_element([&](JsonView one) { found |= one.text() == kFinalizer; });
  return found;
}

// All that is not careen's.
Json stripped(Json object) {
  Json finalizers = Json::array();
  object["metadata"]["finalizers"].for_each_element([&](JsonView one) {
    if (one.text() != kFinalizer) finalizers.push_back(Json(one));
  });
  object.set({"metadata", "finalizers"}, std::move(finalizers));
  for (const char* field : {"resourceVersion", "managedFields", "generation"}) object.remove({"metadata", field});
  object.remove({"metadata", "annotations", kMark});
  if (object["metadata"]["annotations"].size() == 0) object.remove({"metadata", "annotations"});
  object.remove({"status"});
  return object;
}

struct Seen {
  std::string name, uid, created, phase;
  bool leaves = false, begun = false, kept = false;
  auto order() const { return std::tie(created, uid); }
};

// By node.
std::map<std::string, std::vector<Seen>> read_all(const sim::ApiServer& api) {
  std::map<std::string, std::vector<Seen>> all;
  api.for_each(kMaintenances, [&](const std::string&, const sim::Text& text) {
    const Json object = *Json::parse(*text);
    const JsonView metadata = object["metadata"];
    Seen one{text_at(metadata, "name"), text_at(metadata, "uid"), text_at(metadata, "creationTimestamp"),
             text_at(object["status"], "phase")};
    one.leaves = metadata["deletionTimestamp"].exists();
    one.begun = has_finalizer(object.view());
    one.kept = metadata["finalizers"].size() > (one.begun ? 1 : 0);
    all[text_at(object["spec"], "nodeName")].push_back(std::move(one));
  });
  return all;
}

const Seen* oldest(const std::vector<Seen>& of_node) {
  const Seen* first = nullptr;
  for (const Seen& one : of_node) {
    if (!one.leaves && (!first || one.order() < first->order())) first = &one;
  }
  return first;
}

}  // namespace

void MaintenanceWatch::changed(const sim::Change& change, bool by_careen) {
  if (!by_careen) return;
  if (change.type == sim::Change::Type::added) {
    return report_("foreign", fmt::format("{} made NodeMaintenance {}", change.by, change.name));
  }
  if (change.type == sim::Change::Type::modified) check_untouched(change);
  check_discharged(change);
}

void MaintenanceWatch::check_untouched(const sim::Change& change) const {
  const Json was = stripped(*Json::parse(*change.before)), is = stripped(*Json::parse(*change.object));
  if (was == is) return;
  report_("foreign", fmt::format("{} changed what is not its own on NodeMaintenance {}:\n    before {}\n    after  {}",
                                 change.by, change.name, was.dump(), is.dump()));
}

// The object lasts until its node is released.
void MaintenanceWatch::check_discharged(const sim::Change& change) const {
  const Json was = *Json::parse(*change.before), is = *Json::parse(*change.object);
  const bool goes = change.type == sim::Change::Type::deleted;
  if (!has_finalizer(was.view()) || (!goes && has_finalizer(is.view()))) return;
  const auto blame = [&](std::string_view why) {
    report_("finalizer", fmt::format("{} let NodeMaintenance {} go {}", change.by, change.name, why));
  };
  if (!was["metadata"]["deletionTimestamp"].exists()) blame("although nobody deletes it");
  const std::string node = text_at(was["spec"], "nodeName");
  if (!holds_.is_forged(node) &&
      holds_.holds(node, "nodemaintenance/" + change.name, text_at(was["metadata"], "uid"))) {
    blame(fmt::format("while node {} is still held for it", node));
  }
}

std::optional<MaintenanceWatch::Success> MaintenanceWatch::success_in(const sim::Sending& sending) const {
  std::string_view path = sending.request.path;
  path = path.substr(0, path.find('?'));
  constexpr std::string_view kStatus = "/status";
  if (!path.starts_with(kMaintenances) || !path.ends_with(kStatus)) return std::nullopt;
  path.remove_suffix(kStatus.size());
  const auto patch = Json::parse(sending.request.body);
  if (!patch || (*patch)["status"]["phase"].text() != "Succeeded") return std::nullopt;
  const Json object = api_.object(path);
  if (object["status"]["phase"].text() == "Succeeded") return std::nullopt;
  if (text_at((*patch)["metadata"], "resourceVersion") != text_at(object["metadata"], "resourceVersion")) {
    return std::nullopt;
  }
  return Success{text_at(object["spec"], "nodeName"), "nodemaintenance/" + text_at(object["metadata"], "name")};
}

void MaintenanceWatch::check_end() const {
  const auto blame = [&](const Seen& one, std::string_view why) {
    report_("rest", fmt::format("NodeMaintenance {} {} in the end; its phase is \"{}\"", one.name, why, one.phase));
  };
  std::set<std::string> holders;
  for (const auto& [node, all] : read_all(api_)) {
    const Seen* const first = oldest(all);
    for (const Seen& one : all) {
      if (one.leaves) {
        if (one.begun) blame(one, "is deleted and not gone");
        continue;
      }
      if (one.phase != (&one == first ? "Succeeded" : "Running")) blame(one, "has not come to its end");
      const std::string owner = "nodemaintenance/" + one.name;
      const bool holds = holds_.holds(node, owner, one.uid);
      if (holds != (&one == first)) blame(one, holds ? "holds a node that is not its" : "does not hold its node");
      if (holds) holders.insert(node + " " + owner);
    }
  }
  holds_.for_each([&](const std::string& node, const std::string& owner) {
    if (holders.contains(node + " " + owner)) return;
    report_("rest", fmt::format("node {} is still held by {} in the end", node, owner));
  });
  check_leases();
}

void MaintenanceWatch::lease_changed(const sim::Change& change) {
  late_leases_.erase(change.name);
  if (change.type != sim::Change::Type::added) return;
  const auto all = read_all(api_);
  if (!all.contains(change.name.substr(std::string_view("node-").size()))) late_leases_.insert(change.name);
}

void MaintenanceWatch::check_leases() const {
  const auto all = read_all(api_);
  api_.for_each(kLeases, [&](const std::string& path, const sim::Text&) {
    if (!path.starts_with(kLeasePrefix)) return;
    const auto found = all.find(path.substr(kLeasePrefix.size()));
    if (rights_refused_ || late_leases_.contains("node-" + path.substr(kLeasePrefix.size()))) return;
    if (found == all.end() || !oldest(found->second)) report_("rest", fmt::format("{} is left in the end", path));
  });
}

std::map<std::string, std::string> MaintenanceWatch::ends(const sim::ApiServer& api) {
  std::map<std::string, std::string> out;
  for (const auto& [node, all] : read_all(api)) {
    for (const Seen& one : all) out[maintenance_path(one.name)] = one.leaves ? "deleted" : one.phase;
  }
  return out;
}

}  // namespace careen::explore
