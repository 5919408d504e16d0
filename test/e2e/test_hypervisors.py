"""Hypervisor objects beside the nodes: asked, changed, and missing altogether."""

from careen import poll
from harness import CareenTest, WANTED
from node_watch import PROFILE, labels

GROUP = "/apis/kvm.cloud.sap/v1/hypervisors"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

CONFIG = f"""\
intervals:
  requeue: 1s
instances:
  check:
  - {{name: wanted, type: hasLabel, config: {{key: {WANTED}}}}}
  - {{name: empty, type: checkHypervisor, config: {{evicted: true, hypervisorVersion: "9.2"}}}}
  - {{name: ready, type: hypervisorCondition, config: {{type: Ready, status: "True"}}}}
  trigger:
  - {{name: evacuate, type: alterHypervisor, config: {{maintenance: auto, maintenanceReason: update, reboot: true}}}}
  - {{name: resume, type: alterHypervisor, config: {{maintenance: "", reboot: false}}}}
  - {{name: done, type: alterLabel, config: {{key: {WANTED}, remove: true}}}}
profiles:
- name: kvm
  operational:
    transitions: [{{check: wanted, next: maintenance-required, trigger: evacuate}}]
  maintenance-required:
    transitions: [{{check: empty, next: in-maintenance}}]
  in-maintenance:
    transitions: [{{check: ready, next: operational, trigger: resume && done}}]
- name: e2e
  operational:
    transitions: [{{check: wanted, next: maintenance-required}}]
  maintenance-required:
    transitions: [{{check: wanted, next: in-maintenance}}]
  in-maintenance:
    transitions: [{{check: wanted, next: operational, trigger: done}}]
"""

DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "hypervisors.kvm.cloud.sap"},
    "spec": {"group": "kvm.cloud.sap", "scope": "Cluster",
             "names": {"kind": "Hypervisor", "plural": "hypervisors", "singular": "hypervisor"},
             "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {
                 "openAPIV3Schema": {"type": "object", "properties": {
                     "spec": {"type": "object", "properties": {
                         "maintenance": {"type": "string", "enum": ["", "manual", "auto", "ha", "termination"]},
                         "maintenanceReason": {"type": "string"}, "reboot": {"type": "boolean"},
                         "lifecycleEnabled": {"type": "boolean"}}},
                     "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}}]}}


class HypervisorsTest(CareenTest):

    def test_without_and_with_definition(self):
        host, bare, plain = self.node_names[:3]
        self.label([host, bare], {PROFILE: "kvm", WANTED: ""})
        self.label([plain], {PROFILE: "e2e", WANTED: ""})
        careen = self.start_elected(self.write("maintenance.yaml", CONFIG)).wait_ready()
        problem = self.check_reported(careen, "hypervisors", "hypervisors", ready=True)
        self.watch.wait_until(self.done([plain]), 30, "a round of a profile that needs no hypervisor")
        self.wait_state([host, bare], "operational")

        self.addCleanup(self.api.delete, f"{DEFINITIONS}/hypervisors.kvm.cloud.sap")
        self.api.create(DEFINITIONS, DEFINITION)
        poll(lambda: self.api.get(GROUP) is not None, 20, "the definition to be served")
        self.api.create(GROUP, {"apiVersion": "kvm.cloud.sap/v1", "kind": "Hypervisor", "metadata": {"name": host},
                                "spec": {"lifecycleEnabled": True}})
        self.check_recovered(careen, problem)
        self.wait_state([host], "maintenance-required")
        self.assertEqual(self.api.get(f"{GROUP}/{host}")["spec"], {
            "lifecycleEnabled": True, "maintenance": "auto", "maintenanceReason": "update", "reboot": True})
        self._set_status(host, {"evicted": True, "hypervisorVersion": "9.1"})
        poll(lambda: "9.1" in str(self._check_of(careen, host, "empty")), 20, "the reason of the host to wait")
        self.assertEqual(self.watch.history[host][-1], "maintenance-required")
        self._set_status(host, {"hypervisorVersion": "9.2"})
        self.wait_state([host], "in-maintenance")
        # The witness may hear of the move before careen has the answer to its own write.
        poll(lambda: self._check_of(careen, host, "ready").get("info") == {"reason": "condition Ready not present"}, 20,
             "the reason of the host to stay in maintenance")
        self._set_status(host, {"conditions": [{"type": "Ready", "status": "True"}]})
        self.wait_state([host], "operational")
        self.assertNotIn(WANTED, labels(self.watch.nodes[host]))
        spec = self.api.get(f"{GROUP}/{host}")["spec"]
        self.assertEqual((spec["maintenance"], spec["reboot"]), ("", False))
        self._check_bare(careen, bare)
        self.assertEqual(careen.stop(), 0)

    def _check_bare(self, careen, bare):
        """A node without hypervisor is a failure of its own."""
        self.assertEqual(self.watch.history[bare], ["operational"])
        event = poll(lambda: next((event for event in self.events("ChangeMaintenanceStateFailed")
                                   if event["regarding"]["name"] == bare), None), 20,
                     "the event of the node without hypervisor")
        self.assertEqual(event["note"], "At least one trigger plugin failed for profile kvm: "
                                        "Will stay in operational state")
        self.assertGreater(careen.metrics().sum("maintenance_controller_transition_failure_count", profile="kvm"), 0)
        self.assertTrue(careen.complaints(f"there is no hypervisor {bare}"))

    def _set_status(self, name, status):
        self.api.patch(f"{GROUP}/{name}/status", {"status": status})

    @staticmethod
    def _check_of(careen, name, instance):
        transition, = careen.info()[name]["profiles"][0]["applied"]["transitions"]
        return transition["chain"]["info"].get(instance, {})
