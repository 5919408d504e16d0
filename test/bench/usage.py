"""Runs a command and prints what it used as one line of JSON: CPU seconds, peak memory in bytes, exit code.

    python3 usage.py COMMAND ARGUMENT…        the command's own output goes to stderr

It is a program of its own and a small one, because a process begins with the peak memory of the one that started it.
"""

import json
import resource
import subprocess
import sys

code = subprocess.run(sys.argv[1:], stdout=sys.stderr, check=False).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss * 1024, "code": code}))
