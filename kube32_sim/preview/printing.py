"""The answer of a preview as text: a table, a table with every node's verdict, JSON or YAML.

Knows the records of `placements` and nothing of how they were made.  Names and messages come from outside: in tables
what does not print is escaped, in JSON and YAML whatever is not ASCII.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from kube32_sim.preview.placements import JsonObject, Placement, Verdict
from kube32_sim.terminal import printable

NONE = "<none>"
PENDING = "<pending>"
ASSIGNED = "Successfully assigned "
"""How the message of a placed pod begins where it tells no more than the columns beside it."""

NAMED = 3
"""How many nodes or pods a message names before it counts the others."""

Row = Sequence[str]


def render(placements: Sequence[Placement], profile: str, output: str) -> str:
    """What the command prints, ending with one newline.

    output: a key of `OUTPUTS`.  `json` and `yaml` are one SchedulingPreview object; tables have a row a pod, in the
    order given, and no trailing blanks.
    """
    return OUTPUTS[output](placements, profile) + "\n"


def _table(placements: Sequence[Placement], profile: str) -> str:
    """A row a pod, with a column of namespaces where there are several."""
    rows = [("NAMESPACE", "POD", "NODE", "SCORE", "MESSAGE")]
    for placement in placements:
        pod = placement.pod
        rows.append((pod.namespace, pod.name, placement.node or NONE, _or_none(placement.score), _note(placement)))
    several = len({placement.pod.namespace for placement in placements}) > 1
    return "\n".join(aligned(rows if several else [row[1:] for row in rows]))


def _wide(placements: Sequence[Placement], profile: str) -> str:
    """The table, then a block a pod: every node's verdict and what becomes of the victims."""
    return "\n\n".join([_table(placements, profile), *filter(None, map(_block, placements))])


def _json(placements: Sequence[Placement], profile: str) -> str:
    return json.dumps(document(placements, profile), indent=4)


def _yaml(placements: Sequence[Placement], profile: str) -> str:
    return yaml_text(document(placements, profile))


def yaml_text(document: JsonObject) -> str:
    """Block style, keys in their order; lines are not folded.  Without a newline at the end."""
    import yaml

    dumper: Any = type("Dumper", (getattr(yaml, "CSafeDumper", yaml.SafeDumper),), {})
    dumper.add_representer(str, _yaml_string)
    dumper.ignore_aliases = lambda self, data: True
    text = yaml.dump(document, Dumper=dumper, sort_keys=False, default_flow_style=False, width=2**31 - 1)
    return str(text).removesuffix("\n")


OUTPUTS: Mapping[str, Callable[[Sequence[Placement], str], str]] = MappingProxyType(
    {"table": _table, "wide": _wide, "json": _json, "yaml": _yaml}
)
"""The forms of an answer by the name that `-o` gives them."""


def _note(placement: Placement) -> str:
    """Why a pod is on no node, or what is worth knowing about the node it is on; "" where nothing is."""
    if not placement.node:
        return placement.message
    notes = [] if placement.message.startswith(ASSIGNED) else [placement.message]
    if placement.tied:
        others = [name for name in placement.tied if name != placement.node]
        notes.append(f"tied with {_some(others)}, first by name")
    if placement.victims:
        fates = [f"{victim.pod} ({f'to {victim.node}' if victim.node else 'pending'})" for victim in placement.victims]
        notes.append(f"evicts {len(fates)}: {_some(fates)}")
    return "; ".join(filter(None, [*notes, placement.note]))


def _some(names: Sequence[str]) -> str:
    """All names, or the first few and a count; the last few are named where the count would only stand for one."""
    if len(names) <= NAMED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"


def _block(placement: Placement) -> str:
    """A title, the verdicts with the chosen node marked by a star, the victims; "" where there are neither."""
    if not placement.verdicts and not placement.victims:
        return ""
    pod = placement.pod
    owner = f" ({pod.owner})" if pod.owner else ""
    fate = "" if placement.node or not placement.note else f" ({placement.note})"
    lines = [printable(f"{pod.namespace}/{pod.name}{owner}: {placement.node or 'no node'}{fate}")]
    if placement.verdicts:
        marks = [" ", *("*" if verdict.node == placement.node else " " for verdict in placement.verdicts)]
        lines += [f"{mark} {line}" for mark, line in zip(marks, aligned(_verdict_rows(placement)), strict=True)]
    if placement.omitted:
        lines.append(f"  and {placement.omitted} more node{'' if placement.omitted == 1 else 's'}")
    if placement.victims:
        rows = [("EVICTED", "PRIORITY", "NODE")]
        rows += [(victim.pod, str(victim.priority), victim.node or PENDING) for victim in placement.victims]
        lines += [f"  {line}" for line in aligned(rows)]
    return "\n".join(lines)


def _verdict_rows(placement: Placement) -> list[Row]:
    """Headings and a row a node.  Percentages have a column only where some node has them."""
    resources = list(dict.fromkeys(name for verdict in placement.verdicts for name, _ in verdict.percentages))
    rows: list[Row] = [("NODE", "SCORE", *(f"{name.upper()}%" for name in resources), "REASON")]
    for verdict in placement.verdicts:
        percentages = dict(verdict.percentages)
        numbers = [verdict.score, *map(percentages.get, resources)]
        texts = ["-" if number is None else str(number) for number in numbers]
        rows.append((verdict.node, *texts, _reason(verdict, placement)))
    return rows


def _reason(verdict: Verdict, placement: Placement) -> str:
    """The failing filter and its detail, and what else decided: the name among equals, evictions."""
    reasons = [": ".join(filter(None, (verdict.reason, verdict.detail)))]
    chosen = verdict.node == placement.node
    if verdict.node in placement.tied:
        reasons.append(f"first by name of {len(placement.tied)} tied" if chosen else "tied")
    if chosen and placement.note:
        reasons.append(placement.note)
    if chosen and placement.victims:
        reasons.append(f"fits after evicting {len(placement.victims)}")
    return "; ".join(filter(None, reasons))


def _or_none(score: int | None) -> str:
    return NONE if score is None else str(score)


def aligned(rows: Sequence[Row]) -> list[str]:
    """A line a row, cells left-aligned and three spaces apart, as kubectl prints them."""
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    return [
        "".join(cell + " " * (width - _width(cell) + 3) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]


def _width(text: str) -> int:
    """Columns of a terminal that printable text takes: two of a wide character, none of a combining one."""
    if text.isascii():
        return len(text)
    marks = ("Mn", "Me")
    return sum(
        0 if unicodedata.category(c) in marks else 2 if unicodedata.east_asian_width(c) in ("W", "F") else 1
        for c in text
    )


def document(placements: Sequence[Placement], profile: str) -> JsonObject:
    """The SchedulingPreview object; equal parts of it are the same objects: never change it."""
    objects = _VerdictObjects()
    return {
        "apiVersion": "sim.kube32.io/v1alpha1",
        "kind": "SchedulingPreview",
        "spec": {"profile": profile},
        "status": {"placements": [_placement_object(placement, objects) for placement in placements]},
    }


class _VerdictObjects(dict[int, JsonObject]):
    """By the verdict's identity: pods that are alike share most of them."""

    def of(self, verdict: Verdict) -> JsonObject:
        found = self.get(id(verdict))
        if found is None:
            found = self[id(verdict)] = _verdict_object(verdict)
        return found


def _placement_object(placement: Placement, objects: _VerdictObjects) -> JsonObject:
    """What is not known or does not apply is left out, but for node and score: they are null."""
    pod = placement.pod
    found: JsonObject = {"pod": pod.name, "namespace": pod.namespace}
    if pod.owner:
        found["owner"] = pod.owner
    found |= {"node": placement.node or None, "score": placement.score, "message": placement.message}
    if placement.note:
        found["note"] = placement.note
    if placement.tied:
        found["tieBreak"] = list(placement.tied)
    if placement.victims:
        found["victims"] = [
            {"pod": victim.pod, "priority": victim.priority, "node": victim.node or None}
            | ({} if victim.node else {"phase": "Pending"})
            for victim in placement.victims
        ]
    if placement.verdicts:
        found["nodes"] = list(map(objects.of, placement.verdicts))
    if placement.omitted:
        found["nodesOmitted"] = placement.omitted
    return found


def _verdict_object(verdict: Verdict) -> JsonObject:
    found: JsonObject = {
        "name": verdict.node,
        "feasible": verdict.feasible,
        "reason": verdict.reason,
        "score": verdict.score,
    }
    if verdict.feasible:
        found["percentages"] = dict(verdict.percentages)
    if verdict.detail:
        found["detail"] = verdict.detail
    return found


# Readers of YAML disagree about what is a number or a boolean: these are strings to ours and not to others.
_DOUBTFUL = re.compile(r"[-+]?[.0-9][-+.:\w]*|[yYnN]")


def _yaml_string(dumper: Any, text: str) -> Any:
    """A scalar that every reader takes for a string; halves of surrogate pairs, which YAML cannot hold, are spelt."""
    whole = text.encode(errors="backslashreplace").decode()
    style = "'" if _DOUBTFUL.fullmatch(whole) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", whole, style=style)
