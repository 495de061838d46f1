"""Whatever one replica is told, all of them know: types, rules, tokens, what is bound; and kubectl speaks to any."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.etcd import Etcd
from tests.support.http import Http
from tests.support.kubectl import Kubectl
from tests.support.replicas import SHORT, Replica, Replicas, running_replicas
from tests.support.waiting import until

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PODS = "/api/v1/namespaces/default/pods"
ANY = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}


@pytest.fixture(scope="module")
def replicas(tmp_path_factory: pytest.TempPathFactory, etcd: Etcd) -> Iterator[Replicas]:
    directory = tmp_path_factory.mktemp("replicas")
    with running_replicas(directory, f"{etcd.url}/serving", 3, *SHORT, "--nodes", "2") as started:
        until(lambda: len(started[0].http().get("/api/v1/nodes")["items"]) == 2, "the leader's boards are there")
        yield started


@pytest.fixture
def clients(replicas: Replicas) -> list[Http]:
    """The leader's last."""
    leader = replicas.leader()
    return [each.http() for each in (*replicas.others(leader), leader)]


def versions(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "served": True, "storage": name == names[0], "schema": ANY} for name in names]


def definition(plural: str, *names: str) -> dict[str, Any]:
    kind = plural[:-1].capitalize()
    spec = {"group": "example.com", "scope": "Namespaced", "names": {"plural": plural, "kind": kind}}
    return {"metadata": {"name": f"{plural}.example.com"}, "spec": {**spec, "versions": versions(*names)}}


def status(client: Http, path: str) -> int:
    code: int = client.request("GET", path)[0]
    return code


def test_custom_types_come_change_and_go(clients: list[Http]) -> None:
    one, other, leader = clients
    one.post(DEFINITIONS, definition("lasers", "v1"))
    lasers = "/apis/example.com/v1/namespaces/default/lasers"
    for client in clients:
        until(lambda client=client: status(client, lasers) == 200, "the type is served")
    other.post(lasers, {"apiVersion": "example.com/v1", "kind": "Laser", "metadata": {"name": "red"}, "power": 3})
    assert until(lambda: leader.request("GET", f"{lasers}/red"), "it is there")[0] in (200, 404)
    until(lambda: status(leader, f"{lasers}/red") == 200, "the object is known")

    leader("PATCH", f"{DEFINITIONS}/lasers.example.com", {"spec": {"versions": versions("v1", "v2")}})
    until(lambda: status(one, lasers.replace("v1", "v2", 1)) == 200, "the new version is served")
    until(lambda: status(other, f"{lasers.replace('v1', 'v2', 1)}/red") == 200, "so is the object")
    services = "/apis/apiregistration.k8s.io/v1/apiservices"
    assert {status(one, f"{services}/{version}.example.com") for version in ("v1", "v2")} == {200}
    one("PATCH", f"{DEFINITIONS}/lasers.example.com", {"spec": {"versions": versions("v1")}})
    until(lambda: status(other, lasers.replace("v1", "v2", 1)) == 404, "it is served no more")
    until(lambda: status(leader, f"{services}/v2.example.com") == 404, "nor told of")

    other("DELETE", f"{DEFINITIONS}/lasers.example.com")
    for client in clients:
        until(lambda client=client: status(client, lasers) == 404, "the type is gone")
    until(lambda: status(one, f"{services}/v1.example.com") == 404, "nothing tells of it")
    assert "lasers" not in json.dumps(
        one.get("/apis/example.com/v1") if status(one, "/apis/example.com/v1") == 200 else {}
    )


def test_each_binds_pods_and_none_takes_the_others_names(clients: list[Http]) -> None:
    """Each board has room for so many: together the replicas give no more than there is."""
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"esp32.io/gpio": "9"}}}]}
    pods = [
        client.post(PODS, {"metadata": {"generateName": "many-"}, "spec": spec}) for _ in range(4) for client in clients
    ]
    assert len({pod["metadata"]["uid"] for pod in pods}) == len({pod["metadata"]["name"] for pod in pods}) == 12
    bound = [pod["spec"].get("nodeName", "") for pod in pods]
    room = int(clients[0].get("/api/v1/nodes/esp32-0")["status"]["capacity"]["esp32.io/gpio"]) // 9
    assert bound[0]
    assert max(map(bound.count, set(bound) - {""})) <= room
    for pod in pods:
        clients[0]("DELETE", f"{PODS}/{pod['metadata']['name']}?gracePeriodSeconds=0")


def test_services_have_addresses_of_their_own(clients: list[Http]) -> None:
    services = "/api/v1/namespaces/default/services"
    spec = {"type": "NodePort", "ports": [{"port": 80}], "selector": {"app": "x"}}
    made = [
        client.post(services, {"metadata": {"generateName": "s-"}, "spec": spec})
        for _ in range(4)
        for client in clients
    ]
    assert len({one["spec"]["clusterIP"] for one in made}) == len(made)
    assert len({one["spec"]["ports"][0]["nodePort"] for one in made}) == len(made)
    names = [one["metadata"]["name"] for one in made]
    for client in clients:
        until(lambda client=client: status(client, f"{services}/{names[-1]}") == 200, "it is known")
        assert {status(client, f"/api/v1/namespaces/default/endpoints/{name}") for name in names} == {200}
    assert (
        len({clients[n].get(f"/api/v1/namespaces/default/endpoints/{names[0]}")["metadata"]["uid"] for n in range(3)})
        == 1
    )
    for name in names:
        clients[0]("DELETE", f"{services}/{name}")


def test_an_address_that_all_ask_for_at_once_has_one_of_them(clients: list[Http]) -> None:
    services = "/api/v1/namespaces/default/services"

    def create(client: Http, name: str, address: str) -> int:
        made = {"metadata": {"name": name}, "spec": {"clusterIP": address, "ports": [{"port": 80}]}}
        return int(client.request("POST", services, made)[0])

    with ThreadPoolExecutor(len(clients)) as several:
        for number in range(1, 13):
            names = [f"same-{number}-{each}" for each in range(len(clients))]
            codes = list(several.map(create, clients, names, [f"10.96.99.{number}"] * len(clients)))
            assert sorted(codes) == [201, 422, 422]


def test_addresses_that_were_about_to_be_given_are_given_back(clients: list[Http]) -> None:
    services = "/api/v1/namespaces/default/services"

    def create(client: Http) -> list[str]:
        body = {"metadata": {"generateName": "many-"}, "spec": {"ports": [{"port": 80}]}}
        return [client.post(services, body)["spec"]["clusterIP"] for _ in range(15)]

    with ThreadPoolExecutor(len(clients)) as several:
        given = [address for some in several.map(create, clients) for address in some]
    assert len(set(given)) == len(given) == 45

    def kept() -> set[str]:
        found = clients[0].get("/apis/networking.k8s.io/v1/ipaddresses")["items"]
        return {each["metadata"]["name"] for each in found}

    def held() -> set[str]:
        return {each["spec"]["clusterIP"] for each in clients[0].get("/api/v1/services")["items"]}

    until(lambda: kept() == held() >= set(given), "none is left over, none is missing")


def test_a_quota_is_not_exceeded_though_all_create_at_once(clients: list[Http], replicas: Replicas) -> None:
    clients[0].post("/api/v1/namespaces", {"metadata": {"name": "tight"}})
    secrets = "/api/v1/namespaces/tight/secrets"
    hard = {"metadata": {"name": "few"}, "spec": {"hard": {"secrets": "10"}}}
    clients[0].post("/api/v1/namespaces/tight/resourcequotas", hard)
    for client in clients:
        until(lambda client=client: status(client, "/api/v1/namespaces/tight/resourcequotas/few") == 200, "all know it")

    def create(replica: Replica) -> list[int]:
        client = replica.http()
        return [client.request("POST", secrets, {"metadata": {"generateName": "s-"}})[0] for _ in range(8)]

    with ThreadPoolExecutor() as several:
        codes = [code for done in several.map(create, [*replicas] * 3) for code in done]
    assert (codes.count(201), codes.count(403), len(codes)) == (10, 62, 72)
    until(lambda: len(clients[1].get(secrets)["items"]) == 10, "all know them")


def test_rules_for_writes_hold_everywhere(clients: list[Http]) -> None:
    one, other, _ = clients
    group = "/apis/admissionregistration.k8s.io/v1"
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]
    validations = [{"expression": "!object.metadata.name.startsWith('bad')", "message": "no bad ones"}]
    spec = {"matchConstraints": {"resourceRules": rules}, "validations": validations}
    one.post(f"{group}/validatingadmissionpolicies", {"metadata": {"name": "good"}, "spec": spec})
    binding = {"policyName": "good", "validationActions": ["Deny"]}
    one.post(f"{group}/validatingadmissionpolicybindings", {"metadata": {"name": "good"}, "spec": binding})
    maps = "/api/v1/namespaces/default/configmaps"

    def refused() -> bool:
        code, answer = other.request("POST", maps, {"metadata": {"generateName": "bad-"}})
        return code == 422 and "no bad ones" in answer["message"]

    until(refused, "the policy holds")
    other("DELETE", f"{group}/validatingadmissionpolicies/good")
    until(lambda: one.request("POST", maps, {"metadata": {"generateName": "bad-"}})[0] == 201, "it holds no more")
    one("DELETE", f"{group}/validatingadmissionpolicybindings/good")


def test_who_may_what_holds_everywhere(clients: list[Http]) -> None:
    one, other, _ = clients
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    one.post(accounts, {"metadata": {"name": "reader"}})
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = one.post(f"{accounts}/reader/token", request)["status"]["token"]
    headers = {"Authorization": f"Bearer {token}"}

    def reads() -> int:
        code: int = other.request("GET", "/api/v1/namespaces/default/secrets", headers=headers)[0]
        return code

    until(lambda: reads() == 403, "the token of another replica is good, and may nothing")
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": "default"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"}
    bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
    one.post(bindings, {"metadata": {"name": "reader"}, "subjects": [subject], "roleRef": role})
    until(lambda: reads() == 200, "the binding holds")
    one("DELETE", f"{bindings}/reader")
    until(lambda: reads() == 403, "it holds no more")


def test_one_of_them_leads(clients: list[Http]) -> None:
    told = [re.search(r"^leader_election_master_status.* (\d)$", client.get("/metrics"), re.M) for client in clients]
    assert [found and found[1] for found in told] == ["0", "0", "1"]


def test_kubectl_speaks_to_any(replicas: Replicas, tmp_path: Path) -> None:
    tools = [Kubectl(each.kubeconfig, tmp_path) for each in replicas]
    tools[0]("create", "deployment", "web", "--image=i", "--replicas=3")
    tools[1]("rollout", "status", "deployment/web", "--timeout=30s")
    assert tools[2]("get", "deployment", "web", "-o", "jsonpath={.status.availableReplicas}") == "3"
    tools[2]("delete", "deployment", "web")


def test_a_revision_of_one_is_known_to_the_others(clients: list[Http]) -> None:
    """Who reads elsewhere what he wrote here, and says from which revision on, is not shown an earlier state."""
    maps = "/api/v1/namespaces/default/configmaps"
    start = time.monotonic()
    for number in range(20):
        made = clients[number % 3].post(maps, {"metadata": {"name": f"m-{number}"}})
        at = made["metadata"]["resourceVersion"]
        found = clients[(number + 1) % 3].get(f"{maps}?resourceVersion={at}&resourceVersionMatch=NotOlderThan")
        assert f"m-{number}" in {each["metadata"]["name"] for each in found["items"]}
    assert time.monotonic() - start < 20
    for number in range(20):
        clients[0]("DELETE", f"{maps}/m-{number}")
