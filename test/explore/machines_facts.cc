#include "machines_facts.h"

#include "controllers/machines/names.h"
#include "kube/json.h"
#include "node_facts.h"

namespace careen::explore {

using kube::Json;
using kube::JsonView;

MachineFacts MachineFacts::read(std::string_view text) {
  const auto object = Json::parse(text);
  const JsonView meta = (*object)["metadata"], spec = (*object)["spec"], labels = meta["labels"];
  MachineFacts machine;
  machine.ns = text_at(meta, "namespace");
  machine.name = text_at(meta, "name");
  machine.cluster = text_at(spec, "clusterName");
  machine.provider_id = text_at(spec, "providerID");
  machine.infrastructure = text_at(spec["infrastructureRef"], "name");
  machine.node = text_at((*object)["status"]["nodeRef"], "name");
  machine.asked = text_at(labels, machines::kMaintenance);
  machine.enabled = text_at(labels, machines::kEnabled) == machines::kTrue;
  machine.deleting = meta["deletionTimestamp"].exists();
  machine.hooked = meta["annotations"][machines::kPreDrainHook].exists();
  if (const auto skip = meta["annotations"][machines::kSkipRemediation].text()) machine.skip = std::string(*skip);
  return machine;
}

bool MachineFacts::skips_for_careen() const { return skip && *skip == machines::kOwnValue; }

MachineNodeFacts MachineNodeFacts::read(std::string_view text) {
  const auto object = Json::parse(text);
  const JsonView meta = (*object)["metadata"], labels = meta["labels"];
  MachineNodeFacts node;
  node.machine = text_at(meta["annotations"], machines::kMachineOfNode);
  node.ns = text_at(meta["annotations"], machines::kNamespaceOfNode);
  node.maintained = labels[machines::kMaintenanceState].exists();
  node.approval_of_deletion = labels[machines::kApproveDeletion].exists();
  node.approval_of_maintenance = labels[machines::kApproveMaintenance].exists();
  node.approves_deletion = text_at(labels, machines::kApproveDeletion) == machines::kTrue;
  node.approves_maintenance = text_at(labels, machines::kApproveMaintenance) == machines::kTrue;
  node.machine_deleted = labels[machines::kMachineDeleted].exists();
  node.machine_maintenance = labels[machines::kMachineMaintenance].exists();
  (*object)["status"]["conditions"].for_each_element([&](JsonView condition) {
    if (condition["type"].text() == "Ready") node.ready = condition["status"].text() == "True";
  });
  return node;
}

HostFacts HostFacts::read(std::string_view text) {
  const auto object = Json::parse(text);
  const JsonView meta = (*object)["metadata"], spec = (*object)["spec"], status = (*object)["status"];
  HostFacts host;
  host.ns = text_at(meta, "namespace");
  host.name = text_at(meta, "name");
  host.uid = text_at(meta, "uid");
  host.consumer = text_at(spec["consumerRef"], "name");
  host.consumer_ns = text_at(spec["consumerRef"], "namespace");
  host.held_off = meta["annotations"][machines::kPowerOff].exists();
  host.keeps_power = spec["disablePowerOff"].boolean().value_or(false);
  host.through = status["poweredOn"].boolean().value_or(false) && status["operationalStatus"].text() == "OK";
  return host;
}

bool HostFacts::belongs_to(const MachineFacts& machine) const {
  const std::string_view id = machine.provider_id;
  const bool named = id == "metal3://" + uid || id.starts_with("metal3://" + ns + "/" + name + "/");
  return named && consumer_ns == machine.ns && consumer == machine.infrastructure;
}

}  // namespace careen::explore
