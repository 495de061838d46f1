"""The static estimate of what evaluating a CEL expression costs at most, in upstream's units.

The walk is that of cel-go's `checker/cost.go` as Kubernetes sets it up (`has()` costs nothing itself); figures must be
upstream's to the unit, for `cost_budget` decides by them whether a CustomResourceDefinition is accepted.
`cost_calls` knows functions, `cost_knowledge` sizes.
"""

from __future__ import annotations

from functools import reduce

from kube32_sim.api.cel.cost_calls import Operand, call_cost
from kube32_sim.api.cel.cost_knowledge import Entries, Knowledge
from kube32_sim.api.cel.cost_range import NEVER, NOTHING, ONE, Range, fixed
from kube32_sim.api.cel.cost_sizes import SizedType
from kube32_sim.api.cel.tree import Call, Comprehension, Constant, Expr, Ident, ListExpr, Select, StructExpr, Tree

_LIST = fixed(10)
_MAP = fixed(30)
_MESSAGE = fixed(40)
_WITH_FIELDS = {"map", "message", "type_param"}


def estimate(tree: Tree, root: SizedType | None = None) -> Range:
    """The least and the most that an evaluation costs.

    tree: of a checked expression; functions of one that is not checked count for nothing.
    root: what the variables `self` and `oldSelf` are; without it nothing bounds strings, lists and maps.
    """
    return _Estimate(Knowledge(tree, root)).cost(tree.root)


class _Estimate:
    def __init__(self, known: Knowledge) -> None:
        self._known = known

    def cost(self, expr: Expr) -> Range:
        match expr:
            case Constant():
                return NOTHING
            case Ident():
                self._known.set_path(expr, self._known.ident_path(expr))
                return ONE
            case Select():
                return self._select(expr)
            case Call():
                return self._call(expr)
            case ListExpr():
                return self._list(expr)
            case StructExpr():
                return self._struct(expr)
            case Comprehension():
                return self._bind(expr) if _is_bind(expr) else self._comprehension(expr)

    def _select(self, expr: Select) -> Range:
        cost = self.cost(expr.operand)
        if expr.test_only:
            return cost
        # The type first: a path of its own would be the operand's.
        fields = self._known.type(expr.operand).kind in _WITH_FIELDS
        self._known.set_path(expr, (*self._known.path(expr.operand), expr.field))
        return cost.plus(ONE) if fields else cost

    def _call(self, expr: Call) -> Range:
        known = self._known
        if expr.function == "dyn":
            cost = self.cost(expr.args[0]).plus(ONE)
            known.copy(expr, expr.args[0])
            return cost
        costs, args = [], []
        for arg in expr.args:
            costs.append(self.cost(arg))
            args.append(known.operand(arg))
        overloads = known.overloads_of(expr)
        if not overloads:
            return NOTHING
        total, target = NOTHING, None
        if expr.target is not None:
            total = self.cost(expr.target)
            target = known.operand(expr.target)
        call, size = NEVER, None
        for overload in _fitting(overloads, args):
            one, made = self._function(expr, overload, target, args, costs)
            call = call.union(one)
            size = made if size is None else size.union(made or size)
            size = self._indexed(expr, overload, size)
            size = known.size(expr) if size is None else size
        known.set_size(expr, size)
        return total.plus(call)

    def _indexed(self, expr: Call, overload: str, size: Range | None) -> Range | None:
        """An element of a list or a map has a path of its own."""
        step = {"index_list": "@items", "index_map": "@values"}.get(overload)
        if step is None:
            return size
        known, of = self._known, expr.args[0]
        entries = known.entries(of)
        known.set_path(expr, (*known.path(of), step))
        return entries.value if entries else None

    def _function(
        self, expr: Call, overload: str, target: Operand | None, args: list[Operand], costs: list[Range]
    ) -> tuple[Range, Range | None]:
        """Cost of a call with its arguments, and the size of what it makes, if that is known."""
        match overload:
            case "logical_or" | "logical_and":
                return Range(costs[0].min, costs[0].plus(costs[1]).max), None
            case "conditional":
                return self._conditional(expr, args, costs)
            case "add_string" | "add_bytes" | "add_list":
                left, right = (self._known.entries(arg.expr) for arg in args)
                self._known.set_entries(expr, left and left.union(right))
        found = call_cost(expr.function, overload, target, args)
        return reduce(Range.plus, costs, found.cost), found.size

    def _conditional(self, expr: Call, args: list[Operand], costs: list[Range]) -> tuple[Range, Range | None]:
        yes, no = args[1], args[2]
        entries = self._known.entries(yes.expr)
        self._known.set_entries(expr, entries and entries.union(self._known.entries(no.expr)))
        return costs[0].plus(costs[1].union(costs[2])), yes.extent.union(no.extent)

    def _list(self, expr: ListExpr) -> Range:
        cost, size = _LIST, NEVER if expr.elements else NOTHING
        for element in expr.elements:
            cost = cost.plus(self.cost(element))
            size = size.union(self._known.extent(element))
        self._known.set_entries(expr, Entries("list", ONE, size))
        return cost

    def _struct(self, expr: StructExpr) -> Range:
        cost = _MESSAGE if expr.message else _MAP
        keys = values = NEVER if expr.entries else NOTHING
        for entry in expr.entries:
            if not isinstance(entry.key, str):
                cost = cost.plus(self.cost(entry.key))
                keys = keys.union(self._known.extent(entry.key))
            cost = cost.plus(self.cost(entry.value))
            values = values.union(self._known.extent(entry.value))
        if not expr.message:
            self._known.set_entries(expr, Entries("map", keys, values))
        return cost

    def _bind(self, expr: Comprehension) -> Range:
        known = self._known
        cost = self.cost(expr.iter_range).plus(self.cost(expr.accu_init))
        with known.bound(expr.accu_var, known.local(expr.accu_init)):
            cost = cost.plus(self.cost(expr.result))
        known.copy(expr, expr.result)
        return cost

    def _comprehension(self, expr: Comprehension) -> Range:
        known = self._known
        cost = self.cost(expr.iter_range).plus(self.cost(expr.accu_init))
        with known.bound(expr.accu_var, known.local(expr.accu_init)):
            loop = self._loop(expr)
            cost = cost.plus(self.cost(expr.result))
        rounds = known.extent(expr.iter_range)
        if isinstance(expr.accu_init, Constant):
            known.set_size(expr, known.size(expr.accu_init))
        elif isinstance(expr.accu_init, (ListExpr, StructExpr)):
            known.set_size(expr, rounds)
            known.set_entries(expr, known.entries(expr.loop_step))
        return cost.plus(rounds.times(loop))

    def _loop(self, expr: Comprehension) -> Range:
        """Cost of one round."""
        known, over = self._known, expr.iter_range
        if not expr.iter_var2:
            with known.bound(expr.iter_var, known.each(over)):
                return self.cost(expr.loop_condition).plus(self.cost(expr.loop_step))
        with known.bound(expr.iter_var, known.each_key(over)), known.bound(expr.iter_var2, known.each_value(over)):
            return self.cost(expr.loop_condition).plus(self.cost(expr.loop_step))


def _is_bind(expr: Comprehension) -> bool:
    """Whether this is `cel.bind`: a loop over nothing, only for its accumulator."""
    over, goes_on = expr.iter_range, expr.loop_condition
    return isinstance(over, ListExpr) and not over.elements and isinstance(goes_on, Constant) and goes_on.value is False


_TEXTUAL = ("string", "bytes", "list")


def _fitting(overloads: tuple[str, ...], args: list[Operand]) -> tuple[str, ...]:
    """Of several overloads, those for the types that schemas tell of where the checker knew none.

    Only the ones that differ in cost matter: those of texts, bytes, lists and maps.
    """
    kinds = {arg.type.kind for arg in args} - {"dyn"}
    if len(overloads) == 1 or not kinds:
        return overloads
    if kinds.isdisjoint((*_TEXTUAL, "map", "message")):
        fitting = [one for one in overloads if not one.rstrip("_").endswith(_TEXTUAL)]
    else:
        wanted = tuple("map" if kind == "message" else kind for kind in kinds)
        fitting = [one for one in overloads if one.rstrip("_").endswith(wanted)]
    return tuple(fitting) or overloads
