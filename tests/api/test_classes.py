"""The class that a volume or a claim names, by its field or the annotation of old."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.classes import DEFAULT_STORAGE, OLD_STORAGE_CLASS, is_default, storage_class_of


@pytest.mark.parametrize(
    ("annotations", "spec", "name"),
    [
        (None, {}, ""),
        (None, {"storageClassName": None}, ""),
        ({"a": "b"}, {"storageClassName": "fast"}, "fast"),
        ({OLD_STORAGE_CLASS: "slow"}, {"storageClassName": "fast"}, "slow"),
        ({OLD_STORAGE_CLASS: ""}, {"storageClassName": "fast"}, ""),
    ],
)
def test_the_annotation_comes_first(annotations: dict[str, str] | None, spec: dict[str, Any], name: str) -> None:
    assert storage_class_of({"metadata": {"annotations": annotations}, "spec": spec}) == name


def test_a_default_says_true() -> None:
    marked = [{"metadata": {"annotations": {DEFAULT_STORAGE[1]: said}}} for said in ("true", "True", "")]
    assert [is_default(obj, DEFAULT_STORAGE) for obj in [*marked, {"metadata": {}}]] == [True, False, False, False]
