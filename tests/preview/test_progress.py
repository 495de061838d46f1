"""A bar for a terminal and nobody else, of work that takes a while, and gone when it ends."""

import contextlib
import io
import itertools
import os
import pty
import sys
import termios
import threading
from collections.abc import Callable, Iterator

import pytest

from kube32_sim.progress import progress_bar

NEVER = 1e9
CLEARED = "\r" + " " * 79 + "\r"


@contextlib.contextmanager
def terminal() -> Iterator[Callable[[], str]]:
    """stderr is a terminal of 80 columns meanwhile; answers what has been written to it since it was last asked.

    No fixture: pytest puts its own stderr back between set-up and test.
    """
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))

    def written() -> str:
        print("<end>", end="", file=stream, flush=True)
        found = b""
        while not found.endswith(b"<end>"):
            found += os.read(master, 4096)
        return found.decode().removesuffix("<end>")

    with os.fdopen(slave, "w", encoding="utf-8") as stream, contextlib.redirect_stderr(stream):
        yield written
    os.close(master)


@pytest.fixture
def _no_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing it fails."""
    monkeypatch.setitem(sys.modules, "tqdm", None)


@pytest.fixture
def _minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever tqdm looks at its clock a minute has passed."""
    minutes = itertools.count(0.0, 60.0)
    monkeypatch.setattr("tqdm.std.time", lambda: next(minutes))


def test_a_terminal_is_shown_a_bar_that_is_gone_in_the_end() -> None:
    with terminal() as written:
        with progress_bar(40, "placing pods", delay=0) as advance:
            advance(30)
            shown = written()
            advance(10)
        assert written() == CLEARED
    assert shown.startswith("\rplacing pods:   0%|")
    assert "| 0/40 [" in shown


@pytest.mark.usefixtures("_minutes")
def test_a_bar_appears_after_the_delay_and_moves_with_the_steps() -> None:
    with terminal() as written, progress_bar(4, "placing pods") as advance:
        assert written() == ""
        advance(1)
        assert "\rplacing pods:  25%|" in written()
        advance(2)
        assert "\rplacing pods:  75%|" in written()


def test_short_work_shows_nothing() -> None:
    with terminal() as written:
        with progress_bar(3, "placing pods", delay=NEVER) as advance:
            for _ in range(3):
                advance(1)
        assert written() == ""


@pytest.mark.usefixtures("_minutes")
def test_the_last_step_shows_no_bar() -> None:
    with terminal() as written:
        with progress_bar(3, "placing pods") as advance:
            advance(3)
        assert written() == ""


def test_an_error_clears_the_bar() -> None:
    def fail() -> None:
        with progress_bar(3, "placing pods", delay=0):
            assert "0/3" in written()
            raise ZeroDivisionError

    with terminal() as written:
        with pytest.raises(ZeroDivisionError):
            fail()
        assert written() == CLEARED


def test_no_thread_is_started() -> None:
    before = threading.active_count()
    with terminal(), progress_bar(3, "placing pods", delay=0):
        assert threading.active_count() == before


@pytest.mark.usefixtures("_no_tqdm")
@pytest.mark.parametrize("total", [0, 1])
def test_without_steps_to_come_there_is_no_bar(total: int) -> None:
    with terminal() as written:
        with progress_bar(total, "placing pods", delay=0) as advance:
            advance(total)
        assert written() == ""


@pytest.mark.usefixtures("_no_tqdm")
def test_nothing_is_written_to_a_file() -> None:
    with contextlib.redirect_stderr(io.StringIO()) as stream, progress_bar(40, "placing pods", delay=0) as advance:
        advance(30)
    assert stream.getvalue() == ""


@pytest.mark.usefixtures("_no_tqdm")
def test_no_stderr_at_all_is_no_trouble() -> None:
    with contextlib.redirect_stderr(None), progress_bar(40, "placing pods", delay=0) as advance:
        advance(30)
