"""Builds the Go programs that tests compare careen with, with the toolchain that builds the test cluster."""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools" / "testcluster"))
from tclib import gotoolchain  # noqa: E402

NEEDED = "1.26"  # the newest that a go.mod below this folder asks for


def build(folder, program, *flags, needed=NEEDED):
    """The module in `folder` becomes `program`; its go.mod and go.sum stay as they are."""
    go = gotoolchain.provide(gotoolchain.find(needed))
    command = [str(go.program), "build", "-mod=readonly", "-buildvcs=false", *flags, "-o", str(program), "."]
    subprocess.run(command, cwd=str(folder), env=os.environ | go.environment | {"CGO_ENABLED": "0"}, check=True)


def module_folder(folder, module, needed=NEEDED):
    """Where the files of a module are, in the version that `folder`'s go.mod asks for."""
    go = gotoolchain.provide(gotoolchain.find(needed))
    told = subprocess.run([str(go.program), "mod", "download", "-json", module], cwd=str(folder), text=True, check=True,
                          env=os.environ | go.environment, stdout=subprocess.PIPE).stdout
    return pathlib.Path(json.loads(told)["Dir"])
