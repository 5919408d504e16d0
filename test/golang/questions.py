"""What both sides are asked: lists of texts that are the same in every run, by subject."""

import random

# Every character that means something to one of the subjects, and some that mean nothing.
NOISE = list("0123456789.+-:_ vVhmsnuxaeZ") + ["µ", "μ", "é", "00", "..", "\t"]


def slipped(dice, text):
    """The text with one to three characters lost, added, changed or swapped."""
    for _ in range(dice.randint(1, 3)):
        at = dice.randint(0, len(text))
        kind = dice.randrange(4)
        if kind == 0:
            text = text[:at] + text[at + 1:]
        elif kind == 1:
            text = text[:at] + dice.choice(NOISE) + text[at:]
        elif kind == 2:
            text = text[:at] + dice.choice(NOISE) + text[at + 1:]
        else:
            text = text[:at] + text[at + 1:at + 2] + text[at:at + 1] + text[at + 2:]
    return text


def number(dice):
    return dice.choice(["0", "1", "2", "9", "10", "11", "99", "100", "1234567890123", "18446744073709551615"])


def version(dice):
    pre_release = ["a", "b", "alpha", "beta", "rc", "A", "-", "--1", "0", "1", "2", "10", "x-y", "0a", "a0", "1-1"]
    text = ".".join(number(dice) for _ in range(3))
    if dice.random() < 0.5:
        text += "-" + ".".join(dice.choice(pre_release) for _ in range(dice.randint(1, 3)))
    if dice.random() < 0.3:
        text += "+" + ".".join(dice.choice(pre_release + ["007"]) for _ in range(dice.randint(1, 2)))
    return text


def versions():
    dice = random.Random(1)
    good = [version(dice) for _ in range(300)]
    edges = ["", "1", "1.2", "v1.2.3", "1.2.3.4", "01.2.3", "1.2.3-01", "1.2.3-", "1.2.3+", "1.2.3-+a", "1.2.3-a+",
             "18446744073709551616.0.0", "1.0.0-18446744073709551616", "1.0.0+18446744073709551616", "1.2.3-a..b",
             "1.2.3 ", " 1.2.3", "1.2.3-é", "+1.2.3", "1.2.+3", "1.2.3-٣"]
    return [[text] for text in good + edges + [slipped(dice, dice.choice(good)) for _ in range(600)]]


def pairs_of_versions():
    dice = random.Random(2)
    some = sorted({version(dice) for _ in range(40)})
    # Few numbers, so that most pairs differ only in what follows them.
    some += [f"1.{dice.randint(0, 1)}.0{rest}" for rest in
             ["", "-0", "-1", "-2", "-10", "-a", "-b", "-a.1", "-a.2", "-a.10", "-a.b", "-a.1.x", "-A", "--", "-a-b",
              "-rc.1+x", "-rc.1+y", "-rc.1.0", "+a", "+b", "-10a", "-9a"]]
    return [[a, b] for a in some for b in some]


def duration(dice):
    text = dice.choice(["", "", "", "-", "+"])
    for _ in range(dice.randint(1, 4)):
        whole = str(dice.randrange(10 ** dice.randint(1, 5)))
        form = dice.randrange(5)
        if form == 0:
            whole += "."
        elif form == 1:
            whole = "." + whole
        elif form == 2:
            whole += "." + str(dice.randrange(10 ** dice.randint(1, 9)))
        text += whole + dice.choice(["ns", "us", "µs", "μs", "ms", "s", "m", "h"])
    return text


def durations():
    dice = random.Random(3)
    good = [duration(dice) for _ in range(600)]
    edges = ["", "0", "-0", "+0", "00", "0s", "-", "+", ".", ".s", "-.s", "1", "1.", "1d", "1 h", "1h ", " 1h", "1h1h",
             "1H", "1S", "--1s", "1h-1m", "3000000h", "1e3s", "0x1s", "1_000s", "9223372036854775807ns",
             "9223372036854775808ns", "-9223372036854775807ns", "-9223372036854775808ns", "-9223372036854775809ns",
             "9223372036854.775807s", "9223372036854775.807us", "9223372036.854775807s", "9223372036.854775808s",
             "-9223372036.854775808s", "2562047h47m16.854775807s", "2562047h47m16.854775808s",
             "9223372036854775808s", "99999999999999999999ns", "0.9223372036854775807h", "0.000000000000000000001h",
             "0.100000000000000000000h", "0.3333333333333333333h", "0.9223372036854775808h",
             "1.00000000000000000000000000000001ns", "39h9m14.425s"]
    return [[text] for text in good + edges + [slipped(dice, dice.choice(good)) for _ in range(900)]]


def times_of_day():
    dice = random.Random(4)
    good = [f"{hour}:{minute:02}" for hour in range(26) for minute in (0, 1, 30, 59, 60)]
    good += [f"{hour:02}:{minute:02}" for hour in range(10) for minute in (0, 9)]
    return [[text] for text in good + ["", ":", "9:3", "009:30"] + [slipped(dice, dice.choice(good)) for _ in range(300)]]


def days_of_years():
    dice = random.Random(5)
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    good = [f"{month} {day}" for month in months for day in (0, 1, 9, 28, 29, 30, 31, 32)]
    good += ["dec 24", "DEC 24", "dEC 04", "Dec  4", "Dec   24", "Sept 4", "December 4", "Dec 004", "Mär 1"]
    slips = [slipped(dice, dice.choice(good)) for _ in range(300)]
    # Ranges are careen's own.
    return [[text] for text in good + [text for text in slips if ".." not in text]]


# Where careen means to answer otherwise: subject, text and the reason.
DIFFERENT = {
    ("duration", "-9223372036854775808ns"): "the smallest duration is refused: it has no opposite",
    ("duration", "-9223372036.854775808s"): "the same",
    ("duration", "0.3333333333333333333h"): "fractions are cut off exactly, where Go's floating point rounds up",
}

SUBJECTS = {
    "semver": versions,
    "semver order": pairs_of_versions,
    "duration": durations,
    "time of day": times_of_day,
    "day of a year": days_of_years,
}
