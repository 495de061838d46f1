"""Pipes, devices and what is open already, where a file is named: nothing is renamed over them, nobody hangs."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kube32_sim import special_files
from kube32_sim.kubeconfig import Access, KubeconfigError, write_kubeconfig
from kube32_sim.options import CommandError
from kube32_sim.server.authentication import TokenFileError, read_tokens
from kube32_sim.snapshot.files import is_stream, writing

ACCESS = Access("http://127.0.0.1:1")
TOKENS = b'root,admin,1,"system:masters"\n'


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Path]:
    """A link to a device of our own."""
    ours, other = os.openpty()
    path = tmp_path / "terminal"
    path.symlink_to(os.ttyname(other))
    yield path
    os.close(ours)
    os.close(other)


def test_a_kubeconfig_is_a_file(fifo: Path, terminal: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(fifo)
    for path, kind in ((fifo, "a pipe"), (link, "a pipe"), (terminal, "a device"), (tmp_path, "a directory")):
        with pytest.raises(KubeconfigError, match=f"the kubeconfig {path} would be {kind}; name a file"):
            write_kubeconfig(path, ACCESS)
    assert stat.S_ISFIFO(fifo.lstat().st_mode)
    assert link.is_symlink()
    assert terminal.is_symlink()


def test_a_link_to_a_file_stays_one(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("config", "state.jsonl"):
        (tmp_path / name).symlink_to(tmp_path / "folder" / name)
    write_kubeconfig(tmp_path / "config", ACCESS)
    with writing(str(tmp_path / "state.jsonl")) as writer:
        writer.write({"a": 1})
    assert (tmp_path / "folder" / "state.jsonl").read_bytes() == b'{"a":1}\n'
    assert (tmp_path / "folder" / "config").exists()
    assert all((tmp_path / name).is_symlink() for name in ("config", "state.jsonl"))


def test_a_snapshot_goes_into_a_pipe(fifo: Path) -> None:
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    assert is_stream(str(fifo))
    with writing(str(fifo)) as writer:
        writer.write({"a": 1})
    assert os.read(reader, 100) == b'{"a":1}\n'
    os.close(reader)
    assert stat.S_ISFIFO(fifo.lstat().st_mode)


def test_a_pipe_that_nobody_reads_is_told(fifo: Path) -> None:
    with pytest.raises(CommandError, match="fifo: nobody reads from it"), writing(str(fifo)):
        pass
    assert [path.name for path in fifo.parent.iterdir()] == ["fifo"]


SAVE = """
import sys
from kube32_sim.snapshot.files import writing
with writing(sys.argv[1]) as writer:
    writer.write({"a": 1})
"""


@pytest.mark.parametrize("into", ["file", "pipe"])
def test_standard_output_by_its_path(tmp_path: Path, into: str) -> None:
    """Where it is a file that was begun, what is in it stays.  The link is what /dev/stdout is, but ours to lose."""
    link = tmp_path / "stdout"
    link.symlink_to("/proc/self/fd/1")
    words = [sys.executable, "-c", SAVE, str(link)]
    if into == "pipe":
        assert subprocess.run(words, capture_output=True, check=True).stdout == b'{"a":1}\n'
        return
    path = tmp_path / "out"
    path.write_bytes(b"before\n")
    with path.open("ab") as opened:
        subprocess.run(words, stdout=opened, check=True)
    assert path.read_bytes() == b'before\n{"a":1}\n'
    assert link.is_symlink()


def test_tokens_come_out_of_a_pipe_that_is_open(tmp_path: Path) -> None:
    """As a shell's `<(...)` has it; its writer may take his time."""
    reading, writing_end = os.pipe()

    def write() -> None:
        with os.fdopen(writing_end, "wb") as file:
            file.write(TOKENS)

    timer = threading.Timer(0.05, write)
    timer.start()
    assert set(read_tokens(Path(f"/dev/fd/{reading}"))) == {b"root"}
    timer.join()
    os.close(reading)


def test_tokens_of_a_pipe_into_which_nobody_writes(fifo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(special_files, "PATIENCE", 0.05)
    with pytest.raises(TokenFileError, match=f"--token-file {fifo}: nothing came out of it"):
        read_tokens(fifo)
