#!/usr/bin/env python3
"""Tries the JSON Schema of the configuration file with a real validator: it accepts every configuration of this
repository and every plugin's example, and rejects broken ones. `careen validate --strict` has to agree.

Usage: schema_test.py CAREEN"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import jsonschema
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CAREEN = None


class Loader(yaml.SafeLoader):
    """Reads scalars as careen does: neither 9:30 nor 2020-01-02 is anything but a text."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, expression) for tag, expression in resolvers
            if tag not in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float", "tag:yaml.org,2002:timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?(0[xX][0-9a-fA-F]+|0b[01]+|[0-9]+)$"),
                             list("-+0123456789"))
Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"^[-+]?(\.[0-9]+|[0-9]+\.[0-9]*)([eE][-+]?[0-9]+)?$"),
                             list("-+.0123456789"))


def careen(*arguments):
    return subprocess.run([CAREEN, *arguments], capture_output=True, text=True, check=False)


def config(instances="", profiles="", rest=""):
    return f"intervals: {{requeue: 1m}}\ninstances:\n{instances}\nprofiles:\n{profiles}\n{rest}"


def check(keys, plugin="maxMaintenance"):
    return config(f"  check: [{{name: a, type: {plugin}, config: {keys}}}]")


def trigger(keys, plugin="alterLabel"):
    return config(f"  trigger: [{{name: a, type: {plugin}, config: {keys}}}]")


def transition(keys):
    return config("  check: [{name: one, type: hasLabel, config: {key: k}}]",
                  f"- {{name: p, operational: {{transitions: [{keys}]}}}}")


# What both the schema and `careen validate --strict` accept.
SOUND = {
    "a number as text": check("{max: '3'}"),
    "a reference for a number": check("{max: '${MAX:3}'}"),
    "a reference for a boolean": trigger("{key: k, remove: '${GONE:true}'}"),
    "a reference for a list": check("{max: 1, groupBy: '${GROUPS:a}'}"),
    "a single value for a list": check("{max: 1, groupBy: zone}"),
    "a word for a boolean": trigger("{key: k, remove: yes}"),
    "a number for a duration": check("{max: 1, skipAfter: 90}"),
    "0 for a duration with unit": check("{duration: 0}", "wait"),
    "a fraction of hours": check("{duration: 1.5h}", "wait"),
    "a number for a text": check("{key: k, value: 5}", "hasLabel"),
    "null for what is optional": check("{max: 1, profile: null}"),
    "a reference for a state": transition("{check: one, next: '${NEXT:in-maintenance}'}"),
    "states without chains": config("", "- {name: p, operational: null, in-maintenance: {}}"),
    "a variable at the top level": "intervals: {requeue: '${every}'}\nevery: 5s\n",
    "an anchor at the top level": config("  check: [{<<: *common, name: a}]", "",
                                         "").replace("instances", "x-common: &common {type: hasLabel, config: {key: k}}\ninstances"),
}

# What both reject.
BROKEN = {
    "no interval": "intervals: {}\n",
    "no intervals": "profiles: []\n",
    "an interval of 0": "intervals: {requeue: 0}\n",
    "an interval without sense": "intervals: {requeue: soon}\n",
    "an old key": "intervals: {requeue: 1m, notify: 5h}\n",
    "a misspelt top-level key": "intervals: {requeue: 1m}\nprofile: [{name: p}]\n",
    "a plugin that does not exist": check("{max: 1}", "maxMaintenence"),
    "a check below trigger": config("  trigger: [{name: a, type: hasLabel, config: {key: k}}]"),
    "an instance without type": config("  check: [{name: a, config: {key: k}}]"),
    "an instance without name": config("  check: [{type: hasLabel, config: {key: k}}]"),
    "an instance without config": config("  check: [{name: a, type: hasLabel}]"),
    "a schedule for a check": config("  check: [{name: a, type: hasLabel, config: {key: k}, schedule: {}}]"),
    "a missing key": check("{profile: p}"),
    "a misspelt key": check("{max: 1, groupby: zone}"),
    "an empty required text": check("{key: ''}", "hasLabel"),
    "a text for a number": check("{max: many}"),
    "a required number of 0": check("{max: 0}"),
    "a map for a text": check("{key: {a: b}}", "hasLabel"),
    "a text for a boolean": trigger("{key: k, remove: maybe}"),
    "a duration without unit": check("{duration: 90}", "wait"),
    "a duration of days": check("{duration: 1d}", "wait"),
    "lists in a list": check("{max: 1, groupBy: [[a]]}"),
    "the layout of before 2022": config("  check: [{hasLabel: {name: a, config: {key: k}}}]"),
    "profiles in a map": "intervals: {requeue: 1m}\nprofiles: {p: {operational: {}}}\n",
    "a profile without name": config("", "- {operational: {}}"),
    "a misspelt state": config("", "- {name: p, in_maintenance: {}}"),
    "a misspelt key of a state": config("", "- {name: p, operational: {transition: []}}"),
    "a check directly below a state": config("", "- {name: p, operational: {check: one}}"),
    "a transition without check": transition("{next: in-maintenance}"),
    "a transition without next": transition("{check: one}"),
    "a state that does not exist": transition("{check: one, next: maintenance}"),
    "a misspelt key of a transition": transition("{check: one, next: in-maintenance, triggers: t}"),
    "a misspelt key of the dashboard": "intervals: {requeue: 1m}\ndashboard: {labelFilters: [a]}\n",
    "a text for the file": "just text\n",
}


# Notifications need a plugin that takes no more than these keys.
def notification(schedule):
    return config(f"  notify: [{{name: a, type: slack, config: {{hook: h, channel: c, message: m}}, schedule: {schedule}}}]")


SOUND_SCHEDULES = ["{type: periodic, config: {}}", "{type: OneShot, config: {delay: 5m}}",
                   "{type: scheduled, config: {instant: 9:30, weekdays: [mon, Friday]}}"]
BROKEN_SCHEDULES = ["{type: periodic}", "{config: {}}", "{type: daily, config: {}}", "{type: periodic, config: {delay: 5m}}",
                    "{type: scheduled, config: {weekdays: [mon]}}", "{type: scheduled, config: {instant: 25:00, weekdays: mon}}",
                    "{type: periodic, config: {}, when: now}"]


class SchemaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        schema = json.loads(careen("schema").stdout)
        jsonschema.Draft7Validator.check_schema(schema)
        cls.validator = jsonschema.Draft7Validator(schema)
        cls.plugins = json.loads(careen("plugins", "-o", "json").stdout)
        cls.has_slack = any(plugin["type"] == "slack" for plugin in cls.plugins)

    def problems(self, text):
        return [f"{list(error.absolute_path)}: {error.message}"
                for error in self.validator.iter_errors(yaml.load(text, Loader))]

    def strictly_valid(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            return careen("validate", "--strict", file.name).returncode == 0

    def accepted(self, name, text):
        with self.subTest(name):
            self.assertEqual(self.problems(text), [])
            self.assertTrue(self.strictly_valid(text), text)

    def rejected(self, name, text):
        with self.subTest(name):
            self.assertNotEqual(self.problems(text), [], text)
            self.assertFalse(self.strictly_valid(text), text)

    def test_configurations_of_the_repository(self):
        files = sorted((ROOT / "test/scenarios/config").glob("*.yaml")) + sorted((ROOT / "test/bench").glob("*.yaml"))
        self.assertGreater(len(files), 2)
        for file in files:
            self.accepted(file.name, file.read_text())

    def test_configurations_of_the_documents(self):
        texts = re.findall(r"cat > maintenance.yaml <<'EOF'\n(.*?)\nEOF", (ROOT / "docs/getting-started.md").read_text(), re.S)
        texts += re.findall(r"```yaml\n(intervals:.*?)```", (ROOT / "docs/profiles.md").read_text(), re.S)
        self.assertGreater(len(texts), 1)
        for text in texts:
            self.accepted(text.splitlines()[0], text)

    def test_examples_of_plugins(self):
        places = {"check": "check", "notification": "notify", "trigger": "trigger"}
        for plugin in self.plugins:
            if plugin["kind"] == "schedule":
                continue
            example = "".join(f"  {line}\n" for line in plugin["example"].splitlines())
            text = f"intervals:\n  requeue: 1m\ninstances:\n  {places[plugin['kind']]}:\n{example}"
            with self.subTest(plugin["type"]):
                self.assertEqual(self.problems(text), [], text)

    def test_sound(self):
        for name, text in SOUND.items():
            self.accepted(name, text)

    def test_broken(self):
        for name, text in BROKEN.items():
            self.rejected(name, text)

    def test_schedules(self):
        if not self.has_slack:
            self.skipTest("there is no notification plugin")
        for schedule in SOUND_SCHEDULES:
            self.accepted(schedule, notification(schedule))
        for schedule in BROKEN_SCHEDULES:
            self.rejected(schedule, notification(schedule))


if __name__ == "__main__":
    CAREEN = sys.argv.pop(1)
    unittest.main()
