"""How a function of CEL is declared here, and the values that only Kubernetes' functions make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

QUANTITY = "kubernetes.Quantity"
URL = "kubernetes.URL"
IP = "net.IP"
CIDR = "net.CIDR"
SEMVER = "kubernetes.Semver"
FORMAT = "kubernetes.NamedFormat"


class Overload(NamedTuple):
    """One signature of a function.

    name: as expressions call it; an operator as `_<_`.  id: upstream's, which cost estimation goes by.
    takes: types of the arguments, of a method's target first; `~A` stands for any type, the same everywhere.
    returns: the type of its result.  method: whether it is called on its first argument.
    act: what it does with Python values (see `environment`); raises ValueError in cel-go's words.  None where the
    library does it itself.
    """

    name: str
    id: str
    takes: tuple[str, ...]
    returns: str
    act: Callable[..., Any] | None
    method: bool = False


class Special(NamedTuple):
    """A value of one of Kubernetes' own types.

    text: what it stands for, such that two values are equal where their texts are.
    """

    type: str
    text: str


def function(name: str, id: str, takes: tuple[str, ...], returns: str, act: Callable[..., Any] | None) -> Overload:
    return Overload(name, id, takes, returns, act)


def method(name: str, id: str, takes: tuple[str, ...], returns: str, act: Callable[..., Any] | None) -> Overload:
    return Overload(name, id, takes, returns, act, method=True)
