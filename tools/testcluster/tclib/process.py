"""Starting, recognising and ending the processes of a cluster.

A process is known by its id, its start time and the boot it was started in.
An id alone is not enough: the kernel uses ids again, and this tool must never
end a process that it did not start.
"""

import contextlib
import os
import select
import signal
import subprocess
import time

from .common import INTERRUPTS


def _boot_id():
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def _stat(pid):
    """State letter and start time (clock ticks after boot), or None."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return fields[0].decode(), int(fields[19])


def identify(pid):
    found = _stat(pid)
    return {"pid": pid, "start": found[1] if found else 0, "boot": _boot_id()}


def alive(record):
    """Whether the recorded process itself (not a successor of its id) runs."""
    if not record:
        return False
    with contextlib.suppress(ChildProcessError):
        os.waitpid(record["pid"], os.WNOHANG)
    found = _stat(record["pid"])
    return (found is not None and found[0] not in "ZX"
            and found[1] == record["start"] and record["boot"] == _boot_id())


def start(arguments, log_path, on_started, cwd, environment=None):
    """Starts a process of its own session, its output appended to a log.

    on_started(record) is called before a signal can interrupt the tool.
    """
    with open(log_path, "ab") as log:
        log.write(f"--- {time.strftime('%Y-%m-%d %H:%M:%S')} starting\n".encode())
        log.flush()
        with INTERRUPTS.deferred():
            process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=cwd,
                env={**os.environ, **(environment or {})}, start_new_session=True)
            process.returncode = 0  # it outlives this tool; no complaint about that
            record = identify(process.pid)
            on_started(record)
    return record


def _open(record):
    """A handle on exactly this process, or None when it is gone."""
    try:
        handle = os.pidfd_open(record["pid"])
    except OSError:
        return None
    if not alive(record):
        os.close(handle)
        return None
    return handle


def end(records, graceful=False, patience=30.0):
    """Ends processes and waits until they are gone; returns how many there were.

    Graceful means SIGTERM first and SIGKILL only after `patience` seconds.
    """
    handles = [handle for handle in map(_open, filter(None, records)) if handle is not None]
    try:
        signals = [(signal.SIGTERM, patience), (signal.SIGKILL, 30.0)]
        left = list(handles)
        for number, wait in signals if graceful else signals[1:]:
            for handle in left:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handle, number)
            left = _wait(left, wait)
            if not left:
                break
    finally:
        for handle in handles:
            os.close(handle)
    for record in filter(None, records):
        with contextlib.suppress(ChildProcessError):
            os.waitpid(record["pid"], os.WNOHANG)
    return len(handles)


def _wait(handles, seconds):
    """Waits for processes to end; returns the handles of those that did not."""
    end_time = time.monotonic() + seconds
    poller = select.poll()
    left = set(handles)
    for handle in left:
        poller.register(handle, select.POLLIN)
    while left and time.monotonic() < end_time:
        for handle, _ in poller.poll(200):
            poller.unregister(handle)
            left.discard(handle)
    return list(left)


def resident_memory(record):
    """Resident memory in bytes, 0 when the process does not run."""
    if not alive(record):
        return 0
    try:
        with open(f"/proc/{record['pid']}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
