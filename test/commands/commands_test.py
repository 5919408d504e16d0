"""The commands as people meet them: help and wrong usage, completion in a real shell, the man page, and the generated
references, which must be those that the program prints.

    test/commands/commands_test.py build/careen            all of it
    test/commands/commands_test.py build/careen --renew    rewrites the references
"""

import base64
import http.server
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CAREEN = ""
REFERENCES = {"markdown": "docs/reference/commands.md", "config": "docs/reference/configuration.md"}
LIMIT = 60


def run(*words, code=0, environment=None, program=None):
    """stdout and stderr of a command that must end with this code."""
    inherited = {key: value for key, value in os.environ.items()
                 if key not in ("KUBECONFIG", "COLUMNS", "CAREEN_SERVER", "CAREEN_TOKEN") and not key.lower().endswith("_proxy")}
    result = subprocess.run([program or CAREEN, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=LIMIT, env={**inherited, "HOME": "/nonexistent", **(environment or {})})
    if result.returncode != code:
        raise AssertionError(f"{words}: code {result.returncode}, not {code}\n{result.stdout}\n{result.stderr}")
    return result.stdout, result.stderr


def commands():
    """Every visible command."""
    return [line.split("\t")[0] for line in run("__complete", "")[0].splitlines() if not line.startswith(":")]


class Help(unittest.TestCase):
    def test_every_command_has_help_with_an_example(self):
        for command in commands():
            with self.subTest(command):
                out, err = run(command, "--help")
                self.assertEqual(err, "")
                self.assertIn(f"Usage: careen {command}", out)
                self.assertRegex(out, r"Examples?:\n  ")
                self.assertEqual(out, run(command, "-h")[0])

    def test_help_fits_the_width(self):
        for command in commands():
            out = run(command, "--help", environment={"COLUMNS": "80"})[0]
            # Examples are for copying, and stay whole.
            body = out.partition("\n\nExample")[0]
            for line in body.splitlines():
                if line.startswith("  "):
                    self.assertLessEqual(len(line), 80, f"{command}: {line}")

    def test_as_a_plugin_of_kubectl(self):
        with tempfile.TemporaryDirectory() as folder:
            plugin = os.path.join(folder, "kubectl-careen")
            os.symlink(CAREEN, plugin)
            self.assertIn("Usage: kubectl careen explain", run("explain", "--help", program=plugin)[0])


class WrongUsage(unittest.TestCase):
    def refused(self, *words):
        out, err = run(*words, code=2)
        self.assertEqual(out, "")
        return err

    def test_exit_code_2_and_a_message(self):
        self.assertIn("COMMAND", run("--help")[0])
        self.refused()
        self.refused("nonsense")
        self.assertIn("--nonsense", self.refused("explain", "node-1", "--nonsense"))
        self.assertIn("NODE", self.refused("explain"))
        self.assertIn("json", self.refused("explain", "node-1", "-o", "xml"))
        self.assertIn("expected node/NAME or nodemaintenance/NAME", self.refused("explain", "pod/x"))
        self.assertIn("names nothing", self.refused("explain", "node/"))
        self.assertIn("expected machine/NAMESPACE/NAME", self.refused("explain", "machine/x"))
        self.assertIn("--hub-selector: ", self.refused("run", "--hub", "--hub-selector", "=x="))
        self.assertIn("--server", self.refused("explain", "n", "--server", "http://x", "--config", "y"))
        self.assertIn("--audience careen.dev/view", self.refused("explain", "n", "--token", "x"))
        self.assertIn("--config", self.refused("explain", "n", "--token", "x", "--config", "y"))
        self.assertIn("--namespace", self.refused("explain", "n", "--namespace", "x", "--server", "http://x"))
        self.assertIn("zsh", self.refused("completion", "tcsh"))
        self.assertIn("which nodes?", self.refused("drain"))

    def test_a_command_below_another(self):
        self.assertIn("which node?", self.refused("request"))
        self.assertIn("--client", self.refused("request", "node-1"))
        self.assertIn('"a b" is no value of a label', self.refused("request", "node-1", "--client", "a b"))
        self.assertIn("--timeout goes with --wait", self.refused("request", "node-1", "--client", "a", "--timeout", "5s"))
        self.assertIn('--kubeconfig belongs behind "done"',
                      self.refused("request", "--kubeconfig", "f", "done", "node-1", "--client", "a"))
        self.assertIn("COMMAND", self.refused("request", "run", "node-1", "--client", "a"))
        out, _ = run("request", "run", "--help")
        self.assertIn("Usage: careen request run [flags] NODE COMMAND...", out)
        self.assertRegex(out, r"Example:\n  careen request run ")

    def test_who_cannot_be_asked_is_named(self):
        _, err = run("explain", "n", "--server", "http://127.0.0.1:1", code=1)
        self.assertIn("http://127.0.0.1:1", err)
        _, err = run("explain", "n", "--kubeconfig", "/nonexistent/kubeconfig", code=1)
        self.assertIn("/nonexistent/kubeconfig", err)

    def test_the_variable_names_whom_to_ask(self):
        for command in (["explain", "n"], ["top"], ["status"]):
            with self.subTest(command):
                _, err = run(*command, code=2, environment={"CAREEN_SERVER": "ftp://x"})
                self.assertIn('CAREEN_SERVER: "ftp://x" is neither an http nor an https address', err)
                self.assertIn("auto", err)
        _, err = run("explain", "n", code=1, environment={"CAREEN_SERVER": "127.0.0.1:1"})
        self.assertIn("http://127.0.0.1:1 (CAREEN_SERVER): ", err)
        # A flag says more.
        _, err = run("explain", "n", "--server", "127.0.0.1:2", code=1, environment={"CAREEN_SERVER": "ftp://x"})
        self.assertIn("http://127.0.0.1:2: ", err)
        _, err = run("explain", "n", "--config", "f", "--kubeconfig", "/nonexistent/k", code=1,
                     environment={"CAREEN_SERVER": "127.0.0.1:1"})
        self.assertIn("/nonexistent/k", err)

    def test_whom_auto_finds(self):
        with tempfile.TemporaryDirectory() as folder:
            for words, variable in ((["--server", "auto"], ""), ([], "auto")):
                _, err = run("explain", "n", *words, code=1,
                             environment={"CAREEN_SERVER": variable, "XDG_RUNTIME_DIR": folder})
                self.assertIn("no careen of yours runs on this machine", err)

    def test_top_without_a_terminal_names_status(self):
        _, err = run("top", "--server", "http://127.0.0.1:1", code=1)
        self.assertIn("careen status", err)


class References(unittest.TestCase):
    def test_they_are_current(self):
        for what, path in REFERENCES.items():
            with self.subTest(path):
                self.assertEqual((ROOT / path).read_text(), run("docs", what)[0],
                                 f"{path} is out of date; test/commands/commands_test.py CAREEN --renew writes it anew")

    def test_the_man_page_has_no_faults(self):
        page = run("docs", "man")[0]
        for command in commands():
            self.assertIn(f"careen {command}", page.replace("\\-", "-"))
        if not shutil.which("groff"):
            self.skipTest("groff is not installed")
        result = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-Kutf8"], input=page, capture_output=True,
                                text=True, timeout=LIMIT)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        # groff prints bold letters twice.
        self.assertIn("EXIT STATUS", re.sub(".\b", "", result.stdout))


class Model:
    """A model cluster to complete names from."""

    def __init__(self, folder):
        self.kubeconfig = os.path.join(folder, "kubeconfig")
        self.process = subprocess.Popen([CAREEN, "model", "--nodes", "3", "--kubeconfig", self.kubeconfig],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + LIMIT
        while True:
            out = run("__complete", "explain", "--kubeconfig", self.kubeconfig, "")[0] if os.path.exists(
                self.kubeconfig) else ""
            if "node-0" in out:
                return
            if time.monotonic() > end:
                raise AssertionError("the model cluster does not come up")
            time.sleep(0.1)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(LIMIT)


# Asks bash what it would complete: the line, then one candidate a line.
ASK = r"""
eval "$("$CAREEN_UNDER_TEST" completion bash)"
COMP_LINE=$1
COMP_POINT=${#COMP_LINE}
compopt() { :; }
_careen
printf '%s\n' "${COMPREPLY[@]}"
"""


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.model = Model(cls.folder.name)
        cls.addClassCleanup(cls.model.stop)
        os.symlink(CAREEN, os.path.join(cls.folder.name, "careen"))

    def bash(self, line):
        environment = {"CAREEN_UNDER_TEST": CAREEN, "KUBECONFIG": self.model.kubeconfig, "HOME": "/nonexistent",
                       "PATH": self.folder.name + ":" + os.environ["PATH"]}
        result = subprocess.run(["bash", "--norc", "-c", ASK, "bash", line], cwd=self.folder.name, env=environment,
                                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(result.stderr, "")
        return [word for word in result.stdout.splitlines() if word]

    def test_commands_flags_and_values(self):
        self.assertEqual(self.bash("careen exp"), ["explain"])
        self.assertIn("drain", self.bash("careen "))
        self.assertEqual(self.bash("careen explain --outp"), ["--output"])
        self.assertEqual(self.bash("careen explain -o "), ["json", "yaml"])
        # bash replaces what follows the = only.
        self.assertEqual(self.bash("careen explain --output=y"), ["yaml"])

    def test_names_of_nodes(self):
        self.assertEqual(self.bash("careen explain no"), ["node-0", "node-1", "node-2"])
        self.assertEqual(self.bash("careen drain node-1 --force node-2"), ["node-2"])
        self.assertEqual(self.bash("careen explain node/node-1"), ["node/node-1"])

    def test_files(self):
        self.assertEqual(self.bash("careen explain --kubeconfig kubec"), ["kubeconfig"])
        self.assertEqual(self.bash("careen validate kubec"), ["kubeconfig"])

    def test_servers(self):
        self.assertEqual(self.bash("careen explain --server "), ["auto"])
        self.assertEqual(self.bash("careen top --server=a"), ["auto"])

    def test_contexts(self):
        with open(self.model.kubeconfig) as file:
            name = re.search(r"current-context: (\S+)", file.read()).group(1)
        self.assertIn(name.strip('"'), self.bash("careen status --context "))

    def test_the_script_registers_itself(self):
        script = 'eval "$("$1" completion bash)"; complete -p careen'
        result = subprocess.run(["bash", "--norc", "-c", script, "bash", CAREEN], capture_output=True, text=True,
                                timeout=LIMIT)
        self.assertEqual(result.stdout.split(), ["complete", "-F", "_careen", "careen"], result.stderr)

    def test_without_a_cluster_it_is_silent(self):
        out, err = run("__complete", "explain", "--kubeconfig", "/nonexistent", "")
        self.assertEqual((out, err), (":4\n", ""))


class HostileCluster(unittest.TestCase):
    """What others have written to the cluster does not command the terminal of who looks at it."""

    EVIL = "A\x1b[31mB\x1b]0;title\x07C\u009b2JD\bE\rF\nnode/forged drained\tG\x7fH\u202eI"
    # What careen reads of a record at all: an owner with controls of ASCII counts as none.
    OWNER = "profile/A\x9b2JD\u202eI"

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.model = Model(folder.name)
        cls.addClassCleanup(cls.model.stop)
        cls.at = ["--kubeconfig", cls.model.kubeconfig]
        run("drain", "node-0", *cls.at)
        node = cls.call("GET", "/api/v1/nodes/node-0")
        (hold,) = json.loads(node["metadata"]["annotations"]["careen.dev/holds"])["holds"].values()
        cls.call("PATCH", "/api/v1/nodes/node-0", {"metadata": {
            "labels": {"cloud.sap/maintenance-profile": "reboot"},
            "annotations": {"careen.dev/holds": json.dumps({"holds": {cls.OWNER: hold}})}}})
        run("pause", "--reason", cls.EVIL, "-n", "default", *cls.at)

    @classmethod
    def call(cls, method, path, body=None):
        with open(cls.model.kubeconfig) as file:
            server = re.search(r'server: "?(http://[^\s"]+)', file.read()).group(1)
        request = urllib.request.Request(server + path, method=method, data=json.dumps(body).encode() if body else None,
                                         headers={"Content-Type": "application/merge-patch+json"})
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=LIMIT) as answer:
            return json.load(answer)

    def check(self, text, of):
        self.assertIn("A", text, of)
        self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", of)
        self.assertNotIn("\nnode/forged", text, of)

    def on_a_terminal(self, *words):
        """What a command writes to a terminal."""
        master, slave = pty.openpty()
        process = subprocess.Popen([CAREEN, *words, *self.at], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
                                   env={"TERM": "xterm", "LANG": "C.UTF-8", "HOME": "/nonexistent"})
        os.close(slave)
        shown = b""
        while True:
            try:
                more = os.read(master, 65536)
            except OSError:  # nobody writes any more
                break
            if not more:
                break
            shown += more
        os.close(master)
        process.wait(LIMIT)
        return shown.decode().replace("\r\n", "\n")

    def test_commands(self):
        for words, code in ((["status"], 0), (["status", "-o", "wide"], 0), (["status", "-o", "json"], 0),
                            (["uncordon", "node-0"], 1), (["drain", "node-1"], 1),
                            (["drain", "node-1", "--ignore-pause", "--dry-run=client"], 0)):
            with self.subTest(words):
                self.check("".join(run(*words, *self.at, code=code)), words)

    def test_on_a_terminal_colours_are_careens(self):
        for words in (["status"], ["uncordon", "node-0"], ["drain", "node-1"]):
            with self.subTest(words):
                shown = self.on_a_terminal(*words)
                self.check(re.sub("\x1b\\[(1|2|31|1;31|32|33|34)m([^\x1b]*)\x1b\\[0m", r"\2", shown), words)

    def test_documents_mean_the_same(self):
        rows = json.loads(run("status", "-o", "json", *self.at)[0])["maintenances"]
        self.assertIn(self.OWNER, [row.get("by") for row in rows])


class FakeApiServer:
    """An API server that has locks and pods, makes tokens if it is told to, and passes requests on to a careen that
    wants a token. It keeps what it was asked."""

    LOCK = "maintenance-controller-leader-election.cloud.sap"

    def __init__(self, locks, token=None, careen_wants=None):
        self.locks, self.token, self.careen_wants, self.asked = locks, token, careen_wants, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append((self.command, self.path, dict(self.headers)))
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, document = outer.answer(self.command, urllib.parse.urlsplit(self.path), self.headers)
                text = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_POST = do_GET

            def log_message(self, *_):
                pass

        # Over TLS, without which no token is sent at all.
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            key, certificate = folder + "/key", folder + "/certificate"
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                            "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=api"],
                           check=True, capture_output=True, timeout=LIMIT)
            context.load_cert_chain(certificate, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, method, url, headers):
        parts = url.path.strip("/").split("/")
        if parts[-1] == "leases":
            ns = parts[4] if "namespaces" in parts else None
            items = [{"metadata": {"name": self.LOCK, "namespace": namespace}, "spec": {
                "holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15}}
                for namespace, holder, renewed in self.locks if ns in (None, namespace)]
            return 200, {"kind": "LeaseList", "items": items if self.LOCK in url.query else []}
        if parts[-1] == "token":
            return (201, {"status": {"token": self.token}}) if self.token else (403, {"kind": "Status", "message": "no"})
        if "proxy" in parts:
            if self.careen_wants and headers.get("X-Careen-Token") != self.careen_wants:
                return 401, {"error": "Unauthorized"}
            return 200, {"node": parts[-1], "profiles": []}
        if parts[-2] == "pods":
            return 200, {"kind": "Pod", "metadata": {"name": parts[-1], "uid": "u-1"}, "spec": {
                "serviceAccountName": "careen", "containers": [{"ports": [{"name": "metrics", "containerPort": 6666}]}]}}
        return 404, {"kind": "Status", "message": "not found"}


def view_token(*audiences):
    claims = base64.urlsafe_b64encode(json.dumps({"aud": audiences}).encode()).decode().rstrip("=")
    return f"e30.{claims}.c2ln"


class Leader(unittest.TestCase):
    """The leader is found by a lock that others could have written, and asked through the API server."""

    OWN = "ANAS-OWN-TOKEN"
    FUTURE = "2099-01-01T00:00:00.000000Z"

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    @staticmethod
    def now(seconds=0):
        return time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(time.time() + seconds))

    def explain(self, api, *words, code=0, environment=None):
        self.addCleanup(api.stop)
        path = os.path.join(self.folder.name, "kubeconfig")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                       "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                       "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{api.server.server_port}",
                                                              "insecure-skip-tls-verify": True}}],
                       "users": [{"name": "u", "user": {"token": self.OWN}}]}, file)
        out, err = run("explain", "node-1", "-o", "json", "--kubeconfig", path, *words, code=code, environment=environment)
        # Whatever happens: the user's own token is for the API server and for nobody behind it.
        for method, where, headers in api.asked:
            shown = {key: value for key, value in headers.items() if self.OWN in value}
            self.assertEqual(shown, {"Authorization": f"Bearer {self.OWN}"}, f"{method} {where}")
        return out, err

    @staticmethod
    def proxied(api):
        return [where for _, where, _ in api.asked if "/proxy/" in where]

    def test_a_token_for_the_view_alone_goes_along(self):
        api = FakeApiServer([("careen-system", "careen-0_abc", self.now())], token="made", careen_wants="made")
        out, err = self.explain(api)
        self.assertEqual(json.loads(out)["node"], "node-1")
        self.assertEqual(err, "from the leader careen-0 in namespace careen-system, through the API server\n")
        self.assertEqual(self.proxied(api),
                         ["/api/v1/namespaces/careen-system/pods/careen-0:6666/proxy/careen/v1/nodes/node-1"])

    def test_who_may_make_none_asks_without_and_is_told_what_to_do(self):
        lock = [("careen-system", "careen-0_abc", self.now())]
        self.explain(FakeApiServer(lock))
        _, err = self.explain(FakeApiServer(lock, careen_wants="another"), code=1)
        self.assertIn("kubectl -n careen-system create token SERVICEACCOUNT --audience careen.dev/view", err)
        self.assertIn("--token", err)
        self.assertIn("port-forward pod/careen-0 6666", err)

    def test_a_token_of_ones_choice(self):
        lock, token = [("careen-system", "careen-0_abc", self.now())], view_token("careen.dev/view")
        self.explain(FakeApiServer(lock, careen_wants=token), "--token", token)
        self.explain(FakeApiServer(lock, careen_wants=token), environment={"CAREEN_TOKEN": token})
        # One that is good for more goes nowhere.
        for other in ("opaque", view_token("https://kubernetes.default.svc"), view_token("careen.dev/view", "api")):
            api = FakeApiServer(lock, careen_wants="another")
            _, err = self.explain(api, "--token", other, code=2)
            self.assertIn("--audience careen.dev/view", err)
            self.assertEqual(api.asked, [])
            api = FakeApiServer(lock)
            self.explain(api, environment={"CAREEN_TOKEN": other})
            self.assertNotIn(other, json.dumps(api.asked))

    def test_a_lock_in_another_namespace_does_not_win(self):
        for renewed in (self.now(), self.now(30)):
            api = FakeApiServer([("careen-system", "careen-0_abc", self.now()), ("tenant", "evil_x", renewed)], token="made")
            _, err = self.explain(api, code=1)
            self.assertIn("several namespaces: careen-system, tenant", err)
            self.assertIn("--namespace", err)
            self.assertEqual(self.proxied(api), [])
        # Nor does one that claims to be held for ever.
        api = FakeApiServer([("careen-system", "careen-0_abc", self.now()), ("tenant", "evil_x", self.FUTURE)], token="made")
        _, err = self.explain(api)
        self.assertIn("careen-0 in namespace careen-system", err)

    def test_the_namespace_can_be_named(self):
        api = FakeApiServer([("careen-system", "careen-0_abc", self.now()), ("tenant", "evil_x", self.now())], token="made")
        _, err = self.explain(api, "--namespace", "careen-system")
        self.assertIn("careen-0 in namespace careen-system", err)

    def test_a_holder_that_names_no_pod_becomes_no_path(self):
        for holder in ("../../secrets/x_1", "a:80/proxy?_1", ".._x"):
            api = FakeApiServer([("careen-system", holder, self.now())], token="made")
            _, err = self.explain(api, code=1)
            self.assertIn("names no pod", err)
            self.assertTrue(all("/leases?" in where for _, where, _ in api.asked), api.asked)


REQUESTS = "/apis/repairman.k8s.io/v1/maintenancerequests"


class Requests(unittest.TestCase):
    """careen request run, with a command of its own, its terminal's output and its signals; somebody approves."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.model = Model(cls.folder.name)
        cls.addClassCleanup(cls.model.stop)
        with open(cls.model.kubeconfig, encoding="utf-8") as file:
            cls.server = re.search(r"http://[0-9.:]+", file.read()).group(0)
        definition = yaml.safe_load((ROOT / "deploy/crds/maintenancerequest.yaml").read_text())
        cls.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json.dumps(definition).encode())

    @classmethod
    def call(cls, method, path, body=None, kind="application/json"):
        asked = urllib.request.Request(cls.server + path, body, {"Content-Type": kind}, method=method)
        with urllib.request.urlopen(asked, timeout=LIMIT) as answer:
            return json.load(answer)

    def tearDown(self):
        for item in self.all():
            self.call("DELETE", f"{REQUESTS}/{item['metadata']['name']}")

    def all(self):
        return self.call("GET", REQUESTS)["items"]

    def states(self):
        return [item["spec"]["state"] for item in self.all()]

    def start(self, *words, node="node-0"):
        """careen request run, which has made its request."""
        process = subprocess.Popen([CAREEN, "request", "run", node, "--client", "test", "--kubeconfig", self.model.kubeconfig,
                                    *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        self.until(lambda: self.all())
        return process

    def approve(self):
        name = self.all()[0]["metadata"]["name"]
        self.call("PATCH", f"{REQUESTS}/{name}", b'{"spec": {"state": "Approved"}}', "application/merge-patch+json")
        return name

    @staticmethod
    def until(holds):
        end = time.monotonic() + LIMIT
        while not holds():
            if time.monotonic() > end:
                raise AssertionError("it does not happen")
            time.sleep(0.05)

    def end(self, process, code, text=None):
        out, err = process.communicate(text, timeout=LIMIT)
        self.assertEqual(process.returncode, code, err)
        return out, err

    def test_a_command_runs_when_it_is_approved(self):
        process = self.start("--", "sh", "-c", 'read word; echo "$word $CAREEN_NODE $CAREEN_REQUEST"')
        name = self.approve()
        out, err = self.end(process, 0, "input\n")
        self.assertEqual(out, f"input node-0 {name}\n")
        self.assertIn(f"/{name} in progress\n", err)
        self.assertTrue(err.endswith(f"/{name} completed\n"), err)
        self.assertEqual(self.states(), ["Completed"])

    def test_a_command_that_fails_keeps_its_place(self):
        process = self.start("--", "sh", "-c", "exit 7")
        name = self.approve()
        _, err = self.end(process, 7)
        self.assertIn(f"/{name} stays in progress", err)
        self.assertIn("careen request done node-0 --client test", err)
        self.assertEqual(self.states(), ["InProgress"])
        _, err = self.end(self.start("--", "echo", "again"), 125)
        self.assertIn("in progress already, begun by ", err)

    def test_what_was_not_run_takes_no_place(self):
        self.end(self.start("--timeout", "1s", "--", "echo", "never"), 124)
        self.assertEqual(self.states(), [])
        process = self.start("--", "no-such-program-here")
        self.approve()
        self.end(process, 127)
        self.assertEqual(self.states(), [])
        process = self.start("--", "echo", "never")
        process.send_signal(signal.SIGINT)
        out, _ = self.end(process, 130)
        self.assertEqual((out, self.states()), ("", []))

    def test_signals_are_the_commands(self):
        process = self.start("--", "sh", "-c", 'trap "exit 9" TERM; echo up; while :; do sleep 0.1; done')
        self.approve()
        self.assertEqual(process.stdout.readline(), "up\n")
        process.send_signal(signal.SIGTERM)
        self.end(process, 9)
        self.assertEqual(self.states(), ["InProgress"])


class Installed(unittest.TestCase):
    def test_everything_is_in_its_place(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([ROOT / "tools/install", CAREEN, folder], check=True, capture_output=True, timeout=LIMIT)
            version = json.loads(run("version", "-o", "json", program=folder + "/bin/kubectl-careen")[0])
            self.assertIn("version", version)
            for path in ("share/man/man1/careen.1", "share/bash-completion/completions/careen",
                         "share/zsh/site-functions/_careen", "share/fish/vendor_completions.d/careen.fish"):
                self.assertGreater(os.path.getsize(os.path.join(folder, path)), 100, path)
            out = run("explain", "-o", "", program=folder + "/bin/kubectl_complete-careen",
                      environment={"PATH": folder + "/bin:" + os.environ["PATH"]})[0]
            self.assertEqual(out, "json\nyaml\n:4\n")


def renew():
    for what, path in REFERENCES.items():
        (ROOT / path).parent.mkdir(exist_ok=True)
        (ROOT / path).write_text(run("docs", what)[0])
        print("written:", path)


if __name__ == "__main__":
    CAREEN = os.path.abspath(sys.argv.pop(1))
    if sys.argv[1:] == ["--renew"]:
        renew()
    else:
        unittest.main(verbosity=2)
