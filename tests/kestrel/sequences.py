"""Random operation sequences, by seed and flavour: small tight clusters where everything interacts.

Most are so tight that pods are evicted, given back, re-placed, left pending and retried all the time; `rows` of many
nodes are there for what works on whole arrays.  A seed and a flavour always make the same sequence.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Operations = list[Any]

USUAL = {
    "submit": 60,
    "delete_pod": 14,
    "retry_pending": 8,
    "where": 4,
    "node_status": 3,
    "events": 3,
    "pending": 3,
    "add_node": 3,
    "bulk_nodes": 1,
    "bulk_submit": 2,
}
PRIORITIES = (0, 0, 0, 1, 2, 5, -1)
HUGE_PRIORITIES = (0, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1, -(2**63), -(2**63) - 1, 10**30, -(10**30))
SCALES = (2**31, 2**46, 2**53, 2**56, 2**57, 2**60, 2**62, 2**63, 10**30)
"""What amounts are multiplied by where they are huge: around what floats and machine words hold, also times 100."""

ODD_STEMS = ("p", "P", "n-", "p-0", "", "é", "\uffff", "\U0001f600", "\ud83d", "p\0", "p ", "p\n", "-", "pending")
ODD_VALUES = (None, True, False, 0, 1, -1, 1.0, 0.5, "", "x", [], {}, [[]], [{}], {"key": 1}, 10**30, "Exists", "zone")
EVERYTHING = 10**6
MOST_BULK = 80
"""What a spoiled count may be."""


@dataclass(frozen=True)
class Flavour:
    """Ranges are inclusive; `affinity`, `anti`, `static`, `never`, `zero` and `odd` are chances."""

    name: str
    operations: tuple[int, int] = (25, 60)
    nodes: tuple[int, int] = (1, 6)
    row: tuple[int, int] = (0, 0)
    """How many nodes there are besides, half of the time all alike."""
    zones: tuple[int, int] = (1, 3)
    capacity: tuple[int, int] = (3, 10)
    request: tuple[int, int] = (1, 5)
    priorities: tuple[int, ...] = PRIORITIES
    affinity: float = 0.15
    anti: float = 0.15
    static: float = 0.2
    never: float = 0.08
    zero: float = 0.1
    odd: float = 0.03
    odd_names: float = 0.0
    huge: bool = False
    templates: int = 0
    """How many different pods there are; 0: no two need be equal."""
    bulk: int = 6
    """Most that one bulk operation makes."""
    weights: dict[str, int] = field(default_factory=lambda: USUAL)


ALL_FLAVOURS = (
    Flavour("mixed", odd_names=0.2),
    Flavour("preemption", nodes=(1, 4), capacity=(6, 12), static=0.05, affinity=0.0, anti=0.0, odd=0.0),
    Flavour("affinity", nodes=(2, 8), zones=(1, 4), capacity=(6, 14), affinity=0.4, anti=0.35, static=0.0, odd=0.0),
    Flavour("repelled", nodes=(1, 5), capacity=(4, 9), request=(0, 3), affinity=0.3, anti=0.4, static=0.05, odd=0.0),
    Flavour(
        "stacks", nodes=(1, 3), capacity=(9, 20), request=(1, 9), priorities=tuple(range(-1, 6)), bulk=12, static=0.0
    ),
    Flavour("lonely", nodes=(1, 3), zones=(1, 3), capacity=(4, 9), affinity=0.6, anti=0.1, static=0.0, odd=0.0),
    Flavour("ties", nodes=(3, 8), capacity=(6, 6), request=(1, 2), anti=0.3, static=0.0, odd=0.0, odd_names=0.9),
    Flavour("static", static=0.7, affinity=0.05, anti=0.05),
    Flavour("odd", operations=(20, 50), odd=0.4, odd_names=0.5, huge=True),
    Flavour("huge", huge=True, priorities=HUGE_PRIORITIES, odd=0.0, static=0.05),
    Flavour(
        "equal",
        operations=(60, 150),
        nodes=(2, 5),
        capacity=(6, 16),
        templates=5,
        priorities=(0, 0, 1, 2),
        static=0.05,
        anti=0.2,
        never=0.0,
        odd=0.0,
        weights={**USUAL, "delete_pod": 35, "retry_pending": 12, "bulk_submit": 0},
    ),
    Flavour(
        "rows",
        operations=(15, 40),
        nodes=(0, 2),
        row=(30, 80),
        zones=(2, 5),
        capacity=(2, 5),
        odd=0.0,
        bulk=60,
        weights={**USUAL, "bulk_submit": 12, "bulk_nodes": 0},
    ),
    Flavour(
        "wide-rows",
        operations=(50, 100),
        nodes=(0, 2),
        row=(20, 40),
        zones=(2, 5),
        capacity=(1, 3),
        request=(1, 3),
        affinity=0.1,
        anti=0.1,
        zero=0.02,
        odd=0.0,
        huge=True,
        priorities=HUGE_PRIORITIES,
        weights={**USUAL, "bulk_nodes": 0},
    ),
)
FLAVOURS = {flavour.name: flavour for flavour in ALL_FLAVOURS}


def sequence(flavour: str, seed: int) -> Operations:
    """Ends by asking for everything there is to see."""
    return Writer(FLAVOURS[flavour], random.Random(f"{flavour}:{seed}")).sequence()


class Writer:
    """Writes one sequence; knows the names it has used, not what became of them."""

    def __init__(self, flavour: Flavour, rng: random.Random) -> None:
        self.flavour = flavour
        self.rng = rng
        self.growing = flavour.huge and self.chance(0.3)
        self.scale = rng.choice(SCALES) if flavour.huge and not self.growing else 1
        self.zones = [f"zone-{i}" for i in range(rng.randint(*flavour.zones))]
        self.nodes: list[str] = []
        self.pods: list[str] = []
        self.templates = [self.pod_spec() for _ in range(flavour.templates)]

    def sequence(self) -> Operations:
        operations: Operations = [self.add_node() for _ in range(self.rng.randint(*self.flavour.nodes))]
        operations += self.row(self.rng.randint(*self.flavour.row))
        weights = self.flavour.weights
        for kind in self.rng.choices(
            list(weights), list(weights.values()), k=self.rng.randint(*self.flavour.operations)
        ):
            operation = getattr(self, kind)()
            operations.append(self.spoiled(operation) if self.chance(self.flavour.odd) else operation)
        return [*operations, *self.last_questions()]

    def last_questions(self) -> Operations:
        status = [["node_status", name] for name in dict.fromkeys(self.nodes)]
        return [["pending"], ["retry_pending"], ["pending"], *status, ["events", EVERYTHING]]

    # Operations

    def submit(self) -> list[Any]:
        name = self.rng.choice(self.pods) if self.pods and self.chance(0.1) else self.name("p", len(self.pods))
        self.pods.append(name)
        return ["submit", name, self.rng.choice(self.templates) if self.templates else self.pod_spec()]

    def add_node(self) -> list[Any]:
        name = self.rng.choice(self.nodes) if self.nodes and self.chance(0.05) else self.name("n", len(self.nodes))
        self.nodes.append(name)
        return ["add_node", name, self.node_spec()]

    def delete_pod(self) -> list[Any]:
        return ["delete_pod", self.some_pod()]

    def where(self) -> list[Any]:
        return ["where", self.some_pod()]

    def node_status(self) -> list[Any]:
        return ["node_status", self.rng.choice([*self.nodes, "nowhere"])]

    def events(self) -> list[Any]:
        return ["events", self.rng.choice((0, 1, 2, 5, EVERYTHING))]

    def pending(self) -> list[Any]:
        return ["pending"]

    def retry_pending(self) -> list[Any]:
        return ["retry_pending"]

    def row(self, count: int) -> Operations:
        alike = self.chance(0.5)
        return [self.bulk_nodes(count)] if alike else [self.add_node() for _ in range(count)]

    def bulk_nodes(self, count: int | None = None) -> list[Any]:
        prefix = f"n{self.rng.choice(('', '-a', '-b'))}"
        params = {
            "prefix": prefix,
            "count": self.rng.randint(0, self.flavour.bulk) if count is None else count,
            "zones": self.rng.randint(*self.flavour.zones),
            "cpu": self.amount(self.flavour.capacity, least=1),
            "mem": self.amount(self.flavour.capacity, least=1),
        }
        self.nodes += [f"{prefix}-{i}" for i in range(params["count"])]
        return ["bulk_nodes", params]

    def bulk_submit(self) -> list[Any]:
        prefix = f"b{self.rng.randrange(4)}"
        params = {
            "prefix": prefix,
            "count": self.rng.randint(0, self.flavour.bulk),
            "seed": self.rng.choice((0, self.rng.randrange(1000), self.rng.randrange(2**70))),
            "groups": self.rng.choice((1, 2, 3, 4, 8, 8, 2**70)),
            "cpu": self.amount(self.flavour.request, least=1),
            "mem": self.amount(self.flavour.request, least=1),
            "priorities": [self.rng.choice(self.flavour.priorities) for _ in range(self.rng.randint(1, 3))],
        }
        self.pods += [f"{prefix}-{i}" for i in range(params["count"])]
        return ["bulk_submit", params]

    # Specs

    def node_spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = {
            "cpu": self.amount(self.flavour.capacity, least=1),
            "mem": self.amount(self.flavour.capacity, least=1),
            "zone": self.rng.choice(self.zones),
        }
        if self.chance(self.flavour.static):
            spec["labels"] = self.node_labels()
        if self.chance(self.flavour.static):
            spec["taints"] = [self.taint() for _ in range(self.rng.randint(0, 2))]
        return spec

    def pod_spec(self) -> dict[str, Any]:
        rng = self.rng
        requests = {"cpu": self.request(), "mem": self.request()}
        spec: dict[str, Any] = {"requests": requests}
        if self.chance(0.7):
            spec["priority"] = rng.choice(self.flavour.priorities)
        if self.chance(0.8):
            spec["labels"] = self.pod_labels()
        if self.chance(0.1):
            spec["limits"] = {key: requests[key] + rng.randint(0, 9) for key in ("cpu", "mem") if self.chance(0.7)}
        if self.chance(self.flavour.static / 2):
            spec["selector"] = self.node_labels()
        if self.chance(self.flavour.static):
            spec["tolerations"] = [self.toleration() for _ in range(rng.randint(0, 3))]
        affinity = self.affinity()
        if affinity:
            spec["affinity"] = affinity
        if self.chance(self.flavour.never):
            spec["preemption"] = "Never"
        elif self.chance(0.1):
            spec["preemption"] = "PreemptLowerPriority"
        return spec

    def affinity(self) -> dict[str, Any]:
        chances = {"pod_affinity": self.flavour.affinity, "pod_anti_affinity": self.flavour.anti}
        return {
            kind: [self.term() for _ in range(self.rng.choice((0, 1, 1, 1, 1, 2)))]
            for kind, chance in chances.items()
            if self.chance(chance)
        }

    def term(self) -> dict[str, Any]:
        match = {} if self.chance(0.03) else self.pod_labels() or {"app": "x"}
        return {"match": match, "topology": self.rng.choice(("node", "zone"))}

    def pod_labels(self) -> dict[str, str]:
        return self.rng.choice(
            ({"app": "x"}, {"app": "y"}, {"app": "x", "tier": "back"}, {"app": "y", "tier": ""}, {"tier": "back"}, {})
        )

    def node_labels(self) -> dict[str, str]:
        return self.rng.choice(({"disk": "ssd"}, {"disk": "ssd", "rack": "1"}, {"disk": ""}, {"zone": "zone-0"}, {}))

    def taint(self) -> dict[str, str]:
        taint = {"key": self.rng.choice(("hw", "team")), "effect": self.rng.choice(("NoSchedule", "NoExecute"))}
        if self.chance(0.5):
            taint["value"] = self.rng.choice(("", "gpu"))
        return taint

    def toleration(self) -> dict[str, str]:
        toleration: dict[str, str] = {}
        if self.chance(0.5):
            toleration["operator"] = self.rng.choice(("Exists", "Exists", "Equal"))
        exists = toleration.get("operator") == "Exists"
        if not exists or self.chance(0.6):
            toleration["key"] = self.rng.choice(("hw", "team", "hw") if not exists else ("", "hw", "team"))
        if self.chance(0.4):
            toleration["value"] = "" if exists else self.rng.choice(("", "gpu"))
        if self.chance(0.4):
            toleration["effect"] = self.rng.choice(("", "NoSchedule", "NoExecute"))
        return toleration

    # Values

    def chance(self, chance: float) -> bool:
        return self.rng.random() < chance

    def request(self) -> int:
        return 0 if self.chance(self.flavour.zero) else self.amount(self.flavour.request, least=0)

    def amount(self, limits: tuple[int, int], least: int) -> int:
        """To scale; where that is huge, now and then one more or less: some fits are exact and some just fail."""
        scale = self.rng.choice(SCALES) if self.growing and self.chance(0.05) else self.scale
        amount = self.rng.randint(*limits) * scale
        return max(least, amount + self.rng.choice((0, 0, 0, 1, -1)) if scale > 1 else amount)

    def name(self, stem: str, number: int) -> str:
        """Numbers without leading zeros: p10 comes before p9."""
        if self.chance(self.flavour.odd_names):
            stem = self.rng.choice(ODD_STEMS)
            return self.rng.choice((f"{stem}{number}", f"{number}{stem}", stem or f"{number}"))
        return f"{stem}{number}"

    def some_pod(self) -> str:
        return self.rng.choice(self.pods) if self.pods else "p0"

    # Oddities

    def spoiled(self, operation: list[Any]) -> Any:
        """With one thing about it wrong, or odd and still right."""
        spoiled = self.spoil(operation)
        if isinstance(spoiled, list) and str(spoiled[:1]).startswith("['bulk"):
            for params in spoiled[1:]:
                if isinstance(params, dict) and isinstance(params.get("count"), int):
                    params["count"] = min(params["count"], MOST_BULK)
        return spoiled

    def spoil(self, value: Any) -> Any:
        """A copy with one place replaced, removed or added."""
        if not isinstance(value, dict | list) or not value or self.chance(0.1):
            return self.odd_value()
        copy = json.loads(json.dumps(value))
        place = self.rng.choice(list(copy) if isinstance(copy, dict) else range(len(copy)))
        if self.chance(0.15):
            del copy[place]
        elif self.chance(0.15):
            self.add_to(copy)
        else:
            copy[place] = self.spoil(copy[place])
        return copy

    def add_to(self, value: dict[str, Any] | list[Any]) -> None:
        if isinstance(value, dict):
            value[self.rng.choice(("key", "value", "cpu", "labels", "limits", "count"))] = self.odd_value()
        else:
            value.append(self.odd_value())

    def odd_value(self) -> Any:
        return json.loads(json.dumps(self.rng.choice(ODD_VALUES)))


def shrunk(operations: Operations, fails: Callable[[Operations], bool]) -> Operations:
    """As few of the operations, in their order, as still fail."""
    size = len(operations) // 2
    while size:
        start = 0
        while start < len(operations):
            rest = operations[:start] + operations[start + size :]
            if fails(rest):
                operations = rest
            else:
                start += size
        size //= 2
    return operations
