#!/usr/bin/env python3
"""Asks careen's number expressions and the Go library gval the same questions and compares the answers: written
expressions and generated ones, each over a range of values.

    expression_test.py NUMBER_EXPRESSION_ANSWERS          the test
    expression_test.py … --seed 7 --generated 100000      more

What differs on purpose is in differences.py."""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.dirname(FOLDER)]
sys.dont_write_bytecode = True

import gobuild  # noqa: E402
from differences import DIFFERENCES  # noqa: E402

VALUES = ["0", "-0", "1", "-1", "2", "3", "0.5", "-2.5", "7", "10", "42", "63", "100", "1e6", "123456789", "1e-7",
          "9223372036854775807", "1e19", "-1e300", "NaN", "+Inf", "-Inf"]

OPERATORS = ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "??", "&", "|", "^", "<<", ">>",
             "in"]


def written():
    with open(os.path.join(FOLDER, "expressions.txt"), encoding="utf-8") as lines:
        for line in lines:
            line = line.rstrip("\n")
            if line and not line.startswith("# "):
                # Line ends, tabs and NUL are written as their escapes.
                yield line.replace("␤", "\n").replace("␉", "\t").replace("␀", "\0").replace("␍", "\r")
    for depth in (150, 250):
        yield "(" * depth + "value" + ")" * depth
        yield "!" * depth + "value"
        yield "[" * depth + "]" * depth
        yield "value ? 1 : " * depth + "0"
    yield "value" + " + value" * 5000 + " > 5"


class Generator:
    """Expressions that mostly parse, with a slip of the pen now and then."""

    WORDS = (["value"] * 30 + ["0", "1", "2", "3", "5", "10", "0.5", "1e3", "2.50", "07", "0x1p4", "1_000", ".25", "63"]
             + ["true", "false", '"a"', '"1"', '"b c"', '"true"', '"0"', '""', "'x'", "`raw`", "[]", "[value, true]"])
    SLIPS = ["=", "!", "~", "(", ")", "[", "]", "{", ":", "?", ",", ".", "in", "and", "foo", "&", "''", '"', "0x", "1e",
             "#", "@", "//", "/*", "*/", "\n", "=~", "`", "\\", "≥", "$", ";", "0b1", "1..2", "++", "--"]

    def __init__(self, seed):
        self.random = random.Random(seed)

    def expression(self):
        text = self.infix(self.random.choice([1, 1, 2, 2, 3, 4]))
        if self.random.random() < 0.1:
            at = self.random.randrange(len(text) + 1)
            slip = self.random.choice(self.SLIPS)
            text = text[:at] + slip + text[at + self.random.choice([0, 0, 1, 2]):]
        return text

    def operand(self, depth):
        kind = self.random.random()
        if depth > 0 and kind < 0.25:
            return "(" + self.infix(depth - 1) + ")"
        if depth > 0 and kind < 0.28:
            return "[" + self.random.choice([", ", ",", " "]).join(
                self.infix(depth - 1) for _ in range(self.random.randrange(4))) + "]"
        if kind < 0.5:
            return self.random.choice(["-", "!", "~", "- ", "!!", "-"]) + self.operand(depth)
        return self.random.choice(self.WORDS)

    def infix(self, depth):
        text = self.operand(depth)
        for _ in range(self.random.choice([0, 1, 1, 1, 2, 3])):
            operator = self.random.choice(OPERATORS)
            blank = " " if operator == "in" else self.random.choice([" ", " ", ""])
            if operator == "in" and self.random.random() < 0.8:
                right = "[" + ", ".join(self.operand(0) for _ in range(3)) + "]"
            elif self.random.random() < 0.06:
                # Whole powers only: the last digit of others differs between libraries.
                operator, right = "**", self.random.choice(["2", "3", "0", "(-1)", "(-3)", "10", "1e9"])
            else:
                right = self.operand(depth)
            text += blank + operator + blank + right
        if depth > 0 and self.random.random() < 0.15:
            text += " ? " + self.infix(depth - 1)
            if self.random.random() < 0.9:
                text += " : " + self.infix(depth - 1)
        return text


def answers_of(command, questions):
    """One list a question: what was said of each value."""
    done = subprocess.run(command, input="".join(json.dumps(question) + "\n" for question in questions),
                          stdout=subprocess.PIPE, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == len(questions), f"{command[0]} answered {len(lines)} of {len(questions)} questions"
    for question, line in zip(questions, lines):
        answer = json.loads(line)
        if "refused" in answer:
            assert 0 <= answer.get("offset", 0) <= len(question["text"].encode()), (question, answer)
            yield ["refused: " + answer["refused"].removeprefix("refused: ")] * len(VALUES)
        else:
            yield answer["answers"]


def agree(ours, theirs):
    return ours.split(":")[0] == theirs.split(":")[0]


def build_gval(folder):
    program = os.path.join(folder, "gval")
    gobuild.build(os.path.join(FOLDER, "gval"), program)
    return program


def compare(expressions, ours_program, theirs_program):
    """Differences without a reason, as lines of text."""
    questions = [{"text": text, "values": VALUES} for text in expressions]
    found, refused, errors = [], 0, 0
    for question, ours, theirs in zip(questions, answers_of([ours_program], questions),
                                      answers_of([theirs_program], questions)):
        text = question["text"]
        refused += ours[0].startswith("refused")
        errors += sum(answer.startswith("error") for answer in ours)
        for value, mine, other in zip(VALUES, ours, theirs):
            if agree(mine, other):
                continue
            reason = next((known for known in DIFFERENCES if known.explains(text, mine, other)), None)
            if reason is None:
                found.append(f"{text!r} with value {value}: careen says {mine!r}, gval says {other!r}")
                break
            reason.met += 1
    print(f"{len(expressions)} expressions over {len(VALUES)} values: {refused} refused, {errors} evaluation errors")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("answers", help="the program number_expression_answers")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--generated", type=int, default=6000)
    arguments = parser.parse_args()
    generator = Generator(arguments.seed)
    expressions = list(written()) + [generator.expression() for _ in range(arguments.generated)]
    with tempfile.TemporaryDirectory() as folder:
        found = compare(expressions, arguments.answers, build_gval(folder))
    for known in DIFFERENCES:
        print(f"{known.met:7} times: {known.reason}")
        if known.met == 0:
            found.append(f"a reason that nobody needs: {known.reason}")
    for line in found[:20]:
        print(line)
    print(f"{len(found)} differences without a reason" if found else "no difference without a reason")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
