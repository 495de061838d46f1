"""The tests of an operator made with kopf: its definition, what it makes, what it does when a board is lost, its end.

    pytest docs/examples/testing

The operator is the one of docs/operators/blinky, as it is.  It runs in this process, in a thread of its own, and finds
the test's cluster by $KUBECONFIG.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kopf.testing import KopfRunner

from kube32_sim.testing import Kube32

BLINKY = Path(__file__).resolve().parents[2] / "operators" / "blinky"


@pytest.fixture
def operator(kube32: Kube32) -> Iterator[KopfRunner]:
    """The operator beside this test's cluster, once it watches."""
    kube32.apply(BLINKY / "crd.yaml")
    with KopfRunner(["run", "--standalone", "--namespace=default", str(BLINKY / "blinky.py")]) as runner:
        kube32.wait_for_watch("blinkies")
        yield runner
    assert runner.exit_code == 0, runner.output


def blinky(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Blinky", "metadata": {"name": name}, "spec": spec}


@pytest.mark.usefixtures("operator")
def test_a_blinky_becomes_a_deployment(kube32: Kube32) -> None:
    kube32.apply(blinky("hall", boards=2))
    kube32.wait_for("blinky/hall", "jsonpath={.status.lit}=2")
    container = {"name": "led", "image": "blinky:1.4", "env": [{"name": "PERIOD", "value": "1"}]}
    kube32.assert_object(
        "deployment/hall",
        {
            "metadata": {"ownerReferences": [{"name": "hall", "kind": "Blinky"}]},
            "spec": {"replicas": 2, "template": {"spec": {"containers": [container]}}},
        },
    )
    assert "Deployed" in [event["reason"] for event in kube32.events("blinky/hall")]


@pytest.mark.kube32(nodes=3)
@pytest.mark.usefixtures("operator")
def test_a_lost_board_is_made_up_for(kube32: Kube32) -> None:
    kube32.apply(blinky("hall", boards=2))
    kube32.wait_for("blinky/hall", "jsonpath={.status.lit}=2")
    (lost, *_) = (pod["spec"]["nodeName"] for pod in kube32.list("pods"))
    kube32.fault(lost, "stopped")
    kube32.advance("330s")
    kube32.wait_for("pods", "condition=Ready")
    assert lost not in [pod["spec"]["nodeName"] for pod in kube32.list("pods")]


@pytest.mark.usefixtures("operator")
def test_a_blinky_goes_when_its_leds_are_off(kube32: Kube32) -> None:
    kube32.apply(blinky("hall", boards=1))
    kube32.wait_for("pods", "condition=Ready")
    kube32.delete("blinky/hall")
    kube32.wait_for("blinky/hall", "delete")
    assert kube32.list("pods") == []
