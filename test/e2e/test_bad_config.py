"""Configuration files and annotations that nobody can read."""

import os
import re

from harness import CareenTest, profile_config
from node_watch import DATA, annotations, state_of


class BadConfigTest(CareenTest):
    """Each starts with the bad file: one message, unready, and ready as soon as it is mended."""

    def _starts_with(self, text, pattern, name="maintenance.yaml"):
        config = os.path.join(self.folder, name)
        if text is not None:
            self.write(name, text)
        careen = self.start(config)
        key = self.check_reported(careen, "^config$", pattern.replace("FILE", re.escape(config)), ready=False)
        self.write(name, profile_config())
        self.check_recovered(careen, key, 10)
        self.want_maintenance(self.node_names[:2])
        self.watch.wait_until(self.done(self.node_names[:2]), 30, "a round after the repair")

    def test_missing_file(self):
        self._starts_with(None, "FILE.*(No such file|not exist)")

    def test_empty_file(self):
        self._starts_with("", "FILE")

    def test_tabs(self):
        self._starts_with("intervals:\n\trequeue: 5s\n", r"FILE:2:\d+: .*tab")

    def test_unknown_plugin(self):
        self._starts_with(profile_config().replace("type: hasLabel", "type: hasLable"), r"FILE:6:\d+: .*hasLable")

    def test_wrong_type_of_value(self):
        self._starts_with(profile_config().replace("max: 3", "max: [3]"), r"FILE:12:\d+: .*max")

    def test_unreadable_file(self):
        """A folder where the file should be."""
        config = os.path.join(self.folder, "maintenance.yaml")
        os.mkdir(config)
        careen = self.start(config)
        key = self.check_reported(careen, "^config$", re.escape(config), ready=False)
        os.rmdir(config)
        self.write("maintenance.yaml", profile_config())
        self.check_recovered(careen, key, 10)


class BadAnnotationTest(CareenTest):

    def test_annotation_written_by_somebody_else(self):
        """That node is left alone and reported; all others carry on; once repaired, so does this one."""
        bad, others = self.node_names[0], self.node_names[1:6]
        garbage = "{not JSON"
        self.api.patch(f"/api/v1/nodes/{bad}", {"metadata": {"annotations": {DATA: garbage}}})
        careen = self.start().wait_ready()
        self.want_maintenance([bad, *others])
        self.watch.wait_until(self.done(others), 60, "the round of the healthy nodes")
        key = self.check_reported(careen, bad, f"{DATA} of node {bad}", ready=True)
        self.assertEqual(annotations(self.watch.nodes[bad])[DATA], garbage, "left as it is")
        self.assertIsNone(state_of(self.watch.nodes[bad]))
        # Each change of the node makes careen look again; it has nothing new to say.
        for count in range(5):
            self.api.patch(f"/api/v1/nodes/{bad}", {"metadata": {"annotations": {"e2e.careen.dev/touch": str(count)}}})
        self.want_maintenance(others)
        self.watch.wait_until(self.done(others), 60, "another round")
        self.assertEqual(len([line for line in careen.complaints() if line.get("problem") == key]), 1)

        self.api.patch(f"/api/v1/nodes/{bad}", {"metadata": {"annotations": {DATA: None}}})
        self.check_recovered(careen, key)
        self.watch.wait_until(self.done([bad]), 60, "the round of the mended node")

    def test_annotation_with_an_unknown_state(self):
        """Readable, but no state that careen knows: it stays, and is reported by metric and event."""
        bad, other = self.node_names[:2]
        data = '{"Profiles":{"e2e":{"Transition":"2026-01-01T00:00:00Z","Current":"asleep","Previous":"asleep"}},' \
               '"Notifications":{}}'
        self.api.patch(f"/api/v1/nodes/{bad}", {"metadata": {"annotations": {DATA: data}}})
        self.want_maintenance([bad, other])
        careen = self.start().wait_ready()
        self.watch.wait_until(self.done([other]), 60, "the round of the healthy node")
        careen.wait_log(lambda line: line["level"] == "error" and line.get("node") == bad, 20, "the unknown state")
        self.assertGreaterEqual(careen.metrics().sum("maintenance_controller_transition_failure_count"), 1)
        self.api.patch(f"/api/v1/nodes/{bad}", {"metadata": {"annotations": {DATA: None}}})
        self.watch.wait_until(self.done([bad]), 60, "the round of the mended node")
