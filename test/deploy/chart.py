"""The chart as Helm renders it."""

import os
import pathlib
import subprocess

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "helm" / "careen"
HELM = ROOT / "tools" / "helm" / "helm"
VALUES = {"default": None} | {path.stem: path for path in sorted((ROOT / "test/deploy/values").glob("*.yaml"))}
NAMESPACE = "careen-test"


def helm(*arguments, kubeconfig=os.devnull):
    return subprocess.run([HELM, *map(str, arguments)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=os.environ | {"KUBECONFIG": kubeconfig})


def values_flags(name):
    return ["--values", VALUES[name]] if VALUES[name] else []


def render(name, *flags):
    """The text of all objects for one of VALUES."""
    result = helm("template", "careen", CHART, "--namespace", NAMESPACE, *values_flags(name), *flags)
    if result.returncode:
        raise AssertionError(f"helm template with the values {name} failed:\n{result.stderr}")
    return result.stdout


def objects(text):
    return [document for document in yaml.safe_load_all(text) if document]


def find(documents, kind, name=None):
    """The one object of that kind, or None."""
    found = [one for one in documents if one["kind"] == kind and name in (None, one["metadata"]["name"])]
    if len(found) > 1:
        raise AssertionError(f"{len(found)} objects of kind {kind}")
    return found[0] if found else None
