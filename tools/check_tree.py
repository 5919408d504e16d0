#!/usr/bin/env python3
"""Checks what the compiler does not: that a folder of src/ includes only folders below it, and that time, randomness
and the network are reached only through src/io. Prints one line a breach; exit code 1 if there is any."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Folders that may include the model cluster outside of tests.
ON_THE_MODEL = ("sim", "replica", "plan", "demo", "commands")

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


def folders():
    """The folders of src/ as CMakeLists.txt lists them, each with all folders that it may include."""
    may_include = {}
    paths = {}
    text = (ROOT / "CMakeLists.txt").read_text()
    for path, rest in re.findall(r"^careen_folder\(([a-z/]+)([^)]*)\)", text, re.M):
        name = path.removeprefix("controllers/").replace("/", "_")
        depends = re.search(r"DEPENDS([a-z_\s]+)", rest)
        below = set()
        for other in depends.group(1).split() if depends else []:
            below |= {other} | may_include[other]
        paths[path] = name
        may_include[name] = below
    return paths, may_include


def folder_of(path, paths):
    """The name of the folder in which a file below src/ lies; None: of none that CMakeLists.txt knows."""
    parents = [str(parent) for parent in pathlib.PurePath(path).parents]
    return next((paths[parent] for parent in parents if parent in paths), None)


def breaches():
    paths, may_include = folders()
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in (".cc", ".h"):
            continue
        name = path.relative_to(ROOT)
        folder = folder_of(path.relative_to(ROOT / "src"), paths)
        if folder is None:
            yield f"{name}: belongs to no folder of CMakeLists.txt"
            continue
        test = path.name.endswith("_test.cc") or path.name.startswith("test_")
        for number, line in enumerate(path.read_text().splitlines(), 1):
            included = re.match(r'#include "([a-z_/]+\.h)"', line)
            if included:
                other = folder_of(included.group(1), paths)
                if other == "sim":
                    if folder not in ON_THE_MODEL and not test:
                        yield f"{name}:{number}: the model cluster is for tests, plans and the program itself"
                elif other and other != folder and other not in may_include[folder]:
                    yield f"{name}:{number}: {folder} may not include {other}: it does not depend on it"
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
