"""Nothing but `clock.py` looks at the time, and nothing but `ids.py` rolls dice; exceptions are listed with a reason.

Ruff bans the usual names; this test knows all of them, methods of event loops too, and who may hold a `RealClock`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers import CLONE

MODULES = ("time", "random", "secrets", "uuid", "numpy.random", "sched", "signal.setitimer")
FUNCTIONS = (
    "asyncio.sleep",
    "asyncio.wait_for",
    "asyncio.timeout",
    "asyncio.timeout_at",
    "threading.Timer",
    "os.urandom",
    "os.times",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.datetime.today",
    "datetime.date.today",
    "cryptography.x509.random_serial_number",
    "kube32_sim.clock.RealClock",
)
METHODS = ("call_later", "time")
"""Of event loops."""

ALLOWED = {
    "kube32_sim/recording/tape.py": {"kube32_sim.clock.RealClock"},
    "kube32_sim/replaying/taking.py": {"kube32_sim.clock.RealClock"},
    "kube32_sim/replaying/playing.py": {"kube32_sim.clock.RealClock"},
    "kube32_sim/commands/record.py": {"kube32_sim.clock.RealClock"},
    "kube32_sim/commands/replay.py": {"kube32_sim.clock.RealClock"},
    "kube32_sim/scenarios/running.py": {"kube32_sim.clock.RealClock"},
    "kube32_sim/metrics/meters.py": {"kube32_sim.clock.RealClock"},
    "kube32_sim/metrics/page.py": {"kube32_sim.clock.RealClock", "os.times"},
    "kube32_sim/clock.py": {"time.time", "time.monotonic", "asyncio.sleep", "call_later"},
    "kube32_sim/ids.py": {"random.Random", "uuid.UUID"},
    # what must not be guessed
    "kube32_sim/kept.py": {"secrets.token_urlsafe"},
    "kube32_sim/registry/tokens.py": {"secrets.token_bytes"},
    "kube32_sim/server/authority.py": {"cryptography.x509.random_serial_number"},
    # people and programs outside, who live in real time
    "kube32_sim/blocking/waiting.py": {"kube32_sim.clock.RealClock"},
    "kube32_sim/ground.py": {"kube32_sim.clock.RealClock"},
    "kube32_sim/server/client_certificates.py": {"kube32_sim.clock.RealClock"},
    "kube32_sim/server/documents.py": {"kube32_sim.clock.RealClock"},
    "kube32_sim/server/streaming.py": {"kube32_sim.clock.RealClock", "asyncio.timeout"},
    "kube32_sim/server/faults.py": {"kube32_sim.clock.RealClock"},
    "kube32_sim/server/refusals.py": {"kube32_sim.clock.RealClock"},
    "kube32_sim/server/tls_site.py": {"asyncio.timeout"},
    "kube32_sim/server/inflight.py": {"call_later", "time", "asyncio.timeout"},
    "kube32_sim/server/connections.py": {"call_later", "time"},
    "kube32_sim/http_client.py": {"asyncio.timeout"},
    "kube32_sim/kubelet/process.py": {"kube32_sim.clock.RealClock", "asyncio.timeout"},
    "kube32_sim/runtime/leader_election.py": {"asyncio.timeout"},
    "kube32_sim/storage/etcd/guards.py": {"asyncio.timeout"},
    "kube32_sim/storage/etcd/following.py": {"time", "asyncio.timeout"},
    "kube32_sim/storage/etcd/waiting.py": {"kube32_sim.clock.RealClock"},
    "kube32_sim/storage/sqlite/journal.py": {"kube32_sim.clock.RealClock"},
    "kube32_sim/importing/snapshots.py": {"kube32_sim.clock.RealClock"},
    "kube32_sim/preview/answering.py": {"kube32_sim.clock.RealClock"},
    "kube32_sim/commands/clock.py": {"kube32_sim.clock.RealClock"},
    "kube32_sim/snapshot/saving.py": {"kube32_sim.clock.RealClock"},
    "kube32_sim/top/following.py": {"kube32_sim.clock.RealClock"},
    "kube32_sim/top/live.py": {"kube32_sim.clock.RealClock", "asyncio.timeout"},
}
"""What each file uses of them."""


def names_of_imports(tree: ast.AST) -> dict[str, str]:
    """What names stand for in a module: `{"datetime": "datetime.datetime"}`."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update({alias.asname or alias.name.partition(".")[0]: alias.name for alias in node.names})
        elif isinstance(node, ast.ImportFrom):
            found.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    return found


def dotted(node: ast.AST) -> str:
    """`a.b.c` of an expression of that form, else ""."""
    if isinstance(node, ast.Name):
        return node.id
    head = dotted(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{head}.{node.attr}" if head and isinstance(node, ast.Attribute) else ""


def uses(text: str) -> Iterator[str]:
    """What a module's text uses of time and chance."""
    tree = ast.parse(text)
    imported = names_of_imports(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            first = dotted(node.func).partition(".")[0]
            if node.func.attr in METHODS and first not in imported:
                yield node.func.attr
        if isinstance(node, ast.Attribute | ast.Name):
            first, _, rest = dotted(node).partition(".")
            name = f"{imported[first]}.{rest}".rstrip(".") if first in imported else ""
            if name in FUNCTIONS or any(name.startswith(f"{module}.") for module in MODULES):
                yield name


def product() -> list[Path]:
    return sorted(path for source in ("kube32_sim", "controllers") for path in (CLONE / source).rglob("*.py"))


def test_time_and_chance_come_from_where_they_should() -> None:
    found = {path.relative_to(CLONE).as_posix(): set(uses(path.read_text(encoding="utf-8"))) for path in product()}
    assert len(found) > 200
    assert {path: names for path, names in found.items() if names} == ALLOWED


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import time\ntime.monotonic()", "time.monotonic"),
        ("from time import perf_counter as now\nnow()", "time.perf_counter"),
        ("from datetime import datetime\ndatetime.now()", "datetime.datetime.now"),
        ("import datetime\ndatetime.datetime.now()", "datetime.datetime.now"),
        ("import asyncio\nasyncio.get_running_loop().time()", "time"),
        ("self.loop.call_later(1, f)", "call_later"),
        ("import asyncio\nasync def f():\n    async with asyncio.timeout(1): pass", "asyncio.timeout"),
        ("import numpy as np\nnp.random.default_rng()", "numpy.random.default_rng"),
        ("from uuid import uuid4\nuuid4()", "uuid.uuid4"),
    ],
)
def test_it_would_be_noticed(text: str, name: str) -> None:
    assert name in set(uses(text))


def test_what_only_looks_like_it_is_not() -> None:
    assert list(uses("from datetime import timedelta\ntimedelta(1)\nclock.sleep(1)\nself.clock.call_at(1, f)")) == []
