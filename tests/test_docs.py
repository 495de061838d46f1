"""The documents agree with the program: links lead somewhere, tables are the program's own, limits are as told.

A table that has changed is printed as it should be: put that into the document.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kube32_sim.api import steering
from kube32_sim.arguments import build_parser
from kube32_sim.client import NODES, PODS
from kube32_sim.kubelet.boards import HARDWARE, KIB, Profile, boards, machines
from kube32_sim.kubelet.node_object import amounts, node_labels
from kube32_sim.options import LOOPS
from tests.support.documents import blocks, commands, timeless
from tests.support.http import Http
from tests.support.kubectl import Kubectl
from tests.support.reference import PAGE, made
from tests.support.servers import CLONE
from tests.support.waiting import until

if TYPE_CHECKING:
    from kube32_sim.cluster import Cluster

DOCUMENTS = sorted([*CLONE.glob("*.md"), *(CLONE / "docs").glob("*.md"), *(CLONE / "benchmarks").glob("*.md")])
REFERENCE = (CLONE / "docs/reference.md").read_text(encoding="utf-8")


# links


def links(document: str) -> list[str]:
    """Targets of the links in a document that stay in this clone."""
    text = re.sub(r"^```.*?^```$", "", document, flags=re.M | re.S)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def anchors(document: str) -> set[str]:
    """The names under which GitHub finds the headings of a document."""
    headings = re.findall(r"^#+ (.+)$", document, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(path: Path) -> Iterator[str]:
    for target in links(path.read_text(encoding="utf-8")):
        file, _, anchor = target.partition("#")
        there = (path.parent / file) if file else path
        if not there.exists() or (anchor and anchor not in anchors(there.read_text(encoding="utf-8"))):
            yield target


def test_links_lead_somewhere() -> None:
    assert len(links((CLONE / "README.md").read_text(encoding="utf-8"))) > 5
    found = {path.relative_to(CLONE).as_posix(): list(broken(path)) for path in DOCUMENTS}
    assert {path: targets for path, targets in found.items() if targets} == {}


# tables


def table(header: str, rows: Sequence[Sequence[str]]) -> str:
    columns = header.split("; ")
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |\n" for line in lines)


def cells(document: str, first_column: str) -> list[list[str]]:
    """The rows of the table whose first column has this title."""
    (found,) = re.findall(rf"^\| {first_column} \|.*\n\|[- |]+\n((?:\|.*\n)+)", document, re.M)
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in found.splitlines()]


def parser_of(command: str) -> argparse.ArgumentParser:
    (commands,) = (action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    parser = commands.choices[command]
    assert isinstance(parser, argparse.ArgumentParser)
    return parser


def helped(command: str) -> str:
    """The table of a command's options, from what its parser says for --help."""
    rows = []
    for action in parser_of(command)._actions[1:]:
        *short, name = action.option_strings
        takes_value = action.nargs != 0
        value = f" {action.metavar or action.dest.upper()}" if takes_value else ""
        text = str(action.help) % {"default": action.default}
        what, default = re.fullmatch(r"(.*?)(?: \(default: (.*)\))?", text).groups()  # type: ignore[union-attr]
        option = ", ".join([*(f"`{one}`" for one in short), f"`{name}{value}`"])
        rows.append([option, f"`{default}`" if default else "", what])
    assert len(rows) > 4
    return table("option; default; what it does", rows)


@pytest.mark.parametrize("command", ["serve", "kubelet", "preview", "top"])
def test_all_options_are_told(command: str) -> None:
    assert helped(command) in REFERENCE, helped(command)


def test_the_generated_reference_is_that_of_the_code() -> None:
    """`python -m tests.support.reference` writes it."""
    assert PAGE.read_text(encoding="utf-8") == made()


def test_all_loops_are_told() -> None:
    assert ", ".join(f"`{loop}`" for loop in LOOPS) in " ".join(REFERENCE.split())


def figures(profile: Profile) -> list[str]:
    """What a board has, as its Node tells it."""
    capacity, rest = amounts(profile.capacity()), amounts(profile.allocatable())
    counted = [capacity[f"esp32.io/{name}"] for name in ("gpio", "i2c", "uart", "adc", "rmt-tx", "rmt-rx")]
    memory = [capacity["memory"], rest["memory"], capacity.get("esp32.io/psram", "–"), capacity["ephemeral-storage"]]
    assert profile.chip is not None
    return [f"`{profile.name}`", profile.chip.name, capacity["cpu"], *memory, *counted]


def spans(numbers: Sequence[int]) -> str:
    """`0-3, 7` of 0, 1, 2, 3, 7."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in found)


def board_tables() -> list[str]:
    shown = list(boards().values())
    header = "board; chip; cpu; memory; allocatable; psram; flash; gpio; i2c; uart; adc; rmt-tx; rmt-rx"
    chips = [(board.name, board.chip) for board in shown if board.chip]
    pins = [[f"`{name}`", spans(sorted(chip.pins)), ", ".join(chip.hardware)] for name, chip in chips]
    labels = list(node_labels("NAME", shown[0]))
    kept = [label for label in labels if not label.startswith(HARDWARE)]
    rows = [[f"`{label}`", *(f"`{node_labels('its name', b)[label]}`" for b in shown)] for label in kept]
    return [
        table(header, [figures(board) for board in shown]),
        table("board; pins; hardware", pins),
        table("label; " + "; ".join(f"`{board.name}`" for board in shown), rows),
    ]


@pytest.mark.parametrize("number", range(3))
def test_boards_are_told_as_they_are(number: int) -> None:
    expected = board_tables()[number]
    assert expected in REFERENCE, expected
    assert all(board.memory % KIB == 0 for board in boards().values())


def test_the_ordinary_node_is_told_as_it_is() -> None:
    (machine,) = machines().values()
    shown = {"capacity": amounts(machine.capacity()), "allocatable": amounts(machine.allocatable())}
    rows = [[f"`{name}`", *(f"`{found[name]}`" for found in shown.values())] for name in shown["capacity"]]
    expected = table("resource; " + "; ".join(shown), rows)
    assert expected in REFERENCE, expected
    labels = node_labels("its name", machine)
    expected = table("label; `linux`", [[f"`{label}`", f"`{value}`"] for label, value in labels.items()])
    assert expected in REFERENCE, expected


def test_all_annotations_that_steer_are_told() -> None:
    told = [(kind, name.strip("`")) for name, kind, *_ in cells(REFERENCE, "annotation")]
    assert told == [(kind, name) for kind, names in steering.KNOWN.items() for name in names]
    assert all(f"`{fault}`" in REFERENCE for fault in steering.FAULTS)


def test_the_examples_of_the_reference(kubectl: Kubectl) -> None:
    for command in commands(REFERENCE):
        words = command.text.replace("'", "").split()
        assert timeless(kubectl(*words[1:])) == timeless(command.output), command.text


def test_the_example_of_kestrel(capsys: pytest.CaptureFixture[str]) -> None:
    document = (CLONE / "docs/kestrel.md").read_text(encoding="utf-8")
    (program,), (printed,) = blocks(document, "python"), blocks(document, "text")
    exec(program, {})
    assert capsys.readouterr().out == printed


# what it does not do

NO_NODE = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "nowhere", "operator": "Exists"}]}]}
ANYWAY = {
    "volumes": [
        {"name": "a", "configMap": {"name": "missing"}},
        {"name": "b", "persistentVolumeClaim": {"claimName": "missing"}},
    ],
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": NO_NODE}},
    "containers": [
        {
            "name": "c",
            "image": "nowhere.example.com/nothing",
            "envFrom": [{"secretRef": {"name": "missing"}}],
            "readinessProbe": {"exec": {"command": ["false"]}},
            "resources": {"requests": {"cpu": "1000", "ephemeral-storage": "1Ti"}},
        }
    ],
}
"""A pod that no other cluster would run: here it is scheduled, started and ready."""

DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}


CONVERSION = {
    "strategy": "Webhook",
    "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://example.com/convert"}},
}


def pod(name: str, spec: Mapping[str, object]) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": spec}


def test_what_keeps_no_pod_from_running(http: Http, namespace: str, kubectl: Kubectl) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    http.post(pods, pod("anyway", ANYWAY))
    kubectl("wait", "--for=condition=Ready", "pod/anyway")
    assert "is not supported" in kubectl.fails("exec", "anyway", "--", "ls")
    assert [http.request("GET", f"{pods}/anyway/{what}")[0] for what in ("proxy", "portforward", "attach")] == [501] * 3

    strange = {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"example.com/laser": "1"}}}]}
    http.post(pods, pod("strange", strange))
    status = until(lambda: http.get(f"{pods}/strange")["status"].get("reason"), "strange is refused")
    assert status == "OutOfexample.com/laser"


def test_what_the_api_does_not_do(http: Http, namespace: str, kubectl: Kubectl) -> None:
    converted = {**DEFINITION, "spec": {**DEFINITION["spec"], "conversion": CONVERSION}}
    definition = kubectl.run("create", "--dry-run=server", "-f", "-", stdin=json.dumps(converted))
    assert (definition.returncode, "spec.conversion.strategy" in definition.stderr) == (1, True)

    assert "Metrics API not available" in kubectl.fails("top", "pods")
    mine = {"metadata": {"name": "mine"}, "addressType": "IPv4", "endpoints": []}
    slices = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    assert http.request("POST", slices, mine)[0] == 405


def test_deployments_make_no_replica_sets(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=i")
    kubectl("rollout", "status", "deployment/web")
    assert kubectl("get", "replicasets") == ""
    assert "No rollout history found" in kubectl("rollout", "history", "deployment/web")


async def test_who_evicts_and_how(virtual_cluster: Cluster) -> None:
    """A NoExecute taint set by hand does not; a lost board does, but until then its pods are where they were."""
    client, clock = virtual_cluster.client, virtual_cluster.clock
    made = await client.create(PODS, "default", pod("it", {"containers": [{"name": "c", "image": "i"}]}))
    node = made["spec"]["nodeName"]
    taint = {"spec": {"taints": [{"key": "mine", "effect": "NoExecute"}]}}
    await client.patch(NODES, "", node, taint)
    await clock.advance(600)
    before = await client.get(PODS, "default", "it")
    assert (before["spec"]["nodeName"], before["status"]["phase"]) == (node, "Running")

    await client.patch(NODES, "", node, {"metadata": {"annotations": {steering.FAULT: "stopped"}}})
    await clock.advance(300)
    lost = await client.get(PODS, "default", "it")
    assert lost["spec"]["nodeName"] == node
    assert [lost["status"][key] == before["status"][key] for key in ("phase", "containerStatuses")] == [True, True]
    await clock.advance(60)
    moved = await client.get(PODS, "default", "it")
    assert moved["metadata"]["uid"] == made["metadata"]["uid"]
    assert moved["spec"]["nodeName"] not in ("", node)
    assert moved["status"]["phase"] == "Running"
