#!/usr/bin/env python3
"""Instant queries against a real Prometheus that scrapes a small exporter.

    prometheus_test.py PROMETHEUS_ASK
"""

import http.server
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

# How long the server may take to start and to scrape.
PATIENCE = 25.0

METRICS = b"""# TYPE load gauge
load 4.5
# TYPE zero gauge
zero 0
# TYPE nothing gauge
nothing NaN
# TYPE disk gauge
disk{name="a"} 1
disk{name="b"} 2
"""


class Exporter(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(METRICS)

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_prometheus(folder, exporter_port):
    """The process and its URL."""
    config = os.path.join(folder, "prometheus.yml")
    with open(config, "w", encoding="utf-8") as out:
        out.write("global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
                  "scrape_configs:\n"
                  f"- {{job_name: exporter, static_configs: [{{targets: ['127.0.0.1:{exporter_port}']}}]}}\n")
    port = free_port()
    with open(os.path.join(folder, "log"), "wb") as log:
        process = subprocess.Popen(
            ["/usr/bin/prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"],
            stdout=log, stderr=log, preexec_fn=die_with_parent)
    return process, f"http://127.0.0.1:{port}"


def die_with_parent():
    import ctypes
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def wait_for_scrape(process, url, folder):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{url}/api/v1/query?query=load", timeout=2) as answer:
                if b'"4.5"' in answer.read():
                    return
        except OSError:
            pass
        time.sleep(0.1)
    with open(os.path.join(folder, "log"), encoding="utf-8") as log:
        sys.exit("Prometheus does not scrape:\n" + log.read())


# Path behind the server's URL, query, expression, what the answer has to contain.
CASES = [
    ("", "load", "value > 4", "true"),
    ("", "load", "value > 5", "false"),
    ("/", "load", "value in [4.5]", "true"),
    ("", "sum(disk)", "value == 3", "true"),
    ("", 'disk{name="a"}', "value == 1", "true"),
    ("", "disk", "value > 0", "error: {url}: the query gives 2 samples; exactly one is needed"),
    ("", "unknown_metric", "value > 0", "error: {url}: the query gives no sample; exactly one is needed"),
    ("", "scalar(load)", "value > 0", "error: {url}: the query gives a scalar; an instant vector is needed"),
    ("", "vector(2)", "value == 2", "true"),
    ("", "1", "value", "error: {url}: the query gives a scalar"),
    ("", "load[1m]", "value", "error: {url}: the query gives a matrix"),
    ("", "sum(", "value > 0", "error: {url}: bad_data: "),
    ("", "", "value > 0", "error: {url}: bad_data: "),
    ("", "load / zero", "value > 1e300", "true"),
    ("", "nothing", "value > 0 || value <= 0", "false"),
    ("", "load > 100", "value", "error: {url}: the query gives no sample"),
    ("/no/such/path", "load", "value > 0", "error: {url}/no/such/path: HTTP status 404"),
]


def check(ask, url, query, expression, expected):
    done = subprocess.run([ask, url, query, expression], stdout=subprocess.PIPE, text=True, timeout=20, check=True)
    said = done.stdout.rstrip("\n")
    # A complete word, or the beginning of a longer message.
    if said == expected or (expected.startswith("error: ") and said.startswith(expected)):
        return True
    print(f"{query!r} with {expression!r} at {url}: expected {expected!r}, got {said!r}")
    return False


def main():
    ask = sys.argv[1]
    exporter = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
    threading.Thread(target=exporter.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        process, url = start_prometheus(folder, exporter.server_address[1])
        try:
            wait_for_scrape(process, url, folder)
            good = [check(ask, url + path, query, expression, expected.format(url=url))
                    for path, query, expression, expected in CASES]
        finally:
            process.terminate()
            process.wait()
        # The server is gone, and its address is no server's.
        good.append(check(ask, url, "load", "value", f"error: {url}: "))
        good.append(check(ask, "nonsense", "load", "value", 'error: "nonsense" is no URL of a server'))
    print(f"{sum(good)} of {len(good)} answers as expected")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
