"""The plugin for pytest: a simulated cluster for each test, in this process; docs/testing.md has how.

    def test_a_deployment_comes_up(kube32):
        kube32.apply("manifests/web.yaml")
        kube32.wait_for("deployment/web", "condition=Available")

Nothing of the simulator is imported before a test uses one of the fixtures.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kube32_sim.testing.clients import lead_to

if TYPE_CHECKING:
    from kube32_sim.blocking import BlockingCluster

NAME = "kube32"
SCENARIOS = (".scenario.yaml", ".scenario.yml")
SETTINGS = {
    "nodes": "how many boards, or a mix: esp32-s3=2,linux=1",
    "board": "the kind of the boards",
    "clock": "virtual (the default) or real",
    "controllers": "which loops run: *, none, or a list",
    "seed": "of generated names and uids",
    "authorization_mode": "RBAC, AlwaysAllow or AlwaysDeny",
    "tls_self_signed": "true: HTTPS, with a token in the kubeconfig",
    "reconcile_interval": "between two passes of a loop",
    "lease_check_interval": "between two looks at the leases of boards",
    "default_toleration_seconds": "how long pods stay on a board that is lost",
    "node_lease_duration_seconds": "how long a board's lease lasts",
}
"""Fields of ServeOptions that the project's settings may give, as `kube32_FIELD`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    for name, text in SETTINGS.items():
        parser.addini(f"{NAME}_{name}", f"kube32-sim: {text}", default="")


def pytest_configure(config: pytest.Config) -> None:
    text = "kube32(**options): options of the cluster of the fixture kube32, fields of kube32_sim.ServeOptions"
    config.addinivalue_line("markers", text)


def pytest_runtest_setup(item: pytest.Item) -> None:
    names = getattr(item, "fixturenames", ())
    marked = any(marker.name == NAME for marker in item.own_markers)
    if marked and f"{NAME}_session" in names and not {NAME, f"{NAME}_factory"} & set(names):
        why = f"@pytest.mark.{NAME} is of the fixture {NAME}; {NAME}_session has the options of the settings"
        pytest.fail(f"{why}, such as {NAME}_nodes", pytrace=False)


def _settings(config: pytest.Config) -> dict[str, str]:
    return {name: str(config.getini(f"{NAME}_{name}")) for name in SETTINGS}


def _markers(request: pytest.FixtureRequest) -> list[Mapping[str, Any]]:
    found = list(request.node.iter_markers(NAME))
    if any(marker.args for marker in found):
        pytest.fail(f"@pytest.mark.{NAME} takes options by name, such as {NAME}(nodes=3)", pytrace=False)
    return [marker.kwargs for marker in found]


def _started(request: pytest.FixtureRequest, markers: list[Mapping[str, Any]], kubeconfig: Path) -> BlockingCluster:
    from kube32_sim.cluster import Cluster
    from kube32_sim.options import OptionError
    from kube32_sim.testing.options import options_of

    try:
        return Cluster(options_of(_settings(request.config), markers, kubeconfig)).__enter__()
    except OptionError as error:
        why = str(error)
    pytest.fail(why, pytrace=False)


@pytest.fixture(scope="session")
def _kube32_loop() -> Iterator[None]:
    """One thread for the clusters of all tests."""
    from kube32_sim.blocking import lease, release

    lease()
    yield
    release()


@pytest.fixture
def kube32(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, _kube32_loop: None
) -> Iterator[BlockingCluster]:
    """A cluster for this test alone, on a virtual clock; $KUBECONFIG leads there. Options: @pytest.mark.kube32."""
    cluster = _started(request, _markers(request), tmp_path / "kubeconfig")
    try:
        lead_to(cluster.kubeconfig, monkeypatch)
        yield cluster
    finally:
        cluster.close()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Scenarios (docs/scenarios.md) are tests."""
    if not file_path.name.endswith(SCENARIOS):
        return None
    from kube32_sim.testing.scenarios import ScenarioFile

    return ScenarioFile.from_parent(parent, path=file_path)


@pytest.fixture(scope="session")
def kube32_session(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, _kube32_loop: None
) -> Iterator[BlockingCluster]:
    """One cluster for all tests of this process, with the options of the settings; $KUBECONFIG leads there from now on.

    A test that uses `kube32` too has $KUBECONFIG lead to its own.
    """
    cluster = _started(request, [], tmp_path_factory.mktemp(NAME) / "kubeconfig")
    try:
        with pytest.MonkeyPatch.context() as monkeypatch:
            lead_to(cluster.kubeconfig, monkeypatch)
            yield cluster
    finally:
        cluster.close()


@pytest.fixture
def kube32_factory(
    request: pytest.FixtureRequest, tmp_path: Path, _kube32_loop: None
) -> Iterator[Callable[..., BlockingCluster]]:
    """`kube32_factory(nodes=1)`: one more cluster for this test; $KUBECONFIG does not lead there."""
    made: list[BlockingCluster] = []

    def make(**options: Any) -> BlockingCluster:
        path = tmp_path / f"{NAME}-{len(made)}" / "kubeconfig"
        made.append(_started(request, [options, *_markers(request)], path))
        return made[-1]

    try:
        yield make
    finally:
        for cluster in reversed(made):
            cluster.close()


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Where an object differs from `matching(...)`."""
    module = sys.modules.get("kube32_sim.blocking.matching")
    if module is None or op != "==":
        return None
    sides = (left, right) if isinstance(right, module.Matching) else (right, left)
    actual, wanted = sides
    if not isinstance(wanted, module.Matching):
        return None
    found = list(module.differences(wanted.expected, actual))
    kind, name = "object", ""
    if isinstance(actual, dict):
        kind, name = str(actual.get("kind") or kind), str((actual.get("metadata") or {}).get("name") or "")
    return [f"{kind} {name}".strip() + " == matching(...)", *module.told(found)]
