"""The configuration file changes while careen runs."""

import os
import re

from careen import poll
from harness import CareenTest, profile_config
from node_watch import labels

SECOND = "e2e.careen.dev/second"


class ReloadTest(CareenTest):

    def setUp(self):
        super().setUp()
        self.first, self.others = self.node_names[:3], self.node_names[3:6]

    def _passes(self, names, wanted, profile="e2e"):
        """Nodes that want maintenance by this label get it."""
        self.want_maintenance(names, profile, wanted)
        self.watch.wait_until(self.done(names), 30, f"a round by {wanted}")

    def test_file_written_anew(self):
        """In place, as an editor or a shell does."""
        config = self.write("maintenance.yaml", profile_config())
        careen = self.start(config).wait_ready()
        self._passes(self.first, "e2e.careen.dev/wanted")
        self.write("maintenance.yaml", profile_config(wanted=SECOND, profile="other"))
        self._passes(self.others, SECOND, "other")
        self.assertEqual(careen.metrics().sum("careen_config_valid"), 1)

    def test_file_replaced(self):
        """Written aside and renamed over the old one."""
        config = self.write("maintenance.yaml", profile_config())
        self.start(config).wait_ready()
        self._passes(self.first, "e2e.careen.dev/wanted")
        os.rename(self.write("new.yaml", profile_config(wanted=SECOND)), config)
        self._passes(self.others, SECOND)

    def test_mounted_config_map(self):
        """As a kubelet updates a volume: a new folder, and one symbolic link that is swapped."""
        def publish(version, text):
            folder = os.path.join(self.folder, "config", version)
            os.makedirs(folder)
            with open(os.path.join(folder, "maintenance.yaml"), "w") as file:
                file.write(text)
            link = os.path.join(self.folder, "config", "..data_tmp")
            os.symlink(version, link)
            os.rename(link, os.path.join(self.folder, "config", "..data"))

        publish("..2026_01_01", profile_config())
        config = os.path.join(self.folder, "config", "maintenance.yaml")
        os.symlink("..data/maintenance.yaml", config)
        careen = self.start(config).wait_ready()
        self._passes(self.first, "e2e.careen.dev/wanted")
        publish("..2026_01_02", profile_config(wanted=SECOND))
        self._passes(self.others, SECOND)

        publish("..2026_01_03", "profiles: [")
        key = self.check_reported(careen, "^config$", r"maintenance\.yaml", ready=True)
        publish("..2026_01_04", profile_config())
        self.check_recovered(careen, key)
        self._passes(self.node_names[6:9], "e2e.careen.dev/wanted")

    def test_broken_file_keeps_the_old_configuration(self):
        """It is reported with file, line and column, once; the old one stays in force; a repaired one is taken."""
        config = self.write("maintenance.yaml", profile_config())
        careen = self.start(config).wait_ready()
        broken = profile_config().replace("check: room", "check: rooom")
        line = 1 + next(i for i, text in enumerate(broken.splitlines()) if "rooom" in text)
        os.rename(self.write("new.yaml", broken), config)
        key = self.check_reported(careen, "^config$", rf"{re.escape(config)}:{line}:\d+: .*rooom", ready=True)
        self.assertEqual(careen.metrics().sum("careen_config_valid"), 0)
        self._passes(self.first, "e2e.careen.dev/wanted")
        self.assertEqual(careen.readyz()[0], 200)

        os.rename(self.write("new.yaml", profile_config(wanted=SECOND)), config)
        self.check_recovered(careen, key)
        self.assertEqual(careen.metrics().sum("careen_config_valid"), 1)
        self._passes(self.others, SECOND)

    def test_removed_file_keeps_the_old_configuration(self):
        config = self.write("maintenance.yaml", profile_config())
        careen = self.start(config).wait_ready()
        os.unlink(config)
        key = self.check_reported(careen, "^config$", re.escape(config), ready=True)
        self._passes(self.first, "e2e.careen.dev/wanted")
        self.write("maintenance.yaml", profile_config())
        self.check_recovered(careen, key)

    def test_a_lower_limit_holds_at_once(self):
        """Lowered in the middle: no node is thrown out, and none is admitted beyond it."""
        config = self.write("maintenance.yaml", profile_config(limit=5, stay="2s"))
        careen = self.start(config).wait_ready()
        self.want_maintenance(self.node_names[:12])
        self.watch.wait_until(lambda watch: watch.maintained == 5, 30, "five nodes in maintenance")
        loaded = careen.metrics().sum("careen_config_loaded_timestamp_seconds")
        os.rename(self.write("new.yaml", profile_config(limit=1, stay="300ms")), config)
        poll(lambda: careen.metrics().sum("careen_config_loaded_timestamp_seconds") > loaded, 10, "the reload")
        self.watch.wait_until(lambda watch: watch.maintained <= 1, 30, "the first five to end")
        self.watch.reset()
        self.watch.wait_until(lambda watch: not any("e2e.careen.dev/wanted" in labels(node)
                                                    for node in watch.nodes.values()), 60, "the end of the round")
        self.assertLessEqual(self.watch.most, 1)
