"""What would make a pod fit, as a table, JSON or YAML."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kube32_sim.preview.changes import Change
from kube32_sim.preview.explaining import Explanation
from kube32_sim.preview.placements import JsonObject
from kube32_sim.preview.printing import NONE, Row, aligned, yaml_text
from kube32_sim.terminal import printable
from kube32_sim.translation.terms import name_of

NAMED = 3
_LONGEST = 40
"""Of a value in a table; JSON has it whole."""


def render(found: Explanation, output: str) -> str:
    """What the command prints, ending with one newline.  output: table, wide, json or yaml."""
    if output == "json":
        return json.dumps(document(found), indent=4) + "\n"
    if output == "yaml":
        return yaml_text(document(found)) + "\n"
    return "\n".join(_lines(found, wide=output == "wide")) + "\n"


def _lines(found: Explanation, *, wide: bool) -> list[str]:
    name = printable(name_of(found.placement.pod.obj))
    if found.fits:
        evicts = f", evicting {_some([victim.pod for victim in found.placement.victims])}" * bool(
            found.placement.victims
        )
        return [f"{name} fits on {found.placement.node}{evicts}.", *_limits(found)]
    lines = [f"{name} does not fit: {printable(found.placement.note or found.placement.message)}"]
    if found.changes:
        return [*lines, "", *_table(found.changes, wide=wide)]
    if found.pair:
        return [*lines, "No single change helps. These two do together:", "", *_table(found.pair, wide=wide)]
    return [*lines, "No single change helps, and no two were found that do."]


def _limits(found: Explanation) -> list[str]:
    """Each by itself; where nothing bounds it nothing is said."""
    if not found.limits:
        return []
    rows: list[Row] = [("RESOURCE", "ASKS", "FITS UP TO", "FIELD")]
    rows += [(limit.resource, limit.now, limit.most, limit.field) for limit in found.limits]
    return ["", *aligned(rows)]


def _table(changes: Sequence[Change], *, wide: bool) -> list[str]:
    rows: list[Row] = [("CHANGE", "FROM", "TO", "FITS ON", *(["OBJECT", "FIELD"] if wide else []))]
    for change in changes:
        where = ", ".join(change.nodes) if wide else _some(change.nodes)
        if len(change.nodes) > 1 and not wide:
            where = f"{len(change.nodes)} nodes: {where}"
        if change.victims:
            where += f", evicting {_some(change.victims)}"
        more = [change.of, change.field or NONE] if wide else []
        rows.append((change.text, _value(change.before), _value(change.after), where, *more))
    return aligned(rows)


def _value(value: Any) -> str:
    if value is None:
        return NONE
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _some(names: Sequence[str]) -> str:
    if len(names) <= NAMED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"


def document(found: Explanation) -> JsonObject:
    """An object of kind PlacementExplanation: where the pod goes or why nowhere, and what would change that."""
    placement = found.placement
    status: JsonObject = {"fits": found.fits, "node": placement.node or None, "message": placement.message}
    if placement.note:
        status["note"] = placement.note
    if placement.victims:
        status["victims"] = [victim.pod for victim in placement.victims]
    if found.fits:
        status["limits"] = [
            {"field": limit.field, "resource": limit.resource, "now": limit.now, "most": limit.most}
            for limit in found.limits
        ]
    else:
        status["changes"] = list(map(_change, found.changes))
        status["pair"] = list(map(_change, found.pair))
    pod = placement.pod
    spec = {"profile": found.profile, "pod": pod.name, "namespace": pod.namespace}
    return {"apiVersion": "sim.kube32.io/v1alpha1", "kind": "PlacementExplanation", "spec": spec, "status": status}


def _change(change: Change) -> JsonObject:
    told: JsonObject = {"kind": change.kind, "object": change.of}
    if change.field:
        told["field"] = change.field
    told |= {"from": change.before, "to": change.after, "nodes": list(change.nodes), "text": change.text}
    if change.victims:
        told["victims"] = list(change.victims)
    return told
