"""The data annotation as the program that careen replaces reads it: whatever it does not know is an error."""

import json
import re

STATES = ("operational", "maintenance-required", "in-maintenance")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,8}[1-9])?(Z|[+-]\d\d:\d\d)")


class NotReadable(Exception):
    pass


def parse(text):
    """The document, if it has the layout of v2 and nothing else, in the spelling of that program."""
    document = json.loads(text, object_pairs_hook=_object)
    _fields(document, "the annotation", ["Profiles", "Notifications"])
    for key in document:
        if not isinstance(document[key], dict):
            raise NotReadable(f"{key} is {document[key]!r}")
    for name, profile in document["Profiles"].items():
        _fields(profile, f"profile {name}", ["Transition", "Current", "Previous"])
        check_time(profile["Transition"], f"profile {name}")
        for key in ("Current", "Previous"):
            if profile[key] not in STATES:
                raise NotReadable(f"profile {name}: {key} is {profile[key]!r}")
    for name, time in document["Notifications"].items():
        check_time(time, f"notification {name}")
    for key in ("Profiles", "Notifications"):
        if list(document[key]) != sorted(document[key]):
            raise NotReadable(f"{key} are not sorted")
    if json.dumps(document, separators=(",", ":"), ensure_ascii=False) != text:
        raise NotReadable("the spelling is another")
    return document


def _object(pairs):
    document = dict(pairs)
    if len(document) != len(pairs):
        raise NotReadable(f"a field twice among {[key for key, _ in pairs]}")
    return document


def _fields(value, what, wanted):
    if not isinstance(value, dict) or list(value) != wanted:
        raise NotReadable(f"{what} is {value!r}; wanted are the fields {wanted}")


def check_time(value, what):
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        raise NotReadable(f"{what}: {value!r} is no time")
