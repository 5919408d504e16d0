"""A place that takes Slack messages on the loopback interface and remembers when each came."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.taken(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


class SlackSink(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self._lock = threading.Lock()
        self.reset()
        threading.Thread(target=self.serve_forever, daemon=True, name="slack").start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/hook"

    def reset(self):
        with self._lock:
            self.count = 0
            self.last = 0.0  # since 1970
            self.by_path = {}

    def taken(self, path):
        with self._lock:
            self.count += 1
            self.last = time.time()
            self.by_path[path] = self.by_path.get(path, 0) + 1

    def stop(self):
        self.shutdown()
        self.server_close()
