"""Compiling and evaluating single expressions: what admission policies, webhooks' matchConditions and rules build on.

    environment = Environment({"object": DYN, "request": REQUEST})
    program = environment.compile("object.spec.replicas <= 5", returns=(BOOL,))
    program.evaluate({"object": {...}, "request": {...}})        # True

Values are plain Python (dict, list, str, int, float, bool, None, bytes; datetime and timedelta not within a dict),
`Optional` for variables of the type `optional_of(...)`, and for an authorizer `functions.authorizer.AuthorizerValue`.
So are results; one of Kubernetes' own types is a `Special`.  A field that a dict lacks is absent: `has()` says no,
selecting it is the error `no such key: x`.

Limits of the library's own: it does not measure upstream's cost units, but stops an expression after 10,000 iterations
of its comprehensions, which is told as upstream's `operation cancelled: actual cost limit exceeded`; and it takes
expressions nested up to 32 deep (upstream: 250), where a chain of `+` nests with every summand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kube32_sim.api.cel import library
from kube32_sim.api.cel.descriptors import all_objects
from kube32_sim.api.cel.functions.authorizer import AuthorizerValue
from kube32_sim.api.cel.functions.declaring import Special
from kube32_sim.api.cel.hidden import forbid_hidden
from kube32_sim.api.cel.literals import check_literals, may_have_faults
from kube32_sim.api.cel.messages import CompileError, EvaluationError, compile_message
from kube32_sim.api.cel.running import Optional, prepared
from kube32_sim.api.cel.tree import Tree, decode
from kube32_sim.api.cel.types import CelType, parse_type

__all__ = ["Activation", "CompileError", "Environment", "EvaluationError", "Optional", "Program", "Special"]


class Activation:
    """Values of variables, converted once for all programs that are evaluated with them."""

    __slots__ = ("_values", "native")

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values  # authorizers must live as long as this
        self.native = library.activation({name: _converted(value) for name, value in values.items()})


class Environment:
    """Variables, and with them what an expression may mention besides Kubernetes' functions.

    variables: by name; a name may be dotted (`authorizer.requestResource`).  Making one costs nothing until the first
    expression is compiled.
    """

    def __init__(self, variables: Mapping[str, CelType]) -> None:
        self.variables = dict(variables)
        self._objects = all_objects(self.variables.values())
        self._checking: library.LibraryEnvironment | None = None

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
        return self._type_of(self.checked(expression))

    def _type_of(self, checked: library.Expression) -> CelType:
        return parse_type(str(checked.return_type()), self._objects)

    def checked(self, expression: str) -> library.Expression:
        """The checked expression of the library; raises CompileError."""
        compiled, tree = self._compiled(expression)
        if tree is not None:
            check_literals(tree, expression, library.literal_fault)
        return compiled

    def checked_tree(self, expression: str) -> tuple[CelType, Tree]:
        """The type of an expression, and its tree, which cost estimation reads; raises CompileError."""
        compiled, tree = self._compiled(expression)
        if tree is None:
            tree = decode(compiled.serialize())
        else:
            check_literals(tree, expression, library.literal_fault)
        return self._type_of(compiled), tree

    def _compiled(self, expression: str) -> tuple[library.Expression, Tree | None]:
        """The tree only where something in it was to be looked at."""
        if self._checking is None:
            self._checking = library.checking_environment(self.variables)
        try:
            compiled = self._checking.compile(expression)
        except RuntimeError as error:
            raise CompileError(compile_message(str(error))) from None
        if not may_have_faults(expression):
            return compiled, None
        tree = decode(compiled.serialize())
        forbid_hidden(tree)
        return compiled, tree

    def runnable(self, expression: str) -> tuple[library.Expression, bool]:
        """An expression as it is evaluated, and whether it gives an optional value; raises CompileError.

        What `check` asks of literals is not asked of it: maps may have values of all types.
        """
        checked, _ = self._compiled(expression)
        optional = str(checked.return_type()).startswith("optional_type")
        names = [name for name, kind in self.variables.items() if kind.name == "optional_type"]
        tree = prepared(checked.serialize(), expression, names, optional_result=optional)
        return library.running_environment().deserialize(tree), optional

    def activation(self, values: Mapping[str, Any]) -> Activation:
        """The values of variables for several evaluations: converting them is most of what a small one costs."""
        return Activation(values)


class Program:
    """An expression that has been checked.  type: what it evaluates to."""

    __slots__ = ("_environment", "_expression", "_optional", "source", "type")

    def __init__(self, environment: Environment, source: str, kind: CelType) -> None:
        self.source = source
        self.type = kind
        self._environment = environment
        self._expression: library.Expression | None = None
        self._optional = False

    def evaluate(self, values: Mapping[str, Any] | Activation) -> Any:
        """The value of the expression; raises EvaluationError."""
        activation = values if isinstance(values, Activation) else Activation(values)
        if self._expression is None:
            self._expression, self._optional = self._environment.runnable(self.source)
        result = library.evaluate(self._expression, activation.native)
        return Optional(bool(result), *result) if self._optional else result


def _converted(value: Any) -> Any:
    if isinstance(value, AuthorizerValue):
        return value.special()
    if isinstance(value, Optional):
        return [value.value] if value.present else []
    return value


def _wrong_type(returns: Sequence[CelType]) -> str:
    shown = [kind.shown() for kind in returns]
    if len(shown) == 1:
        return f"must evaluate to {shown[0]}"
    return f"must evaluate to one of [{' '.join(shown)}]"
