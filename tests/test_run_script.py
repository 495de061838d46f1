"""run.py, the two commands of the README: what it decides, without installing anything."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import run
from kube32_sim.arguments import COMMANDS, PROGRAM
from kube32_sim.options import KUBECONFIG

CLONE = Path(run.__file__).parent
PROJECT = """\
[project]
dependencies = ["aiohttp>=3"]

[project.optional-dependencies]
dev = ["pytest>=8"]
"""


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """run.py looks at a folder of its own."""
    monkeypatch.setattr(run, "CLONE", str(tmp_path))
    monkeypatch.setattr(run, "VENV", str(tmp_path / ".venv"))
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    return tmp_path


@pytest.fixture
def installed(clone: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was asked to be installed, in order; a new .venv first."""
    asked: list[str] = []

    def make() -> list[str]:
        asked.append("new")
        for purpose in ("run", "dev"):
            Path(run.stamp(purpose)).unlink(missing_ok=True)
        return ["pip"]

    monkeypatch.setattr(run, "make_venv", make)
    monkeypatch.setattr(run, "find_pip", lambda: ["pip"])
    monkeypatch.setattr(run, "install", lambda pip, what: asked.append(" ".join(what)))
    return asked


def test_what_is_there_is_not_installed_again(clone: Path, installed: list[str]) -> None:
    run.prepare("run")
    run.prepare("run")
    assert installed == ["new", f"--editable {clone}"]


def test_the_tests_tools_are_added_without_touching_what_may_be_running(clone: Path, installed: list[str]) -> None:
    run.prepare("run")
    run.prepare("dev")
    run.prepare("run")
    assert installed == ["new", f"--editable {clone}", "aiohttp>=3 pytest>=8"]


def test_the_tests_get_all_at_once_where_nothing_is_there(clone: Path, installed: list[str]) -> None:
    run.prepare("dev")
    run.prepare("run")
    assert installed == ["new", f"--editable {clone}[dev]"]


def test_other_dependencies_are_installed_with_the_tools_that_were_there(clone: Path, installed: list[str]) -> None:
    run.prepare("dev")
    (clone / "pyproject.toml").write_text(PROJECT.replace("aiohttp>=3", "aiohttp>=4"))
    run.prepare("run")
    assert installed == ["new", f"--editable {clone}[dev]"] * 2


def test_what_failed_to_be_added_is_tried_again_and_what_runs_is_kept(
    installed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run.prepare("run")
    monkeypatch.setattr(run, "install", lambda pip, what: sys.exit("no network"))
    for _ in range(2):
        with pytest.raises(SystemExit, match="no network"):
            run.prepare("dev")
    run.prepare("run")
    assert installed.count("new") == 1


@pytest.mark.skipif(run.WINDOWS, reason="there is no flock")
def test_who_waits_is_told_for_whom(clone: Path, installed: list[str]) -> None:
    source = (
        f"import run; run.CLONE, run.VENV = {str(clone)!r}, {run.VENV!r}\n"
        "run.install = lambda pip, what: print('installed')\n"
        "run.prepare('run')\n"
    )
    with run.only_one():
        other = subprocess.Popen(
            [sys.executable, "-c", source], cwd=CLONE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert other.stderr
        told = other.stderr.readline()
        Path(run.stamp("run")).write_text(run.fingerprint())
    out, more = other.communicate()
    assert told == f"run.py: waiting for another run.py (pid {os.getpid()}) to finish installing\n"
    assert (other.returncode, out, more) == (0, "", "")


def test_the_tools_are_those_of_the_project() -> None:
    found = run.tools()
    assert any(one.startswith("aiohttp") for one in found)
    assert any(one.startswith("pytest-asyncio") for one in found)


def test_another_interpreter_or_place_is_another_venv(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run.fingerprint()
    monkeypatch.setattr(sys, "version", "3.99")
    second = run.fingerprint()
    other = clone / "elsewhere"
    other.mkdir()
    (other / "pyproject.toml").write_bytes((clone / "pyproject.toml").read_bytes())
    monkeypatch.setattr(run, "CLONE", str(other))
    assert len({first, second, run.fingerprint()}) == 3


@pytest.mark.parametrize(
    ("arguments", "purpose", "command"),
    [
        (["serve", "--port", "0"], "run", ["-m", "kube32_sim", "serve", "--port", "0"]),
        (["--version"], "run", ["-m", "kube32_sim", "--version"]),
        (["test", "-k", "x"], "dev", ["-m", "pytest", *run.PARALLEL, "-k", "x"]),
    ],
)
def test_arguments_are_passed_on(
    arguments: list[str], purpose: str, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[str] = []
    become: list[list[str]] = []

    def stop(command: list[str]) -> None:
        become.append(command[1:])
        raise SystemExit

    monkeypatch.setenv(run.PROGRAM, "")
    monkeypatch.setattr(run, "prepare", prepared.append)
    monkeypatch.setattr(run, "become", stop)
    monkeypatch.setattr(run, "fetch_clients", lambda: prepared.append("clients"))
    monkeypatch.setattr("os.chdir", lambda folder: None)
    with pytest.raises(SystemExit):
        run.main(arguments)
    assert (prepared, become) == ([purpose, "clients"] if purpose == "dev" else [purpose], [command])
    assert os.environ[run.PROGRAM] == ("" if purpose == "dev" else "python3 run.py")


@pytest.mark.parametrize(
    ("options", "needed"),
    [
        ("", True),
        ("-n 0 -k helm", True),
        (".", True),
        ("tests", True),
        (f"{CLONE}/tests -x", True),
        ("tests/clients/test_helm.py::test_install", True),
        ("tests/conformance", True),
        ("tests/kubelet tests/conformance/test_kubectl.py", True),
        ("tests/kubelet -x", False),
        ("tests/conformance/test_conformance.py tests/test_cli.py::test_version", False),
    ],
)
def test_clients_are_fetched_for_the_tests_that_drive_them(
    options: str, needed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(CLONE)
    assert run.need_clients(options.split()) == needed
    assert all((CLONE / path).exists() for path in run.CLIENT_TESTS)


@pytest.mark.parametrize(("code", "told"), [(0, ""), (1, "some clients cannot be fetched")])
def test_clients_that_cannot_be_fetched_keep_no_test_from_running(
    code: int, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("subprocess.call", lambda command: code)
    run.fetch_clients()
    assert told in capsys.readouterr().err


def test_the_newest_released_pip_is_taken() -> None:
    names = ["pip-9.0.3-py2.py3-none-any.whl", "pip-9.0.1.tar.gz", "pip-25.1-py3-none-any.whl"]
    names += ["pip-26.0b1-py3-none-any.whl", "pip-25.0.1-py3-none-any.whl"]
    assert max(names, key=run.version) == "pip-25.1-py3-none-any.whl"


def test_a_folder_that_cannot_be_written_is_named(clone: Path) -> None:
    (clone / ".venv").touch()
    with pytest.raises(SystemExit, match="cannot write to"):
        run.prepare("run")


def test_help_needs_no_set_up() -> None:
    done = subprocess.run(
        [sys.executable, str(CLONE / "run.py"), "--help"], capture_output=True, text=True, check=True, cwd="/"
    )
    for command in ("serve", "kubelet", "test"):
        assert re.search(rf"python3 run\.py {command} +\[OPTION\]\.\.\.", done.stdout)
    assert all(f"python3 run.py {command} " in done.stdout for command in COMMANDS)
    assert str(KUBECONFIG) in done.stdout


def test_whoever_reads_only_the_beginning_of_the_help_sees_no_traceback() -> None:
    command = [sys.executable, str(CLONE / "run.py"), "--help"]
    environment = os.environ | {"PYTHONUNBUFFERED": ""}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/", env=environment) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""


def test_its_name_is_handed_on_where_it_is_looked_for() -> None:
    assert run.PROGRAM == PROGRAM


def test_it_can_be_read_by_an_older_python() -> None:
    import ast

    ast.parse((CLONE / "run.py").read_text(), feature_version=(3, 7))


def test_ci_calls_the_command_of_the_readme() -> None:
    assert "python3 run.py test" in (CLONE / "README.md").read_text()
    assert "python3 run.py test" in (CLONE / ".ci" / "run").read_text()
