"""Compiling and evaluating single expressions: what admission policies, webhooks' matchConditions and rules build on.

    environment = Environment({"object": DYN, "request": REQUEST})
    program = environment.compile("object.spec.replicas <= 5", returns=(BOOL,))
    program.evaluate({"object": {...}, "request": {...}})        # True

Values are plain Python (dict, list, str, int, float, bool, None, bytes, datetime, timedelta), `Optional` for a variable
whose type is `optional_of(...)`, and `functions.authorizer.AuthorizerValue` for an authorizer.  So are results.
A field that a dict lacks is absent: `has()` says no, selecting it is the error `no such key: x`.

Cost: the library does not measure upstream's cost units.  It stops an expression after 10,000 iterations of its
comprehensions, which is told as upstream's `operation cancelled: actual cost limit exceeded`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kube32_sim.api.cel import library
from kube32_sim.api.cel.descriptors import all_objects
from kube32_sim.api.cel.messages import CompileError, EvaluationError, compile_message, evaluation_message
from kube32_sim.api.cel.types import CelType, parse_type

__all__ = ["Activation", "CompileError", "Environment", "EvaluationError", "Program"]


class Activation:
    """Values of variables, converted once for all programs of one environment that are evaluated with them."""

    __slots__ = ("native",)

    def __init__(self, native: object) -> None:
        self.native = native


class Environment:
    """Variables, and with them what an expression may mention besides Kubernetes' functions.

    variables: by name; a name may be dotted (`authorizer.requestResource`).  Making one costs nothing until the first
    expression is compiled.
    """

    def __init__(self, variables: Mapping[str, CelType]) -> None:
        self.variables = dict(variables)
        self._objects = all_objects(self.variables.values())
        self._checking: library.LibraryEnvironment | None = None
        self._running: library.LibraryEnvironment | None = None

    def extend(self, variables: Mapping[str, CelType]) -> Environment:
        """An environment with more variables."""
        return Environment({**self.variables, **variables})

    def compile(self, expression: str, *, returns: Sequence[CelType] = ()) -> Program:
        """Checks an expression.  returns: the types that it may have (DYN is always one); none for any.

        Raises CompileError: `ERROR: <input>:1:1: undeclared reference to 'x' (in container '')…` (which Kubernetes
        shows after `compilation failed: `), or `must evaluate to bool`.
        """
        kind = self.check(expression)
        if returns and kind.name != "dyn" and kind not in returns:
            raise CompileError(_wrong_type(returns))
        return Program(self, expression, kind)

    def check(self, expression: str) -> CelType:
        """The type that an expression has; raises CompileError."""
        return parse_type(str(self.checked(expression).return_type()), self._objects)

    def checked(self, expression: str) -> library.Expression:
        """The checked expression of the library, whose tree cost estimation reads; raises CompileError."""
        if self._checking is None:
            self._checking = library.checking_environment(self.variables)
        try:
            return self._checking.compile(expression)
        except RuntimeError as error:
            raise CompileError(compile_message(str(error))) from None

    def activation(self, values: Mapping[str, Any]) -> Activation:
        """The values of variables for several evaluations: converting them is most of what a small one costs."""
        return Activation(self.running().Activation(values))

    def running(self) -> library.LibraryEnvironment:
        """The library's environment that programs run in."""
        if self._running is None:
            self._running = library.running_environment(tuple(self.variables))
        return self._running


class Program:
    """An expression that has been checked.  type: what it evaluates to."""

    __slots__ = ("_environment", "_expression", "source", "type")

    def __init__(self, environment: Environment, source: str, kind: CelType) -> None:
        self.source = source
        self.type = kind
        self._environment = environment
        self._expression: library.Expression | None = None

    def evaluate(self, values: Mapping[str, Any] | Activation) -> Any:
        """The value of the expression; raises EvaluationError."""
        activation = values if isinstance(values, Activation) else self._environment.activation(values)
        if self._expression is None:
            self._expression = self._environment.running().compile(self.source)
        try:
            result = self._expression.eval(activation.native)
        except RuntimeError as error:
            raise EvaluationError(evaluation_message(str(error))) from None
        return library.plain(result)


def _wrong_type(returns: Sequence[CelType]) -> str:
    shown = [kind.shown() for kind in returns]
    if len(shown) == 1:
        return f"must evaluate to {shown[0]}"
    return f"must evaluate to one of [{' '.join(shown)}]"
