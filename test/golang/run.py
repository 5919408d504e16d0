#!/usr/bin/env python3
"""Asks careen and a program made of Go's own libraries the same questions and compares the answers.

    run.py ANSWERS_PROGRAM WORK_FOLDER [SUBJECT…]

The Go program is built into the work folder; its one module comes through the ordinary go command. A further subject
is one list in questions.py, one function in Go and one in answers.cc.
"""

import json
import os
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [FOLDER, os.path.dirname(FOLDER)]

import gobuild  # noqa: E402
from questions import DIFFERENT, SUBJECTS  # noqa: E402

SHOWN = 20


def build_go(work_folder):
    program = os.path.join(work_folder, "go_answers")
    gobuild.build(FOLDER, program)
    return program


def answers(program, questions):
    lines = "".join(json.dumps(question, ensure_ascii=False) + "\n" for question in questions)
    done = subprocess.run([program], input=lines.encode(), stdout=subprocess.PIPE, check=True)
    out = [json.loads(line) for line in done.stdout.splitlines()]
    if len(out) != len(questions):
        sys.exit(f"{program}: {len(out)} answers to {len(questions)} questions")
    return out


def compare(subject, texts, programs):
    questions = [{"subject": subject, "texts": each} for each in texts]
    ours, gos = (answers(program, questions) for program in programs)
    differences = [(each, our, go) for each, our, go in zip(texts, ours, gos)
                   if (our != go) != ((subject, each[0]) in DIFFERENT)]
    accepted = sum(go is not None for go in gos)
    print(f"{subject}: {len(texts)} questions, {accepted} accepted, {len(differences)} differences")
    for each, our, go in differences[:SHOWN]:
        if our == go:
            print(f"  {json.dumps(each)}: no longer different; take it out of questions.py")
            continue
        print(f"  {json.dumps(each, ensure_ascii=False)}: careen {json.dumps(our)}, Go {json.dumps(go)}")
    # A list that only one kind of answer fits tests nothing.
    one_sided = subject != "semver order" and not 0 < accepted < len(texts)
    if one_sided:
        print("  all texts are accepted or all refused: the list is broken")
    return not differences and not one_sided


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    programs = sys.argv[1], build_go(sys.argv[2])
    wanted = sys.argv[3:] or list(SUBJECTS)
    results = [compare(subject, SUBJECTS[subject](), programs) for subject in wanted]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
