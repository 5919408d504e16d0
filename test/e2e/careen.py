"""careen as a process: started with its flags, its log, metrics and probes read, ended in every way."""

import ctypes
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_parent():
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port():
    """A port that nobody listens on; below those that outgoing connections get."""
    for _ in range(100):
        port = 10000 + int.from_bytes(os.urandom(2), "big") % 9000
        with socket.socket() as attempt:
            attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                attempt.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no free port")


def http_get(port, path, timeout=5, address="127.0.0.1"):
    connection = http.client.HTTPConnection(address, port, timeout=timeout)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


_SAMPLE = re.compile(r'^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)', re.M)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Metrics:
    """One scrape."""

    def __init__(self, text):
        self.samples = [(name, dict(_LABEL.findall(labels or "")), float(value))
                        for name, labels, value in _SAMPLE.findall(text)]

    def find(self, metric, **labels):
        return [(found, value) for name, found, value in self.samples
                if name == metric and all(found.get(key) == wanted for key, wanted in labels.items())]

    def sum(self, metric, **labels):
        return sum(value for _, value in self.find(metric, **labels))


def poll(function, seconds, what, interval=0.05):
    """Asks until the answer is true and returns it; for what can only be asked, not watched."""
    end = time.monotonic() + seconds
    while True:
        answer = function()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"after {seconds} s still waiting for {what}")
        time.sleep(interval)


class Careen:
    """One replica. It serves its metrics on `address`, another of the loopback's if need be. Without a `config` it has none."""

    def __init__(self, binary, kubeconfig, config, log_path, *flags, cwd=None, environment=None, address="127.0.0.1",
                 metrics_port=None, verb=("run",)):
        self.address = address
        self.metrics_port, self.health_port = metrics_port or free_port(), free_port()
        self.log_path = log_path
        self._log = []
        self._logged = threading.Condition()
        command = [binary, *verb, "--kubeconfig", kubeconfig, *(["--config", config] if config else []),
                   "--metrics-addr", f"{address}:{self.metrics_port}",
                   "--health-addr", f"127.0.0.1:{self.health_port}",
                   "--zap-encoder=json", "--zap-log-level=info", *flags]
        # Without this a stop waits for one more scrape, because tests scrape.
        if not any(flag.startswith("--metrics-timeout") for flag in flags):
            command.append("--metrics-timeout=0s")
        inherited = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
        self.started = time.monotonic()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, cwd=cwd,
                                        env={**inherited, **(environment or {})},
                                        preexec_fn=die_with_parent)
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()

    # --- log ---------------------------------------------------------------

    def _read_log(self):
        with open(self.log_path, "a") as file:
            for raw in self.process.stderr:
                text = raw.decode(errors="replace").rstrip("\n")
                file.write(text + "\n")
                file.flush()
                try:
                    line = json.loads(text)
                except ValueError:
                    line = {"level": "?", "msg": text}
                with self._logged:
                    self._log.append(line)
                    self._logged.notify_all()
        with self._logged:
            self._logged.notify_all()

    def log(self, *levels):
        """The lines so far, as objects."""
        with self._logged:
            return [line for line in self._log if not levels or line["level"] in levels]

    def complaints(self, pattern=""):
        """Warnings and errors (and what is no log line at all) whose text contains the pattern."""
        return [line for line in self.log() if line["level"] not in ("debug", "info")
                and re.search(pattern, json.dumps(line))]

    def wait_log(self, condition, seconds, what):
        """Waits for a line for which condition(line) holds, and returns it."""
        def found():
            return next((line for line in self._log if condition(line)), None)
        with self._logged:
            if not self._logged.wait_for(found, seconds):
                raise AssertionError(f"after {seconds} s still waiting for the log line of {what}; see {self.log_path}")
            return found()

    # --- metrics and probes ------------------------------------------------

    def get(self, path):
        """Status and body of a page on the port of the metrics."""
        return http_get(self.metrics_port, path, address=self.address)

    def metrics(self):
        return Metrics(self.get("/metrics")[1])

    def info(self):
        """The nodes of /api/v1/info by their names."""
        status, text = self.get("/api/v1/info")
        if status != 200:
            raise AssertionError(f"/api/v1/info: {status}: {text}")
        return {node["node"]: node for node in json.loads(text)}

    def readyz(self):
        """Status and verbose text; status 0 while nobody listens."""
        try:
            return http_get(self.health_port, "/readyz?verbose")
        except OSError:
            return 0, ""

    def wait_ready(self, seconds=30):
        def ready():
            if self.process.poll() is not None:
                raise AssertionError(f"careen ended with code {self.process.returncode}; see {self.log_path}")
            return self.readyz()[0] == 200
        poll(ready, seconds, f"careen to be ready; it says {self.readyz()}")
        return self

    def open_problems(self):
        return {labels.get("key"): value for labels, value in self.metrics().find("careen_problem") if value}

    # --- ending ------------------------------------------------------------

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def wait_exit(self, seconds):
        """The exit code; an assertion fails when it takes longer."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"careen does not end within {seconds} s; see {self.log_path}") from None
        self._reader.join(5)
        return code

    def stop(self, seconds=15):
        self.signal(signal.SIGTERM)
        return self.wait_exit(seconds)

    def kill(self):
        """kill -9, as a machine that vanishes."""
        if self.alive():
            self.process.kill()
        self.process.wait()
        self._reader.join(5)

    # --- cost --------------------------------------------------------------

    def cpu_seconds(self):
        with open(f"/proc/{self.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        """Resident now and at most, in bytes."""
        with open(f"/proc/{self.pid}/status") as file:
            values = dict(re.findall(r"^(VmRSS|VmHWM):\s+(\d+) kB", file.read(), re.M))
        return int(values["VmRSS"]) * 1024, int(values["VmHWM"]) * 1024
