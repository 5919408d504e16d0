"""Mail servers for tests: a real one (aiosmtpd) that records every command and mail, and one that follows a script."""

import base64
import socket
import ssl
import subprocess
import threading

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult


class Recorder:
    """Handler of aiosmtpd: takes every mail except for refused recipients."""

    def __init__(self, refuse=()):
        self.refuse = set(refuse)
        self.mails = []
        self.hello = []
        self.mail_options = []
        self.recipients = []
        self.quits = 0

    async def handle_EHLO(self, server, session, envelope, hostname, responses):
        session.host_name = hostname
        self.hello.append(hostname)
        return responses

    async def handle_MAIL(self, server, session, envelope, address, options):
        envelope.mail_from = address
        self.mail_options.append(options)
        return "250 OK"

    async def handle_RCPT(self, server, session, envelope, address, options):
        self.recipients.append(address)
        if address in self.refuse:
            return "550 5.1.1 no such user here"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        self.mails.append((envelope.mail_from, list(envelope.rcpt_tos), envelope.original_content, bool(session.ssl)))
        return "250 taken"

    async def handle_QUIT(self, server, session, envelope):
        self.quits += 1
        return "221 bye"


class MailServer(Controller):
    """aiosmtpd on a free port of 127.0.0.1. `login` is (user, password); None: AUTH is not offered."""

    def __init__(self, recorder, tls=None, login=None, require_tls_for_auth=True):
        self.recorder = recorder
        self.auth_responses = []
        options = {"tls_context": tls, "require_starttls": False, "enable_SMTPUTF8": True}
        if login is None:
            options["auth_exclude_mechanism"] = ["LOGIN", "PLAIN"]
        else:
            options["authenticator"] = self._authenticate
            options["auth_require_tls"] = require_tls_for_auth
        self._login = login
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        super().__init__(recorder, hostname="127.0.0.1", port=port, **options)

    def factory(self):
        server = self

        class Listening(SMTP):
            async def auth_PLAIN(self, smtp, args):
                if len(args) > 1:
                    server.auth_responses.append(base64.b64decode(args[1]))
                return await super().auth_PLAIN(smtp, args)

        return Listening(self.handler, **self.SMTP_kwargs)

    def _authenticate(self, server, session, envelope, mechanism, data):
        good = (data.login.decode(), data.password.decode()) == self._login
        # Not handled: aiosmtpd answers with 535.
        return AuthResult(success=good, handled=good)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"


class ScriptedServer:
    """Answers each line by the first entry of `answers` whose key it begins with; the value is bytes, or None to say
    nothing any more, or b"" to close. The key "" is the greeting, "." the end of the text."""

    def __init__(self, answers):
        self.answers = {b"": b"220 hello\r\n", b"EHLO": b"250 hello\r\n", b"MAIL": b"250 ok\r\n",
                        b"RCPT": b"250 ok\r\n", b"DATA": b"354 go on\r\n", b".": b"250 taken\r\n",
                        b"QUIT": b"221 bye\r\n"}
        self.answers.update(answers)
        self.lines = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def port(self):
        return self._socket.getsockname()[1]

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def _serve(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection):
        with connection, connection.makefile("rb") as lines:
            if self.answers[b""] is None:
                lines.readline()
                return
            if self.answers[b""] == b"":
                return
            connection.sendall(self.answers[b""])
            in_text = False
            for line in lines:
                self.lines.append(line)
                if in_text and line != b".\r\n":
                    continue
                key = next((k for k in self.answers if k and line.upper().startswith(k)), None)
                answer = b"502 what?\r\n" if key is None else self.answers[key]
                if answer is None:
                    continue
                if answer == b"":
                    return
                in_text = key == b"DATA" and answer.startswith(b"354")
                try:
                    connection.sendall(answer)
                except OSError:
                    return


def make_certificates(folder):
    """An authority (ca.pem), a server certificate of it for localhost and 127.0.0.1, and one for another name."""

    def run(*command):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)

    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
        "-subj", "/CN=test authority", "-keyout", "ca.key", "-out", "ca.pem")
    for name, subject in {"server": "DNS:localhost,IP:127.0.0.1", "other": "DNS:elsewhere.example.org"}.items():
        (folder / f"{name}.ext").write_text(f"subjectAltName={subject}\n")
        run("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
            "-keyout", f"{name}.key", "-out", f"{name}.csr")
        run("openssl", "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.pem")


def tls_context(folder, name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
    return context
