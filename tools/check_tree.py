#!/usr/bin/env python3
"""Checks what the compiler does not: that a folder of src/ includes only folders below it, and that time, randomness
and the network are reached only through src/io. Prints one line a breach; exit code 1 if there is any."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# From the bottom to the top; a folder may include its own and those before it.
LAYERS = [["io"], ["kube"], ["sim"], ["web"], ["budget"], ["drain"], ["templates"], ["windows"], ["notify"], ["observe"], ["profiles"], ["nodemaintenance"], ["replica"], ["view"], ["plan"], ["app"]]

# Outside src/io: pattern, what it is, what to use instead.
SEAM = [
    (r"(system|steady|high_resolution|file)_clock::now|\bclock_gettime\b|\bgettimeofday\b|\btime\((NULL|nullptr|0)\)",
     "the system's clock", "the Loop's now() or wall_now()"),
    (r"\b(asio::)?(basic_)?(steady|system|deadline|waitable)_timer\b", "an Asio timer", "io::Alarm or io::sleep_for"),
    (r"#include <boost/(asio|beast)", "Asio or Beast", "what src/io offers"),
    (r"\bstd::random_device\b|\bs?rand\(|\bmt19937", "randomness", "io::Random"),
    (r"(?<!\w)::(socket|connect)\(|#include <sys/socket\.h>|#include <curl/(?!curl\.h>)", "a socket", "io::HttpClient"),
    (r"\bcurl_easy_|\bcurl_multi_", "libcurl", "io::HttpClient"),
    (r"\bsleep_for\((?!.*loop)|std::this_thread|\busleep\(|::sleep\(", "a sleeping thread", "co_await io::sleep_for"),
    (r"\bstd::(mutex|thread|atomic|lock_guard)\b", "threads or locks", "the one loop"),
]


def rank(folder):
    for position, layer in enumerate(LAYERS):
        if folder in layer:
            return position
    return None


def breaches():
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in (".cc", ".h"):
            continue
        folder = path.relative_to(ROOT / "src").parts[0]
        own = rank(folder)
        name = path.relative_to(ROOT)
        if own is None:
            yield f"{name}: folder {folder} has no place in the layers; add it to tools/check_tree.py"
            continue
        test = path.name.endswith("_test.cc") or path.name.startswith("test_")
        for number, line in enumerate(path.read_text().splitlines(), 1):
            included = re.match(r'#include "([a-z]+)/', line)
            if included:
                other = rank(included.group(1))
                if other is not None and other > own:
                    yield f"{name}:{number}: {folder} may not include {included.group(1)}, which lies above it"
                if included.group(1) == "sim" and folder not in ("sim", "replica", "plan", "app") and not test:
                    yield f"{name}:{number}: the model cluster is for tests, for plans and for src/app"
            if folder == "io":
                continue
            code = line.split("//")[0]
            for pattern, what, instead in SEAM:
                if re.search(pattern, code) and not (test and "thread" in what):
                    yield f"{name}:{number}: {what} outside src/io; use {instead}"


def main():
    found = list(breaches())
    for line in found:
        print(line)
    print(f"{len(found)} breaches" if found else "layers and seam: clean")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
