"""careen with the rights that deploy/rbac.yaml gives, and no others."""

import os

from audit import accepted, resource_of
from careen import poll
from cluster import ROOT
from harness import NODES, CareenTest


class ServiceAccountTest(CareenTest):

    def test_documented_rights_suffice(self):
        """A round under election with a token of the service account: nothing is refused."""
        with open(os.path.join(ROOT, "deploy", "rbac.yaml")) as file:
            self.cluster.kubectl("apply", "-f", "-", stdin=file.read())
        token = self.token("kube-system", "careen")
        kubeconfig = self.kubeconfig(user={"tokenFile": self.write("token", token)}, namespace="kube-system")
        careen = self.start_elected(namespace="kube-system", kubeconfig=kubeconfig).wait_ready()
        self.wait_leading(careen)
        self.want_maintenance()
        self.watch.wait_until(self.done(), 120, "the end of the round")
        self.check_round()
        poll(lambda: len(self.events()) >= 3 * NODES, 20, "the events")
        self.assertEqual(careen.open_problems(), {})
        self.assertEqual(careen.stop(), 0)

        entries = self.audit.entries()
        self.assertEqual({entry["user"]["username"] for entry in entries}, {"system:serviceaccount:kube-system:careen"})
        refused = [(entry["verb"], entry["requestURI"]) for entry in entries if not accepted(entry)
                   and entry["responseStatus"]["code"] in (401, 403)]
        self.assertEqual(refused, [])
        used = {(resource_of(entry), entry["verb"]) for entry in entries}
        self.assertLessEqual({("nodes", "list"), ("nodes", "watch"), ("nodes", "patch"), ("events", "create"),
                              ("leases", "create"), ("leases", "watch")}, used)
