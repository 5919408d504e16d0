"""Messages when Slack is down: nodes go on, and no message is lost."""

import json

from careen import free_port, poll
from harness import CareenTest, ROUND
from node_watch import PROFILE, annotations
from slack_double import SlackDouble

HOOK = "/services/T/B/e2e"
GO = "e2e.careen.dev/go"
OUTBOX = "careen.dev/outbox"


def config(url):
    return f"""\
intervals:
  requeue: 1s
instances:
  check:
  - {{name: go, type: hasLabel, config: {{key: {GO}}}}}
  - {{name: soon, type: wait, config: {{duration: 100ms}}}}
  trigger:
  - {{name: stop, type: alterLabel, config: {{key: {GO}, remove: true}}}}
  notify:
  - name: tell
    type: slack
    schedule: {{type: periodic, config: {{interval: 24h}}}}
    config: {{hook: "{url}", channel: ops, message: "{{{{ .Node.Name }}}} {{{{ .State }}}}"}}
profiles:
- name: told
  operational:
    notify: tell
    transitions: [{{check: go, next: maintenance-required}}]
  maintenance-required:
    notify: tell
    transitions: [{{check: soon, next: in-maintenance}}]
  in-maintenance:
    notify: tell
    transitions: [{{check: soon, next: operational, trigger: stop}}]
"""


class NotificationsTest(CareenTest):

    def setUp(self):
        super().setUp()
        self.names = self.node_names[:2]
        self.port = free_port()
        self.config = self.write("maintenance.yaml", config(f"http://127.0.0.1:{self.port}{HOOK}"))
        self.label(self.names, {PROFILE: "told", GO: ""})

    def _slack(self):
        slack = SlackDouble(hooks={HOOK}, port=self.port)
        self.addCleanup(slack.__exit__)
        return slack.__enter__()

    def _expected(self):
        return {name: [f"{name} {state}" for state in ROUND] for name in self.names}

    def _told(self, slack):
        told = {}
        for message in list(slack.messages):
            told.setdefault(message.text.split()[0], []).append(message.text)
        return told

    def _wait_empty_outboxes(self):
        self.watch.wait_until(lambda watch: not any(OUTBOX in annotations(node) for node in watch.nodes.values()), 30,
                              "the outboxes to be empty")

    def _go_round_without_slack(self):
        careen = self.start_elected(self.config).wait_ready()
        self.watch.wait_until(self.done(self.names), 60, "a round without Slack")
        for name in self.names:
            messages = json.loads(annotations(self.watch.nodes[name])[OUTBOX])
            self.assertEqual([message["state"] for message in messages], ROUND)
        return careen

    def test_slack_comes_back(self):
        """The round does not wait; what waits is known, and sent once and in order when Slack is there again."""
        careen = self._go_round_without_slack()
        poll(lambda: self.events("NotificationFailed"), 20, "the event of a message that failed")
        poll(lambda: careen.info()[self.names[0]]["pending"][0]["attempts"] > 0, 20, "the attempts in the information")
        self.assertEqual(careen.metrics().sum("careen_notifications_pending"), 6)
        self.assertEqual(careen.metrics().sum("maintenance_controller_transition_failure_count"), 0)
        slack = self._slack()
        poll(lambda: len(slack.messages) >= 6, 60, "the messages")
        self._wait_empty_outboxes()
        self.assertEqual(careen.stop(), 0)
        self.assertEqual(self._told(slack), self._expected())
        self.assertEqual(slack.complaints, [])

    def test_killed_before_slack_comes_back(self):
        """kill -9 with messages under way: the next process sends them, each at least once."""
        self._go_round_without_slack().kill()
        slack = self._slack()
        careen = self.start(self.config).wait_ready()
        poll(lambda: len(slack.messages) >= 6, 60, "the messages")
        self._wait_empty_outboxes()
        self.assertEqual(careen.stop(), 0)
        for name, texts in self._told(slack).items():
            self.assertEqual(list(dict.fromkeys(texts)), self._expected()[name])

    def test_messages_first(self):
        """With --notify-blocking a message that cannot be sent holds its node, and counts as a failure."""
        careen = self.start(self.config, "--notify-blocking").wait_ready()
        self.wait_state(self.names, "maintenance-required")
        failures = "maintenance_controller_transition_failure_count"
        poll(lambda: careen.metrics().sum(failures, profile="told") > len(self.names), 20, "failures")
        event = poll(lambda: next(iter(self.events("ChangeMaintenanceStateFailed")), None), 20, "the event")
        self.assertEqual(event["note"], "At least one notification plugin failed for profile told: "
                                        "Will stay in maintenance-required state")
        self.assertEqual({tuple(self.watch.history[name][-1:]) for name in self.names}, {("maintenance-required",)})
        slack = self._slack()
        self.watch.wait_until(self.done(self.names), 60, "a round after Slack came back")
        poll(lambda: len(slack.messages) >= 6, 20, "the messages")
        self.assertEqual(self._told(slack), self._expected())
        self.assertFalse(any(OUTBOX in annotations(node) for node in self.watch.nodes.values()))
        self.assertEqual(careen.stop(), 0)
