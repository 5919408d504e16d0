#!/usr/bin/python3
"""The real senders and the real mail client against a real mail server, and against a strict double of Slack. Debian's
own Python runs it, because that is where python3-aiosmtpd is."""

import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from mail_servers import MailServer, Recorder, ScriptedServer, make_certificates, tls_context  # noqa: E402
from slack_double import SlackDouble, Trouble  # noqa: E402

# aiosmtpd reports every handshake that fails, as some have to here.
logging.disable(logging.CRITICAL)

LOGIN = {"identity": "ops", "user": "careen", "password": "s3cret pass"}
# The event loop never stands still for long: whatever the peer does, it keeps running.
LONGEST_STALL = 1.0


class Probe:
    def __init__(self):
        self.process = subprocess.Popen([os.environ["NOTIFY_SEND"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def ask(self, order):
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the program ended with {self.process.wait()}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        code = self.process.wait(10)
        self.process.stdout.close()
        return code


class NotifyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder_handle = tempfile.TemporaryDirectory(prefix="careen-notify-")
        cls.folder = pathlib.Path(cls.folder_handle.name)
        make_certificates(cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.folder_handle.cleanup()

    def setUp(self):
        self.probe = Probe()

    def tearDown(self):
        self.assertEqual(self.probe.close(), 0)

    def ask(self, order):
        answer = self.probe.ask(order)
        self.assertLess(answer["stall"], LONGEST_STALL)
        self.assertNotIn("s3cret", answer.get("error", ""))
        return answer

    def send(self, server, ca="ca.pem", **changes):
        mail = {"server": server, "from": "careen@example.org", "to": ["a@example.org"], "subject": "Maintenance",
                "text": "hello", "timeout": 10, **changes}
        order = {"mail": mail}
        if ca:
            order["ca_file"] = str(self.folder / ca)
        return self.ask(order)

    def assert_sent(self, answer):
        self.assertEqual(answer.get("error"), None)
        self.assertTrue(answer["ok"])

    def assert_failed(self, answer, kind, *words):
        self.assertFalse(answer["ok"], answer)
        self.assertEqual(answer["kind"], kind, answer)
        for word in words:
            self.assertIn(word, answer["error"])


class MailTest(NotifyTest):
    def test_bytes_as_they_arrive(self):
        recorder = Recorder()
        with MailServer(recorder) as server:
            self.assert_sent(self.send(server.address, to=["a@example.org", "b@example.org"],
                                       text="Grüße\n.\n..two\r\nlone\rcr\n\nend"))
        (sender, recipients, content, encrypted), = recorder.mails
        self.assertEqual(sender, "careen@example.org")
        self.assertEqual(recipients, ["a@example.org", "b@example.org"])
        self.assertEqual(recorder.recipients, ["a@example.org", "b@example.org"])
        self.assertEqual(content, b"From: careen@example.org\r\nTo: a@example.org,b@example.org\r\n"
                                  b"Subject: Maintenance\r\n\r\n" +
                         "Grüße\r\n.\r\n..two\r\nlone\r\ncr\r\n\r\nend\r\n".encode())
        self.assertFalse(encrypted)
        self.assertEqual(recorder.hello, ["localhost"])
        self.assertEqual(recorder.quits, 1)

    def test_commands_as_they_are_sent(self):
        with ScriptedServer({}) as server:
            self.assert_sent(self.send(server.address, to=["a@x", "b@x"], text=".dot"))
        self.assertEqual(server.lines[:5], [b"EHLO localhost\r\n", b"MAIL FROM:<careen@example.org>\r\n",
                                            b"RCPT TO:<a@x>\r\n", b"RCPT TO:<b@x>\r\n", b"DATA\r\n"])
        self.assertEqual(server.lines[5:], [b"From: careen@example.org\r\n", b"To: a@x,b@x\r\n",
                                            b"Subject: Maintenance\r\n", b"\r\n", b"..dot\r\n", b".\r\n", b"QUIT\r\n"])

    def test_starttls_and_login(self):
        recorder = Recorder()
        with MailServer(recorder, tls_context(self.folder, "server"), ("careen", "s3cret pass")) as server:
            self.assert_sent(self.send(server.address, login=LOGIN))
            self.assert_sent(self.send(f"localhost:{server.port}", login=LOGIN))
            self.assertEqual(server.auth_responses, [b"ops\0careen\0s3cret pass"] * 2)
        self.assertEqual([mail[3] for mail in recorder.mails], [True, True])
        # Before and after encryption.
        self.assertEqual(recorder.hello, ["localhost"] * 4)

    def test_wrong_password(self):
        recorder = Recorder()
        with MailServer(recorder, tls_context(self.folder, "server"), ("careen", "another")) as server:
            answer = self.send(server.address, login=LOGIN)
            self.assert_failed(answer, "protocol", server.address, "AUTH of user careen", "535")
        self.assertEqual(recorder.mails, [])

    def test_no_auth_offered(self):
        recorder = Recorder()
        with MailServer(recorder, tls_context(self.folder, "server")) as server:
            self.assert_failed(self.send(server.address, login=LOGIN), "protocol", "AUTH")
        with ScriptedServer({b"EHLO": b"250-hi\r\n250 8BITMIME\r\n"}) as plain:
            self.assert_failed(self.send(plain.address, login=LOGIN), "protocol", "offers no AUTH")
        with ScriptedServer({b"EHLO": b"250-hi\r\n250 AUTH LOGIN CRAM-MD5\r\n"}) as others:
            self.assert_failed(self.send(others.address, login=LOGIN), "protocol", "AUTH PLAIN")
            self.assertFalse(any(line.startswith(b"AUTH") for line in others.lines))
        self.assertEqual(recorder.mails, [])

    def test_password_needs_tls_unless_local(self):
        answers = {b"EHLO": b"250-hi\r\n250 AUTH PLAIN\r\n", b"AUTH": b"235 welcome\r\n"}
        with ScriptedServer(answers) as server:
            self.assert_sent(self.send(server.address, login=LOGIN))
            before = len(server.lines)
            # Another way to say the same address: no longer known as local.
            self.assert_failed(self.send(f"127.1:{server.port}", login=LOGIN), "protocol", "without TLS")
            self.assertEqual(server.lines[before:], [b"EHLO localhost\r\n"])

    def test_answers_do_not_show_the_password(self):
        with ScriptedServer({b"EHLO": b"250-hi\r\n250 AUTH PLAIN\r\n",
                             b"AUTH": b"535 bad b3BzAGNhcmVlbgBzM2NyZXQgcGFzcw== (s3cret pass)\r\n"}) as server:
            answer = self.send(server.address, login=LOGIN)
            self.assert_failed(answer, "protocol", "535 bad *** (***)")

    def test_untrusted_certificate(self):
        recorder = Recorder()
        with MailServer(recorder, tls_context(self.folder, "server")) as server:
            self.assert_failed(self.send(server.address, ca=None), "tls", server.address, "certificate")
        with MailServer(recorder, tls_context(self.folder, "other")) as server:
            self.assert_failed(self.send(server.address), "tls", "mismatch")
        self.assertEqual(recorder.mails, [])

    def test_starttls_that_is_offered_and_refused(self):
        with ScriptedServer({b"EHLO": b"250-hi\r\n250 STARTTLS\r\n", b"STARTTLS": b"454 not now\r\n"}) as server:
            self.assert_failed(self.send(server.address), "protocol", "STARTTLS", "454 not now")
        with ScriptedServer({b"EHLO": b"250-hi\r\n250 STARTTLS\r\n",
                             b"STARTTLS": b"220 go\r\n250 smuggled\r\n"}) as server:
            self.assert_failed(self.send(server.address), "tls", "without waiting")

    def test_a_recipient_that_is_refused(self):
        recorder = Recorder(refuse={"b@example.org"})
        with MailServer(recorder) as server:
            answer = self.send(server.address, to=["a@example.org", "b@example.org", "c@example.org"])
        self.assert_failed(answer, "protocol", server.address, "recipient b@example.org", "550 5.1.1 no such user here")
        self.assertEqual(recorder.mails, [])
        self.assertEqual(recorder.recipients, ["a@example.org", "b@example.org"])

    def test_servers_that_hang(self):
        for step in (b"", b"EHLO", b"RCPT", b"DATA", b"."):
            with self.subTest(step=step), ScriptedServer({step: None}) as server:
                answer = self.send(server.address, timeout=0.5)
                self.assert_failed(answer, "timeout", server.address, "no answer within 500ms")

    def test_a_server_that_hangs_at_the_end_has_taken_the_mail(self):
        with ScriptedServer({b"QUIT": None}) as server:
            self.assert_sent(self.send(server.address))

    def test_servers_that_break_off(self):
        for step in (b"", b"EHLO", b"MAIL", b"."):
            with self.subTest(step=step), ScriptedServer({step: b""}) as server:
                self.assert_failed(self.send(server.address), "closed", "closed the connection")
        with ScriptedServer({b"MAIL": b"421 going down\r\n"}) as server:
            self.assert_failed(self.send(server.address), "closed", "421 going down")
        with ScriptedServer({b"": b"HTTP/1.1 400 Bad Request\r\n"}) as server:
            self.assert_failed(self.send(server.address), "protocol", "no SMTP")
        self.assert_failed(self.send("127.0.0.1:1"), "connect", "127.0.0.1:1", "refused")

    def test_old_servers_and_other_refusals(self):
        with ScriptedServer({b"EHLO": b"502 unknown\r\n", b"HELO": b"250 hi\r\n"}) as server:
            self.assert_sent(self.send(server.address))
        with ScriptedServer({b".": b"554 spam\r\n"}) as server:
            self.assert_failed(self.send(server.address), "protocol", "text of the mail", "554 spam")
        with ScriptedServer({b"": b"554-go\r\n554 away\r\n"}) as server:
            self.assert_failed(self.send(server.address), "protocol", "greeting", "554 go away")

    def test_what_makes_no_sense_is_not_sent(self):
        with ScriptedServer({}) as server:
            for changes in ({"from": "a@x\r\nBcc: b@x"}, {"to": ["a@x\nRCPT TO:<b@x>"]}, {"to": ["a@x> SIZE=1"]},
                            {"to": []}, {"to": [""]}, {"subject": "a\r\nBcc: b@x"}, {"subject": "a\nb"}):
                with self.subTest(**changes):
                    self.assert_failed(self.send(server.address, **changes), "invalid")
            for address in ("localhost", "localhost:", ":25", "::1:25", "a b:25"):
                with self.subTest(address=address):
                    self.assert_failed(self.send(address), "invalid", "host:port")
            self.assertEqual(server.lines, [])


class SlackTest(NotifyTest):
    HOOK = "/services/T000/B000/s3cretHookToken"

    def setUp(self):
        super().setUp()
        self.slack = SlackDouble(token="xoxb-s3cret", channels={"#ops"}, hooks={self.HOOK})
        self.slack.__enter__()

    def tearDown(self):
        self.slack.__exit__()
        super().tearDown()

    def hook(self, text, channel="#ops", path=HOOK):
        return self.ask({"slack": {"hook": self.slack.hook(path), "channel": channel}, "text": text})

    def thread(self, text, title="title", token="xoxb-s3cret", channel="#ops", period=600):
        return self.ask({"slackThread": {"token": token, "channel": channel, "lease": "thread", "period": period},
                         "api": self.slack.api, "title": title, "text": text})

    def texts(self):
        return [(m.text, m.thread_ts) for m in self.slack.messages]

    def test_hook(self):
        self.assert_sent(self.hook("a <b> & \"c\" ü\n"))
        self.assertEqual([(m.channel, m.text, m.via) for m in self.slack.messages],
                         [("#ops", "a <b> & \"c\" ü\n", "hook")])
        self.assertEqual(self.slack.complaints, [])

    def test_hook_that_fails(self):
        answer = self.hook("a", channel="#nowhere")
        self.assertEqual((answer["ok"], answer["blame"]), (False, "message"))
        self.assertIn("channel_not_found", answer["error"])
        self.slack.fail(503, "down for https://x" + self.HOOK)
        answer = self.hook("a")
        self.assertEqual((answer["ok"], answer["blame"]), (False, "endpoint"))
        self.slack.ask_for_pause(7)
        answer = self.hook("a")
        self.assertEqual((answer["ok"], answer["blame"], answer["retry_after"]), (False, "endpoint", 7))
        self.assertFalse(self.hook("a", path="/services/T000/B000/unknown")["ok"])
        self.slack.next(Trouble(status=500, body="ok", taken=True))
        self.assert_sent(self.hook("b"))
        self.assertEqual(self.texts(), [("b", None)])

    def test_thread(self):
        self.assert_sent(self.thread("first & <foremost> + 100%", title="Maintenance of ä"))
        self.assert_sent(self.thread("second"))
        title = self.slack.messages[0].ts
        self.assertEqual(self.texts(), [("Maintenance of ä", None), ("first & <foremost> + 100%", title),
                                        ("second", title)])
        self.assertEqual(self.slack.complaints, [])

    def test_thread_whose_reply_fails(self):
        self.slack.next(None, Trouble(status=500, body="broken"))
        answer = self.thread("text")
        self.assertEqual((answer["ok"], answer["blame"]), (False, "endpoint"))
        self.assert_sent(self.thread("text"))
        self.assertEqual(self.texts(), [("title", None), ("text", self.slack.messages[0].ts)])

    def test_thread_that_is_refused(self):
        answer = self.thread("text", token="wrong")
        self.assertEqual((answer["ok"], answer["blame"]), (False, "message"))
        self.assertIn("invalid_auth", answer["error"])
        self.slack.ask_for_pause(11)
        answer = self.thread("text")
        self.assertEqual((answer["ok"], answer["blame"], answer["retry_after"]), (False, "endpoint", 11))
        self.assertEqual(self.slack.messages, [])


if __name__ == "__main__":
    unittest.main(warnings="ignore")
