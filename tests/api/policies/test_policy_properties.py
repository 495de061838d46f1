"""Whatever an expression says: it compiles or is told why not, and what goes wrong in it is a fault of its own."""

from __future__ import annotations

from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from kube32_sim.api.cel.types import BOOL
from kube32_sim.api.errors import ApiError
from kube32_sim.api.policies.expressions import Scope
from kube32_sim.api.policies.literals import read_literals
from tests.support.policies import deployment, mutate, mutating_policy, request

WORDS = [
    *("object", "oldObject", "request.name", "params", "variables.x", "Object", "Object.spec", "JSONPatch"),
    *("spec", "replicas", "op", "path", "value", "metadata", "x", "null", "true", "1", "-1", "1.5", '"a"', "'b'"),
    *("in", "has", "size", "timestamp", "quantity", "map", "optional.none()"),
    *"{}[]():,.?+-*/<!",
    *("==", "&&", "||"),
]
SOURCES = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | st.text(max_size=30)


@cache
def scope() -> Scope:
    made = Scope(params=True, composed=True)
    made.add("x", "object.spec")
    return made


@given(SOURCES)
@settings(deadline=None)  # the first loads the library
def test_any_text_is_checked(source: str) -> None:
    for patch in (False, True):
        made = scope().compile(source, returns=(BOOL,), patch=patch)
        assert (made.program is None) == bool(made.fault)
    assert len(read_literals(source).checked) == len(source)


PATHS = st.sampled_from(
    ["", "/", "/metadata", "/metadata/labels/a", "/spec/replicas", "/spec/template/x/0", "/spec/-", "x"]
)
VALUES = st.sampled_from(
    ["1", "'a'", "null", "[]", "{}", "[1]", "{'a': 'b'}", "1.5", "true", "object", "timestamp('x')"]
)
OPERATIONS = st.sampled_from(["add", "remove", "replace", "move", "copy", "test", ""])


@given(st.lists(st.tuples(OPERATIONS, PATHS, PATHS, VALUES), max_size=3))
@settings(max_examples=50, deadline=None)
def test_any_patch_is_applied_or_refused(operations: list[tuple[str, str, str, str]]) -> None:
    written = (
        f"JSONPatch{{op: '{op}', path: '{path}', from: '{source}', value: {value}}}"
        for op, path, source, value in operations
    )
    asked = request(deployment(labels={"a": "b"}))
    code = 403
    try:
        mutate(asked, mutating_policy(f"[{', '.join(written)}]"))
    except ApiError as error:
        code = error.code
    assert code == 403
    assert (asked.obj or {})["metadata"] is not None
