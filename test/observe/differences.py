"""Where number expressions differ from gval on purpose: each with the reason, and how to know one.

A difference is looked at only where the two did not agree. `ours` and `theirs` are what each said of one value:
"true", "false", "error: …", "string: true", or "refused: …" for the whole expression."""

import re


class Difference:
    def __init__(self, reason, ours, theirs, text=""):
        self.reason, self.met = reason, 0
        self.ours, self.theirs, self.text = (re.compile(part, re.DOTALL) for part in (ours, theirs, text))

    def explains(self, text, ours, theirs):
        return self.ours.match(ours) and self.theirs.match(theirs) and self.text.search(text)


DIFFERENCES = [
    Difference("an unknown name has no value in gval and reads as false; here it is refused when the configuration is "
               "loaded, because it is a slip of the pen",
               r'refused: (".*" is not known|there is no function)', r""),
    Difference("parts of value, functions, objects and regular expressions have no use on a number: refused at load, "
               "where gval fails or ignores them",
               r"refused: (value is a number and has no parts|there is no function|objects are not supported|"
               r"regular expressions are not supported)", r""),
    Difference("a string as the result is a mistake; gval reads some of them as truths or numbers",
               r"error: the result is a string", r"string: "),
    Difference("bit operators outside of the 64-bit integers, and shifts by less than nothing, give what the processor "
               "makes of them in Go; here they are errors",
               r'(error|refused): "[^"]+" (works on 64-bit integers|cannot shift by)', r""),
    Difference("whole hexadecimal numbers are read (gval wants 0x10p0)",
               r"true|false|error", r"refused: .*hexadecimal|refused: .*invalid syntax", r"(?i)0x[0-9a-f_]+"),
    Difference("no person nests that deeply", r"refused: the expression is nested too deeply", r""),
]
