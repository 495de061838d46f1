"""What calls of functions cost, beyond one unit and their arguments: those whose work grows with what they are given.

The figures are cel-go's (`checker/cost.go`, `ext/sets.go`, `ext/strings.go`) and those of apiserver's
`pkg/cel/library/cost.go` for Kubernetes' functions.  Functions that are not here cost one unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kube32_sim.api.cel.cost_range import MOST, NOTHING, ONE, UNKNOWN, Range, fixed
from kube32_sim.api.cel.tree import DYN, Constant, Expr, Type

TRAVERSAL = 0.1
"""Per character of a string that is looked at."""
_REGEX = 0.25
"""Per character of a regular expression."""
_MAX_NAME_FORMAT_REGEX = 128
_MAX_FORMAT_NAME = 64
_CHECK = 350_000
_LIST_CREATE = 10
_STRUCT_CREATE = 40
_ADDRESS = Range(4, 16)
"""Bytes of an IP address."""
_SAME_AT_ONCE = {
    "kubernetes.Quantity",
    "kubernetes.Semver",
    "kubernetes.authorization.Authorizer",
    "kubernetes.authorization.PathCheck",
    "kubernetes.authorization.GroupCheck",
    "kubernetes.authorization.ResourceCheck",
    "kubernetes.authorization.Decision",
    "net.IP",
    "net.CIDR",
}


@dataclass(frozen=True, slots=True)
class Operand:
    """A target or an argument of a call.

    size: None where nothing is known of it.  element: of a list: its type and, where a schema tells it, its size.
    """

    expr: Expr
    type: Type
    size: Range | None
    element_type: Type | None = None
    element_size: Range | None = None

    @property
    def extent(self) -> Range:
        return UNKNOWN if self.size is None else self.size


@dataclass(frozen=True, slots=True)
class CallCost:
    """cost: of the call without its target and arguments.  size: of the result, if that is known."""

    cost: Range
    size: Range | None = None


Calculation = Callable[[str, Operand | None, list[Operand]], CallCost | None]


def call_cost(function: str, overload: str, target: Operand | None, args: list[Operand]) -> CallCost:
    """overload: the id of the declaration that is called; those of the standard library are named alike everywhere."""
    for calculation in (_FUNCTIONS.get(function), _STANDARD.get(overload)):
        found = calculation(overload, target, args) if calculation else None
        if found is not None:
            return found
    return CallCost(ONE)


def _method(calculation: Callable[[Operand, list[Operand]], CallCost]) -> Calculation:
    """Of a function that is only known as a method."""

    def cost(overload: str, target: Operand | None, args: list[Operand]) -> CallCost | None:
        return calculation(target, args) if target else None

    return cost


def _sets(factor: float) -> Calculation:
    def cost(overload: str, target: Operand | None, args: list[Operand]) -> CallCost:
        return CallCost(args[0].extent.times(args[1].extent).scaled(factor).plus(ONE))

    return cost


def _check(overload: str, target: Operand | None, args: list[Operand]) -> CallCost:
    return CallCost(fixed(_CHECK))


def _selector(overload: str, target: Operand | None, args: list[Operand]) -> CallCost:
    size = args[0].extent
    requirements = size.scaled(0.5).scaled(_LIST_CREATE + _STRUCT_CREATE)
    return CallCost(fixed(_LIST_CREATE).plus(size.scaled(TRAVERSAL)).plus(requirements))


def _elements(target: Operand, args: list[Operand]) -> CallCost:
    """isSorted, sum, max, min of lists; indexOf and lastIndexOf of lists and strings."""
    if target.element_type is None:
        return CallCost(target.extent.scaled(TRAVERSAL))
    each = ONE
    if target.element_type.kind in ("string", "bytes"):
        each = each.plus((target.element_size or UNKNOWN).scaled(TRAVERSAL))
    return CallCost(target.extent.times(each))


def _parsed(overload: str, target: Operand | None, args: list[Operand]) -> CallCost:
    return CallCost(args[0].extent.scaled(TRAVERSAL), args[0].extent)


def _read(overload: str, target: Operand | None, args: list[Operand]) -> CallCost | None:
    """Functions that make a value of a text; None for `ip()` of a CIDR, which has none."""
    return CallCost(args[0].extent.scaled(TRAVERSAL)) if args else None


def _canonical(overload: str, target: Operand | None, args: list[Operand]) -> CallCost:
    """Read, and compared with what it would be written as."""
    return CallCost(args[0].extent.scaled(2 * TRAVERSAL))


def _traversed(target: Operand, args: list[Operand]) -> CallCost:
    return CallCost(target.extent.scaled(TRAVERSAL), target.extent)


def _replace(target: Operand, args: list[Operand]) -> CallCost:
    size, old, new = target.extent, args[0].extent, args[1].extent
    most_replaced, most_kept = _replaced(size.max, old.min, grows=new.max > old.min)
    least_replaced, least_kept = _replaced(size.min, old.max, grows=old.max > new.min)
    made = Range(least_replaced, most_replaced).times(new).plus(Range(least_kept, most_kept))
    return CallCost(size.scaled(2 * TRAVERSAL), made)


def _replaced(size: int, old: int, *, grows: bool) -> tuple[int, int]:
    """How often a text of `old` characters is replaced in one of `size`, and how many characters are kept at least.

    grows: the result is at its longest (or shortest) with as many replacements as fit.
    """
    if old == 0:  # between all characters
        return min(size + 1, MOST), size
    return (_quotient(size, old), 0) if grows else (0, size)


def _quotient(size: int, old: int) -> int:
    """Rounded up."""
    return min(-(-size // old), MOST)


def _split(target: Operand, args: list[Operand]) -> CallCost:
    most = target.extent.max
    if len(args) > 1:
        limit = args[1].expr
        if isinstance(limit, Constant) and isinstance(limit.value, int):
            most = limit.value & MOST
    return CallCost(target.extent.scaled(2 * TRAVERSAL), Range(0, most))


def _join(target: Operand, args: list[Operand]) -> CallCost:
    items, size = target.extent, NOTHING
    if target.element_type is not None:
        size = items.times(target.element_size or UNKNOWN)
    if args:
        separators = Range(max(items.min - 1, 0), max(items.max - 1, 0))
        size = size.plus(args[0].extent.times(separators))
    return CallCost(size.scaled(TRAVERSAL), size)


def _regex(text: Operand, pattern: Range) -> Range:
    """Even an empty text costs what the pattern does."""
    return text.extent.plus(ONE).scaled(TRAVERSAL).times(pattern.scaled(_REGEX))


def _find(target: Operand, args: list[Operand]) -> CallCost:
    return CallCost(_regex(target, args[0].extent), Range(0, target.extent.max))


def _validate(target: Operand, args: list[Operand]) -> CallCost:
    return CallCost(args[0].extent.scaled(TRAVERSAL).scaled(_MAX_NAME_FORMAT_REGEX * _REGEX))


def _contains_address(target: Operand, args: list[Operand]) -> CallCost:
    cost = _ADDRESS.plus(_ADDRESS).scaled(TRAVERSAL)
    if args[0].type.kind == "string":
        cost = cost.plus(args[0].extent.scaled(TRAVERSAL))
    return CallCost(cost)


def _contains_cidr(target: Operand, args: list[Operand]) -> CallCost:
    compared = _contains_address(target, args)
    return CallCost(compared.cost.plus(_ADDRESS.scaled(TRAVERSAL)).plus(ONE))


def _equal(overload: str, target: Operand | None, args: list[Operand]) -> CallCost | None:
    """Of values that only Kubernetes' functions make; None for all others."""
    one, other = args
    if one.type != other.type or one.type == DYN:
        return None
    name = one.type.name
    if name in _SAME_AT_ONCE:
        return CallCost(ONE)
    if name == "kubernetes.NamedFormat":
        return CallCost(Range(1, _MAX_FORMAT_NAME).scaled(TRAVERSAL))
    if name == "kubernetes.URL":
        return CallCost(Range(1, other.size.max if other.size else 1).scaled(TRAVERSAL))
    return None


def _ordered(overload: str, target: Operand | None, args: list[Operand]) -> CallCost | None:
    """Of texts and bytes; the overloads are declared with more types than the standard library has, under other ids."""
    return _compared(overload, target, args) if "string" in overload or "bytes" in overload else None


def _compared(overload: str, target: Operand | None, args: list[Operand]) -> CallCost:
    """Up to the end of the shorter one."""
    most = min(args[0].extent.max, args[1].extent.max)
    return CallCost(Range(min(most, 1), most).scaled(TRAVERSAL))


_FUNCTIONS: dict[str, Calculation] = {
    "sets.contains": _sets(1),
    "sets.intersects": _sets(1),
    "sets.equivalent": _sets(2),
    "check": _check,
    "fieldSelector": _selector,
    "labelSelector": _selector,
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _method(_elements)),
    **dict.fromkeys(("ip", "isIP", "cidr", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _read),
    "ip.isCanonical": _canonical,
    "url": _parsed,
    "jsonpatch.escapeKey": _parsed,
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _method(_traversed)),
    "replace": _method(_replace),
    "split": _method(_split),
    "join": _method(_join),
    "find": _method(_find),
    "findAll": _method(_find),
    "validate": _method(_validate),
    "containsIP": _method(_contains_address),
    "containsCIDR": _method(_contains_cidr),
    "_==_": _equal,
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _ordered),
}


def _format(target: Operand, args: list[Operand]) -> CallCost:
    return CallCost(target.extent.scaled(TRAVERSAL))


def _to_bytes(overload: str, target: Operand | None, args: list[Operand]) -> CallCost:
    size = args[0].extent
    return CallCost(size.scaled(TRAVERSAL), Range(size.min, size.max * 4 & MOST))


def _to_string(overload: str, target: Operand | None, args: list[Operand]) -> CallCost:
    size = args[0].extent
    return CallCost(size.scaled(TRAVERSAL), Range(size.min // 4, size.max))


def _quote(overload: str, target: Operand | None, args: list[Operand]) -> CallCost:
    size = args[0].extent
    return CallCost(size.scaled(TRAVERSAL), Range(size.min + 2 & MOST, size.max * 2 + 2 & MOST))


def _begins(overload: str, target: Operand | None, args: list[Operand]) -> CallCost:
    return CallCost(args[0].extent.scaled(TRAVERSAL))


def _in_list(overload: str, target: Operand | None, args: list[Operand]) -> CallCost:
    return CallCost(args[1].extent)


def _matches(target: Operand, args: list[Operand]) -> CallCost:
    return CallCost(_regex(target, args[0].extent))


def _contains(target: Operand, args: list[Operand]) -> CallCost:
    return CallCost(target.extent.scaled(TRAVERSAL).times(args[0].extent.scaled(TRAVERSAL)))


def _added(overload: str, target: Operand | None, args: list[Operand]) -> CallCost:
    size = args[0].extent.plus(args[1].extent)
    return CallCost(ONE if overload == "add_list" else size.scaled(TRAVERSAL), size)


_STANDARD: dict[str, Calculation] = {
    "string_format": _method(_format),
    "string_to_bytes": _to_bytes,
    "bytes_to_string": _to_string,
    "strings_quote": _quote,
    "starts_with_string": _begins,
    "ends_with_string": _begins,
    "in_list": _in_list,
    "matches_string": _method(_matches),
    "contains_string": _method(_contains),
    **dict.fromkeys(("add_string", "add_bytes", "add_list"), _added),
    "equals": _compared,
    "not_equals": _compared,
}
