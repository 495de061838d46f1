"""The options of a test's cluster: those of its markers, the nearest first, over those of the settings.

Both are the fields of `ServeOptions`.  What is not given is a cluster on a virtual clock, at a free port.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from kube32_sim.durations import parse_duration
from kube32_sim.options import OptionError, ServeOptions

OWN = {
    "kubeconfig": "the fixture writes one of its own, where its attribute kubeconfig tells",
    "host": "the fixture listens on 127.0.0.1",
}
"""Fields that are not the test's to choose, and why."""
DEFAULTS: Mapping[str, Any] = {"clock": "virtual", "port": 0}


def options_of(settings: Mapping[str, str], markers: Iterable[Mapping[str, Any]], kubeconfig: Path) -> ServeOptions:
    """settings: texts by field, "" where not given.  markers: the nearest first.  OptionError: it cannot be so."""
    given = dict(DEFAULTS) | {name: _read(name, text) for name, text in settings.items() if text}
    for marker in reversed(list(markers)):
        check(marker)
        given |= marker
    try:
        return ServeOptions(**given, kubeconfig=kubeconfig)
    except OptionError:
        raise
    except (TypeError, ValueError, AttributeError) as error:  # a value of another type than its field's
        raise OptionError(f"kube32: {error}") from None


def check(given: Mapping[str, Any]) -> None:
    """OptionError: a field that there is not, or that is the fixture's."""
    known = [field.name for field in fields(ServeOptions) if field.name not in OWN]
    for name in given:
        if name in OWN:
            raise OptionError(f"kube32: {name} cannot be chosen: {OWN[name]}")
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
            raise OptionError(f"kube32: there is no option {name}; {hint}")


def _read(name: str, text: str) -> Any:
    """The value of a setting, by the type of its field."""
    kind = next(str(field.type) for field in fields(ServeOptions) if field.name == name)
    try:
        if kind.startswith("int") and "str" not in kind:
            return int(text)
        if kind.startswith("float"):
            return parse_duration(text)
        if kind == "bool":
            return {"true": True, "false": False}[text.lower()]
        return Path(text) if kind.startswith("Path") else text
    except (ValueError, KeyError):
        what = {"i": "a whole number", "f": "a duration like 100ms", "b": "true or false"}[kind[0]]
        raise OptionError(f"kube32_{name}: {text!r} is not {what}") from None
