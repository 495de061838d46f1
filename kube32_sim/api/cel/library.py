"""The CEL library and the environments made with it; the only module that imports it.

`cel-expr-python` is Google's C++ implementation.  It takes some 20 MB, so it is imported with the first expression.
An expression meets two environments.  A *checking* one knows the types of variables and functions as Kubernetes
declares them and gives a checked tree; the *running* one, of which there is one for all, evaluates such trees with
values as they come, plain Python ones: that is what absent fields, `has()` and int-or-string want.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, Protocol

import orjson
from google.protobuf import duration_pb2, timestamp_pb2

from kube32_sim.api.cel.descriptors import KUBERNETES_TYPES, new_pool
from kube32_sim.api.cel.functions import OVERLOADS, RUNNING_OVERLOADS
from kube32_sim.api.cel.functions.comparisons import REPLACED
from kube32_sim.api.cel.functions.declaring import Overload, Special
from kube32_sim.api.cel.functions.lists import NO_OVERLOAD
from kube32_sim.api.cel.messages import EvaluationError, evaluation_message
from kube32_sim.api.cel.types import CelType

if TYPE_CHECKING:
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import Message

_Config = dict[str, Any]
_OPTIONAL: _Config = {"name": "optional", "version": 2}
_CHECKED: list[_Config] = [_OPTIONAL, {"name": "sets"}, {"name": "two-var-comprehensions"}]
_RUN: list[_Config] = [_OPTIONAL, {"name": "sets"}, {"name": "strings", "version": 2}]
"""Extensions of the library: those that Kubernetes has too.

What two-variable comprehensions become is not run by its extension, but by functions of ours.
"""


class Expression(Protocol):
    """A compiled expression of the library."""

    def eval(self, activation: object) -> Any: ...

    def return_type(self) -> object: ...

    def serialize(self) -> bytes: ...


class LibraryEnvironment(Protocol):
    """An environment of the library."""

    def compile(self, expression: str, disable_check: bool = False) -> Expression: ...

    def deserialize(self, serialized: bytes) -> Expression: ...

    def Activation(self, data: Mapping[str, Any]) -> object: ...  # noqa: N802


def checking_environment(variables: Mapping[str, CelType]) -> LibraryEnvironment:
    """The environment that knows the types of these variables."""
    from cel_expr_python import cel

    optional = tuple((name, str(kind)) for name, kind in variables.items() if kind.name == "optional_type")
    rest = {name: cel.Type(str(kind)) for name, kind in variables.items() if kind.name != "optional_type"}
    pool = new_pool(variables.values())
    made: LibraryEnvironment = cel.NewEnv(descriptor_pool=pool, config=_checking_config(optional), variables=rest)
    return made


@lru_cache(maxsize=1)
def running_environment() -> LibraryEnvironment:
    """The environment that all checked expressions are evaluated in."""
    from cel_expr_python import cel

    grouped: dict[tuple[str, bool, tuple[str, ...]], list[Overload]] = {}
    for overload in RUNNING_OVERLOADS:
        if overload.act is not None:
            for takes in product(*map(_forms, overload.takes)):
                grouped.setdefault((overload.name, overload.method, takes), []).append(overload)
    declared, acts = [], {}
    for number, ((name, method, takes), overloads) in enumerate(grouped.items()):
        declared.append(Overload(name, f"run_{number}", takes, "dyn", None, method))
        acts[f"run_{number}"] = _acting(overloads)
    config = cel.NewEnvConfigFromYaml(_config(declared, _RUN, (), ()))
    made: LibraryEnvironment = cel.NewEnv(descriptor_pool=_running_pool(), config=config, function_impls=acts)
    return made


@lru_cache(maxsize=8)
def _checking_config(variables: tuple[tuple[str, str], ...]) -> object:
    from cel_expr_python import cel

    return cel.NewEnvConfigFromYaml(_config(OVERLOADS, _CHECKED, REPLACED, variables))


def _config(
    overloads: list[Overload],
    extensions: list[_Config],
    excluded: tuple[str, ...],
    variables: tuple[tuple[str, str], ...],
) -> str:
    functions: dict[str, list[dict[str, str]]] = {}
    for overload in overloads:
        declared = {"id": overload.id, "signature": _signature(overload), "return": overload.returns}
        functions.setdefault(overload.name, []).append(declared)
    config = {
        "stdlib": {"exclude_functions": [{"name": name} for name in excluded]},
        "extensions": extensions,
        "variables": [{"name": name, "type": kind} for name, kind in variables],
        "functions": [{"name": name, "overloads": declared} for name, declared in functions.items()],
    }
    return _in_yaml(config)


def _in_yaml(config: Mapping[str, Any]) -> str:
    """A configuration as the library reads it; all JSON is YAML, and is made at once."""
    return orjson.dumps(config).decode()


def _signature(overload: Overload) -> str:
    """In the library's notation; what has a meaning of its own in a name gets a backslash."""
    name = "".join(f"\\{letter}" if letter in ".<>@" else letter for letter in overload.name)
    if overload.method:
        return f"{overload.takes[0]}.{name}({', '.join(overload.takes[1:])})"
    return f"{name}({', '.join(overload.takes)})"


_LIST, _MAP, _SPECIAL = "list<dyn>", "map<dyn, dyn>", KUBERNETES_TYPES[0]
_ANYTHING = (
    *("null", "bool", "int", "uint", "double", "string", "bytes"),
    *("google.protobuf.Timestamp", "google.protobuf.Duration", _LIST, _MAP, _SPECIAL),
)
"""Every kind of value but optional ones, which the library cannot pass to Python without ending the process."""


def _forms(kind: str) -> tuple[str, ...]:
    """The kinds of values that a type takes while running: there, one list or special type is like another."""
    if kind.startswith("~"):
        return _ANYTHING
    if kind.startswith("list<"):
        return (_LIST,)
    if kind.startswith("map<"):
        return (_MAP,)
    return (_SPECIAL,) if kind in KUBERNETES_TYPES else (kind,)


def _acting(overloads: list[Overload]) -> Callable[..., Any]:
    """One Python function for overloads that the running library cannot tell apart."""

    def act(*args: Any) -> Any:
        values = [_special(value) for value in args]
        for overload in overloads:
            if overload.act is not None and _fits(overload, values):
                return _native(overload.act(*values))
        raise ValueError(NO_OVERLOAD)

    return act


def _fits(overload: Overload, values: list[Any]) -> bool:
    kinds = zip(overload.takes, values, strict=True)
    return all(value.type == kind for kind, value in kinds if isinstance(value, Special) and kind[0] != "~")


def _special(value: Any) -> Any:
    descriptor = getattr(value, "DESCRIPTOR", None)
    return value if descriptor is None else Special(descriptor.full_name, value.value)


def _native(value: Any) -> Any:
    """A value of ours as the library takes it: it gives times and durations as Python's, but takes only protobuf's."""
    if isinstance(value, Special):
        return _message_class(value.type)(value=value.text)
    if isinstance(value, datetime):
        return timestamp(value)
    if isinstance(value, timedelta):
        return duration(value)
    return [_native(item) for item in value] if isinstance(value, list) else value


def timestamp(value: datetime) -> Message:
    made = timestamp_pb2.Timestamp()
    made.FromDatetime(value)
    return made


def duration(value: timedelta) -> Message:
    made = duration_pb2.Duration()
    made.FromTimedelta(value)
    return made


@lru_cache(maxsize=1)
def _running_pool() -> DescriptorPool:
    return new_pool((), with_value=True)


@lru_cache(maxsize=len(KUBERNETES_TYPES))
def _message_class(name: str) -> Callable[..., Message]:
    from google.protobuf.message_factory import GetMessageClass

    made: Callable[..., Message] = GetMessageClass(_running_pool().FindMessageTypeByName(name))
    return made


def activation(values: Mapping[str, Any]) -> object:
    """The values of variables as the library takes them; special ones are `Special`.

    Times and durations inside dicts must be what `timestamp` and `duration` make.
    """
    plain = {name: value if isinstance(value, dict) else _native(value) for name, value in values.items()}
    return running_environment().Activation(plain)


def evaluate(expression: Expression, activation: object) -> Any:
    """The value of an expression; raises EvaluationError."""
    try:
        result = expression.eval(activation)
        value = result.plain_value()
        if result.type().name() == "ERROR":
            raise EvaluationError(evaluation_message(value))
    except RuntimeError as error:
        raise EvaluationError(evaluation_message(str(error))) from None
    except (SystemError, TypeError):
        # What becomes of values that have no Python form: optional ones in lists.
        raise EvaluationError(NO_OVERLOAD) from None
    return _special(value)


_HELPERS = {
    "matches": "''.matches(text)",
    "duration": "duration(text)",
    "timestamp": "timestamp(text)",
}


@lru_cache(maxsize=len(_HELPERS))
def _helper(name: str) -> Expression:
    from cel_expr_python import cel

    config = cel.NewEnvConfigFromYaml(_in_yaml({"extensions": [_OPTIONAL]}))
    environment = cel.NewEnv(config=config, variables={"text": cel.Type.STRING})
    return running_environment().deserialize(environment.compile(_HELPERS[name]).serialize())


def literal_fault(function: str, text: str) -> str:
    """Why `duration`, `timestamp` or `matches` does not take a text, "" where it does."""
    try:
        evaluate(_helper(function), activation({"text": text}))
    except EvaluationError as error:
        return str(error)
    return ""
