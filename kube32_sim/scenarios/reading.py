"""A scenario's file: every field is looked at before anything is run."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kube32_sim.api.own import API_VERSION
from kube32_sim.api.steering import FAULT_FORMS
from kube32_sim.api.steering import fault as read_fault
from kube32_sim.blocking.references import DEFAULT_NAMESPACE
from kube32_sim.durations import parse_duration
from kube32_sim.options import CommandError, OptionError, ServeOptions
from kube32_sim.scenarios import steps
from kube32_sim.scenarios.steps import Action, Check, Scenario, Step

KIND = "Scenario"
ENDS = (".scenario.yaml", ".scenario.yml")
"""How the names of files end that are taken out of directories, and by pytest."""
NOT_OPTIONS = frozenset(("host", "port", "kubeconfig", "clock", "store", "limits", "election", "etcd", "allowed_hosts"))
"""Fields of ServeOptions that are no scenario's business."""


class Wrong(ValueError):
    """A field and what is wrong with it: `spec.steps[2].apply: …`."""


def files_of(paths: Sequence[str]) -> list[Path]:
    """The files that are meant: directories stand for the scenarios in them, at any depth.  Raises CommandError."""
    found: list[Path] = []
    for text in paths:
        path = Path(text).expanduser()
        if path.is_dir():
            inside = sorted(one for one in path.rglob("*") if one.name.endswith(ENDS))
            if not inside:
                raise CommandError(f"{text}: there is no scenario in it (*{ENDS[0]})")
            found += inside
        else:
            found.append(path)
    return list(dict.fromkeys(found))


def read(path: Path) -> list[Scenario]:
    """The scenarios of a file, one a document.  Raises CommandError with a line for everything that is wrong."""
    from kube32_sim.preview.documents import documents

    found, problems = [], []
    for number, document in enumerate(documents(_content(path)), 1):
        try:
            if document.problem:
                raise Wrong(document.problem)
            found.append(scenario(document.value, path))
        except (Wrong, OptionError) as error:
            problems.append(f"{path}, document {number}: {error}")
    if problems:
        raise CommandError("\n".join(problems))
    if not found:
        raise CommandError(f"{path}: there is no scenario in it")
    return found


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:  # a ValueError: NUL in a path
        raise CommandError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def scenario(value: Any, path: Path) -> Scenario:
    """path: of the file, from which other paths start.  Raises Wrong."""
    if not isinstance(value, dict):
        raise Wrong("it is no object")
    top = _Fields(value, "", ("apiVersion", "kind", "metadata", "spec"))
    if value.get("apiVersion") != API_VERSION or value.get("kind") != KIND:
        raise Wrong(f"apiVersion and kind: {API_VERSION} and {KIND} are expected")
    metadata = _Fields(top.part("metadata"), "metadata", ("name", "labels", "annotations"))
    spec = _Fields(top.part("spec"), "spec", ("description", "cluster", "steps"))
    name = metadata.text("name") or path.name.partition(".")[0]
    given = spec.value.get("steps")
    if not isinstance(given, list) or not given:
        raise Wrong("spec.steps: a list of steps is expected")
    reading = _Steps(path.parent)
    made = [reading.step(one, f"spec.steps[{number}]") for number, one in enumerate(given)]
    return Scenario(name, path, _options(spec.part("cluster")), tuple(made), spec.text("description"))


def _options(cluster: Mapping[str, Any]) -> dict[str, Any]:
    known = {_camel(name): name for name in ServeOptions.__dataclass_fields__ if name not in NOT_OPTIONS}
    found: dict[str, Any] = {}
    for field, given in cluster.items():
        if field not in known:
            raise Wrong(f"spec.cluster.{field}: {_unknown(str(field), list(known))}")
        kind = str(ServeOptions.__dataclass_fields__[known[field]].type)
        found[known[field]] = _option(given, kind, f"spec.cluster.{field}")
    try:
        ServeOptions(**{"port": 0, "clock": "virtual", **found})
    except OptionError as error:
        raise Wrong(f"spec.cluster: {error}") from None
    return found


def _option(given: Any, kind: str, where: str) -> Any:
    """kind: the type of the field, as it is written: `int | str`."""
    if "float" in kind:
        return _duration(given, where)
    for name, expected in (("bool", bool), ("int", int), ("str", str)):
        if name in kind and type(given) is expected:
            return given
    if "Path" in kind and isinstance(given, str):
        return Path(given)
    words = {"bool": "true or false", "int": "a number", "str": "a text", "Path": "a path"}
    expected_words = " or ".join(word for name, word in words.items() if name in kind)
    raise Wrong(f"{where}: {expected_words} is expected, not {given!r}")


def _camel(name: str) -> str:
    """`reconcileInterval` of `reconcile_interval`."""
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name)


def _unknown(given: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(given, known, 1)
    return "there is no such field" + (f"; did you mean {close[0]}?" if close else f"; there are: {', '.join(known)}")


def _duration(value: Any, where: str) -> float:
    try:
        return parse_duration(str(value))
    except ValueError as error:
        raise Wrong(f"{where}: {error}") from None


class _Fields:
    """An object of which all fields are known.  where: its path in the file."""

    def __init__(self, value: Any, where: str, known: Sequence[str]) -> None:
        self.where = where
        if not isinstance(value, dict):
            raise Wrong(f"{where}: an object with {' or '.join(known)} is expected")
        if "on" in known and "true" in value:  # what YAML makes of a bare `on`
            value = {("on" if name == "true" else name): one for name, one in value.items()}
        self.value: Mapping[str, Any] = value
        for name in value:
            if name not in known:
                raise Wrong(f"{self.path(str(name))}: {_unknown(str(name), known)}")

    def path(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name

    def part(self, name: str) -> Mapping[str, Any]:
        value = self.value.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise Wrong(f"{self.path(name)}: must be an object")
        return value

    def text(self, name: str, *, needed: bool = False) -> str:
        value = self.value.get(name)
        if value is None and not needed:
            return ""
        if not isinstance(value, str) or not value:
            raise Wrong(f"{self.path(name)}: a text is expected")
        return value

    def texts(self, name: str) -> list[str]:
        """One, or a list of them."""
        value = self.value.get(name)
        many = value if isinstance(value, list) else [] if value is None else [value]
        if not all(isinstance(one, str) and one for one in many):
            raise Wrong(f"{self.path(name)}: a text, or a list of texts, is expected")
        return many

    def count(self, name: str) -> int | None:
        value = self.value.get(name)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
            return value
        raise Wrong(f"{self.path(name)}: a number of 0 or more is expected")


class _Steps:
    """Reads steps.  folder: from which paths start."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._actions: dict[str, Callable[[_Fields, str], Action]] = {
            "apply": self._apply,
            "create": self._create,
            "delete": self._delete,
            "patch": self._patch,
            "fail": self._fail,
            "heal": self._heal,
            "advance": self._advance,
            "wait": self._wait,
            "assert": self._assert,
        }

    def step(self, value: Any, where: str) -> Step:
        fields = _Fields(value, where, ("at", "name", "namespace", *self._actions))
        given = [name for name in self._actions if name in fields.value]
        if len(given) != 1:
            words = " and ".join(given) or "none"
            raise Wrong(f"{where}: one of {', '.join(self._actions)} is expected; there is {words}")
        at = _duration(fields.value["at"], f"{where}.at") if "at" in fields.value else None
        namespace = fields.text("namespace") or DEFAULT_NAMESPACE
        return Step(self._actions[given[0]](fields, namespace), where, at, fields.text("name"))

    def _apply(self, fields: _Fields, namespace: str, name: str = "apply") -> Action:
        value = fields.value[name]
        many = value if isinstance(value, list) else [value]
        manifests = [self._manifest(one, f"{fields.path(name)}") for one in many]
        if not manifests:
            raise Wrong(f"{fields.path(name)}: nothing is given")
        return steps.Apply(tuple(manifests), namespace, create=name == "create")

    def _create(self, fields: _Fields, namespace: str) -> Action:
        return self._apply(fields, namespace, "create")

    def _manifest(self, one: Any, where: str) -> Path | dict[str, Any]:
        if isinstance(one, dict):
            for name in ("apiVersion", "kind"):
                if not isinstance(one.get(name), str):
                    raise Wrong(f"{where}: an object without {name}")
            return one
        if not isinstance(one, str) or not one:
            raise Wrong(f"{where}: a path or an object is expected")
        path = self._folder / Path(one).expanduser()
        if not path.exists():
            raise Wrong(f"{where}: {one}: there is no such file, as seen from {self._folder}")
        return path

    def _delete(self, fields: _Fields, namespace: str) -> Action:
        return steps.Delete(tuple(_some(fields, "delete")), namespace)

    def _patch(self, fields: _Fields, namespace: str) -> Action:
        inner = _Fields(fields.value["patch"], fields.path("patch"), ("object", "with", "subresource"))
        patch = inner.value.get("with")
        if not isinstance(patch, dict):
            raise Wrong(f"{inner.path('with')}: the merge patch is expected, an object")
        return steps.Patch(inner.text("object", needed=True), patch, inner.text("subresource"), namespace)

    def _fail(self, fields: _Fields, namespace: str) -> Action:
        inner = _Fields(fields.value["fail"], fields.path("fail"), ("node", "nodes", "fault"))
        fault = inner.text("fault") or "stopped"
        if read_fault(fault) is None:
            raise Wrong(f"{inner.path('fault')}: {fault!r} is no fault; there are: {FAULT_FORMS}")
        nodes = inner.texts("node") + inner.texts("nodes")
        if not nodes:
            raise Wrong(f"{inner.path('node')}: the name of a node is expected")
        return steps.Fail(tuple(nodes), fault)

    def _heal(self, fields: _Fields, namespace: str) -> Action:
        return steps.Fail(tuple(_some(fields, "heal")), "")

    def _advance(self, fields: _Fields, namespace: str) -> Action:
        return steps.Advance(_duration(fields.value["advance"], fields.path("advance")))

    def _wait(self, fields: _Fields, namespace: str) -> Action:
        inner = _Fields(fields.value["wait"], fields.path("wait"), ("object", "for", "labels", "timeout"))
        condition = inner.text("for", needed=True)
        _check_condition(condition, inner.path("for"))
        timeout = inner.value.get("timeout")
        seconds = None if timeout is None else _duration(timeout, inner.path("timeout"))
        return steps.Wait(inner.text("object", needed=True), condition, seconds, inner.text("labels"), namespace)

    def _assert(self, fields: _Fields, namespace: str) -> Action:
        value = fields.value["assert"]
        many = value if isinstance(value, list) else [value]
        where = fields.path("assert")
        checks = [_check(one, f"{where}[{number}]" if isinstance(value, list) else where)
                  for number, one in enumerate(many)]  # fmt: skip
        if not checks:
            raise Wrong(f"{where}: nothing is given")
        return steps.Assert(tuple(checks), namespace)


def _some(fields: _Fields, name: str) -> Iterator[str]:
    given = fields.texts(name)
    if not given:
        raise Wrong(f"{fields.path(name)}: nothing is given")
    yield from given


def _check_condition(text: str, where: str) -> None:
    from kube32_sim.blocking.conditions import read_condition

    try:
        read_condition(text)
    except ValueError as error:
        raise Wrong(f"{where}: {error}") from None


_CHECKS = ("object", "has", "absent", "pods", "objects", "labels", "count", "on", "notOn", "phase", "event", "about")


def _check(value: Any, where: str) -> Check:
    fields = _Fields(value, where, _CHECKS)
    kinds = [name for name in ("object", "absent", "pods", "objects", "event") if name in fields.value]
    if len(kinds) != 1:
        raise Wrong(f"{where}: one of object, absent, pods, objects, event is expected")
    (kind,) = kinds
    allowed = {
        "object": ("has",),
        "absent": (),
        "pods": ("count", "on", "notOn", "phase", "has"),
        "objects": ("labels", "count", "has"),
        "event": ("about", "count"),
    }[kind]
    for name in fields.value:
        if name != kind and name not in allowed:
            raise Wrong(f"{fields.path(name)}: it does not go with {kind}")
    if kind == "object":
        if "has" not in fields.value:
            raise Wrong(f"{fields.path('has')}: the fields that it has to have are expected")
        return steps.Has(fields.text("object", needed=True), fields.value["has"])
    if kind == "absent":
        return steps.Absent(fields.text("absent", needed=True))
    if kind == "event":
        return steps.Happened(fields.text("event", needed=True), fields.text("about"), fields.count("count"))
    named = fields.text(kind)
    labels = named if kind == "pods" else fields.text("labels")
    if len(fields.value) == 1:
        raise Wrong(f"{where}: what has to be so of them? {', '.join(allowed)}")
    return steps.Many(
        "pods" if kind == "pods" else named,
        "" if labels in ("*", "all") else labels,
        fields.count("count"),
        tuple(fields.texts("on")),
        tuple(fields.texts("notOn")),
        fields.text("phase"),
        fields.value.get("has"),
    )
