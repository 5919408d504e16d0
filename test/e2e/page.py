"""What a page of the documentation says, for tests that follow it to the letter."""

import os
import re
from dataclasses import dataclass

from cluster import ROOT


@dataclass
class Block:
    """Of code: its language, empty for none, and the heading that it stands below."""
    language: str
    heading: str
    text: str


def _blocks_of(lines):
    heading, block = "", None
    for line in lines:
        if block is None and line.startswith("```"):
            block = Block(line.strip("`\n"), heading, "")
        elif block is None:
            heading = line.rstrip() if line.startswith("#") else heading
        elif line.startswith("```"):
            yield block
            block = None
        else:
            block.text += line


class Page:
    """A Markdown file below docs/."""

    def __init__(self, name):
        self.name = name
        with open(os.path.join(ROOT, "docs", name)) as file:
            self._blocks = list(_blocks_of(file))

    def blocks(self, language, heading=None):
        """The code of that language, in its order; with `heading`, only what stands right below that one."""
        found = [one.text for one in self._blocks if one.language == language and heading in (None, one.heading)]
        assert found, f"{self.name} has no code of language {language!r} below {heading or 'any heading'}"
        return found

    def block(self, language, containing):
        """The one that has these words in it."""
        found = [text for text in self.blocks(language) if containing in text]
        assert len(found) == 1, f"{self.name}: {len(found)} pieces of code of language {language!r} contain {containing!r}"
        return found[0]


def steps(block):
    """The commands of a block with numbered comments, by number."""
    parts = re.split(r"^# (\d+)\.", block, flags=re.M)
    return {int(number): "#" + text for number, text in zip(parts[1::2], parts[2::2])}
