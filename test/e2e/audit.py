"""The API server's audit log: who asked for what, as the server itself wrote it down."""

import json
import os


class Audit:
    """Reads what is added to the log after the mark."""

    def __init__(self, path):
        self._path = path
        self.mark()

    def mark(self):
        self._offset = os.path.getsize(self._path)

    def entries(self, user_agent="careen"):
        """Finished requests of a program since the mark, as the audit log has them."""
        found = []
        with open(self._path, "rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                entry = json.loads(line)
                if entry["stage"] == "ResponseComplete" and entry.get("userAgent", "").split("/")[0] == user_agent:
                    entry.setdefault("objectRef", {})  # discovery is about no object
                    found.append(entry)
        return found


def resource_of(entry):
    """What the request was about; of one that is about no resource, such as discovery, its path."""
    reference = entry.get("objectRef", {})
    name = reference.get("resource") or entry["requestURI"].split("?")[0]
    return name + "/" + reference["subresource"] if reference.get("subresource") else name


def accepted(entry):
    return 200 <= entry.get("responseStatus", {}).get("code", 0) < 300
