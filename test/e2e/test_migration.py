"""Nodes that the program before careen left in the middle of their maintenance."""

import json

import data_annotation
from harness import CareenTest
from node_watch import DATA, PROFILE, STATE, annotations, labels

RELEASE = "e2e.careen.dev/release"
ENTERED = "e2e.careen.dev/entered"
BEGUN = "2026-03-01T10:00:00.123456789Z"
TOLD = "2026-03-01T10:00:05Z"

CONFIG = f"""\
intervals:
  requeue: 5s
instances:
  check:
  - {{name: needed, type: hasLabel, config: {{key: e2e.careen.dev/wanted}}}}
  - {{name: room, type: maxMaintenance, config: {{max: 3}}}}
  - {{name: released, type: hasLabel, config: {{key: {RELEASE}}}}}
  - {{name: long_ago, type: wait, config: {{duration: 1h}}}}
  trigger:
  - {{name: mark, type: alterLabel, config: {{key: {ENTERED}, value: "yes"}}}}
  - {{name: release, type: alterLabel, config: {{key: {RELEASE}, remove: true}}}}
  - {{name: done, type: alterLabel, config: {{key: e2e.careen.dev/wanted, remove: true}}}}
profiles:
- name: e2e
  operational:
    transitions: [{{check: needed, next: maintenance-required}}]
  maintenance-required:
    transitions: [{{check: room, next: in-maintenance}}]
  in-maintenance:
    enter: mark
    transitions: [{{check: released && long_ago, next: operational, trigger: release && done}}]
"""


def _first_layout(current, previous):
    """As releases 1.0 and 1.1 wrote it."""
    return json.dumps({"LastTransition": BEGUN, "LastNotificationTimes": {"approval": TOLD},
                       "ProfileStates": {"e2e": current}, "PreviousStates": {"e2e": previous}})


def _second_layout(current, previous):
    return json.dumps({"Profiles": {"e2e": {"Transition": BEGUN, "Current": current, "Previous": previous}},
                       "Notifications": {"approval": TOLD}}, separators=(",", ":"))


class MigrationTest(CareenTest):

    def test_taken_over_in_mid_maintenance(self):
        """They count against the limit, do what was left to do, and leave when they may; a downgrade stays possible."""
        maintained = {
            self.node_names[0]: _first_layout("in-maintenance", "in-maintenance"),
            self.node_names[1]: _first_layout("in-maintenance", "maintenance-required"),
            self.node_names[2]: _second_layout("in-maintenance", "maintenance-required")}
        waiting = {self.node_names[3]: _first_layout("maintenance-required", "maintenance-required"),
                   self.node_names[4]: _second_layout("maintenance-required", "operational")}
        resting = {self.node_names[5]: _second_layout("operational", "operational"),
                   self.node_names[6]: _first_layout("operational", "in-maintenance")}
        for nodes, state in ((maintained, "in-maintenance"), (waiting, "maintenance-required"),
                             (resting, "operational")):
            for name, data in nodes.items():
                wanted = {} if nodes is resting else {"e2e.careen.dev/wanted": ""}
                self.api.patch(f"/api/v1/nodes/{name}", {"metadata": {
                    "labels": {PROFILE: "e2e", STATE: state, **wanted}, "annotations": {DATA: data}}})
            self.wait_state(nodes, state)
        self.watch.reset()

        careen = self.start_elected(self.write("maintenance.yaml", CONFIG)).wait_ready()
        self.wait_leading(careen)
        everybody = {**maintained, **waiting, **resting}
        self.watch.wait_until(lambda watch: all(_taken_over(watch.nodes[name]) for name in everybody), 30,
                              "the annotations in the layout of version 2")
        for name in everybody:
            data = data_annotation.parse(annotations(self.watch.nodes[name])[DATA])
            self.assertEqual(data["Profiles"]["e2e"]["Transition"], BEGUN, name)
            self.assertEqual(data["Notifications"], {"approval": TOLD}, name)
        entered = {name for name in everybody if ENTERED in labels(self.watch.nodes[name])}
        self.assertEqual(entered, {self.node_names[1], self.node_names[2]}, "who had not finished entering")
        moved = [name for name, *_ in self.watch.changes if name in everybody]
        self.assertEqual(moved, [], "nobody moves while three are in maintenance")

        self.label(maintained, {RELEASE: ""})
        self.wait_state(maintained, "operational")
        self.wait_state(waiting, "in-maintenance")
        self.assertEqual(self.watch.most, 3)
        self.assertEqual(careen.complaints(), [])
        self.assertEqual(careen.stop(), 0)
        for name in self.node_names:
            data_annotation.parse(annotations(self.watch.nodes[name])[DATA])


def _taken_over(node):
    """The annotation is as version 2 has it, and nothing is left to enter."""
    try:
        data = data_annotation.parse(annotations(node)[DATA])
    except data_annotation.NotReadable:
        return False
    return data["Profiles"]["e2e"]["Current"] == data["Profiles"]["e2e"]["Previous"]
