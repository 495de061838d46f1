"""The commands of docs/durability.md, with a kill -9 in between; and that each failure it tells of is told so."""

from __future__ import annotations

import re
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from kube32_sim.cli import run as run_command
from tests.support.documents import commands, run, timeless, user_environment
from tests.support.servers import CLONE, Server, doomed_server, running_server

DOCUMENT = (CLONE / "docs/durability.md").read_text(encoding="utf-8")
KILLED = "Now end it"
BARE = ("--controllers", "none", "--nodes", "0")


def test_the_document(tmp_path: Path) -> None:
    options = ("--store", f"sqlite:{tmp_path / 'store'}", "--tls-self-signed")
    before, after = (commands(part) for part in DOCUMENT.split(KILLED))
    assert (len(before), len(after)) == (3, 3)
    handed_out = []
    for told in (before, after):
        with doomed_server(tmp_path, *options) as server:
            environment = user_environment(tmp_path, server.kubeconfig)
            for command in told:
                assert timeless(run(command.text, environment)) == timeless(command.output), command.text
            config = yaml.safe_load(server.kubeconfig.read_text())
            authority = config["clusters"][0]["cluster"]["certificate-authority-data"]
            handed_out.append((authority, config["users"][0]["user"]["token"]))
    assert handed_out[0] == handed_out[1]
    for file in tmp_path.glob("store*"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_a_copy_of_the_file_is_a_backup(tmp_path: Path) -> None:
    """Of one that was killed, with what is beside it."""
    options = (*BARE, "--store", f"sqlite:{tmp_path / 'store'}")
    with doomed_server(tmp_path, *options) as server, closing(server.http()) as http:
        http.post("/api/v1/namespaces", {"metadata": {"name": "kept"}})
    copied = tmp_path / "copy"
    for file in ("store", "store-wal"):
        (tmp_path / file.replace("store", "copy")).write_bytes((tmp_path / file).read_bytes())
    with running_server(tmp_path, *BARE, "--store", f"sqlite:{copied}") as server:
        assert_there(server)
    assert not copied.with_name("copy-wal").exists()  # stopped by itself, it is one file
    with running_server(tmp_path, *BARE, "--store", f"sqlite:{copied}") as server:
        assert_there(server)


def assert_there(server: Server) -> None:
    with closing(server.http()) as http:
        assert http.get("/api/v1/namespaces/kept")["status"]["phase"] == "Active"


def refusal(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of a start that cannot be."""
    kubeconfig = str(path.parent / "other-kubeconfig")
    code = run_command(["serve", "--port", "0", "--kubeconfig", kubeconfig, *BARE, "--store", f"sqlite:{path}"])
    out, error = capsys.readouterr()
    assert (code, out) == (1, "")
    assert error.startswith("kube32-sim: --store: ")
    assert error.count("\n") == 1, error
    return error.strip().removeprefix("kube32-sim: --store: ")


def told() -> list[str]:
    """The messages of the document's table, as patterns."""
    rows = re.findall(r"^\| `([^`]+; [^`]+)` \|", DOCUMENT, re.M)
    patterns = [
        re.escape(row).replace("FILE", ".+").replace("DIRECTORY", ".+").replace(r"\(…\)", r"\(.+\)") for row in rows
    ]
    return [re.sub(r"\b[NM]\b", r"\\d+", pattern) for pattern in patterns]


ELSEWHERE = ("is gone, and", "Read-only file system", "cannot be written")
"""Messages of the table that take a disk of their own: see `tests/storage/test_sqlite_places.py` and its neighbours."""


def _unescaped(pattern: str) -> str:
    return pattern.replace("\\", "")


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    place = content.index(b'"kube-node-lease"')
    content[place + 3] ^= 1
    path.write_bytes(content)


def other_format(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 99")


def other_program(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE theirs (id INTEGER)")


SPOILT: list[tuple[str, Callable[[Path], object]]] = [
    ("is damaged (", damage),
    ("is no store", lambda path: path.write_text("Dear diary, " * 100)),
    ("is a database of another program", other_program),
    ("has format 99", other_format),
]


def test_a_newer_version_that_was_killed_is_known_by_what_lies_beside_its_file(
    tmp_path: Path, store: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path, copy = tmp_path / "store", tmp_path / "copy"
    path.write_bytes(store)
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 99")
        for end in ("", "-wal"):
            (tmp_path / f"copy{end}").write_bytes((tmp_path / f"store{end}").read_bytes())
    assert copy.read_bytes() == store
    assert "has format 99" in refusal(copy, capsys)
    with closing(sqlite3.connect(copy)) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (99,)
        assert database.execute("SELECT count(*) FROM log").fetchone()[0] > 100


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    directory = tmp_path_factory.mktemp("store")
    with running_server(directory, *BARE, "--store", f"sqlite:{directory / 'store'}"):
        pass
    return (directory / "store").read_bytes()


@pytest.mark.parametrize(("word", "spoil"), SPOILT, ids=[word for word, _ in SPOILT])
def test_what_is_wrong_with_a_file_is_told_and_nothing_is_changed(
    tmp_path: Path, store: bytes, word: str, spoil: Callable[[Path], object], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "store"
    path.write_bytes(store)
    spoil(path)
    before = path.read_bytes()
    message = refusal(path, capsys)
    assert word in message
    assert any(re.fullmatch(pattern, message) for pattern in told()), message
    assert path.read_bytes() == before


def test_one_file_is_one_simulators(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "store"
    with running_server(tmp_path, *BARE, "--store", f"sqlite:{path}") as server:
        message = refusal(path, capsys)
        with closing(server.http()) as http:
            assert http.get("/readyz") == "ok"
    messages = [message, refusal(tmp_path / "nowhere" / "store", capsys)]
    for message, word in zip(messages, ("is in use by another process", "there is no directory"), strict=True):
        assert word in message
        assert any(re.fullmatch(pattern, message) for pattern in told()), message
    assert len(told()) == len(SPOILT) + len(messages) + len(ELSEWHERE)
    assert all(any(re.search(pattern, told_of) for told_of in map(_unescaped, told())) for pattern in ELSEWHERE)
