"""The CEL library and the environments made with it; the only module that imports it.

`cel-expr-python` is Google's C++ implementation.  It takes some 20 MB, so it is imported with the first expression.
An expression meets two environments: the *checking* one knows the types of variables and functions as Kubernetes
declares them; the *running* one takes values as they come (plain Python ones), which is what absent fields, `has()` and
int-or-string want.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import yaml

from kube32_sim.api.cel.descriptors import KUBERNETES_TYPES, new_pool
from kube32_sim.api.cel.functions.declaring import Function
from kube32_sim.api.cel.messages import EvaluationError, evaluation_message
from kube32_sim.api.cel.types import CelType

if TYPE_CHECKING:
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import Message


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
    return _new_environment(_checking_config(), variables, new_pool(variables.values()), {})


def running_environment(variables: tuple[str, ...]) -> LibraryEnvironment:
    """The environment with these variables, all of any type."""
    dyn = CelType("dyn")
    return _new_environment(_running_config(), dict.fromkeys(variables, dyn), _running_pool(), _implementations())


@lru_cache(maxsize=1)
def _running_pool() -> DescriptorPool:
    return new_pool((), with_value=True)


@lru_cache(maxsize=len(KUBERNETES_TYPES))
def message_class(name: str) -> Callable[..., Message]:
    """The class of the values of one of Kubernetes' types; they have a field `value`, a text."""
    from google.protobuf.message_factory import GetMessageClass

    made: Callable[..., Message] = GetMessageClass(_running_pool().FindMessageTypeByName(name))
    return made


def _new_environment(
    config: object,
    variables: Mapping[str, CelType],
    pool: DescriptorPool,
    implementations: Mapping[str, Callable[..., Any]],
) -> LibraryEnvironment:
    from cel_expr_python import cel

    types = {name: cel.Type(str(kind)) for name, kind in variables.items()}
    made: LibraryEnvironment = cel.NewEnv(
        descriptor_pool=pool, config=config, variables=types, function_impls=implementations
    )
    return made


def plain(result: Any) -> Any:
    """A result of the library as a plain Python value; raises EvaluationError for an error."""
    kind = result.type().name()
    value = result.plain_value()
    if kind == "ERROR":
        raise EvaluationError(evaluation_message(value))
    return value


def functions() -> list[Function]:
    """All functions that Kubernetes adds to CEL."""
    from kube32_sim.api.cel.functions.comparisons import FUNCTIONS

    return FUNCTIONS


_EXTENSIONS = (("optional", 2), ("strings", 2))


@lru_cache(maxsize=1)
def _checking_config() -> object:
    return _config(functions(), _EXTENSIONS, lambda kind: kind)


@lru_cache(maxsize=1)
def _running_config() -> object:
    return _config(_distinct(functions()), (*_EXTENSIONS, ("bindings", 0)), _erased)


def _config(functions: list[Function], extensions: tuple[tuple[str, int], ...], form: Callable[[str], str]) -> object:
    from cel_expr_python import cel

    declared = [
        {
            "name": function.name,
            "overloads": [
                {"id": _identifier(signature), "signature": _escaped(function, signature), "return": form(returned)}
                for signature, returned in function.overloads
            ],
        }
        for function in functions
    ]
    text = {
        "stdlib": {"exclude_functions": [{"name": name} for name in _REPLACED]},
        "extensions": [{"name": name, "version": version} for name, version in extensions],
        "functions": declared,
    }
    return cel.NewEnvConfigFromYaml(yaml.safe_dump(text))


_REPLACED = ("_<_", "_<=_", "_>_", "_>=_")
"""Functions of the standard library that are declared anew, with more overloads."""


def _identifier(signature: str) -> str:
    return re.sub(r"\W+", "_", signature)


def _escaped(function: Function, signature: str) -> str:
    """Operators want a backslash before what a signature gives a meaning of its own."""
    if function.name.startswith("_"):
        return function.name.replace("<", "\\<").replace(">", "\\>") + signature.removeprefix(function.name)
    return signature


def _erased(returned: str) -> str:
    """Optional values cannot be made by functions of ours."""
    return "dyn" if returned.startswith("optional_type") else returned


def _distinct(functions: list[Function]) -> list[Function]:
    return functions


def _implementations() -> dict[str, Callable[..., Any]]:
    return {}
