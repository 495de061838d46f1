"""Rules in CEL are looked at when a definition is stored, and only where nothing else is wrong with its schema."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.validation.crd.openapi import Options
from kube32_sim.api.validation.crd.schemas import schema_faults
from tests.api.crd_objects import AT, change_refusals, crd, refusals, stored

RULES = "x-kubernetes-validations"


def with_rule(**rule: Any) -> dict[str, Any]:
    fields = {"a": {"type": "string", "maxLength": 9}}
    return crd({"type": "object", "properties": fields, RULES: [{"rule": "self.a == 'x'"} | rule]})


def test_rules_are_compiled() -> None:
    assert refusals(with_rule()) == []
    (found,) = refusals(with_rule(rule="self.nope == 'x'"))
    assert found.startswith(f'{AT}.{RULES}[0].rule: Invalid value: {{"Rule":"self.nope == \'x\'","Message":"",')
    assert "compilation failed" in found
    (found,) = refusals(with_rule(messageExpression="1"))
    assert found.endswith("messageExpression must evaluate to a string")


def test_rules_are_not_compiled_where_the_schema_is_bad() -> None:
    body = with_rule(rule="self.nope == 'x'")
    body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["b"] = {}
    assert refusals(body) == [f"{AT}.properties[b].type: Required value: must not be empty for specified object fields"]


def test_a_change_is_checked_too() -> None:
    old = stored(with_rule())
    assert change_refusals(old, with_rule()) == []
    assert len(change_refusals(old, with_rule(rule="self.nope == 'x'"))) == 1


def test_a_wrong_default_hides_no_wrong_rule() -> None:
    spec = {
        "type": "object",
        "properties": {"a": {"type": "integer", "default": "x"}},
        "x-kubernetes-validations": [{"rule": "self.a"}],
    }
    schema = {"type": "object", "properties": {"spec": spec}}
    found = schema_faults(schema, "p", status=False, options=Options(), old=None)
    assert [fault.field for fault in found] == [
        "p.properties[spec].properties[a].default",
        "p.properties[spec].x-kubernetes-validations[0].rule",
    ]
