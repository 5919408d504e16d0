"""A real Prometheus that scrapes one number, which tests set."""

import ctypes
import http.server
import os
import signal
import subprocess
import threading
import urllib.request

from careen import free_port, poll


def _die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Prometheus:
    """Knows the metric `load`. It can be ended and started again at the same address."""

    def __init__(self, folder, value):
        self.value = value
        self._folder = folder
        self._process = None
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        prometheus = self

        class Exporter(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(f"# TYPE load gauge\nload {prometheus.value}\n".encode())

            def log_message(self, *_):
                pass

        self._exporter = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
        threading.Thread(target=self._exporter.serve_forever, daemon=True).start()

    def start(self):
        config = os.path.join(self._folder, "prometheus.yml")
        with open(config, "w") as file:
            file.write("global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n- job_name: exporter\n"
                       f"  static_configs: [{{targets: ['127.0.0.1:{self._exporter.server_address[1]}']}}]\n")
        with open(os.path.join(self._folder, "prometheus.log"), "ab") as log:
            self._process = subprocess.Popen(
                ["/usr/bin/prometheus", f"--config.file={config}", f"--storage.tsdb.path={self._folder}/prometheus",
                 f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn"],
                stdout=log, stderr=log, preexec_fn=_die_with_parent)
        return self

    def set(self, value):
        """Returns when Prometheus has seen it."""
        self.value = value
        poll(lambda: f'"{value}"' in self._query(), 30, f"Prometheus to scrape the value {value}")

    def _query(self):
        if self._process.poll() is not None:
            raise AssertionError(f"Prometheus has ended; see {self._folder}/prometheus.log")
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/query?query=load", timeout=5) as answer:
                return answer.read().decode()
        except OSError:
            return ""

    def stop(self):
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    def close(self):
        self.stop()
        self._exporter.shutdown()
        self._exporter.server_close()
