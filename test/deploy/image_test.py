#!/usr/bin/env python3
"""The image that tools/image makes: whole, small, the same each time, and careen runs in it with nothing else.

Usage: image_test.py CAREEN"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CAREEN = None
MOST = 40_000_000

# Needs a time zone, which a machine without tzdata does not have.
CONFIG = """\
intervals: {requeue: 30s}
instances:
  check:
  - {name: night, type: timeWindow, config: {start: "22:00", end: "23:30", weekdays: [monday], timezone: Europe/Berlin}}
profiles:
- name: nightly
  operational: {transitions: [{check: night, next: in-maintenance}]}
"""


def make(output, *flags):
    result = subprocess.run([ROOT / "tools" / "image", CAREEN, "--output", output, *flags], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        raise AssertionError(result.stdout)
    return result.stdout


def content(layout, descriptor):
    """The bytes that a descriptor names, checked against it."""
    algorithm, digest = descriptor["digest"].split(":")
    data = (layout / "blobs" / algorithm / digest).read_bytes()
    if (hashlib.sha256(data).hexdigest(), len(data)) != (digest, descriptor["size"]):
        raise AssertionError(f"the blob {digest} is not what it is called")
    return data


def unpack(layout, root):
    """The image's manifest descriptor, manifest, configuration and layers, which become files below `root`."""
    described = json.loads((layout / "index.json").read_text())["manifests"][0]
    manifest = json.loads(content(layout, described))
    archives = [gzip.decompress(content(layout, one)) for one in manifest["layers"]]
    for archive in archives:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(root)
    return described, manifest, json.loads(content(layout, manifest["config"])), archives


def ways_in(root):
    """How a program can be started that sees only the image: best first. The last one sees this system's files too."""
    yield ["/usr/sbin/chroot", str(root)], ""
    yield ["/usr/bin/unshare", "--user", "--map-root-user", "/usr/sbin/chroot", str(root)], ""
    loader = next(iter(sorted(root.glob("usr/lib*/ld-linux*"))))
    libraries = next(iter(sorted(root.glob("usr/lib/*-linux-gnu"))))
    yield [str(loader), "--library-path", str(libraries), "--inhibit-cache"], str(root)


class ImageTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="careen-image-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.layout = cls.folder / "layout"
        cls.told = make(cls.layout)
        cls.root = cls.folder / "root"
        described, cls.manifest, cls.config, cls.archives = unpack(cls.layout, cls.root)
        cls.manifest_digest = described["digest"]

    def run_inside(self, program, *arguments):
        """Runs a program of the image; returns its exit code and what it printed. Arguments with a leading slash are
        files of the image."""
        for prefix, base in ways_in(self.root):
            if subprocess.run([*prefix, base + "/usr/bin/careen", "version"], env={}, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode:
                continue
            words = [base + word if word.startswith("/") else word for word in (program, *arguments)]
            result = subprocess.run([*prefix, *words], env={}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    text=True)
            return result.returncode, result.stdout
        self.fail("careen does not start from the image, in whichever way")

    def test_layout(self):
        self.assertEqual(json.loads((self.layout / "oci-layout").read_text()), {"imageLayoutVersion": "1.0.0"})
        self.assertEqual(self.config["rootfs"]["diff_ids"],
                         ["sha256:" + hashlib.sha256(archive).hexdigest() for archive in self.archives])
        self.assertEqual(self.config["config"]["User"], "65532:65532")
        entry = self.config["config"]["Entrypoint"]
        self.assertEqual(entry, ["/manager"])
        self.assertIn(self.manifest_digest, self.told)
        blobs = {path.name for path in (self.layout / "blobs/sha256").iterdir()}
        self.assertEqual(len(blobs), 2 + len(self.archives), "blobs that nobody names")

    def test_as_the_dockerfile_says(self):
        text = (ROOT / "Dockerfile").read_text()
        for instruction, key in (("ENTRYPOINT", "Entrypoint"), ("USER", "User"), ("WORKDIR", "WorkingDir")):
            said = re.findall(rf"^{instruction} (.*)$", text, re.MULTILINE)[-1]
            self.assertEqual(json.loads(said) if said.startswith("[") else said, self.config["config"][key])

    def test_small(self):
        self.assertLess(sum(map(len, self.archives)), MOST)

    def test_same_again(self):
        make(self.folder / "again")
        index = json.loads((self.folder / "again" / "index.json").read_text())
        self.assertEqual(index["manifests"][0]["digest"], self.manifest_digest)

    def test_files(self):
        """Nothing can be written by the user, nothing belongs to anybody, no link leads nowhere."""
        for archive in self.archives:
            with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                for entry in tar.getmembers():
                    self.assertEqual((entry.uid, entry.gid, entry.mtime), (0, 0, 0), entry.name)
                    if not entry.issym() and entry.name != "tmp":
                        self.assertFalse(entry.mode & 0o022, entry.name)
                    self.assertFalse(entry.mode & 0o6000, entry.name)
        for path in self.root.rglob("*"):
            if path.is_symlink():
                target = os.readlink(path)
                inside = self.root / target.lstrip("/") if target.startswith("/") else path.parent / target
                self.assertTrue(inside.exists(), f"{path} -> {target}")
        self.assertIn("BEGIN CERTIFICATE", (self.root / "etc/ssl/certs/ca-certificates.crt").read_text())
        self.assertIn("nonroot:x:65532:65532:", (self.root / "etc/passwd").read_text())
        self.assertFalse([path for path in self.root.rglob("*") if path.name in ("sh", "bash", "busybox", "perl")])

    def test_hardened(self):
        """A mistake with memory is stopped or at least hard to use: it lies at another place each time, nothing is both
        written and run, what the loader has resolved cannot be changed, and stacks are guarded."""
        def told(*flags):
            return subprocess.run(["readelf", "-W", *flags, self.root / "usr/bin/careen"], stdout=subprocess.PIPE,
                                  text=True, check=True, env={**os.environ, "LC_ALL": "C"}).stdout

        dynamic = told("-d")
        self.assertRegex(told("-h"), r"Type:\s+DYN \(Position-Independent Executable file\)")
        self.assertRegex(dynamic, r"\(FLAGS_1\)\s+Flags: NOW PIE")
        self.assertRegex(dynamic, r"\(FLAGS\)\s+BIND_NOW")
        self.assertNotRegex(dynamic, r"TEXTREL|RPATH|RUNPATH")
        segments = re.findall(r"^  (\S+) +(?:0x\w+ +){5}([R ][W ][E ]) ", told("-l"), re.MULTILINE)
        self.assertIn(("GNU_STACK", "RW "), segments)
        self.assertIn("GNU_RELRO", [kind for kind, _ in segments])
        self.assertGreaterEqual([kind for kind, _ in segments].count("LOAD"), 2)
        self.assertEqual([kind for kind, access in segments if "WE" in access], [])
        self.assertRegex(told("--dyn-syms"), r"UND __stack_chk_fail@")

    def test_licences(self):
        """Anybody who passes the libraries on passes their licences on with them."""
        self.assertIn("Apache", (self.root / "usr/share/doc/careen/copyright").read_text())
        for package in (self.root / "var/lib/dpkg/status.d").iterdir():
            # Packages made from the same source share a folder: then it is a link on the system the image comes from.
            self.assertTrue((self.root / "usr/share/doc" / package.name / "copyright").exists(), package.name)

    def test_version(self):
        here = subprocess.run([CAREEN, "version"], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertEqual(self.run_inside("/usr/bin/careen", "version"), (0, here))

    def test_validate(self):
        path = self.root / "tmp" / "maintenance.yaml"
        path.write_text(CONFIG)
        code, text = self.run_inside("/usr/bin/careen", "validate", "--strict", "/tmp/maintenance.yaml")
        self.assertEqual(code, 0, text)
        path.write_text(CONFIG.replace("Berlin", "Atlantis"))
        code, text = self.run_inside("/usr/bin/careen", "validate", "--strict", "/tmp/maintenance.yaml")
        self.assertEqual(code, 1, text)

    def test_manager(self):
        """Started by the name of the programs that it replaces, careen takes their arguments."""
        code, text = self.run_inside("/manager", "--help")
        self.assertEqual(code, 0, text)
        self.assertIn("--leader-elect", text)
        code, text = self.run_inside("/manager", "--leader-elect", "--metrics-bind-address=:8443", "--no-such-flag")
        self.assertEqual(code, 2, text)
        self.assertIn("no-such-flag", text)

    def test_under_the_name_of_the_program_for_machines(self):
        """One of the replaced programs has a name of its own, and nothing else says which one is meant."""
        code, text = self.run_inside("/runtime-extension-maintenance-controller", "-no-such-flag=1")
        self.assertEqual(code, 2, text)
        self.assertIn("no-such-flag", text)
        code, text = self.run_inside("/runtime-extension-maintenance-controller", "-enable-metal3-maintenance",
                                     "--kubecontext", "nowhere")
        self.assertEqual(code, 1, text)
        self.assertRegex(text, "kubeconfig|cluster")

    def test_runs_under_any_user(self):
        """OpenShift gives each namespace users of its own, whom no /etc/passwd knows."""
        if os.geteuid() != 0:
            self.skipTest("only root can become somebody else")
        inside = ["/usr/sbin/chroot", "--userspec=1000680000:0", self.root]
        self.root.parent.chmod(0o755)
        (self.root / "tmp" / "any.yaml").write_text(CONFIG)
        result = subprocess.run([*inside, "/usr/bin/careen", "validate", "/tmp/any.yaml"], env={}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(result.returncode, 0, result.stdout)
        # It comes as far as the cluster that it is not in.
        result = subprocess.run([*inside, "/manager", "--leader-elect"], env={}, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, timeout=60)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertRegex(result.stdout, "kubeconfig|cluster")

    def test_gather(self):
        """Where oc adm must-gather looks for it; it writes to /must-gather unless told otherwise."""
        code, text = self.run_inside("/usr/bin/gather", "--help")
        self.assertEqual(code, 0, text)
        self.assertIn("careen gather", text)
        self.assertEqual(os.readlink(self.root / "usr/bin/gather"), "careen")

    def test_image_for_must_gather(self):
        """It has what oc runs in it: bash with tools that look how full the disk is, sleep, and tar to fetch the files."""
        root = self.folder / "must-gather"
        make(self.folder / "must-gather-layout", "--must-gather")
        _, _, config, _ = unpack(self.folder / "must-gather-layout", root)
        self.assertEqual(config["config"]["Entrypoint"], ["/usr/bin/gather"])
        self.assertEqual(config["config"]["User"], "65532:65532")
        if os.geteuid() != 0:
            self.skipTest("only root can run a shell that sees nothing but the image")
        root.parent.chmod(0o755)
        script = ("set -euo pipefail; sleep 0; sync; command -v df; "
                  "test -x /bin/sh; echo 'a b' | awk '{print $2}' | sed s/b/c/ | sort; du -s /tmp | awk '{print $2}'; "
                  "tar -C /usr/bin -c ./gather | tar -t; /usr/bin/gather --help | cat")
        result = subprocess.run(["/usr/sbin/chroot", "--userspec=1000680000:0", root, "/bin/bash", "-c", script],
                                env={"PATH": "/usr/bin"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual(result.stdout.splitlines()[:4], ["/usr/bin/df", "c", "/tmp", "./gather"])
        self.assertIn("careen gather", result.stdout)


if __name__ == "__main__":
    CAREEN = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
