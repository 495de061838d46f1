#!/usr/bin/env python3
"""Run kube32-sim from a clone, on a machine with nothing but Python 3.11 and git.

    python3 run.py serve      [OPTION]...  start the simulator
    python3 run.py kubelet    [OPTION]...  run simulated boards in a process of their own
    python3 run.py top        [OPTION]...  show boards and pods, live in a terminal
    python3 run.py preview    [OPTION]...  tell where the pods of manifests would go
    python3 run.py why        pod/NAME     tell why a pod is where it is, or is not
    python3 run.py clock      ACTION...    tell the time of a running simulator, or move it on
    python3 run.py faults     ACTION...    let boards break, and requests of clients fail
    python3 run.py fork       [NAME]       branch a running simulator, to try something on the copy
    python3 run.py diff       A B          tell what became of two branches
    python3 run.py snapshot   ACTION...    save the state of a cluster in a file, or load it
    python3 run.py record     FILE         record what clients do to a running simulator
    python3 run.py replay     FILE         play a recording, and compare where pods go
    python3 run.py scenario   FILE...      run scenarios: what happens when, and what has to be so then
    python3 run.py completion SHELL        print a script that completes commands in a shell
    python3 run.py test       [OPTION]...  run the whole test suite (options are pytest's)

`python3 run.py serve --help` tells the options of a command.

The first time, what it needs is installed into the folder .venv of the clone; after that it starts at once.
Outside the clone only pip's cache is touched, and `serve` writes a kubeconfig: ~/.kube/kube32-sim, unless --kubeconfig
names another file.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

CLONE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(CLONE, ".venv")
WINDOWS = os.name == "nt"
PYTHON = os.path.join(VENV, "Scripts", "python.exe") if WINDOWS else os.path.join(VENV, "bin", "python")

PARALLEL = ("-n", str(min(4, (os.cpu_count() or 1) + 1)), "--dist=worksteal")
"""The tests run in one process more than there are processors, since many wait for others; `test -n 0`: a debugger."""
CLIENT_TESTS = (os.path.join("tests", "clients"), os.path.join("tests", "conformance", "test_kubectl.py"))
PROGRAM = "KUBE32_SIM_PROGRAM"
"""Environment variable: how usage lines call the program (see kube32_sim/arguments.py)."""


def main(arguments: list[str]) -> None:
    if sys.version_info < (3, 11):  # noqa: UP036 - an older one gets here, and should be told
        run_with_newer_python()
    if not arguments or arguments[0] in ("-h", "--help"):
        explain()
        return
    if arguments[0] == "test":
        prepare("dev")
        os.chdir(CLONE)
        if need_clients(arguments[1:]):
            fetch_clients()
        become([PYTHON, "-m", "pytest", *PARALLEL, *arguments[1:]])
    prepare("run")
    os.environ[PROGRAM] = "python3 run.py"
    become([PYTHON, "-m", "kube32_sim", *arguments])


def explain() -> None:
    try:
        print((__doc__ or "").strip(), flush=True)
    except BrokenPipeError:  # `| head`: nor may the interpreter try at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run_with_newer_python() -> NoReturn:
    for minor in (14, 13, 12, 11):
        newer = shutil.which(f"python3.{minor}")
        if newer:
            become([newer, *sys.argv])
    sys.exit(f"run.py: Python 3.11 or newer is needed; this is {sys.version.split()[0]} ({sys.executable})")


def become(command: list[str]) -> NoReturn:
    """Go on as another program: it gets our signals, and its exit code is ours."""
    if WINDOWS:
        sys.exit(subprocess.call(command))
    sys.stdout.flush()
    os.execv(command[0], command)


def prepare(purpose: str) -> None:
    """Make .venv hold what pyproject.toml asks for, to `run` or as `dev` for the tests too; at once if it does."""
    wanted = fingerprint()
    if wanted in (prepared_for("dev"), prepared_for(purpose)):
        return
    with only_one():
        if wanted in (prepared_for("dev"), prepared_for(purpose)):
            return  # another run did it while this one waited
        if prepared_for("dev"):
            purpose = "dev"  # do not take the tests' tools away again
        needed = "what the tests need" if purpose == "dev" else "what it needs"
        say(f"installing {needed} into {VENV} (once, about a minute)")
        if prepared_for("run") == wanted:
            install(find_pip(), tools())  # and nothing else is touched: others may be running from there
        else:
            install(make_venv(), ["--editable", CLONE + ("[dev]" if purpose == "dev" else "")])
        with open(stamp(purpose), "w") as file:
            file.write(wanted)


def tools() -> list[str]:
    """What the tests need besides, with what it has to go with."""
    import tomllib

    with open(os.path.join(CLONE, "pyproject.toml"), "rb") as file:
        project = tomllib.load(file)["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["dev"]]


def need_clients(options: list[str]) -> bool:
    """Whether pytest comes to tests that drive other clients; it comes to all where the options name no path."""
    named = (option.partition("::")[0] for option in options if not option.startswith("-"))
    folders = [os.path.join(os.path.abspath(path), "") for path in named if os.path.exists(path)]
    driving = [os.path.join(CLONE, tests, "") for tests in CLIENT_TESTS]
    return not folders or any(one.startswith(other) or other.startswith(one) for one in folders for other in driving)


def fetch_clients() -> None:
    """What the tests drive besides (kubectl of other versions, helm, npm's packages); at once if it is there."""
    if subprocess.call([PYTHON, "-m", "tests.support.clients"]) != 0:
        say("some clients cannot be fetched; the tests that need them will fail")


def fingerprint() -> str:
    """Of everything that decides what .venv has to hold: dependencies, interpreter, place."""
    with open(os.path.join(CLONE, "pyproject.toml"), "rb") as file:
        return hashlib.sha256(file.read() + repr((sys.version, CLONE)).encode()).hexdigest()


def stamp(purpose: str) -> str:
    return os.path.join(VENV, f"prepared-to-{purpose}")


def prepared_for(purpose: str) -> str:
    """The fingerprint of what .venv holds; "" where it holds nothing."""
    try:
        with open(stamp(purpose)) as file:
            return file.read()
    except OSError:
        return ""


@contextmanager
def only_one() -> Iterator[None]:
    """Wait until no other run prepares .venv, and keep others out meanwhile."""
    try:
        os.makedirs(VENV, exist_ok=True)
        lock = os.open(os.path.join(VENV, "lock"), os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        sys.exit(f"run.py: cannot write to {VENV}: {error.strerror}")
    try:
        if not WINDOWS:
            take(lock)
        yield
    finally:
        os.close(lock)


def take(lock: int) -> None:
    """Lock a file and write our process id into it; who waits for another tells whom."""
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pid = os.pread(lock, 20, 0).decode() or "just started"
        say(f"waiting for another run.py (pid {pid}) to finish installing")
        fcntl.flock(lock, fcntl.LOCK_EX)
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)


def make_venv() -> list[str]:
    """An empty .venv; answers the pip to fill it with."""
    for entry in os.scandir(VENV):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        elif entry.name != "lock":
            os.remove(entry.path)
    make = [sys.executable, "-m", "venv"]
    with_pip = has("ensurepip") and subprocess.call([*make, VENV], stdout=subprocess.DEVNULL) == 0
    if not with_pip and subprocess.call([*make, "--without-pip", VENV]) != 0:
        sys.exit("run.py: this Python cannot make virtual environments (on Debian: apt install python3-venv)")
    return find_pip()


def find_pip() -> list[str]:
    """The pip of .venv or, where Python came without, another."""
    if has("pip", PYTHON):
        return [PYTHON, "-m", "pip"]
    if has("pip"):
        return [sys.executable, "-m", "pip", "--python", PYTHON]
    return [PYTHON, os.path.join(fetch_pip(), "pip")]


def has(module: str, python: str = sys.executable) -> bool:
    return subprocess.call([python, "-c", f"import {module}"], stderr=subprocess.DEVNULL) == 0


def install(pip: list[str], what: list[str]) -> None:
    options = ["--quiet", "--disable-pip-version-check", "--no-input"]
    environment = {**os.environ, "PIP_REQUIRE_VIRTUALENV": "0", "PIP_USER": "0"}
    if subprocess.call([*pip, "install", *options, *what], env=environment) != 0:
        sys.exit("run.py: installing failed; what pip said is above")


def fetch_pip() -> str:
    """pip's wheel from the package index; a wheel can be run as it is."""
    import json
    from urllib.parse import urljoin
    from urllib.request import Request, urlopen

    page = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/") + "/pip/"
    try:
        with urlopen(Request(page, headers={"Accept": "application/vnd.pypi.simple.v1+json"}), timeout=60) as answer:
            files = json.load(answer)["files"]
        wheel = max((file for file in files if not file.get("yanked")), key=lambda file: version(file["filename"]))
        with urlopen(urljoin(page, wheel["url"]), timeout=60) as answer:
            content = answer.read()
    except (OSError, ValueError, LookupError) as error:
        sys.exit(f"run.py: this Python has no pip, and fetching it from {page} failed: {error}")
    if hashlib.sha256(content).hexdigest() != wheel["hashes"]["sha256"]:
        sys.exit(f"run.py: {wheel['filename']} from {page} is damaged")
    path = os.path.join(VENV, wheel["filename"])
    with open(path, "wb") as file:
        file.write(content)
    return path


def version(filename: str) -> list[int]:
    """To compare wheels by; anything else, and what is not released, comes first."""
    found = re.fullmatch(r"pip-([0-9.]+)-py3-none-any\.whl", filename)
    return [int(part) for part in found[1].split(".")] if found else []


def say(text: str) -> None:
    print(f"run.py: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
