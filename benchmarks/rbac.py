"""Decisions of RBAC beside the bindings of a large cluster: CPU of this process."""

from __future__ import annotations

import time
from collections.abc import Sequence

from benchmarks.measuring import Bench, Figure
from kube32_sim.api.authorization import Attributes, Chain
from kube32_sim.api.rbac.bootstrap import bootstrap_objects
from kube32_sim.api.rbac.policy import Policy
from kube32_sim.api.users import User

BINDINGS = 500
DECISIONS = 100_000


def policy() -> Policy:
    """What every server has, and so many Roles, each for one ConfigMap and bound to ann and to a user of its own."""
    made = Policy()
    for plural, namespace, obj in bootstrap_objects():
        name = obj["metadata"]["name"]
        if plural.endswith("bindings"):
            made.put_binding(namespace, name, obj)
        else:
            made.put_role(namespace, name, obj["rules"])
    for number in range(BINDINGS):
        name = f"config-{number}"
        rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": [name]}
        subjects = [{"kind": "User", "name": each} for each in ("ann", f"user-{number}")]
        made.put_role("default", name, [rule])
        reference = {"kind": "Role", "name": name}
        made.put_binding("default", name, {"roleRef": reference, "subjects": subjects})
    return made


def each(authorizer: Chain, users: Sequence[User], asked: Sequence[Attributes], runs: int, count: int) -> float:
    """CPU microseconds of a decision, of the cheapest run."""
    used = []
    for _ in range(runs):
        before = time.process_time()
        for number in range(count):
            authorizer.decide(users[number % len(users)], asked[number % len(asked)])
        used.append(time.process_time() - before)
    return 1e6 * min(used) / count


async def decisions(bench: Bench) -> list[Figure]:
    authorizer = Chain([policy()])
    groups = ("system:authenticated",)
    one, many = [User("ann", "", groups)], [User(f"user-{number}", "", groups) for number in range(BINDINGS)]
    reads = [Attributes("get", "", "v1", "configmaps", "", "default", f"config-{number}") for number in range(BINDINGS)]
    deletes = [asked._replace(verb="delete") for asked in reads]
    count = bench.amount(DECISIONS)
    allowed = each(authorizer, one, reads, bench.runs, count)
    refused = each(authorizer, one, deletes, bench.runs, count)
    others = each(authorizer, many, reads, bench.runs, count)
    note = f"refused {refused:.1f} µs; {BINDINGS} users, one binding each: {others:.1f} µs"
    return [Figure("rbac", f"RBAC decision, {BINDINGS} bindings of one user", allowed, "µs", 20, note=note)]
