"""The plugin in suites of others: each test has a cluster of its own, and nothing of it is left."""

from __future__ import annotations

import pytest

from tests.support.plugin import SETTINGS, Suite

pytest_plugins = ["pytester"]

POD = """
import pytest

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "led"},
    "spec": {"containers": [{"name": "led", "image": "blinky:1.4"}]},
}
"""

SYNCHRONOUS = (
    POD
    + """
import os
import subprocess
import urllib.request


@pytest.mark.parametrize("number", range(2))
def test_each_has_a_cluster_of_its_own(kube32, number):
    assert kube32.list("pods") == []
    kube32.apply(POD)
    kube32.wait_for("pod/led", "condition=Ready")
    assert urllib.request.urlopen(f"{kube32.url}/api/v1/namespaces/default/pods/led").status == 200


def test_its_kubeconfig_is_the_environments(kube32, tmp_path):
    assert os.environ["KUBECONFIG"] == str(kube32.kubeconfig) == str(tmp_path / "kubeconfig")
    assert "KUBERNETES_SERVICE_HOST" not in os.environ
    listed = subprocess.run(["kubectl", "get", "nodes", "-o", "name"], check=True, capture_output=True, text=True)
    assert listed.stdout == "node/esp32-0\\nnode/esp32-1\\n"


def test_without_it_nothing_is_changed():
    assert os.environ["KUBERNETES_SERVICE_HOST"] == "10.0.0.1"
    assert "KUBECONFIG" not in os.environ


@pytest.mark.kube32(nodes=1, board="esp32-c3")
class TestOptions:
    def test_of_the_class(self, kube32):
        (node,) = kube32.list("nodes")
        assert node["metadata"]["labels"]["esp32.io/board"] == "esp32-c3"

    @pytest.mark.kube32(nodes=3)
    def test_the_nearest_counts(self, kube32):
        assert [node["metadata"]["labels"]["esp32.io/board"] for node in kube32.list("nodes")] == ["esp32-c3"] * 3

    @pytest.mark.kube32(clock="real", controllers="none")
    def test_others_are_added(self, kube32):
        assert (kube32.options.clock, kube32.options.loops, kube32.options.nodes) == ("real", frozenset(), 1)


def test_two_clusters(kube32, kube32_factory):
    other = kube32_factory(nodes=1)
    other.apply(POD)
    assert (len(kube32.list("pods")), len(other.list("pods")), len(other.list("nodes"))) == (0, 1, 1)
    assert os.environ["KUBECONFIG"] == str(kube32.kubeconfig) != str(other.kubeconfig)


def test_one_makes_what_another_sees(kube32_session):
    kube32_session.apply(POD)


def test_another_sees_it(kube32_session, kube32):
    assert [len(cluster.list("pods")) for cluster in (kube32_session, kube32)] == [1, 0]
"""
)


def test_synchronous_tests(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    own = suite.home / ".kube" / "config"
    own.parent.mkdir()
    own.write_text("current-context: production\n")
    monkeypatch.setenv("HOME", str(suite.home))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    suite.settings(f"{SETTINGS}filterwarnings = error\n")
    suite.write(test_synchronous=SYNCHRONOUS)
    suite.run("--strict-markers", "--strict-config").assert_outcomes(passed=10)
    assert own.read_text() == "current-context: production\n"
    assert [path.name for path in own.parent.iterdir()] == ["config"]


AWAITED = (
    POD
    + """
import asyncio


async def story(kube32):
    beats = 0

    async def beat():
        nonlocal beats
        while True:
            beats += 1
            await asyncio.sleep(0)

    beating = asyncio.create_task(beat())
    await kube32.aio.apply(POD)
    await kube32.aio.wait_for("pod/led", "condition=Ready")
    await kube32.aio.assert_object("pod/led", {"status": {"phase": "Running"}})
    await kube32.aio.advance("10m")
    with pytest.raises(TimeoutError, match="condition=Blue is not met"):
        await kube32.aio.wait_for("pod/led", "condition=Blue")
    beating.cancel()
    assert beats > 5
    kube32.assert_object("pod/led", {"status": {"phase": "Running"}})
"""
)
STRICT = AWAITED + "@pytest.mark.asyncio\nasync def test_story(kube32):\n    await story(kube32)\n"
ANYIO = AWAITED + (
    "@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n"
    "@pytest.mark.anyio\nasync def test_story(kube32):\n    await story(kube32)\n"
)
AUTO = AWAITED + (
    "@pytest.fixture\nasync def led(kube32):\n    return (await kube32.aio.apply(POD))[0]\n"
    "async def test_story(kube32, led):\n    assert led['metadata']['name'] == 'led'\n    await story(kube32)\n"
)


def test_tests_that_await_with_marks(suite: Suite) -> None:
    suite.write(test_strict=STRICT, test_anyio=ANYIO)
    suite.run("--asyncio-mode=strict").assert_outcomes(passed=2)


def test_tests_that_await_without_marks_side_by_side(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    suite.write(test_auto=AUTO, test_synchronous=SYNCHRONOUS)
    done = suite.run("--asyncio-mode=auto", "-n", "2", "--dist=loadfile")
    done.assert_outcomes(passed=11)


FAILING = (
    POD
    + """
import json, threading, socket
from kube32_sim.testing import matching

PORTS = []


def test_a_value(kube32):
    PORTS.append(kube32.port)
    kube32.apply(POD)
    kube32.assert_object("pod/led", {"status": {"phase": "Pending"}, "spec": {"containers": [{"name": "motor"}]}})


def test_compared(kube32):
    PORTS.append(kube32.port)
    assert kube32.apply(POD)[0] == matching({"spec": {"nodeName": "esp32-9"}})


def test_never_true(kube32):
    PORTS.append(kube32.port)
    spec = {"containers": [{"name": "led", "image": "i", "resources": {"requests": {"memory": "64Mi"}}}]}
    kube32.apply({**POD, "spec": spec})
    kube32.wait_for("pod/led", "condition=Ready", timeout="1m")


@pytest.mark.kube32(node=3)
def test_misspelt(kube32): ...


@pytest.mark.kube32(kubeconfig="mine")
def test_not_chosen(kube32): ...


@pytest.mark.kube32(nodes=-1)
def test_impossible(kube32): ...


@pytest.mark.kube32(3)
def test_by_place(kube32): ...


@pytest.mark.kube32(nodes=1)
def test_not_of_the_session(kube32_session): ...


def test_all_is_closed():
    assert len(PORTS) == 3
    for port in PORTS:
        with socket.socket() as one, pytest.raises(ConnectionRefusedError):
            one.connect(("127.0.0.1", port))
    assert [thread.name for thread in threading.enumerate() if "kube32" in thread.name] == ["kube32-sim"]
"""
)
ENDING = """
import atexit, threading

def pytest_unconfigure():
    names = [thread.name for thread in threading.enumerate()]
    print("threads at the end:", names)
"""


def test_failures_say_what_was_seen_and_why(suite: Suite) -> None:
    suite.write(test_failing=FAILING, conftest=ENDING)
    done = suite.run("-vv")
    done.assert_outcomes(failed=3, errors=5, passed=1)
    text = done.stdout.str()
    for line in (
        "E       AssertionError: pod/led in default is not as expected",
        'E           expected: "Pending"',
        "E         .spec.containers[name=motor]",
        "E           actual:   not there; there are: led",
        "E       assert Pod led == matching(...)",
        'E           expected: "esp32-9"',
        "TimeoutError: pod/led in default: condition=Ready is not met within 1m0s (virtual time, ",
        "kube32: there is no option node; did you mean nodes?",
        "kube32: kubeconfig cannot be chosen: the fixture writes one of its own",
        "--nodes: -1 is less than 0",
        "takes options by name, such as kube32(nodes=3)",
        "@pytest.mark.kube32 is of the fixture kube32; kube32_session has the options of the settings",
        "threads at the end: ['MainThread']",
    ):
        assert line in text, f"{line}\n{text}"
    assert "Insufficient memory" in text
    assert "During handling" not in text
    assert "kube32_sim/blocking" not in text, "a failure shows the test's line, and not the plugin's own"


IDLE = """
import sys

def test_nothing_is_imported():
    loaded = {name for name in sys.modules if name.startswith(("kube32_", "aiohttp", "uvloop", "orjson"))}
    assert loaded <= {"kube32_sim", "kube32_sim.testing", "kube32_sim.testing.plugin", "kube32_sim.testing.clients"}
"""


def test_it_costs_nothing_where_nobody_uses_it(suite: Suite) -> None:
    suite.write(test_idle=IDLE)
    suite.run().assert_outcomes(passed=1)


def test_it_can_be_left_out(suite: Suite) -> None:
    suite.write(test_left_out="def test_it(kube32): ...")
    done = suite.run("-p", "no:kube32_sim")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*fixture 'kube32' not found*"])


def test_settings_of_the_project(suite: Suite) -> None:
    suite.settings(
        f"{SETTINGS}kube32_nodes = esp32-c3=2,linux=1\nkube32_clock = real\nkube32_reconcile_interval = 100ms\n"
    )
    suite.write(
        test_settings="""
import pytest

def test_both(kube32, kube32_session):
    for cluster in (kube32, kube32_session):
        assert [node["metadata"]["name"] for node in cluster.list("nodes")] == ["esp32-c3-0", "esp32-c3-1", "linux-0"]
        assert (cluster.options.clock, cluster.options.reconcile_interval) == ("real", 0.1)

@pytest.mark.kube32(nodes=1, clock="virtual")
def test_a_marker_counts_more(kube32):
    assert (len(kube32.list("nodes")), kube32.options.clock) == (1, "virtual")
"""
    )
    suite.run("--strict-config").assert_outcomes(passed=2)
    suite.settings(f"{SETTINGS}kube32_seed = many\n")
    suite.run("-k", "both").stdout.fnmatch_lines(["*kube32_seed: 'many' is not a whole number*"])
