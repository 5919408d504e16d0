"""The power of Metal3's hosts follows the maintenance of their Machines."""

from capi_cluster import conditions, node_of
from careen import poll
from machines import (
    APPROVE_DELETION, APPROVE_MAINTENANCE, ENABLED, MAINTAINED, MAINTENANCE, OWN, REQUESTED, MachinesTest)
from node_watch import annotations

POWER = "reboot.metal3.io/runtime-extension-maintenance-controller"
REBOOTS, SERVICING = "testcluster/reboots", "testcluster/servicing"
PAUSED = "baremetalhost.metal3.io/paused"
REBOOT_HOST = "careen.dev/reboot-host"


class HostsTest(MachinesTest):

    beside_others = True

    def setUp(self):
        super().setUp()
        self.of = self.common()
        self._paths = {}

    def _machines(self, **hosts):
        """A Machine for each name, on a host that is made with these arguments."""
        for name, arguments in hosts.items():
            self._paths[name] = self.of.host(f"{name}-host", name, **arguments)
            self.of.machine(name, ENABLED, host=f"{name}-host", nodeLabels=MAINTAINED)
            self.addCleanup(self._forget, name)
        for name in hosts:
            self.of.wait_machine(name, node_of, 60, "its Node")

    def _forget(self, name):
        path = f"{self.of.path}/machines/{name}"
        self.api.patch_if_there(path, {"metadata": {"labels": dict.fromkeys([*ENABLED, MAINTENANCE])}})
        self.api.delete(path)

    def _host(self, name):
        return self.api.get(self._paths[name])

    def _annotate_host(self, name, values):
        self.api.patch(self._paths[name], {"metadata": {"annotations": values}})

    def _wait_power(self, name, on, seconds=30):
        poll(lambda: self._host(name)["status"]["poweredOn"] == on, seconds, f"{name}'s host to be {'on' if on else 'off'}", 0.1)

    def _wait_ready(self, name, ready, seconds=30):
        self.of.wait_node(self.node_of(self.of, name), lambda one: (conditions(one)["Ready"]["status"] == "True") == ready,
                          seconds, f"ready: {ready}")

    def _approve(self, name):
        self.of.label(name, **{MAINTENANCE: "requested"})
        self.wait_label(self.of, self.node_of(self.of, name), REQUESTED)
        self.of.patch_node(self.node_of(self.of, name), {APPROVE_MAINTENANCE: "true"})
        self.wait_asked(self.of, name, "approved")
        self.of.patch_node(self.node_of(self.of, name), {APPROVE_MAINTENANCE: None})

    def _end(self, name):
        self.of.label(name, **{MAINTENANCE: None})

    def test_power(self):
        """Off while the maintenance is approved, not before and not for others; on again when it is over, or when the
        Machine goes."""
        self._machines(plain={}, neighbour={}, leaves={}, stranger={})
        self.of.label("plain", **{MAINTENANCE: "requested"})
        self.wait_label(self.of, self.node_of(self.of, "plain"), REQUESTED)
        self.assertNotIn(POWER, annotations(self._host("plain")))
        self._approve("plain")
        self._approve("leaves")
        # Who is not in careen's care, and says so himself: the original powers it off, too.
        self.of.label("stranger", **{**dict.fromkeys(ENABLED), MAINTENANCE: "approved"})
        for name in ("plain", "leaves", "stranger"):
            self._wait_power(name, False)
            self._wait_ready(name, False)
        self.assertEqual(annotations(self._host("plain"))[POWER], "")
        self.wait_skipping(self.of, "plain", OWN)

        self.of.delete_machine("leaves")
        self.of.patch_node(self.node_of(self.of, "leaves"), {APPROVE_DELETION: "true"})
        self._wait_power("leaves", True)
        self.of.wait_gone("leaves")
        for name in ("plain", "stranger"):
            self._end(name)
            self._wait_power(name, True)
            self._wait_ready(name, True)
            self.assertNotIn(POWER, annotations(self._host(name)))
        self.wait_skipping(self.of, "plain", None)
        self.assertNotIn(POWER, annotations(self._host("leaves")))
        self.assertNotIn(POWER, annotations(self._host("neighbour")))
        self.assertTrue(self._host("neighbour")["status"]["poweredOn"])

    def test_hosts_that_do_something_else(self):
        """Each is told once, as an event on the Machine; none is rebooted again and again."""
        self._machines(stays={"spec": {"disablePowerOff": True}}, paused={"annotations": {PAUSED: ""}},
                       unready={"state": "available"}, serviced={"annotations": {SERVICING: "true"}})
        for name in ("stays", "paused", "unready", "serviced"):
            self._approve(name)
        self.wait_event(self.of, "stays", "PowerOffDisabled")
        self.wait_event(self.of, "paused", "HostPaused")
        self.wait_event(self.of, "unready", "HostNotProvisioned")

        # Firmware is changed once the host is off: the label goes first, and nobody takes the Machine before it is back.
        self._wait_power("serviced", False)
        poll(lambda: self._host("serviced")["status"]["operationalStatus"] == "servicing", 30, "firmware to be changed", 0.1)
        self._end("serviced")
        poll(lambda: POWER not in annotations(self._host("serviced")), 30, "the hold to go", 0.1)
        self._annotate_host("serviced", {SERVICING: "fails"})
        self.wait_event(self.of, "serviced", "HostServicingFailed")
        self.assertFalse(self._host("serviced")["status"]["poweredOn"])
        self.assertEqual(annotations(self.of.get("machines", "serviced")).get("cluster.x-k8s.io/skip-remediation"), OWN)
        self._annotate_host("serviced", {SERVICING: None})
        self._wait_power("serviced", True)
        self.wait_skipping(self.of, "serviced", None)

        self._annotate_host("paused", {PAUSED: None})
        self._wait_power("paused", False)
        self._end("paused")
        self._wait_power("paused", True)

        self.assertTrue(self._host("stays")["status"]["poweredOn"])
        self.assertNotIn(POWER, annotations(self._host("stays")))
        self.assertNotIn(REBOOTS, annotations(self._host("stays")))
        self.of.patch("machines", "stays", {"metadata": {"annotations": {REBOOT_HOST: "requested"}}})
        poll(lambda: annotations(self._host("stays")).get(REBOOTS), 30, "the host to be rebooted", 0.1)
        self.of.wait_machine("stays", lambda one: annotations(one).get(REBOOT_HOST) == "done", 30, "its reboot to be done")
        for name in ("stays", "unready"):
            self._end(name)
            self.wait_label(self.of, self.node_of(self.of, name), REQUESTED, None)
        self.assertEqual(annotations(self._host("stays"))[REBOOTS], "1")
