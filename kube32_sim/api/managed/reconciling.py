"""Sets of fields that were written under another schema, or by hand, brought in line with the schema there is.

What used to be managed field by field and is now managed as a whole belongs to whoever had any of it; the other way
round nothing is done (as upstream): it counts as if it had always been managed field by field.
"""

from __future__ import annotations

from kube32_sim.api.managed.fieldset import NOTHING, FieldSet
from kube32_sim.api.managed.shapes import FREE, FREE_SHAPE, KEYED, LEAF, MAP, SET, Shape


def reconciled(shape: Shape, fields: FieldSet) -> FieldSet:
    """The set itself where there is nothing to do."""
    if shape.kind == FREE or (shape.kind == MAP and shape.item is FREE_SHAPE and not shape.fields):
        return fields
    made: FieldSet = {}
    for element, node in fields.items():
        inner = _inside(shape, element)
        made[element] = node if inner is None or not node else _below(inner, node)
    return fields if all(made[element] is node for element, node in fields.items()) else made


def _inside(shape: Shape, element: str) -> Shape | None:
    if element[:2] == "f:":
        return shape.child(element[2:]) if shape.kind == MAP else None
    return shape.item if shape.kind in (KEYED, SET) else None


def _below(shape: Shape, node: FieldSet) -> FieldSet:
    if shape.kind == LEAF:
        return NOTHING if shape.expects in ("list", "map") else node
    return reconciled(shape, node)
