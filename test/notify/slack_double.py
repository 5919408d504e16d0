"""A strict double of Slack over HTTP: the Web API's chat.postMessage and incoming webhooks. It takes exactly what Slack
documents and careen sends, records the messages, and can be told to fail, to hang or to ask for a pause.

    with SlackDouble(token="xoxb-1", hooks={"/services/T/B/X"}) as slack:
        ...  slack.api is the Web API's base URL, slack.hook("/services/T/B/X") a hook's
        slack.messages  -> [Message(channel, text, ts, thread_ts, via)]
        slack.complaints -> what was wrong with requests that were refused for their form
"""

import collections
import dataclasses
import http.server
import json
import threading
import urllib.parse


@dataclasses.dataclass
class Message:
    channel: str
    text: str
    ts: str
    thread_ts: str | None = None
    via: str = "api"


@dataclasses.dataclass
class Trouble:
    """What happens to a request instead of being taken."""

    status: int = 200
    body: str = ""
    headers: dict = dataclasses.field(default_factory=dict)
    hang: bool = False
    # The message is taken all the same, and only the answer is this one.
    taken: bool = False


class SlackDouble:
    def __init__(self, token="xoxb-token", channels=None, hooks=(), port=0):
        self.token = token
        self.channels = None if channels is None else set(channels)  # None: every channel exists
        self.hooks = set(hooks)
        self.messages = []
        self.complaints = []
        self._troubles = collections.deque()
        self._lock = threading.Lock()
        self._released = threading.Event()
        double = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                double._serve(self)

            def __getattr__(self, name):
                if name.startswith("do_"):
                    return lambda: double._refuse(self, 405, f"method {self.command}")
                raise AttributeError(name)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._released.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def base(self):
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def api(self):
        return self.base + "/api"

    def hook(self, path):
        return self.base + path

    def next(self, *troubles):
        """The next requests, one each, meet these troubles (None: nothing happens)."""
        with self._lock:
            self._troubles.extend(troubles)

    def fail(self, status=500, body="broken"):
        self.next(Trouble(status=status, body=body))

    def ask_for_pause(self, seconds):
        body = json.dumps({"ok": False, "error": "ratelimited"})
        self.next(Trouble(status=429, body=body, headers={"Retry-After": str(seconds)}))

    def hang(self):
        self.next(Trouble(hang=True))

    # -- one request

    def _serve(self, request):
        length = request.headers.get("Content-Length", "")
        if not length.isdigit():
            return self._refuse(request, 411, "no Content-Length")
        body = request.rfile.read(int(length))
        with self._lock:
            trouble = self._troubles.popleft() if self._troubles else None
        if trouble is not None and trouble.hang:
            self._released.wait()
            return None
        if trouble is not None and not trouble.taken:
            return self._answer(request, trouble.status, trouble.body, trouble.headers)
        with self._lock:
            if request.path == "/api/chat.postMessage":
                answer = self._post_message(request, body)
            elif request.path in self.hooks:
                answer = self._post_to_hook(request, body)
            else:
                answer = (404, self._complain(f"path {request.path}"))
        if trouble is not None:
            answer = (trouble.status, trouble.body)
        return self._answer(request, *answer)

    def _post_message(self, request, body):
        def error(word, detail=None):
            if detail:
                self._complain(detail)
            return 200, json.dumps({"ok": False, "error": word})

        content_type = request.headers.get("Content-Type")
        if content_type != "application/x-www-form-urlencoded":
            return error("invalid_post_type", f"content type {content_type}")
        try:
            pairs = urllib.parse.parse_qsl(body.decode("ascii"), keep_blank_values=True, strict_parsing=True)
        except ValueError as problem:
            return error("invalid_form_data", f"form {body!r}: {problem}")
        form = dict(pairs)
        if len(form) != len(pairs):
            return error("invalid_form_data", f"fields given twice: {body!r}")
        if set(form) - {"thread_ts"} != {"token", "channel", "text"}:
            return error("invalid_arguments", f"fields {sorted(form)}")
        if form["token"] != self.token:
            return error("invalid_auth")
        if self.channels is not None and form["channel"] not in self.channels:
            return error("channel_not_found")
        if not form["text"]:
            return error("no_text")
        without_escapes = form["text"].replace("&amp;", "").replace("&lt;", "").replace("&gt;", "")
        if any(c in without_escapes for c in "&<>"):
            return error("invalid_arguments", f"text is not escaped: {form['text']!r}")
        thread = form.get("thread_ts")
        if thread is not None and not any(
            m.ts == thread and m.channel == form["channel"] and m.thread_ts is None for m in self.messages
        ):
            return error("thread_not_found", f"there is no thread {thread!r} in {form['channel']}")
        message = self._take(form["channel"], form["text"], thread, "api")
        return 200, json.dumps({"ok": True, "channel": form["channel"], "ts": message.ts,
                                "message": {"text": form["text"], "ts": message.ts}})

    def _post_to_hook(self, request, body):
        content_type = request.headers.get("Content-Type")
        if content_type != "application/json":
            return 400, self._complain(f"content type {content_type}")
        try:
            payload = json.loads(body.decode("utf-8"))
        except ValueError as problem:
            self._complain(f"body {body!r}: {problem}")
            return 400, "invalid_payload"
        if not isinstance(payload, dict) or set(payload) != {"text", "channel"}:
            self._complain(f"payload {payload!r}")
            return 400, "invalid_payload"
        if not all(isinstance(value, str) for value in payload.values()):
            self._complain(f"payload {payload!r}")
            return 400, "invalid_payload"
        if not payload["text"]:
            return 400, "no_text"
        if self.channels is not None and payload["channel"] not in self.channels:
            return 404, "channel_not_found"
        self._take(payload["channel"], payload["text"], None, "hook")
        return 200, "ok"

    def _take(self, channel, text, thread, via):
        plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") if via == "api" else text
        message = Message(channel, plain, f"1700000000.{len(self.messages) + 1:06d}", thread, via)
        self.messages.append(message)
        return message

    def _complain(self, text):
        self.complaints.append(text)
        return text

    def _refuse(self, request, status, text):
        with self._lock:
            self._complain(text)
        request.close_connection = True
        self._answer(request, status, text)

    @staticmethod
    def _answer(request, status, body, headers=None):
        data = body.encode()
        request.send_response(status)
        for name, value in (headers or {}).items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)
