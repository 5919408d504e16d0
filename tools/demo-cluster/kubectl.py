"""kubectl as the demonstration uses it."""

import json
import subprocess


class Kubectl:
    def __init__(self, environment, cache):
        self._environment = environment
        self._cache = cache

    def __call__(self, *arguments, stdin=None, must=True):
        """What it prints. Without `must`, what it refuses is no error: others may have been faster."""
        # Ctrl-C is for the demonstration, which ends its children itself.
        done = subprocess.run(["kubectl", "--cache-dir", self._cache, *arguments], env=self._environment, text=True,
                              input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        if must and done.returncode != 0:
            raise RuntimeError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def json(self, *arguments):
        return json.loads(self(*arguments, "-o", "json"))

    def apply(self, objects):
        items = {"apiVersion": "v1", "kind": "List", "items": objects}
        self("apply", "--server-side", "-f", "-", stdin=json.dumps(items))
