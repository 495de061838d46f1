"""How an operator is tested: a cluster, the operator beside it, both processes, and what becomes of its objects.

In the clone, whose pytest settings want what the simulator's own tests want:

    python3 run.py test docs/operators/test_with_pytest.py

Elsewhere, with this file and the folder `blinky` copied to one place:

    pip install PATH-OF-THE-CLONE kopf kubernetes pytest
    pytest test_with_pytest.py

Nothing here is of the simulator but the command that starts it: the same fixture could start any other cluster.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client, config, utils, watch

BLINKY = Path(__file__).parent / "blinky"
BLINKIES = ("example.com", "v1", "default", "blinkies")
SERVE = [
    sys.executable,
    "-m",
    "kube32_sim",
    "serve",
    "--port",
    "0",
    "--tls-self-signed",
    "--authorization-mode",
    "RBAC",
]
SECONDS = 50
"""A wait's end, if nothing comes of it; no test sleeps."""


@pytest.fixture(scope="module")
def admin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cluster for the tests of this module; the kubeconfig of its administrator."""
    kubeconfig = tmp_path_factory.mktemp("cluster") / "admin"
    command, log = [*SERVE, "--kubeconfig", str(kubeconfig)], kubeconfig.with_name("log")
    with log.open("w") as errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        assert "is serving on" in line, f"{line}{log.read_text()}"
        yield kubeconfig
        server.terminate()


@pytest.fixture(scope="module")
def api(admin: Path) -> Iterator[client.ApiClient]:
    with config.new_client_from_config(str(admin)) as made:
        yield made


@pytest.fixture(scope="module")
def operator(admin: Path, api: client.ApiClient) -> Iterator[None]:
    """The operator as the ServiceAccount that its manifests make."""
    for manifest in ("crd.yaml", "rbac.yaml"):
        utils.create_from_yaml(api, str(BLINKY / manifest))
    asked = client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(audiences=[]))
    made = client.CoreV1Api(api).create_namespaced_service_account_token("blinky-operator", "default", asked)
    access = yaml.safe_load(admin.read_text())
    access["users"][0]["user"] = {"token": made.status.token}
    kubeconfig = admin.with_name("operator")
    kubeconfig.write_text(yaml.safe_dump(access))
    command = ["-m", "kopf", "run", "--standalone", "--namespace", "default", str(BLINKY / "blinky.py")]
    with subprocess.Popen([sys.executable, *command], env={**os.environ, "KUBECONFIG": str(kubeconfig)}) as running:
        yield
        running.terminate()


def wait_for(api: client.CustomObjectsApi, name: str, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """A Blinky once it is as wanted, by a watch."""
    options = {"field_selector": f"metadata.name={name}", "timeout_seconds": SECONDS}
    blinky: dict[str, Any] = {}
    for event in watch.Watch().stream(api.list_namespaced_custom_object, *BLINKIES, **options):
        blinky = event["object"]
        if wanted(blinky):
            return blinky
    raise AssertionError(f"{name} is not as wanted after {SECONDS} s but {blinky}")


@pytest.mark.usefixtures("operator")
def test_a_blinky_becomes_a_deployment(api: client.ApiClient) -> None:
    custom, apps = client.CustomObjectsApi(api), client.AppsV1Api(api)
    body = {"apiVersion": "example.com/v1", "kind": "Blinky", "metadata": {"name": "desk"}, "spec": {"boards": 2}}
    made = custom.create_namespaced_custom_object(*BLINKIES, body)
    assert made["spec"] == {"boards": 2, "image": "blinky:1.4", "period": 1}, "the schema's defaults"
    wait_for(custom, "desk", lambda blinky: blinky.get("status", {}).get("lit") == 2)
    deployment = apps.read_namespaced_deployment("desk", "default")
    assert [owner.name for owner in deployment.metadata.owner_references] == ["desk"]
