"""What a step of a scenario can be: one action each, done with a cluster through `blocking.acting`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kube32_sim.blocking.acting import Acts
from kube32_sim.blocking.manifests import objects
from kube32_sim.blocking.references import DEFAULT_NAMESPACE
from kube32_sim.durations import format_duration

JsonObject = dict[str, Any]


class Failed(Exception):
    """What a step expects is not so; the message has a line for each difference."""


class Action(Protocol):
    """One thing that a step does.  The text tells it in a line."""

    @property
    def text(self) -> str: ...

    async def do(self, acts: Acts) -> None:
        """Raises Failed where something is not as expected, ApiError and ValueError where it cannot be done."""


@dataclass(frozen=True, slots=True)
class Apply:
    """manifests: paths, or objects as they stand in the scenario.  create: as `kubectl create`."""

    manifests: Sequence[Path | JsonObject]
    namespace: str = DEFAULT_NAMESPACE
    create: bool = False

    @property
    def text(self) -> str:
        return f"{'create' if self.create else 'apply'} {', '.join(map(_shown, self.manifests))}"

    async def do(self, acts: Acts) -> None:
        for one in self.manifests:
            if not self.create:
                await acts.apply(one, self.namespace)
                continue
            for obj in objects(one):
                await acts.create(obj, self.namespace)


def _shown(one: Path | JsonObject) -> str:
    if isinstance(one, Path):
        return one.name
    metadata = one.get("metadata") or {}
    return f"{str(one.get('kind', '')).lower()}/{metadata.get('name') or metadata.get('generateName')}"


@dataclass(frozen=True, slots=True)
class Delete:
    references: Sequence[str]
    namespace: str = DEFAULT_NAMESPACE

    @property
    def text(self) -> str:
        return f"delete {', '.join(self.references)}"

    async def do(self, acts: Acts) -> None:
        for reference in self.references:
            await acts.delete(reference, self.namespace)


@dataclass(frozen=True, slots=True)
class Patch:
    """A merge patch."""

    reference: str
    patch: JsonObject
    subresource: str = ""
    namespace: str = DEFAULT_NAMESPACE

    @property
    def text(self) -> str:
        return f"patch {self.reference}"

    async def do(self, acts: Acts) -> None:
        await acts.patch(self.reference, self.patch, self.namespace, subresource=self.subresource)


@dataclass(frozen=True, slots=True)
class Fail:
    """Break boards, or heal them ("")."""

    nodes: Sequence[str]
    fault: str

    @property
    def text(self) -> str:
        nodes = ", ".join(self.nodes)
        return f"{nodes}: {self.fault}" if self.fault else f"heal {nodes}"

    async def do(self, acts: Acts) -> None:
        for node in self.nodes:
            if self.fault:
                await acts.fault(node, self.fault)
            else:
                await acts.heal(node)


@dataclass(frozen=True, slots=True)
class Advance:
    """seconds: of the cluster's clock."""

    seconds: float

    @property
    def text(self) -> str:
        return f"advance {format_duration(self.seconds)}"

    async def do(self, acts: Acts) -> None:
        await acts.advance(self.seconds)


@dataclass(frozen=True, slots=True)
class Wait:
    """seconds: at most so long."""

    reference: str
    condition: str
    seconds: float | None = None
    labels: str = ""
    namespace: str = DEFAULT_NAMESPACE

    @property
    def text(self) -> str:
        return f"wait for {self.reference}: {self.condition}"

    async def do(self, acts: Acts) -> None:
        try:
            await acts.wait_for(
                self.reference, self.condition, self.namespace, timeout=self.seconds, labels=self.labels
            )
        except TimeoutError as error:
            raise Failed(str(error)) from None


@dataclass(frozen=True, slots=True)
class Assert:
    checks: Sequence[Check]
    namespace: str = DEFAULT_NAMESPACE

    @property
    def text(self) -> str:
        return "assert " + ", ".join(check.text for check in self.checks)

    async def do(self, acts: Acts) -> None:
        """All are looked at, and told together."""
        problems = []
        for check in self.checks:
            try:
                await check.look(acts, self.namespace)
            except (Failed, AssertionError) as error:
                problems.append(str(error))
        if problems:
            raise Failed("\n".join(problems))


class Check(Protocol):
    """Something that has to be so."""

    @property
    def text(self) -> str: ...

    async def look(self, acts: Acts, namespace: str) -> None:
        """Raises Failed or AssertionError."""


@dataclass(frozen=True, slots=True)
class Has:
    """An object has these fields (`blocking.matching` has the rules)."""

    reference: str
    expected: Any

    @property
    def text(self) -> str:
        return self.reference

    async def look(self, acts: Acts, namespace: str) -> None:
        await acts.assert_object(self.reference, self.expected, namespace)


@dataclass(frozen=True, slots=True)
class Absent:
    reference: str

    @property
    def text(self) -> str:
        return f"no {self.reference}"

    async def look(self, acts: Acts, namespace: str) -> None:
        from kube32_sim.api.errors import ApiError

        try:
            await acts.get(self.reference, namespace)
        except ApiError as error:
            if error.code == 404:
                return
            raise
        raise Failed(f"{self.reference} is there, and should not be")


@dataclass(frozen=True, slots=True)
class Many:
    """Objects of a type.  count: how many, None for any number.  on, not_on: the nodes where pods are, or are not.

    phase: of each; "" for any.
    """

    kind: str
    labels: str = ""
    count: int | None = None
    on: Sequence[str] = ()
    not_on: Sequence[str] = ()
    phase: str = ""
    expected: Any = None

    @property
    def text(self) -> str:
        return f"{self.kind} {self.labels}".strip()

    async def look(self, acts: Acts, namespace: str) -> None:
        from kube32_sim.blocking.matching import differences, told

        found = await acts.list(self.kind, namespace, labels=self.labels)
        problems = []
        if self.count is not None and len(found) != self.count:
            problems.append(f"there are {len(found)}, and {self.count} are expected")
        for obj in found:
            name, node = obj["metadata"]["name"], (obj.get("spec") or {}).get("nodeName") or ""
            phase = (obj.get("status") or {}).get("phase", "")
            where = f"on {node}" if node else "on no node"
            if (self.on and node not in self.on) or (node and node in self.not_on):
                problems.append(f"{name} is {where}")
            if self.phase and phase != self.phase:
                problems.append(f"{name} is {phase or 'in no phase'}, {where}; {self.phase} is expected")
            if self.expected is not None:
                differs = [*differences(self.expected, obj)]
                problems += [f"{name}:" for _ in differs[:1]]
                problems += [f"  {line}" for line in told(differs)]
        if problems:
            raise Failed("\n".join([f"{self.text}: not as expected", *(f"  {problem}" for problem in problems)]))


@dataclass(frozen=True, slots=True)
class Happened:
    """An event of this reason, about an object or anything."""

    reason: str
    about: str = ""
    count: int | None = None

    @property
    def text(self) -> str:
        return f"event {self.reason}"

    async def look(self, acts: Acts, namespace: str) -> None:
        events = await acts.events(self.about, None if not self.about else namespace)
        number = sum(one.get("count") or 1 for one in events if one.get("reason") == self.reason)
        about = f" about {self.about}" if self.about else ""
        if self.count is None and not number:
            seen = ", ".join(dict.fromkeys(str(one.get("reason")) for one in events)) or "none"
            raise Failed(f"there is no event {self.reason}{about}; there are: {seen}")
        if self.count is not None and number != self.count:
            raise Failed(f"event {self.reason}{about}: {number} times, and {self.count} times are expected")


@dataclass(frozen=True, slots=True)
class Step:
    """at: seconds since the beginning; None: when the one before is done.  where: its place in the file."""

    action: Action
    where: str
    at: float | None = None
    name: str = ""

    @property
    def text(self) -> str:
        return self.name or self.action.text


@dataclass(frozen=True, slots=True)
class Scenario:
    """options: of the cluster, fields of `ServeOptions`."""

    name: str
    path: Path
    options: Mapping[str, Any]
    steps: Sequence[Step]
    description: str = ""
