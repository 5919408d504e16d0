"""Nodes that Flatcar's update agent wants to reboot: people are asked by Slack and mail, and approve by annotation."""

import contextlib
import glob
import json
import logging
import os
import pathlib

from careen import poll
from harness import CareenTest
from mail_servers import MailServer, Recorder, make_certificates, tls_context
from node_watch import DATA, PROFILE, annotations
from slack_double import SlackDouble, Trouble

AGENT = "flatcar-linux-update.v1.flatcar-linux.net"
APPROVED = "cloud.sap/maintenance-approved"
HOOK = "/services/T0E2E/B0E2E/hook-nobody-may-see"
PASSWORD = "password, nobody: may see"

CONFIG = f"""\
intervals:
  requeue: 60s
  notify: 5h
instances:
  notify:
  - type: slack
    name: approval_required
    config:
      hook: ${{SLACK_URL}}
      channel: ops
      message: |
        Node {{{{ .Node.Name }}}} wants to reboot. Approve it with
        `kubectl annotate node {{{{ .Node.Name }}}} {APPROVED}=true`
    schedule: {{type: periodic, config: {{interval: 24h}}}}
  - type: mail
    name: approval_mail
    config:
      auth: true
      address: ${{MAIL_SERVER}}
      from: careen@example.org
      to: [ops@example.org, night@example.org]
      subject: Approval needed
      message: "{{{{ .Node.Name }}}} is {{{{ .State }}}} by profile {{{{ .Profile }}}}"
      user: careen
      password: ${{MAIL_PASSWORD}}
    schedule: {{type: periodic, config: {{interval: 24h}}}}
  - type: slack
    name: maintenance_started
    config:
      hook: ${{SLACK_URL}}
      channel: ops
      message: Node {{{{ .Node.Name }}}} reboots.
    schedule: {{type: periodic, config: {{interval: 24h}}}}
  check:
  - type: hasAnnotation
    name: reboot_needed
    config: {{key: {AGENT}/reboot-needed, value: "true"}}
  - type: hasAnnotation
    name: check_approval
    config: {{key: {APPROVED}, value: "${{TRUE}}"}}
  trigger:
  - type: alterAnnotation
    name: reboot-ok
    config: {{key: {AGENT}/reboot-ok, value: "true"}}
  - type: alterAnnotation
    name: remove_approval
    config: {{key: {APPROVED}, remove: true}}
  - type: alterAnnotation
    name: remove_reboot_ok
    config: {{key: {AGENT}/reboot-ok, remove: true}}
profiles:
- name: flatcar
  operational:
    transitions:
    - check: reboot_needed
      next: maintenance-required
  maintenance-required:
    notify: approval_required && approval_mail
    transitions:
    - check: check_approval
      trigger: remove_approval && reboot-ok
      next: in-maintenance
  in-maintenance:
    notify: maintenance_started
    transitions:
    - check: "!reboot_needed"
      trigger: remove_reboot_ok
      next: operational
"""


class FlatcarTest(CareenTest):

    def setUp(self):
        super().setUp()
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        certificates = pathlib.Path(self.folder)
        make_certificates(certificates)
        logging.getLogger("mail").setLevel(logging.CRITICAL)  # aiosmtpd warns of names that it uses itself
        self.mails = Recorder()
        self.mail_server = stack.enter_context(
            MailServer(self.mails, tls_context(certificates, "server"), ("careen", PASSWORD)))
        self.slack = stack.enter_context(SlackDouble(channels=["ops"], hooks={HOOK}))
        self.environment = {"SLACK_URL": self.slack.hook(HOOK), "MAIL_SERVER": self.mail_server.address,
                            "MAIL_PASSWORD": PASSWORD, "TRUE": "true",
                            "SSL_CERT_FILE": str(certificates / "ca.pem")}

    def test_reboot_after_approval(self):
        """One node is approved and reboots, the other waits; the first message meets a Slack that is broken."""
        rebooting, waiting = names = self.node_names[:2]
        self.label(names, {PROFILE: "flatcar"})
        careen = self.start_elected(self.write("maintenance.yaml", CONFIG), environment=self.environment).wait_ready()
        self.wait_leading(careen)
        self.slack.next(Trouble(status=500, body="broken"))
        self.annotate(names, {f"{AGENT}/reboot-needed": "true"})
        self.wait_state(names, "maintenance-required")
        poll(lambda: len(self.slack.messages) >= 2 and len(self.mails.mails) >= 2, 20, "both ways to ask for approval")

        self.annotate([rebooting], {APPROVED: "true"})
        self.wait_state([rebooting], "in-maintenance")
        node = self.watch.nodes[rebooting]
        self.assertNotIn(APPROVED, annotations(node))
        self.assertEqual(annotations(node)[f"{AGENT}/reboot-ok"], "true")
        self.annotate([rebooting], {f"{AGENT}/reboot-needed": "false"})
        self.wait_state([rebooting], "operational")
        self.assertNotIn(f"{AGENT}/reboot-ok", annotations(self.watch.nodes[rebooting]))
        self.assertEqual(self.watch.history[waiting][-1], "maintenance-required")
        self._check_messages(rebooting, waiting)
        self.watch.wait_until(lambda watch: not any("careen.dev/outbox" in annotations(watch.nodes[name])
                                                    for name in names), 20, "the outboxes to be empty")
        self._check_events(rebooting, waiting)
        self._check_secrets(careen)
        self.assertEqual(careen.stop(), 0)
        data = json.loads(annotations(self.watch.nodes[rebooting])[DATA])
        self.assertEqual(sorted(data["Notifications"]), ["approval_mail", "approval_required", "maintenance_started"])

    def _check_messages(self, rebooting, waiting):
        poll(lambda: len(self.slack.messages) >= 3, 20, "the message of the reboot")
        asked = {f"Node {name} wants to reboot. Approve it with\n`kubectl annotate node {name} {APPROVED}=true`\n"
                 for name in (rebooting, waiting)}
        self.assertEqual({message.text for message in self.slack.messages[:2]}, asked)
        self.assertEqual([message.text for message in self.slack.messages[2:]], [f"Node {rebooting} reboots."])
        self.assertEqual(self.slack.complaints, [])
        self.assertEqual(self.mail_server.auth_responses, [f"\0careen\0{PASSWORD}".encode()] * 2)
        self.assertEqual(sorted(self.mails.mails), [
            ("careen@example.org", ["ops@example.org", "night@example.org"],
             b"From: careen@example.org\r\nTo: ops@example.org,night@example.org\r\nSubject: Approval needed\r\n\r\n"
             + f"{name} is maintenance-required by profile flatcar\r\n".encode(), True)
            for name in sorted((rebooting, waiting))])

    def _check_events(self, rebooting, waiting):
        poll(lambda: len(self.events()) >= 4, 20, "the events of the round")
        notes = {}
        for event in self.events():
            notes.setdefault(event["regarding"]["name"], []).append(event["note"])
        self.assertEqual({name: sorted(found) for name, found in notes.items()}, {
            rebooting: [f"The node is now in the {state} state caused by profile flatcar"
                        for state in ("in-maintenance", "maintenance-required", "operational")],
            waiting: ["The node is now in the maintenance-required state caused by profile flatcar"]})
        poll(lambda: self.events("NotificationFailed"), 20, "the event of the message that failed at first")

    def _check_secrets(self, careen):
        """What came from the environment is nowhere to be read, also not what failed."""
        shown = {"info": careen.get("/api/v1/info")[1], "metrics": careen.get("/metrics")[1],
                 "probe": careen.readyz()[1],
                 "events": json.dumps(self.api.list("/apis/events.k8s.io/v1/events")),
                 "nodes": json.dumps(self.api.list("/api/v1/nodes"))}
        for path in glob.glob(os.path.join(self.folder, "*.log")):
            with open(path) as file:
                shown[path] = file.read()
        self.assertIn("could not be sent", shown[careen.log_path])
        self.assertIn("check_approval", shown["info"])
        for where, text in shown.items():
            for secret in (HOOK, PASSWORD, "nobody"):
                self.assertNotIn(secret, text, f"a secret in {where}")
