"""What differs between the model and the real API server on purpose: a reason, and a function that tells from the
operation and both answers whether it is that. docs/model-cluster.md has the same list in words."""

import re


def _body(answer):
    """The object of an answer or of an event."""
    if "event" in answer:
        return answer["event"][1] if answer["event"] else None
    return answer.get("body")


def _changed(answer, change):
    """A copy of the answer with its object changed."""
    body = _body(answer)
    if not isinstance(body, dict):
        return answer
    if "event" in answer:
        return {**answer, "event": [answer["event"][0], change(body)]}
    return {**answer, "body": change(body)}


def _same_after(change):
    return lambda operation, real, model: _changed(real, change) == _changed(model, change)


def _without_descriptions(body):
    if body.get("kind") != "Table":
        return body
    return {**body, "columnDefinitions": [{key: value for key, value in column.items() if key != "description"}
                                          for column in body.get("columnDefinitions") or []]}


def _without_repeated_causes(body):
    causes = (body.get("details") or {}).get("causes")
    if not causes:
        return body
    once = sorted({tuple(sorted(cause.items())) for cause in causes})
    return {**body, "details": {**body["details"], "causes": once}}


_SYNTAX = re.compile(r"(json parse error: |error decoding patch: |error decoding YAML: ).*", re.S)


def _without_syntax_error(body):
    if body.get("reason") != "BadRequest":
        return body
    return {**body, "message": _SYNTAX.sub(r"\1…", body.get("message", ""))}


def _without_patch_misfit(body):
    """`patch: Invalid value: …`: how Go's decoders put it."""
    if ' "" is invalid: patch: ' not in str(body.get("message")):
        return body
    return {key: value for key, value in body.items() if key not in ("message", "details")}


ALLOWED = [
    ("descriptions of table columns are the model's own", _same_after(_without_descriptions)),
    ("causes that the real server lists more than once", _same_after(_without_repeated_causes)),
    ("what is wrong with a body that is no JSON, in the words of Go's parser", _same_after(_without_syntax_error)),
    ("why a patched object does not fit its type, in the words of Go's decoders", _same_after(_without_patch_misfit)),
]
