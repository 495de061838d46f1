"""Whatever an object is like, its rules end in failures of fields, and nothing else."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kube32_sim.api.cel.rules import SchemaRules
from kube32_sim.api.errors import FieldError

_RULES = [
    "self.a == oldSelf.a",
    "self.list.all(x, x > 0) && self.list.isSorted()",
    "self.map.exists(k, self.map[k] == 'x') || self.when < timestamp('2020-01-01T00:00:00Z')",
    "quantity(self.a).isGreaterThan(quantity('1')) && url(self.a).getHost() == ip(self.a).family()",
    "self.?a.orValue(1) == self.span",
    "[self.a, self.list, self.map].indexOf(self) >= 0 || self.list.sum() == self.list.max()",
    "self.map.transformMap(k, v, [v, self.a]).size() == 1 || format.uuid().validate(self.a).hasValue()",
]
_PROPERTIES = {
    "a": {"x-kubernetes-int-or-string": True},
    "list": {"type": "array", "items": {"type": "number"}, "x-kubernetes-list-type": "set"},
    "map": {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}},
    "when": {"type": "string", "format": "date-time"},
    "span": {"type": "string", "format": "duration"},
}
_SCHEMA_RULES = SchemaRules(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": _PROPERTIES,
                "x-kubernetes-validations": [
                    *({"rule": rule, "messageExpression": "string(self.a)"} for rule in _RULES),
                    {"rule": "oldSelf.hasValue() && self == oldSelf.value()", "optionalOldSelf": True},
                ],
            }
        },
    }
)

_leaf = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["1", "x", "::1", "1h"])
_json = st.recursive(
    _leaf, lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*_PROPERTIES, "x"]), inner), max_leaves=10
)
_spec = st.fixed_dictionaries({}, optional=dict.fromkeys(_PROPERTIES, _json))


@settings(max_examples=60, deadline=None)
@given(_spec | _json, st.none() | _spec | _json)
def test_rules_answer_for_any_object(new: Any, old: Any) -> None:
    before = None if old is None else {"spec": old}
    found = _SCHEMA_RULES.validate({"spec": new}, before, api_version="g/v1", kind="K")
    assert all(isinstance(fault, FieldError) for fault in found)
