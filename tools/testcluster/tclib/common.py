"""What every part needs: errors, progress lines, folders, locks, interrupts."""

import contextlib
import fcntl
import json
import os
import re
import signal
import stat
import sys
import tempfile
import time

SOURCE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?")


class Failure(Exception):
    """Something went wrong that the user should read about; exit status 1."""


class UsageError(Exception):
    """The command line makes no sense; exit status 2."""


class Interrupted(BaseException):
    """A signal asked the tool to stop."""

    def __init__(self, number):
        super().__init__(signal.Signals(number).name)
        self.number = number


def say(text):
    """Prints a progress line."""
    print(text, file=sys.stderr, flush=True)


def check_name(name):
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"'{name}' is not a cluster name: use up to 40 lower-case letters, digits and dashes")
    return name


# --- folders ---------------------------------------------------------------

def cache_dir():
    """Where binaries are kept: outside the source tree, shared by all clusters."""
    base = os.environ.get("CAREEN_CACHE")
    if not base:
        base = os.path.join(
            os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "careen")
    return os.path.join(os.path.abspath(base), "testcluster")


def state_base():
    """Where running clusters keep their files: one folder per user, mode 0700."""
    path = os.environ.get("TESTCLUSTER_STATE") or f"/tmp/careen-testcluster-{os.getuid()}"
    path = os.path.abspath(path)
    try:
        os.makedirs(path, mode=0o700)
    except FileExistsError:
        pass
    info = os.lstat(path)
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid():
        raise Failure(f"{path} is not a folder of yours; set TESTCLUSTER_STATE to another folder")
    if info.st_mode & 0o077:
        os.chmod(path, 0o700)
    return path


def write_file(path, content, mode=0o600):
    """Writes a file so that a reader sees all of it or none of it."""
    data = content.encode() if isinstance(content, str) else content
    fd, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".tmp-")
    try:
        with os.fdopen(fd, "wb") as out:
            out.write(data)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def write_json(path, value):
    write_file(path, json.dumps(value, indent=1, sort_keys=True) + "\n")


@contextlib.contextmanager
def file_lock(path, waiting_for):
    """Holds an exclusive lock; says so when another process has it."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for {waiting_for} …")
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def tail(path, lines=15):
    """The last lines of a log file, for an error message."""
    try:
        with open(path, "rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(0, log.tell() - 16384))
            text = log.read().decode(errors="replace")
    except OSError as error:
        return f"    ({error})"
    return "\n".join("    " + line[:400] for line in text.splitlines()[-lines:])


def duration(seconds):
    seconds = int(seconds + 0.5)
    return f"{seconds // 60}m{seconds % 60:02d}s" if seconds >= 60 else f"{seconds}s"


# --- interrupts ------------------------------------------------------------

class Interrupts:
    """Turns SIGINT, SIGTERM and SIGHUP into the exception Interrupted.

    Inside `deferred()` the exception waits until the block ends, so that a
    process is never started without being recorded; inside `ignored()` it does
    not come at all. It comes only once, so that a second Ctrl-C does not cut
    the clean-up after the first one short.
    """

    def __init__(self):
        self._deferring = 0
        self._ignoring = 0
        self._pending = None
        self._raised = False

    def install(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # nohup has the last one ignored, and it should stay so.
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._arrived)

    def _arrived(self, number, _frame):
        if self._ignoring or self._raised:
            say("still cleaning up …")
        elif self._deferring:
            self._pending = number
        else:
            self._raised = True
            raise Interrupted(number)

    @contextlib.contextmanager
    def deferred(self):
        self._deferring += 1
        try:
            yield
        finally:
            self._deferring -= 1
            if self._pending is not None and not self._deferring and not self._ignoring:
                number, self._pending = self._pending, None
                self._raised = True
                raise Interrupted(number)

    @contextlib.contextmanager
    def ignored(self):
        self._ignoring += 1
        try:
            yield
        finally:
            self._ignoring -= 1


INTERRUPTS = Interrupts()


class Deadline:
    """A point in time that a wait may not pass."""

    def __init__(self, seconds):
        self._end = time.monotonic() + seconds

    def passed(self):
        return time.monotonic() > self._end

    def left(self):
        return max(0.0, self._end - time.monotonic())
