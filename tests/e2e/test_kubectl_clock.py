"""kubectl and the simulator's clock: found, printed, explained, advanced."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from tests.support.kubectl import Kubectl
from tests.support.servers import Server

ADVANCE = "/apis/sim.kube32.io/v1alpha1/clocks/cluster/advance"
BODY = {"apiVersion": "sim.kube32.io/v1alpha1", "kind": "ClockAdvance", "spec": {"duration": "330s"}}


def test_a_virtual_clock(start_server: Callable[..., AbstractContextManager[Server]], tmp_path: Path) -> None:
    with start_server("--clock", "virtual", "--nodes", "1") as server:
        kubectl = Kubectl(server.kubeconfig, tmp_path)
        header, row = kubectl("get", "clocks").splitlines()
        assert header.split() == ["NAME", "MODE", "NOW"]
        assert row.split() == ["cluster", "Virtual", "2026-01-01T00:00:00.000000Z"]
        made = json.loads(kubectl("create", "--raw", ADVANCE, "-f", "-", stdin=json.dumps(BODY)))
        assert made["status"] == kubectl.json("get", "clock", "cluster")["status"]
        assert made["status"] == {"mode": "Virtual", "now": "2026-01-01T00:05:30.000000Z"}
        assert kubectl("get", "node", "esp32-0", "--no-headers").split()[:4] == ["esp32-0", "Ready", "<none>", "5m30s"]


def test_a_real_clock(kubectl: Kubectl) -> None:
    assert kubectl("get", "clock/cluster", "--no-headers").split()[:2] == ["cluster", "Real"]
    explained = kubectl("explain", "clock.status")
    assert "mode\t<string>" in explained
    assert "The time that it is, by this clock." in explained
    served = kubectl("api-resources", "--api-group", "sim.kube32.io", "--no-headers").splitlines()
    assert ["clocks", "sim.kube32.io/v1alpha1", "false", "Clock"] in [line.split() for line in served]
    refused = kubectl.fails("create", "--raw", ADVANCE, "-f", "-", stdin=json.dumps(BODY))
    assert "the clock is real: time moves by itself" in refused
    assert "MethodNotAllowed" in kubectl.fails("delete", "clock", "cluster")
