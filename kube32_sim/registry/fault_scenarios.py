"""The scenario of faults that stands, as the object `faultscenarios/cluster`, and what it has done so far.

It belongs to this process: it is stored nowhere, and other replicas have their own.  Here it is decided which requests
meet a fault, in the order in which they came, by a stream of chance that each rule has for itself; what that does to
them is `server/faults`'.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import orjson

from kube32_sim.api import errors
from kube32_sim.api.own import API_VERSION, GROUP
from kube32_sim.clock import Clock, rfc3339_micro
from kube32_sim.ids import Ids
from kube32_sim.registry.asked import Asked
from kube32_sim.storage.interface import JsonObject

if TYPE_CHECKING:
    from kube32_sim.api.fault_scenarios import Breaking, Effect, Request, Rule, Scenario

NAME = "cluster"
PLURAL = "faultscenarios"
KIND = "FaultScenario"
MOST_TOLD = 1000
"""Faults that the transcript holds."""
_FINE = 1_000_000
"""In how many steps chance is divided."""
LONGEST_PATH = 512


class Met(NamedTuple):
    """What happens to one request.  latency: seconds; before and after the work.

    failing: what fails the request; breaking: what becomes of its watch; None where nothing does.  rules: all names.
    """

    rules: tuple[str, ...] = ()
    before: float = 0.0
    after: float = 0.0
    failing: Effect | None = None
    breaking: Breaking | None = None


NOTHING = Met()


@dataclass(slots=True)
class _Counted:
    """One rule at work.  chance: of whether it happens; lengths: of how long latencies are."""

    rule: Rule
    chance: Ids
    lengths: Ids
    matched: int = 0
    hit: int = 0

    def happens(self) -> bool:
        """Whether a request that matches meets it.  Chance is drawn for each, so that the stream stays in step."""
        rule = self.rule
        self.matched += 1
        if rule.first is not None and self.matched > rule.first:
            self.matched = rule.first
            return False
        if rule.every is not None:
            happens = self.matched % rule.every == 0
        else:
            happens = self.chance.integer(_FINE) < rule.probability * _FINE
        if happens and rule.times is not None and self.hit >= rule.times:
            return False
        self.hit += happens
        return happens

    def length(self) -> float:
        least, most = self.rule.effect.latency
        return least + (most - least) * self.lengths.integer(_FINE) / _FINE if most > least else least


class Running:
    """A scenario at work."""

    def __init__(self, scenario: Scenario, clock: Clock) -> None:
        self._clock = clock
        self._since = clock.now()
        self._requests = 0
        self._rules = [
            _Counted(rule, _stream(scenario.seed, rule.name, "chance"), _stream(scenario.seed, rule.name, "lengths"))
            for rule in scenario.rules
        ]
        self._transcript: deque[JsonObject] = deque(maxlen=MOST_TOLD)
        self._told = 0

    def meet(self, request: Request, path: str) -> Met:
        """What happens to the next request; it is counted and told by that."""
        self._requests += 1
        now = self._clock.now()
        passed, met = now - self._since, NOTHING
        for counted in self._rules:
            rule = counted.rule
            if not rule.matches(request, passed) or not counted.happens():
                continue
            effect, length = rule.effect, counted.length()
            met = met._replace(rules=(*met.rules, rule.name))
            met = met._replace(after=met.after + length) if effect.after else met._replace(before=met.before + length)
            self._tell(now, request, path, rule, length)
            if effect.fails:
                met = met._replace(failing=effect)
                break
            if effect.breaking is not None and met.breaking is None:
                met = met._replace(breaking=effect.breaking)
        return met

    def _tell(self, now: float, request: Request, path: str, rule: Rule, length: float) -> None:
        self._told += 1
        self._transcript.append(
            {
                "n": self._requests,
                "time": rfc3339_micro(now),
                "verb": request.verb,
                "path": path[:LONGEST_PATH],
                "userAgent": request.user_agent,
                "rule": rule.name,
                "effect": rule.effect.told(f"{length * 1000:.0f}ms" if length else ""),
            }
        )

    def status(self) -> JsonObject:
        status: JsonObject = {
            "since": rfc3339_micro(self._since),
            "requests": self._requests,
            "rules": [{"name": c.rule.name, "matched": c.matched, "hit": c.hit} for c in self._rules],
            "transcript": [dict(met) for met in self._transcript],
        }
        forgotten = self._told - len(self._transcript)
        return status | ({"forgotten": forgotten} if forgotten else {})


def _stream(seed: int, name: str, what: str) -> Ids:
    """Chance of a rule's own: what other rules draw does not change it."""
    return Ids(int.from_bytes(hashlib.sha256(f"{seed}/{name}/{what}".encode()).digest()[:8]))


class FaultScenarios:
    """An `own.OwnType` with one object at most.  running: None while there is none, which is all that requests ask."""

    def __init__(self, clock: Clock) -> None:
        self.running: Running | None = None
        self._clock = clock
        self._obj: JsonObject = {}
        self._set = 0
        """How many there were."""

    def objects(self) -> Iterable[JsonObject]:
        if self.running is not None:
            yield {**self._obj, "metadata": dict(self._obj["metadata"]), "status": self.running.status()}

    async def post(self, asked: Asked, obj: JsonObject) -> JsonObject:
        raise errors.path_not_found()  # it has no subresources

    def coming(self) -> Collection[str]:
        return ()

    async def create(self, asked: Asked, obj: JsonObject) -> JsonObject:
        made = self.set(obj, dry_run=asked.dry_run)
        return {name: value for name, value in made.items() if name not in ("apiVersion", "kind")}

    async def update(self, asked: Asked, obj: JsonObject) -> JsonObject:
        if asked.name != NAME:
            raise errors.not_found(GROUP, PLURAL, asked.name)
        return self.set(obj, dry_run=asked.dry_run)

    async def delete(self, asked: Asked) -> None:
        self.clear()

    def clear(self) -> None:
        self.running, self._obj = None, {}

    def load(self, obj: JsonObject) -> JsonObject:
        """The same of an object that nobody has looked at yet.  Raises ApiError 400 and 422."""
        from kube32_sim.api.fault_scenarios import decoded

        return self.set(decoded(orjson.dumps(obj)))

    def set(self, obj: JsonObject, *, dry_run: bool = False) -> JsonObject:
        """Begin anew, whatever there was.  obj: as decoded.  Answers the object; raises ApiError 422."""
        from kube32_sim.api.fault_scenarios import read

        scenario, wrong = read(obj.get("spec") or {})
        given = obj.get("metadata") or {}
        if given.get("name", NAME) != NAME:
            why = f"there is one scenario, named {NAME}"
            wrong.insert(0, errors.invalid_value("metadata.name", given["name"], why))
        if wrong:
            raise errors.invalid(GROUP, KIND, given.get("name", NAME), wrong)
        running = Running(scenario, self._clock)
        uid = _stream(scenario.seed, "", f"uid {self._set + 1}").uid()
        metadata = {"name": NAME, "uid": uid, "creationTimestamp": self._clock.timestamp()}
        metadata |= {key: given[key] for key in ("labels", "annotations") if given.get(key)}
        made = {"metadata": metadata, "spec": obj["spec"]}
        if not dry_run:
            self.running, self._obj = running, made
            self._set += 1
        return {"apiVersion": API_VERSION, "kind": KIND, **made, "status": running.status()}
