"""--dry-run: decisions in the log, and nothing else anywhere."""

from careen import poll
from harness import CareenTest, ROUND, profile_config
from node_watch import STATE, labels
from slack_double import SlackDouble

HOOK = "/services/T/B/e2e"


def config(url):
    return profile_config(limit=1, stay="100ms").replace("  trigger:", f"""\
  notify:
  - name: tell
    type: slack
    schedule: {{type: periodic, config: {{interval: 24h}}}}
    config: {{hook: "{url}", channel: ops, message: "{{{{ .Node.Name }}}} {{{{ .State }}}}"}}
  trigger:""", 1).replace("  in-maintenance:\n", "  in-maintenance:\n    notify: tell\n", 1)


class DryRunTest(CareenTest):

    def test_rehearsal(self):
        """Alone it tells what would be done, and does not; beside a replica that acts it follows, and stays silent."""
        names = self.node_names[:3]
        everything = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
        token = self.service_account("rehearsal")
        self.grant_rules("rehearsal", everything)
        with SlackDouble(hooks={HOOK}) as slack:
            path = self.write("maintenance.yaml", config(slack.hook(HOOK)))
            self.want_maintenance(names)
            rehearsal = self.start_elected(path, "--dry-run", kubeconfig=self.kubeconfig(user={"token": token}))
            rehearsal.wait_ready()
            for name in names:
                line = self._told(rehearsal, name, "move profile e2e from operational to maintenance-required")
                self.assertIn("wanted", line["why"])
            self.assertEqual(set(rehearsal.info()), set(self.node_names))
            self.assertFalse(any(STATE in labels(node) for node in self.watch.nodes.values()))
            self.assertIsNone(self.lease())

            acting = self.start_elected(path).wait_ready()
            self.watch.wait_until(self.done(names), 60, "a round by the other replica")
            # It may see each step only when the other replica has taken the next one.
            for name in names:
                self._told(rehearsal, name, "do nothing")
            poll(lambda: len(slack.messages) >= len(names), 20, "the messages")
            poll(lambda: len(self.events()) >= 3 * len(names), 20, "the events")
            self.assertEqual(rehearsal.stop(), 0)
            self.assertEqual(acting.stop(), 0)
        self.assertEqual(sorted(message.text for message in slack.messages),
                         [f"{name} in-maintenance" for name in names])
        self.assertEqual(len(self.events()), len(ROUND) * len(names))
        entries = [entry for entry in self.audit.entries()
                   if entry["user"]["username"] == f"system:serviceaccount:{self.namespace}:rehearsal"]
        self.assertTrue(entries)
        self.assertEqual({entry["verb"] for entry in entries} - {"get", "list", "watch"}, set())
        self.assertEqual(rehearsal.complaints(), [])

    def _told(self, rehearsal, name, would):
        return rehearsal.wait_log(lambda line: line["msg"] == "dry run" and line.get("node") == name
                                  and would in line.get("would", ""), 30, f"the decision to {would}")
