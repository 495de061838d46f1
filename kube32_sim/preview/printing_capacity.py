"""How many more pods fit, and what survives a loss, as a table, JSON or YAML."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kube32_sim.preview.capacity import MOST, Capacity, Usage
from kube32_sim.preview.changes import shown
from kube32_sim.preview.details import some
from kube32_sim.preview.placements import JsonObject
from kube32_sim.preview.printing import NONE, Row, aligned, yaml_text
from kube32_sim.preview.surviving import Loss, Survival
from kube32_sim.terminal import printable


def render(profile: str, capacity: Capacity | None, survival: Survival | None, output: str) -> str:
    """What the command prints, ending with one newline.  output: table, wide, json or yaml.  One of both is there."""
    if output == "json":
        return json.dumps(document(profile, capacity, survival), indent=4) + "\n"
    if output == "yaml":
        return yaml_text(document(profile, capacity, survival)) + "\n"
    wide = output == "wide"
    blocks = [*(_capacity(capacity, survival, wide=wide) if capacity is not None else [])]
    if survival is not None:
        blocks += _survival(survival, capacity, wide=wide)
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


# capacity


def _capacity(found: Capacity, survival: Survival | None, *, wide: bool) -> Iterator[list[str]]:
    yield [*aligned([*_templates(found, survival)]), *map(printable, _bound(found))]
    yield aligned([*_usage(found)])
    if wide:
        if found.stop is not None and found.stop.reasons:
            reasons = found.stop.reasons.items()
            yield aligned([("WHY NOT", "NODES"), *((reason, str(count)) for reason, count in reasons)])
        yield aligned([*_by_node(found)])


def _templates(found: Capacity, survival: Survival | None) -> Iterator[Row]:
    mix = found.wanted is not None
    head = ["TEMPLATE", *(["WANTED", "FIT", "ROUND", "IN ROUNDS"] if mix else ["MORE"])]
    if survival is not None:
        head.append("SURVIVE")
    yield head
    for place, template in enumerate(found.templates):
        row = [template.name]
        if found.wanted is not None:
            row += [str(number) for number in (found.wanted[place], found.fits[place], found.share[place])]
        row.append("no bound" if found.more is None else str(found.more[place]))
        if survival is not None:
            number = NONE if survival.rounds is None else str(survival.rounds * found.share[place])
            row.append("no bound" if survival.unbounded else number)
        yield row


def _bound(found: Capacity) -> Iterator[str]:
    if found.stop is None:
        nothing = all(usage.before == usage.after for usage in found.usage)
        why = f"these pods use up nothing that the profile {found.profile} counts" if nothing else "all of these fit"
        yield f"No bound was found: {why} ({found.tried} tried, {MOST} at most)."
        return
    what, nodes = found.stop.first
    mix = len(found.templates) > 1
    which = f" by a pod of {found.stop.template}" if mix else ""
    if found.stop.refusal:
        yield f"Stopped{which}: {what}."
    elif found.stop.lacking:
        short = [f"{resource} on {_nodes(count)}" for resource, count in found.stop.lacking.items()]
        yield f"Stopped{which}: too little {', '.join(short)}."
    else:
        yield f"Stopped{which}: {what} ({_nodes(nodes)})."


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


def _usage(found: Capacity) -> Iterator[Row]:
    yield "RESOURCE", "CAPACITY", "FREE NOW", "FREE THEN", "USED"
    for usage in found.usage:
        if usage.resource in _told(found):
            amounts = (usage.capacity, usage.before, usage.after)
            yield usage.resource, *(shown(usage.resource, amount) for amount in amounts), f"{_percent(usage)}%"


def _told(found: Capacity) -> list[str]:
    """The resources of which there will be less, or else all that there are; objects tell of all."""
    there = [usage for usage in found.usage if usage.capacity]
    return [usage.resource for usage in there if usage.before != usage.after] or [usage.resource for usage in there]


def _percent(usage: Usage) -> int:
    return 100 * (usage.capacity - usage.after) // usage.capacity if usage.capacity else 0


def _by_node(found: Capacity) -> Iterator[Row]:
    resources = _told(found)
    yield "NODE", *(template.name.upper() for template in found.templates), *(f"{one.upper()}%" for one in resources)
    none = (0,) * len(found.templates)
    for name, usages in found.by_node.items():
        used = [str(_percent(usage)) if usage.capacity else "-" for usage in usages if usage.resource in resources]
        yield name, *map(str, found.nodes.get(name, none)), *used


# survival


def _survival(found: Survival, capacity: Capacity | None, *, wide: bool) -> Iterator[list[str]]:
    yield list(map(printable, _verdict(found, capacity)))
    if wide:
        rows: list[Row] = [(found.of.upper(), "MOVED", "STRANDED", "PODS WITHOUT A NODE")]
        for loss in found.losses:
            stranded = some(loss.stranded) or NONE
            rows.append((loss.domain, str(loss.moved), str(len(loss.stranded)), stranded))
        yield aligned(rows)


def _verdict(found: Survival, capacity: Capacity | None) -> Iterator[str]:
    if found.unplaced:
        yield f"Not all pods fit as it is: {some(found.unplaced)}."
    more = ""
    if found.unbounded:
        more = " with any number more"
    elif capacity is not None and found.rounds is not None:
        more = f" with {_pods(found.rounds * sum(capacity.share))} more"
    if found.survives:
        yield f"The loss of any {found.of} is survived{more}: all pods fit on the rest."
    else:
        failed = sum(bool(loss.stranded) for loss in found.losses)
        now = ", even without new pods" if capacity is not None else ""
        yield f"Not every loss of a {found.of} is survived{now}: {failed} of {len(found.losses)} are not."
    if found.worst is not None:
        yield _worst(found.worst, found)


def _worst(loss: Loss, found: Survival) -> str:
    if not loss.stranded:
        return f"The worst is {found.of} {loss.domain}: {_pods(loss.moved)} would move."
    when = "With more, the worst is" if found.survives else "The worst is"
    stranded = f"{len(loss.stranded)} of its {_pods(loss.moved)} would have no node: {some(loss.stranded)}"
    return f"{when} {found.of} {loss.domain}: {stranded}."


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"


# objects


def document(profile: str, capacity: Capacity | None, survival: Survival | None) -> JsonObject:
    """An object of kind CapacityPreview; amounts are quantities."""
    status: JsonObject = {}
    if capacity is not None:
        status["capacity"] = _capacity_object(capacity)
    if survival is not None:
        status["survival"] = _survival_object(survival, capacity)
    spec = {"profile": profile}
    return {"apiVersion": "sim.kube32.io/v1alpha1", "kind": "CapacityPreview", "spec": spec, "status": status}


def _capacity_object(found: Capacity) -> JsonObject:
    told: JsonObject = {"bounded": found.rounds is not None, "rounds": found.rounds, "templates": []}
    for place, template in enumerate(found.templates):
        one: JsonObject = {"name": template.name, "namespace": template.pod.namespace}
        if found.wanted is not None:
            one |= {"wanted": found.wanted[place], "fit": found.fits[place]}
        one |= {"perRound": found.share[place], "more": None if found.more is None else found.more[place]}
        told["templates"].append(one)
    if found.stop is not None:
        what, nodes = found.stop.first
        stop: JsonObject = {"template": found.stop.template, "first": what, "nodes": nodes}
        if found.stop.refusal:
            stop["refusal"] = found.stop.refusal
        stop |= {"lacking": dict(found.stop.lacking), "reasons": dict(found.stop.reasons)}
        told["stop"] = stop
    told["usage"] = list(map(_usage_object, found.usage))
    names = [template.name for template in found.templates]
    none = (0,) * len(names)
    told["nodes"] = [
        {
            "name": name,
            "pods": dict(zip(names, found.nodes.get(name, none), strict=True)),
            "usage": [_usage_object(usage) for usage in usages if usage.capacity],
        }
        for name, usages in found.by_node.items()
    ]
    return told


def _usage_object(usage: Usage) -> JsonObject:
    amounts = {"capacity": usage.capacity, "freeNow": usage.before, "freeThen": usage.after}
    texts = {name: shown(usage.resource, amount) for name, amount in amounts.items()}
    return {"resource": usage.resource, **texts, "usedPercent": _percent(usage)}


def _survival_object(found: Survival, capacity: Capacity | None) -> JsonObject:
    told: JsonObject = {"of": found.of, "survives": found.survives}
    if capacity is not None:
        rounds = None if found.unbounded else found.rounds
        told |= {"bounded": not found.unbounded, "rounds": rounds}
        told["templates"] = [
            {"name": template.name, "more": None if rounds is None else rounds * share}
            for template, share in zip(capacity.templates, capacity.share, strict=True)
        ]
    if found.unplaced:
        told["unplaced"] = list(found.unplaced)
    told["worst"] = None if found.worst is None else _loss_object(found.worst)
    told["losses"] = list(map(_loss_object, found.losses))
    return told


def _loss_object(loss: Loss) -> JsonObject:
    return {"name": loss.domain, "nodes": list(loss.nodes), "moved": loss.moved, "stranded": list(loss.stranded)}
