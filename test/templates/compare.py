#!/usr/bin/env python3
"""compare.py RENDER BUILD_FOLDER [SEED [COUNT]]: the same templates through careen and through Go's text/template, which
have to agree on what is refused at parsing, what fails at rendering, and on every byte of the output."""

import json
import os
import pathlib
import random
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
sys.dont_write_bytecode = True

import cases  # noqa: E402
import gobuild  # noqa: E402
from generator import Generator  # noqa: E402

TIMES = r"Transition|Timestamp|Taints|Conditions|\$"

# Where careen differs on purpose: how it shows in the template and in Go's answer, and why.
INTENDED = [
    (lambda template, go: re.search(r"0x[0-9a-f]{9,}|^\{\{(Node v1| )\} \{|(main|v1)\.(Parameters|Node\b)", go["text"]),
     "the whole data and the whole node: careen prints the node as JSON, and no addresses of memory"),
    (lambda template, go: go["outcome"] == "ok" and re.search(r"&[A-Z]\w+\{|(?<!<)\bnil\b", go["text"]),
     "an object as such: careen prints it as any other, not in the form that was generated for debugging"),
    (lambda template, go: re.search(r"(Capacity|Allocatable)\b", template)
     and re.search(r"should be v1\.ResourceName|can't evaluate field \w+ in type (resource\.Quantity|v1\.ResourceList)", go["text"]),
     "a quantity out of the map: careen finds it by a text, and calls the methods that Go has for pointers only"),
    (lambda template, go: re.search(r"can't evaluate field (IsZero|Before|Equal) in type v1\.Time", go["text"]),
     "the same of the time that a getter gives"),
    (lambda template, go: go["outcome"] == "ok" and re.search(r"print.*GracePeriodSeconds", template, re.DOTALL),
     "a pointer to a number: careen prints the number, Go the address"),
    (lambda template, go: re.search(r"(has type|got) (v1\.|types\.)", go["text"]),
     "a text of a named type is taken wherever a text is"),
    (lambda template, go: go["outcome"] == "ok" and re.search(TIMES, template)
     and re.search(r"%[-+# 0-9.]*[a-zA-Z]", template) and re.search(r"%[-+# 0-9.]*[^-+# 0-9.vsqxXT%]", template),
     "a time with a verb that does not fit: careen shows the time, not what Go stores it as"),
]


def build_reference(folder):
    program = pathlib.Path(folder) / "template_reference"
    gobuild.build(HERE / "reference", program)
    return program


def answers(program, inputs):
    # careen's times are in UTC, and so are those of the Kubernetes types where that is the local zone.
    run = subprocess.run([str(program)], input=inputs, capture_output=True, text=True, check=True, timeout=100,
                         env=os.environ | {"TZ": "UTC"})
    return [json.loads(line) for line in run.stdout.split("\n") if line]


def differs(careen, go):
    return careen["outcome"] != go["outcome"] or (go["outcome"] == "ok" and careen["text"] != go["text"])


def generated(seed, count):
    generator = Generator(random.Random(seed))
    return [generator.template() for _ in range(count)]


def main():
    render, folder = sys.argv[1:3]
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 4000
    tests = [(template, data) for template in cases.TEMPLATES for data in cases.DATA]
    tests += [(template, cases.DATA[i % len(cases.DATA)]) for i, template in enumerate(generated(seed, count))]
    inputs = "".join(json.dumps({"template": template, "data": data}) + "\n" for template, data in tests)
    careen_answers = answers(render, inputs)
    go_answers = answers(build_reference(folder), inputs)
    assert len(careen_answers) == len(go_answers) == len(tests), "a program did not answer every case"
    counts = {"parse": 0, "exec": 0, "ok": 0, "intended": 0}
    failed = 0
    for (template, data), careen, go in zip(tests, careen_answers, go_answers):
        counts[go["outcome"]] += 1
        if not differs(careen, go):
            # What careen says at loading that every message will fail of has to fail with any data.
            if careen.get("certain") and go["outcome"] == "ok":
                failed += 1
                print(f"{template!r}: careen foresees a failure, and there is none")
            continue
        if any(shows(template, go) for shows, reason in INTENDED):
            counts["intended"] += 1
            continue
        failed += 1
        if failed <= 40:
            print(f"{template!r} with {'the full' if data is cases.FULL else 'the bare'} data\n"
                  f"  careen: {careen['outcome']} {careen['text']!r}\n  Go:     {go['outcome']} {go['text']!r}")
    print(f"{len(tests)} cases, {failed} differ; Go: {counts}")
    # A generator that makes nothing but errors tests nothing.
    balanced = counts["ok"] > len(tests) / 5 and counts["exec"] > 100 and counts["parse"] > 100
    if not balanced:
        print("too few cases of one outcome")
    return 1 if failed or not balanced or counts["intended"] > len(tests) / 10 else 0


if __name__ == "__main__":
    sys.exit(main())
