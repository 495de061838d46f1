"""Names of definitions beside each other, and the conditions that tell of them."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.customs.naming import Taken, conditions_of, is_true, status_of
from tests.support.definitions import definition

JsonObject = dict[str, Any]
NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"
OTHER = {"plural": "gadgets", "singular": "gadget", "shortNames": ["gd"], "kind": "Gadget", "listKind": "GadgetList"}


def asking(**names: Any) -> JsonObject:
    whole = {"singular": "widget", "listKind": "WidgetList", **names}
    return definition("widgets", "Widget", names=whole)


def told(crd: JsonObject, others: list[JsonObject], now: str = NOW) -> JsonObject:
    return {**crd, "status": status_of(crd, Taken(others), now)}


def condition(crd: JsonObject, kind: str) -> tuple[str, str, str]:
    (found,) = (each for each in conditions_of(crd) if each["type"] == kind)
    return found["status"], found["reason"], found["message"]


def test_free_names_are_accepted_and_the_definition_established() -> None:
    crd = told(asking(shortNames=["wd"], categories=["all"]), [OTHER])
    assert crd["status"]["acceptedNames"] == crd["spec"]["names"]
    assert condition(crd, "NamesAccepted") == ("True", "NoConflicts", "no conflicts found")
    established = ("True", "InitialNamesAccepted", "the initial names have been accepted")
    assert condition(crd, "Established") == established
    assert told(crd, [OTHER], LATER) == crd, "nothing changes any more, not even a time"


@pytest.mark.parametrize(
    ("names", "reason", "message"),
    [
        ({"plural": "gadgets"}, "PluralConflict", '"gadgets" is already in use'),
        ({"plural": "gd"}, "PluralConflict", '"gd" is already in use'),
        ({"singular": "gadget"}, "SingularConflict", '"gadget" is already in use'),
        ({"shortNames": ["gd"]}, "ShortNamesConflict", '"gd" is already in use'),
        (
            {"shortNames": ["gadgets", "gd"]},
            "ShortNamesConflict",
            '["gadgets" is already in use, "gd" is already in use]',
        ),
        ({"kind": "Gadget"}, "KindConflict", '"Gadget" is already in use'),
        ({"kind": "GadgetList"}, "KindConflict", '"GadgetList" is already in use'),
        ({"listKind": "GadgetList"}, "ListKindConflict", '"GadgetList" is already in use'),
    ],
)
def test_a_taken_name_is_not_accepted(names: JsonObject, reason: str, message: str) -> None:
    crd = told(asking(**names), [OTHER])
    assert condition(crd, "NamesAccepted") == ("False", reason, message)
    assert condition(crd, "Established") == ("False", "NotAccepted", "not all names are accepted")
    (field,) = names
    assert crd["status"]["acceptedNames"].get(field) != names[field]
    freed = told(crd, [], LATER)
    assert is_true(freed, "NamesAccepted")
    assert is_true(freed, "Established")


def test_of_several_conflicts_the_last_is_told() -> None:
    crd = told(asking(shortNames=["gd"], kind="Gadget"), [OTHER])
    assert condition(crd, "NamesAccepted") == ("False", "KindConflict", '"Gadget" is already in use')


def test_what_was_established_stays_so_when_a_new_name_is_refused() -> None:
    crd = told(asking(), [OTHER])
    crd["spec"]["names"]["singular"] = "gadget"
    crd = told(crd, [OTHER], LATER)
    assert crd["status"]["acceptedNames"]["singular"] == "widget"
    assert not is_true(crd, "NamesAccepted")
    assert is_true(crd, "Established")


def test_groups_of_kubernetes_tell_who_approved() -> None:
    crd = definition(group="x.k8s.io", names={"singular": "widget", "listKind": "WidgetList"})
    crd["metadata"]["annotations"] = {"api-approved.kubernetes.io": "https://example.com/1"}
    kind = "KubernetesAPIApprovalPolicyConformant"
    assert condition(told(crd, []), kind) == ("True", "ApprovedAnnotation", "approved in https://example.com/1")
    crd["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, experimental"}
    assert condition(told(crd, []), kind)[:2] == ("False", "UnapprovedAnnotation")
