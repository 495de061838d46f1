"""Scenarios of faults, read: which requests a rule is for, and what happens to them.  `api/own/faults` defines them.

`read` takes a decoded `spec` apart or says all that is wrong with it.  `Rule.matches` holds a request against a rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from kube32_sim.api import errors
from kube32_sim.api.errors import ApiError, FieldError
from kube32_sim.api.own import GROUP, VERSION
from kube32_sim.durations import parse_duration

JsonObject = dict[str, Any]

WRITES = ("create", "update", "patch", "delete", "deletecollection")
VERBS = ("get", "list", "watch", *WRITES)
CONFLICTING = ("update", "patch", "delete")
"""What a real server refuses with a Conflict: who creates is told AlreadyExists, of which it must be true."""
EXPIRING = ("list", "watch")
STATUSES = (409, 410, 429, 500, 503, 504)
WITH_RETRY = (429, 503)
LOSABLE = (500, 503, 504)
"""Failures of which a client cannot tell whether the write happened."""
ENDINGS = ("Close", "Reset", "Expired")
WHENS = ("Before", "After")
MOST_RULES = 100
MOST_WORDS = 100
LONGEST_WORD = 253
LONGEST_LATENCY = 600.0
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LONGEST_NAME = 63


class Request(NamedTuple):
    """What rules look at.  resource: with its subresource, as `pods/status`.

    past: it asks for what there was at a revision or since (watches and lists only), which may be there no more.
    """

    verb: str
    group: str
    resource: str
    namespace: str
    name: str
    user_agent: str
    user: str
    past: bool = False


@dataclass(frozen=True, slots=True)
class Breaking:
    """What becomes of a watch.  events, seconds: after which it ends, None: not by them.  ending: one of `ENDINGS`."""

    events: int | None = None
    seconds: float | None = None
    ending: str = "Close"
    drops_bookmarks: bool = False

    @property
    def text(self) -> str:
        """`Close after 3 events or 10s, no bookmarks`."""
        ends = [f"{self.events} events"] if self.events is not None else []
        ends += [f"{self.seconds:g}s"] if self.seconds is not None else []
        parts = [f"{self.ending} after {' or '.join(ends)}"] if ends else []
        return ", ".join(parts + ["no bookmarks"] * self.drops_bookmarks)


@dataclass(frozen=True, slots=True)
class Effect:
    """status: 0 where there is none.  latency: seconds at least and at most.  after: the work is done all the same."""

    status: int = 0
    retry_after: int | None = None
    reset: bool = False
    after: bool = False
    latency: tuple[float, float] = (0.0, 0.0)
    breaking: Breaking | None = None

    @property
    def text(self) -> str:
        """`latency 0.2s to 2s, 500 after`, with whatever of it there is."""
        return self.told("" if not self.latency[1] else " to ".join(f"{each:g}s" for each in sorted(set(self.latency))))

    def told(self, latency: str) -> str:
        """latency: how that is to be told, "" where there is none."""
        parts = [f"latency {latency}"] if latency else []
        parts += [str(self.status)] if self.status else []
        parts += ["reset"] if self.reset else []
        parts += [f"watch {self.breaking.text}"] if self.breaking is not None else []
        return ", ".join(parts) + " after" * self.after

    @property
    def fails(self) -> bool:
        return bool(self.status) or self.reset

    def verbs(self) -> Sequence[str]:
        """Of what requests it can be."""
        if self.breaking is not None:
            return ("watch",)
        if self.status == 409:
            return CONFLICTING
        if self.status == 410:
            return EXPIRING
        return WRITES if self.after else VERBS


@dataclass(frozen=True, slots=True)
class Rule:
    """words: by field of `Request`, what it may be; a field that is not in it may be anything.

    first: of how many requests that match; times: how often it happens; every: to which of them; None: no such bound.
    begins, ends: seconds since the scenario was set.
    """

    name: str
    effect: Effect
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)
    probability: float = 1.0
    every: int | None = None
    times: int | None = None
    first: int | None = None
    begins: float = 0.0
    ends: float | None = None

    def matches(self, request: Request, passed: float) -> bool:
        """passed: seconds since the scenario was set."""
        if passed < self.begins or (self.ends is not None and passed >= self.ends):
            return False
        if request.verb not in self.effect.verbs() or (self.effect.status == 410 and not request.past):
            return False
        return all(_fits(name, getattr(request, name), words) for name, words in self.words.items())


@dataclass(frozen=True, slots=True)
class Scenario:
    seed: int = 0
    rules: tuple[Rule, ...] = ()


def _fits(name: str, value: str, words: Sequence[str]) -> bool:
    if name in ("verb", "group"):
        return value in words or "*" in words
    if name == "resource":
        return any(_is_resource(value, word) for word in words)
    return any(fnmatchcase(value, word) for word in words)


def _is_resource(value: str, word: str) -> bool:
    """`pods` is without subresources, `pods/*` with any, `*/scale` that of all, `*` everything."""
    if word == "*":
        return True
    (plural, _, sub), (wanted, _, wanted_sub) = value.partition("/"), word.partition("/")
    return wanted in ("*", plural) and (wanted_sub == sub or (wanted_sub == "*" and bool(sub)))


class _Reader:
    """Collects what is wrong."""

    def __init__(self) -> None:
        self.wrong: list[FieldError] = []

    def at_least(self, path: str, value: Any, least: int) -> int | None:
        if value is not None and value < least:
            self.wrong.append(errors.invalid_value(path, value, f"must be at least {least}"))
        return value if value is None else int(value)

    def duration(self, path: str, text: str | None) -> float | None:
        if text is None:
            return None
        try:
            return parse_duration(text)
        except ValueError as error:
            self.wrong.append(errors.invalid_value(path, text, str(error)))
            return None

    def one_of(self, path: str, value: Any, known: Iterable[Any]) -> None:
        if value is not None and value not in known:
            self.wrong.append(errors.not_supported(path, value, map(str, known)))

    def forbidden(self, path: str, why: str) -> None:
        self.wrong.append(errors.forbidden_field(path, why))

    # the parts

    def scenario(self, spec: JsonObject) -> Scenario:
        rules = spec.get("rules") or []
        if not rules:
            self.wrong.append(errors.required("spec.rules", "at least one"))
        if len(rules) > MOST_RULES:
            self.wrong.append(errors.too_many("spec.rules", len(rules), MOST_RULES))
            rules = rules[:MOST_RULES]
        seed = spec.get("seed") or 0
        self.at_least("spec.seed", seed, 0)
        read = [self.rule(f"spec.rules[{number}]", rule) for number, rule in enumerate(rules)]
        for number, rule in enumerate(read):
            if rule.name and rule.name in {other.name for other in read[:number]}:
                self.wrong.append(errors.duplicate(f"spec.rules[{number}].name", rule.name))
        return Scenario(seed, tuple(read))

    def rule(self, path: str, rule: JsonObject) -> Rule:
        name = rule.get("name") or ""
        if not name:
            self.wrong.append(errors.required(f"{path}.name", "answers and the transcript tell it"))
        elif not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
            why = "must be a DNS label: at most 63 lower case letters, digits and hyphens, the latter only inside"
            self.wrong.append(errors.invalid_value(f"{path}.name", name[:LONGEST_WORD], why))
        effect = self.effect(f"{path}.effect", rule.get("effect") or {})
        match = rule.get("match") or {}
        begins = self.duration(f"{path}.match.from", match.get("from")) or 0.0
        ends = self.duration(f"{path}.match.until", match.get("until"))
        if ends is not None and ends <= begins:
            why = "must be later than from"
            self.wrong.append(errors.invalid_value(f"{path}.match.until", match["until"], why))
        every, probability = self.at_least(f"{path}.every", rule.get("every"), 1), rule.get("probability")
        if probability is not None and not 0 <= probability <= 1:
            self.wrong.append(errors.invalid_value(f"{path}.probability", probability, "must be between 0 and 1"))
        if probability is not None and every is not None:
            self.forbidden(f"{path}.every", "not together with probability")
        return Rule(
            name,
            effect,
            self.words(f"{path}.match", match, effect),
            1.0 if probability is None else float(probability),
            every,
            self.at_least(f"{path}.times", rule.get("times"), 1),
            self.at_least(f"{path}.match.first", match.get("first"), 1),
            begins,
            ends,
        )

    def words(self, path: str, match: JsonObject, effect: Effect) -> dict[str, Sequence[str]]:
        found: dict[str, Sequence[str]] = {}
        for plural, name in _WORDS.items():
            words = match.get(plural)
            if words is None:
                continue
            if len(words) > MOST_WORDS:
                self.wrong.append(errors.too_many(f"{path}.{plural}", len(words), MOST_WORDS))
                words = words[:MOST_WORDS]
            for number, word in enumerate(words):
                self.word(f"{path}.{plural}[{number}]", name, word, effect)
            if words:
                found[name] = tuple(words)
        return found

    def word(self, path: str, name: str, word: str, effect: Effect) -> None:
        if len(word) > LONGEST_WORD:
            self.wrong.append(errors.too_long(path, LONGEST_WORD))
        elif not word and name != "group":
            self.wrong.append(errors.required(path))
        elif name == "verb":
            possible = (*effect.verbs(), "*")
            self.one_of(path, word, (*VERBS, "*"))
            if word in VERBS and word not in possible:
                self.forbidden(path, f"no {word} can meet this effect, only: {', '.join(effect.verbs())}")
        elif name == "group" and word == GROUP:
            self.forbidden(path, "types of the simulator's own meet no faults")
        elif name == "resource" and not all(part for part in word.split("/", 1)):
            self.wrong.append(errors.invalid_value(path, word, "write it like pods, pods/status, */scale or *"))

    def effect(self, path: str, effect: JsonObject) -> Effect:
        status, reset, watch = effect.get("status"), bool(effect.get("reset")), effect.get("watch")
        self.one_of(f"{path}.status", status, STATUSES)
        self.one_of(f"{path}.when", effect.get("when"), WHENS)
        after = effect.get("when") == "After"
        latency = self.latency(path, effect)
        breaking = None if watch is None else self.breaking(f"{path}.watch", watch)
        if not (status or reset or latency[1] or watch is not None):
            self.wrong.append(errors.required(path, "one of status, reset, latency and watch"))
        if status and reset:
            self.forbidden(f"{path}.reset", "not together with status")
        if watch is not None and (status or reset):
            self.forbidden(f"{path}.watch", f"not together with {'status' if status else 'reset'}")
        if after:
            self.lost(path, status, watch)
        retry_after = self.at_least(f"{path}.retryAfter", effect.get("retryAfter"), 0)
        if retry_after is not None and status not in WITH_RETRY:
            self.forbidden(f"{path}.retryAfter", f"only with status {' or '.join(map(str, WITH_RETRY))}")
        return Effect(status or 0, retry_after, reset, after, latency, breaking)

    def lost(self, path: str, status: int | None, watch: JsonObject | None) -> None:
        if status in STATUSES and status not in LOSABLE:
            may = ", ".join(map(str, LOSABLE))
            self.forbidden(f"{path}.when", f"a {status} says that nothing was written; After goes with {may} and reset")
        if watch is not None:
            self.forbidden(f"{path}.when", "not together with watch")

    def latency(self, path: str, effect: JsonObject) -> tuple[float, float]:
        least = self.duration(f"{path}.latency", effect.get("latency"))
        most = self.duration(f"{path}.latencyMost", effect.get("latencyMost"))
        if "latencyMost" in effect and effect.get("latency") is None:
            self.wrong.append(errors.required(f"{path}.latency", "the least, where latencyMost is given"))
        for name, seconds in (("latency", least), ("latencyMost", most)):
            if seconds is not None and seconds > LONGEST_LATENCY:
                why = f"must be no longer than {LONGEST_LATENCY:g}s"
                self.wrong.append(errors.invalid_value(f"{path}.{name}", effect[name], why))
        if least is not None and most is not None and most < least:
            self.wrong.append(errors.invalid_value(f"{path}.latencyMost", effect["latencyMost"], "less than latency"))
        least = least or 0.0
        return (least, least if most is None else most)

    def breaking(self, path: str, watch: JsonObject) -> Breaking:
        events = self.at_least(f"{path}.afterEvents", watch.get("afterEvents"), 1)
        seconds = self.duration(f"{path}.after", watch.get("after"))
        drops, ending = bool(watch.get("dropBookmarks")), watch.get("ending")
        self.one_of(f"{path}.ending", ending, ENDINGS)
        ends = watch.get("afterEvents") is not None or watch.get("after") is not None
        if ending is not None and not ends:
            self.wrong.append(errors.required(f"{path}.after", "or afterEvents: when it ends"))
        elif not ends and not drops:
            self.wrong.append(errors.required(path, "one of afterEvents, after and dropBookmarks"))
        return Breaking(events, seconds, ending or "Close", drops)


_WORDS = {
    "verbs": "verb",
    "groups": "group",
    "resources": "resource",
    "namespaces": "namespace",
    "names": "name",
    "userAgents": "user_agent",
    "users": "user",
}
"""By field of a rule's match, the field of a `Request`."""


def decoded(data: bytes) -> JsonObject:
    """The object that a file holds, in YAML or JSON.  Raises ApiError, which names fields that there are not."""
    from kube32_sim.api import bodies
    from kube32_sim.api.strictness import STRICT

    row = bodies.expected(GROUP, VERSION, "FaultScenario")
    media = "json" if data.lstrip().startswith(b"{") else "yaml"
    return bodies.decode_body(data, media, row, STRICT)[0]


def problem(error: ApiError) -> str:
    """What is wrong with a scenario, without what it is called."""
    causes = (error.details or {}).get("causes") or ()
    told = [f"{cause['field']}: {cause['message']}" for cause in causes if cause.get("field")]
    return "; ".join(told) or error.message


def read(spec: JsonObject) -> tuple[Scenario, list[FieldError]]:
    """A decoded spec as a scenario, and all that is wrong with it: then the scenario is of no use."""
    reader = _Reader()
    return reader.scenario(spec), reader.wrong
