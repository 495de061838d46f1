"""The expressions of admission: which variables they see, whether they compile, what they evaluate to.

An expression is checked against the types that Kubernetes declares for its place (`Scope`), and evaluated with whatever
values there are.  Words and types are upstream's `apiserver/pkg/admission/plugin/cel`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kube32_sim.api.cel.messages import CompileError, EvaluationError
from kube32_sim.api.cel.types import (
    AUTHORIZER,
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    LIST_STRING,
    NULL,
    RESOURCE_CHECK,
    STRING,
    TIMESTAMP,
    UINT,
    CelType,
    list_of,
    map_of,
    object_type,
)
from kube32_sim.api.policies.literals import JSON_PATCH_TYPE, OBJECT, Literals, as_written, read_literals

if TYPE_CHECKING:  # what is behind takes time and memory, and most clusters have no policy
    from kube32_sim.api.cel.environment import Activation, Environment, Program

_KIND = object_type("kubernetes.GroupVersionKind", {"group": STRING, "version": STRING, "kind": STRING})
_RESOURCE = object_type("kubernetes.GroupVersionResource", {"group": STRING, "version": STRING, "resource": STRING})
_USER = object_type(
    "kubernetes.UserInfo", {"username": STRING, "uid": STRING, "groups": LIST_STRING, "extra": map_of(LIST_STRING)}
)
REQUEST = object_type(
    "kubernetes.AdmissionRequest",
    {
        "kind": _KIND,
        "resource": _RESOURCE,
        "subResource": STRING,
        "requestKind": _KIND,
        "requestResource": _RESOURCE,
        "requestSubResource": STRING,
        "name": STRING,
        "namespace": STRING,
        "operation": STRING,
        "userInfo": _USER,
        "dryRun": BOOL,
        "options": DYN,
    },
)
_CONDITION = object_type(
    "kubernetes.NamespaceCondition",
    {"status": STRING, "type": STRING, "lastTransitionTime": TIMESTAMP, "message": STRING, "reason": STRING},
)
_NAMESPACE_METADATA = object_type(
    "kubernetes.NamespaceMetadata",
    {
        "name": STRING,
        "generateName": STRING,
        "namespace": STRING,
        "labels": map_of(STRING),
        "annotations": map_of(STRING),
        "UID": STRING,
        "creationTimestamp": TIMESTAMP,
        "deletionGracePeriodSeconds": INT,
        "deletionTimestamp": TIMESTAMP,
        "generation": INT,
        "resourceVersion": STRING,
        "finalizers": LIST_STRING,
    },
)
NAMESPACE = object_type(
    "kubernetes.Namespace",
    {
        "metadata": _NAMESPACE_METADATA,
        "spec": object_type("kubernetes.NamespaceSpec", {"finalizers": LIST_STRING}),
        "status": object_type("kubernetes.NamespaceStatus", {"conditions": list_of(_CONDITION), "phase": STRING}),
    },
)

_ALWAYS = {"object": DYN, "oldObject": DYN, "namespaceObject": NAMESPACE, "request": REQUEST}
_PARAMS = {"params": DYN}
_AUTHORIZER = {"authorizer": AUTHORIZER, "authorizer.requestResource": RESOURCE_CHECK}
VARIABLES = "variables"
APPLY, JSON_PATCH = "ApplyConfiguration", "JSONPatch"
RETURNS = {APPLY: CelType(OBJECT), JSON_PATCH: list_of(JSON_PATCH_TYPE)}
"""The types of patches -> what the expressions of mutations evaluate to."""
FIELDS = {APPLY: "applyConfiguration", JSON_PATCH: "jsonPatch"}
"""The types of patches -> in which field of a mutation their expressions are."""

_uses = re.compile(rf"\b{VARIABLES}\s*+\.\s*+\??\s*+([_a-zA-Z]\w*)").findall
_KEPT = (BOOL, BYTES, DOUBLE, DURATION, INT, NULL, STRING, TIMESTAMP, UINT)
"""The types of variables that the expressions after them know; of all others they know nothing."""
_INSIDE = (BOOL, BYTES, DOUBLE, DYN, INT, NULL, STRING, UINT)


class Fault(ValueError):
    """Why an expression has no value, in upstream's words."""


class Expression(NamedTuple):
    """source: as it was written.  program: None where it does not compile, then `fault` says why.

    uses: the names of `variables` that it may ask for.  asks: whether it may ask for the authorizer.
    """

    source: str
    type: CelType
    program: Program | None
    fault: str
    uses: tuple[str, ...]

    @property
    def asks(self) -> bool:
        return "authorizer" in self.source

    def evaluate(self, activation: Activation) -> Any:
        """Raises Fault."""
        if self.program is None:
            raise Fault(f"compilation error: {self.fault}")
        try:
            return self.program.evaluate(activation)
        except (CompileError, EvaluationError) as error:
            raise Fault(f"expression '{self.source}' resulted in error: {error}") from None


@cache
def running() -> Environment:
    """Where expressions are evaluated, but for those that see a variable that `stands_alone`."""
    from kube32_sim.api.cel.environment import Environment

    return Environment(dict.fromkeys((*_ALWAYS, *_PARAMS, *_AUTHORIZER, VARIABLES), DYN))


@cache
def _environment(params: bool, authorizer: bool) -> Environment:
    """Where they are checked, as long as there are no variables."""
    from kube32_sim.api.cel.environment import Environment

    return Environment(_ALWAYS | (_PARAMS if params else {}) | (_AUTHORIZER if authorizer else {}))


class Scope:
    """What the expressions of one policy, binding or webhook see.

    params: whether there is a paramKind.  composed: whether there are `variables` (those added so far).
    types: of variables that are known better than in general.
    """

    def __init__(
        self, *, params: bool = False, composed: bool = False, types: Mapping[str, CelType] | None = None
    ) -> None:
        self._params = params
        self._types = types or {}
        self._variables: dict[str, CelType] | None = {} if composed else None
        self._alone: dict[str, CelType] = {}
        self._environments: dict[bool, Environment] = {}

    def add(self, name: str, source: str) -> Expression:
        """The expression of a variable, which those after it see."""
        made = self.compile(source)
        if self._variables is not None:
            self._variables[name] = DYN if made.fault else _kept(made.type)
            self._environments.clear()
            if stands_alone(made.type):
                self._alone[f"{VARIABLES}.{name}"] = made.type
        return made

    def compile(
        self, source: str, *, returns: Sequence[CelType] = (), authorizer: bool = True, patch: bool = False
    ) -> Expression:
        """returns: the types that it may have, exactly; none for any.  patch: it may write objects and JSON patches."""
        literals = read_literals(source) if patch else Literals(source, source, {}, {})
        environment = self._checking(literals.types, authorizer)
        uses = tuple(dict.fromkeys(_uses(source)))
        try:
            kind = environment.check(literals.checked)
        except CompileError as error:
            return Expression(source, DYN, None, f"compilation failed: {as_written(str(error), literals)}", uses)
        if returns and kind not in returns:
            return Expression(source, kind, None, as_written(_wrong_type(returns, kind), literals), uses)
        return Expression(source, kind, _program(literals.evaluated, kind, self._alone), "", uses)

    def _checking(self, literals: Mapping[str, CelType], authorizer: bool) -> Environment:
        environment = self._environments.get(authorizer)
        if environment is None:
            environment = _environment(self._params, authorizer)
            more = dict(self._types)
            if self._variables is not None:
                more[VARIABLES] = object_type("kubernetes.variables", dict(self._variables))
            environment = self._environments[authorizer] = environment.extend(more) if more else environment
        if not literals:
            return environment
        return environment.extend({f"_literal_{name}": kind for name, kind in literals.items()})


def _program(source: str, kind: CelType, alone: Mapping[str, CelType]) -> Program:
    from kube32_sim.api.cel.environment import Program

    return Program(running().extend(alone) if alone else running(), source, kind)


def stands_alone(kind: CelType) -> bool:
    """Whether values of a type cannot be inside others: a variable of such a type is bound by its whole name."""
    return kind not in _INSIDE and kind.name not in ("list", "map")


def _wrong_type(returns: Sequence[CelType], kind: CelType) -> str:
    shown = list(map(_shown, returns))
    wanted = shown[0] if len(shown) == 1 else f"one of [{' '.join(shown)}]"
    return f"must evaluate to {wanted} but got {_shown(kind)}"


def _shown(kind: CelType) -> str:
    return "null_type" if kind == NULL else kind.shown()


def _kept(kind: CelType) -> CelType:
    if kind in _KEPT:
        return kind
    if kind.name in ("list", "map"):
        return CelType(kind.name, tuple(map(_kept, kind.parameters)))
    return DYN
