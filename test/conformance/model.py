"""The model cluster as a process."""

import ctypes
import os
import signal
import subprocess

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def _die_with_parent():
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Model:
    def __init__(self, binary, *flags):
        self._command = [binary, "model", "--listen", "127.0.0.1:0", *(flags or ["--nodes", "0", "--no-controllers"])]
        self._process = None

    def up(self):
        """Its address."""
        self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                         preexec_fn=_die_with_parent, env=dict(os.environ))
        address = self._process.stdout.readline().strip()
        if not address.startswith("http://"):
            raise RuntimeError(f"{' '.join(self._command)} does not start")
        return address

    def down(self):
        """Ends it as a person would; its exit code."""
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(10)
        self._process.stdout.close()
        return code
