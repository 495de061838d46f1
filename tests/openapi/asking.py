"""Requests that schemathesis makes of the OpenAPI documents that a server publishes, and what is wrong in the answers.

Every operation of every document is asked for: with what the document allows, and with what it does not.  Names and
namespaces are mostly those of objects that are there (`Seeds`), for most of what a server does lies behind them.
What the documents do not say, as upstream's do not, is which refusals there are: these are held to be a Status.
"""

from __future__ import annotations

import copy
import http.client
import itertools
import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.generation import GenerationMode

from tests.conformance.player import load_cases
from tests.conformance.shaping import substitute

JsonObject = dict[str, Any]

FINE = {501: re.compile("is not supported"), 504: re.compile("Too large resource version")}
"""What may be answered with more than 500: what is refused by name, and a revision that is still to come."""

ENDLESS = ("watch", "follow")
"""Parameters that make an answer go on."""

PATCHES = (
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/json-patch+json",
)
TIMES = tuple(f"io.k8s.apimachinery.pkg.apis.meta.v1.{name}" for name in ("Time", "MicroTime"))
http.client._MAXHEADERS = 1000  # type: ignore[attr-defined]  # there may be a hundred warnings
MOST_FIELDS = 4
EXAMPLES, WITH_BODIES = 10, 2
"""Of an operation in one turn, of each mode of making data; bodies take long to be made."""

NAMESPACE = "default"
PATIENCE = 20.0


@dataclass
class Report:
    """What came of all requests.  seconds, asked: by operation."""

    faults: dict[str, str] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)

    def __str__(self) -> str:
        total = sum(self.asked.values())
        lines = [f"{total} requests of {len(self.asked)} operations; answers: {dict(sorted(self.statuses.items()))}"]
        lines += [f"{name}: {seconds:.1f} s, {self.asked[name]} requests" for name, seconds in self.slowest()]
        return "\n".join([*lines, *(f"{name}: {fault}" for name, fault in self.faults.items())])

    def slowest(self) -> list[tuple[str, float]]:
        return self.seconds.most_common(5)


class Seeds:
    """An object of each type, of the recorded requests that were granted, so that there is something to ask for."""

    def __init__(self) -> None:
        self._bodies: dict[str, JsonObject] = {}
        for case in load_cases().values():
            for step in case["steps"]:
                self._take(step.get("request") or {}, step.get("expect") or {})

    def _take(self, request: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
        body, path = request.get("body"), request.get("path", "")
        granted = request.get("method") == "POST" and expected.get("status") == 201 and "?" not in path
        if granted and isinstance(body, dict) and (body.get("metadata") or {}).get("name"):
            known = {"ns": NAMESPACE, "sfx": "seed"}
            path = substitute(path, known)
            self._bodies.setdefault(re.sub(f"/namespaces/{NAMESPACE}/", "/namespaces/{namespace}/", path), body)

    def body(self, collection: str) -> JsonObject | None:
        found = self._bodies.get(collection)
        return substitute(found, {"ns": NAMESPACE, "sfx": "seed"}) if found is not None else None


class Asker:
    """Asks a server for operations in every way that data can be made for them."""

    def __init__(self, url: str) -> None:
        self.report = Report()
        self._url = url
        self._seeds = Seeds()
        self._session = requests.Session()
        self._number = itertools.count()

    def documents(self) -> list[str]:
        """The addresses of the OpenAPI v3 documents."""
        index = self._session.get(f"{self._url}/openapi/v3", timeout=PATIENCE).json()
        return [entry["serverRelativeURL"] for entry in index["paths"].values()]

    def ask_document(self, path: str, turn: int = 0) -> None:
        """turn: another one lets other fields of large types be made."""
        document = amended(self._session.get(self._url + path, timeout=PATIENCE).json())
        whole = {(each.path, each.method): each for each in operations(document, self._url)}
        drawn = {(each.path, each.method): each for each in operations(pruned(document, turn), self._url)}
        for (path, method), operation in drawn.items():
            if "/watch/" not in path:
                bodies_of = drawn.get((path, "put")) if method == "patch" else None
                self._ask_operation(operation, bodies_of, whole[path, method])

    def _ask_operation(self, operation: Any, bodies_of: Any, whole: Any) -> None:
        name = f"{operation.method.upper()} {operation.path}"
        started = time.monotonic()
        for mode in GenerationMode:
            strategy = operation.as_strategy(generation_mode=mode)
            bodies = bodies_of.as_strategy(generation_mode=mode) if bodies_of is not None else st.none()

            @settings(
                max_examples=WITH_BODIES if operation.body else EXAMPLES,
                database=None,
                deadline=None,
                derandomize=True,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=strategy, other=bodies)
            def ask(case: Any, other: Any) -> None:
                self._ask(name, case, other, whole)

            with suppress(Unsatisfiable):  # there may be nothing that the document forbids
                ask()
        self.report.seconds[name] += time.monotonic() - started

    def _ask(self, name: str, case: Any, other: Any, whole: Any) -> None:
        number = next(self._number)
        collection, _, _ = case.path.partition("/{name}")
        seed = self._seeds.body(collection)
        self._aim(case, seed, number)
        body = other.body if other is not None else case.body
        if seed is not None and number % 4:
            if case.method != "POST":
                self._session.post(self._url + collection.format(namespace=NAMESPACE), json=seed, timeout=PATIENCE)
            if isinstance(body, dict):
                blend(body, seed, f"made-{number}" if case.method == "POST" else seed["metadata"]["name"], number)
        sent = case.as_transport_kwargs(base_url=self._url)
        if other is not None:
            sent["headers"] = {**(sent.get("headers") or {}), "Content-Type": PATCHES[number % len(PATCHES)]}
            sent.pop("json", None)
            sent["data"] = patch_text(body, number)
            sent["params"] = {"fieldManager": "schemathesis", **(sent.get("params") or {})}
        self.report.asked[name] += 1
        try:
            answer = self._session.request(**sent, timeout=PATIENCE)
        except requests.RequestException as error:
            self.report.faults.setdefault(name, f"{sent}: {error}")
            return
        self.report.statuses[answer.status_code] += 1
        for fault in faults(whole, answer):
            self.report.faults.setdefault(name, f"{sent}: {answer.status_code} {answer.text[:300]}: {fault}")

    def _aim(self, case: Any, seed: JsonObject | None, number: int) -> None:
        """At what is there, three times of four; never at what has no end."""
        case.query = {name: value for name, value in (case.query or {}).items() if name not in ENDLESS}
        parameters = case.path_parameters or {}
        if "namespace" in parameters and number % 4:
            parameters["namespace"] = NAMESPACE
        if "name" in parameters and seed is not None and number % 4:
            parameters["name"] = seed["metadata"]["name"]


def amended(document: JsonObject) -> JsonObject:
    """With what upstream's documents do not say either: Go writes null for a time that nobody gave."""
    for name, schema in document.get("components", {}).get("schemas", {}).items():
        if name in TIMES:
            schema["nullable"] = True
    return document


def blend(body: JsonObject, seed: JsonObject, name: str, number: int) -> None:
    """Make of a generated object one of the right kind and name; of each second, the seed with one thing changed."""
    metadata = body.get("metadata")
    body |= {key: seed[key] for key in ("apiVersion", "kind") if key in seed}
    if number % 2:
        for part, whole in copy.deepcopy(seed).items():
            other = body.get(part)
            if isinstance(whole, dict) and isinstance(other, dict) and other and part != "metadata":
                changed = sorted(other)[number % len(other)]
                whole[changed] = other[changed]
            body[part] = whole
    elif isinstance(metadata, dict):
        body["metadata"] = metadata
    if isinstance(body.get("metadata"), dict):
        body["metadata"]["name"] = name


def pruned(document: JsonObject, turn: int) -> JsonObject:
    """With a few fields of each large type, in every turn others: all of a pod's take for ever to be made."""
    chance = random.Random(turn)
    made: JsonObject = copy.deepcopy(document)
    for schema in made.get("components", {}).get("schemas", {}).values():
        fields = schema.get("properties", {})
        if len(fields) > MOST_FIELDS:
            kept = {*schema.get("required", ()), "metadata", "spec", *chance.sample(sorted(fields), MOST_FIELDS)}
            schema["properties"] = {name: field for name, field in fields.items() if name in kept}
    return made


def operations(document: JsonObject, url: str) -> Iterator[Any]:
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=url)
    for found in schema.get_all_operations():
        yield found.ok()


def patch_text(body: Any, number: int) -> bytes:
    """A patch of a generated object: itself, or as a JSON Patch."""
    if PATCHES[number % len(PATCHES)] != "application/json-patch+json" or not isinstance(body, dict):
        return json.dumps(body if isinstance(body, dict | list) else {}).encode()
    operations = itertools.cycle(("add", "replace", "test", "remove"))
    return json.dumps(
        [{"op": next(operations), "path": f"/{name}", "value": value} for name, value in body.items()]
    ).encode()


def faults(operation: Any, answer: requests.Response) -> Iterator[str]:
    """What is wrong with an answer."""
    if answer.status_code < 400:
        yield from differences(operation, answer)
        return
    if answer.headers.get("content-type") == "application/json" and answer.request.method != "HEAD":
        status = answer.json()
        if (status["kind"], status["code"], status["status"]) != ("Status", answer.status_code, "Failure"):
            yield "a refusal that is no Status"
    allowed = FINE.get(answer.status_code)
    if answer.status_code >= 500 and not (allowed and allowed.search(answer.text)):
        yield "an error of the server"


def differences(operation: Any, answer: requests.Response) -> Iterator[str]:
    """Between a granted request's answer and what the document says of it."""
    if answer.status_code == 204 and operation.path.endswith("/log"):
        return  # of a pod that has no node: upstream's document does not say so either
    described = operation.definition.raw["responses"].get(str(answer.status_code))
    if described is None:
        yield "an undocumented status"
        return
    kind = answer.headers.get("content-type", "")
    if described.get("content") and kind.partition(";")[0] not in described["content"]:
        yield f"an undocumented content type: {kind}"
    if operation.method == "delete" and kind == "application/json" and answer.json().get("kind") != "Status":
        return  # what has finalizers stays and is shown, which upstream's documents do not say either
    try:
        operation.validate_response(answer)
    except FailureGroup as group:
        yield "; ".join(f"{one.title}: {one.message}"[:600] for one in group.exceptions)
    except Failure as failure:
        yield f"{failure.title}: {failure.message}"[:600]


def ask_everything(url: str, count: int, wanted: Callable[[int, str], bool]) -> Report:
    """Ask for all operations of the wanted documents, by number and address, until there were so many requests."""
    asker = Asker(url)
    addresses = [address for number, address in enumerate(asker.documents()) if wanted(number, address)]
    for turn in itertools.count():
        for address in addresses:
            asker.ask_document(address, turn)
            if sum(asker.report.asked.values()) >= count:
                return asker.report
    raise AssertionError("unreachable")
