"""Places that a store cannot be in, or should not: full, for reading only, for everybody to read; and times ahead."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kube32_sim.clock import RealClock, rfc3339
from kube32_sim.cluster import Cluster
from tests.support.objects import MAPS, config_map
from tests.support.servers import command_environment
from tests.support.waiting import eventually
from tests.support.wire import connected

BARE: dict[str, Any] = {"nodes": 0, "port": 0, "controllers": "none"}
SERVE = f"{sys.executable} -m kube32_sim serve --port 0 --nodes 0 --kubeconfig config --store sqlite:disk/store 2>&1"
MOUNT = "mkdir disk && mount -t tmpfs -o size=SIZE tmpfs disk"


def mounted(directory: Path, script: str) -> tuple[int, list[str]]:
    """(exit code, lines) of a script that may mount things, for nobody but itself."""
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", script]
    if shutil.which("unshare") is None or subprocess.run([*command[:-2], "-ec", "true"], check=False).returncode:
        pytest.skip("this system does not let us mount anything")
    environment = {**command_environment(), "HOME": str(directory)}
    done = subprocess.run(
        command, check=False, cwd=directory, env=environment, capture_output=True, text=True, timeout=30
    )
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize("size", ["8k", "96k", "240k"])
def test_a_start_on_a_disk_that_is_full(tmp_path: Path, size: str) -> None:
    code, lines = mounted(tmp_path, f"{MOUNT.replace('SIZE', size)}; {SERVE}")
    assert code == 1
    assert "--store: " in lines[-1]
    assert "disk/store" in lines[-1]
    assert lines[-1].endswith("; make room, or name another file")
    assert "database or disk is full" in lines[-1]
    assert "again" not in "".join(lines)
    assert not (tmp_path / "config").exists()


@pytest.mark.parametrize("there", [True, False])
async def test_a_start_on_a_disk_that_can_only_be_read(tmp_path: Path, there: bool) -> None:
    if there:
        async with Cluster(store=f"sqlite:{tmp_path / 'store'}", **BARE):
            pass
    copied = "cp store disk/store; " if there else ""
    code, lines = mounted(tmp_path, f"{MOUNT.replace('SIZE', '5m')}; {copied}mount -o remount,ro disk; {SERVE}")
    assert (code, len(lines)) == (1, 1), lines
    assert "disk/store cannot be opened: Read-only file system; a store is written, too: name another file" in lines[0]


async def test_a_store_that_cannot_be_written_is_not_ready_and_alive(tmp_path: Path) -> None:
    path = tmp_path / "store"
    async with Cluster(store=f"sqlite:{path}", **BARE) as cluster, connected(cluster.port) as wire:
        assert (await wire("GET", "/readyz")).status == 200
        path.rename(tmp_path / "elsewhere")
        assert (await wire("POST", "/api/v1/namespaces/default/configmaps", config_map("a"))).status == 503
        for check in ("readyz", "healthz"):
            answer = await wire("GET", f"/{check}?verbose")
            assert answer.status == 503
            assert b"[-]etcd failed: reason withheld\n" in answer.body
        assert (await wire("GET", "/livez")).status == 200
        (tmp_path / "elsewhere").rename(path)
        await eventually(lambda: not cluster.store.trouble, "it can be written again")
        assert (await wire("GET", "/readyz")).status == 200


@pytest.mark.parametrize(("mode", "warned"), [(0o644, True), (0o640, False), (0o600, False)])
async def test_a_file_that_everybody_reads_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, warned: bool
) -> None:
    path = tmp_path / "store"
    path.touch()
    path.chmod(mode)
    async with Cluster(store=f"sqlite:{path}", **BARE):
        pass
    line = f"--store {path}: every user of this machine can read it; `chmod 600` keeps its secrets"
    assert [record.getMessage() for record in caplog.records] == ([line] if warned else [])


async def test_a_time_that_is_ahead_of_the_machine_is_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = f"sqlite:{tmp_path / 'store'}"
    ahead = RealClock().now() + 3 * 3600
    async with Cluster(store=store, clock="virtual", **BARE) as cluster:
        await cluster.advance(ahead - cluster.clock.now())
        reached = cluster.clock.now()
    assert caplog.records == []
    for _ in range(2):  # what is written by real time does not make it forget
        async with Cluster(store=store, clock="real", **BARE) as cluster:
            await cluster.client.create(MAPS, "default", {"metadata": {"generateName": "a-"}})
        (record,) = caplog.records
        text = record.getMessage()
        assert f"is {rfc3339(reached)}, and this machine's is " in text
        assert "--clock virtual goes on from there" in text
        caplog.clear()
    async with Cluster(store=store, clock="virtual", **BARE) as cluster:
        assert cluster.clock.now() == pytest.approx(reached)
    assert caplog.records == []
