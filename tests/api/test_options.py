"""Options of requests: what they mean and how bad ones are refused."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube32_sim.api import options
from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.errors import ApiError
from kube32_sim.api.paths import Query, parse_query

TABLE = builtin_table()
ROW = TABLE.by_path("", "v1", "configmaps")
assert ROW is not None
PODS = TABLE.by_path("", "v1", "pods")
assert PODS is not None


def listing(text: str, *, watch: bool = False) -> options.ListOptions:
    assert ROW is not None
    return options.list_options(parse_query(text), ROW, watch=watch)


def refusal(call: Callable[[], Any]) -> tuple[int, str]:
    with pytest.raises(ApiError) as caught:
        call()
    return caught.value.code, caught.value.message


def test_list_options() -> None:
    plain = listing("")
    assert (plain.limit, plain.resource_version, plain.watch, plain.labels.everything) == (0, None, False, True)
    full = listing(
        "limit=5&continue=t&timeoutSeconds=7&labelSelector=a&labelSelector=b&fieldSelector=metadata.name%3Dx"
    )
    assert (full.limit, full.continue_, full.timeout_seconds) == (5, "t", 7)
    assert full.labels.text == "a"
    assert full.fields.exact("metadata.name") == "x"
    assert listing("limit=-1").limit == 0
    assert listing("resourceVersion=0").resource_version == 0
    assert listing("resourceVersion=").resource_version is None
    assert listing("resourceVersion=17&resourceVersionMatch=Exact").match == "Exact"
    assert listing("allowWatchBookmarks=x").allow_bookmarks


def test_watch_options() -> None:
    query = "sendInitialEvents=true&allowWatchBookmarks=1&resourceVersionMatch=NotOlderThan"
    wanted = listing(query, watch=True)
    assert (wanted.watch, wanted.send_initial_events, wanted.allow_bookmarks) == (True, True, True)
    assert listing("sendInitialEvents=false&resourceVersionMatch=NotOlderThan", watch=True).send_initial_events is False
    assert ROW is not None
    one = options.list_options({}, ROW, watch=True, name="two")
    assert one.fields.exact("metadata.name") == "two"
    same = options.list_options({"fieldSelector": ["metadata.name=two"]}, ROW, watch=True, name="two")
    assert same.fields.text == one.fields.text


@pytest.mark.parametrize("text", ["metadata.name=three", "metadata.name!=two", "metadata.namespace=d"])
def test_a_path_of_one_object_and_a_selector_of_another_do_not_go_together(text: str) -> None:
    with pytest.raises(ApiError) as caught:
        options.list_options({"fieldSelector": [text]}, ROW, watch=True, name="two")
    assert (caught.value.code, caught.value.message) == (
        400,
        "fieldSelector metadata.name doesn't match requested name",
    )


@pytest.mark.parametrize(
    ("text", "watch", "message"),
    [
        (
            "resourceVersion=0&resourceVersionMatch=Exact",
            False,
            'resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
        ),
        (
            "resourceVersionMatch=Exact",
            False,
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (
            "resourceVersion=1&resourceVersionMatch=Bogus",
            False,
            'resourceVersionMatch: Unsupported value: "Bogus": supported values: "Exact", "NotOlderThan", ""',
        ),
        ("sendInitialEvents=true", False, "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"),
        (
            "sendInitialEvents=true",
            True,
            "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
        (
            "sendInitialEvents=true&resourceVersionMatch=Exact",
            True,
            "[resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to "
            "NotOlderThan, "
            'resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"]',
        ),
        (
            "resourceVersionMatch=NotOlderThan",
            True,
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is "
            "provided",
        ),
    ],
)
def test_invalid_list_options(text: str, watch: bool, message: str) -> None:
    assert refusal(lambda: listing(text, watch=watch)) == (422, f'ListOptions.meta.k8s.io "" is invalid: {message}')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("limit=abc", 'strconv.ParseInt: parsing "abc": invalid syntax'),
        ("limit=1.5", 'strconv.ParseInt: parsing "1.5": invalid syntax'),
        ("limit=99999999999999999999", 'strconv.ParseInt: parsing "99999999999999999999": value out of range'),
        ("timeoutSeconds=1_0", 'strconv.ParseInt: parsing "1_0": invalid syntax'),
        (
            "resourceVersion=abc",
            'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": '
            "invalid syntax",
        ),
        (
            "resourceVersion=-1",
            'invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": '
            "invalid syntax",
        ),
        ("continue=x&resourceVersion=5", "specifying resource version is not allowed when using continue"),
    ],
)
def test_bad_list_parameters(text: str, message: str) -> None:
    assert refusal(lambda: listing(text)) == (400, message)


def test_write_options() -> None:
    assert options.create_options({}) == options.WriteOptions()
    asked = parse_query("dryRun=All&dryRun=All&fieldManager=me&fieldValidation=Strict")
    assert options.update_options(asked) == options.WriteOptions(True, "me", "Strict")
    forced = parse_query("fieldManager=me&force=true")
    assert options.patch_options(forced, apply=True) == options.WriteOptions(field_manager="me", force=True)


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (
            options.create_options,
            "dryRun=all",
            'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["all"]: supported values: "All"',
        ),
        (
            options.create_options,
            "dryRun=",
            'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: [""]: supported values: "All"',
        ),
        (
            options.update_options,
            "fieldValidation=strict",
            'UpdateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "strict": supported values: '
            '"", "Ignore", "Strict", "Warn"',
        ),
        (
            options.patch_options,
            "force=true",
            'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
        ),
        (
            lambda query: options.patch_options(query, apply=True),
            "",
            'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
        ),
        (
            options.patch_options,
            f"fieldManager={'m' * 129}",
            'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128 bytes',
        ),
    ],
)
def test_invalid_write_options(read: Callable[[Query], Any], text: str, message: str) -> None:
    assert refusal(lambda: read(parse_query(text))) == (422, message)


def test_delete_options() -> None:
    query = parse_query("gracePeriodSeconds=0&propagationPolicy=Foreground&dryRun=All")
    assert options.delete_options(query) == options.DeleteOptions(True, 0, "Foreground")
    body = {
        "kind": "DeleteOptions",
        "apiVersion": "apps/v1",
        "preconditions": {"uid": "u", "resourceVersion": "5"},
        "gracePeriodSeconds": -5,
    }
    wanted = options.DeleteOptions(grace=-5, uid="u", resource_version="5")
    assert options.delete_options(query, body) == wanted, "a body takes the place of the parameters"
    assert options.delete_options({}, {"orphanDependents": True}).propagation == "Orphan"
    assert options.delete_options({}, {"orphanDependents": False}).propagation == "Background"
    assert options.delete_options({}, {}) == options.DeleteOptions()


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (
            {"propagationPolicy": "Sideways"},
            422,
            'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Sideways": supported '
            'values: "Foreground", "Background", "Orphan", "nil"',
        ),
        (
            {"orphanDependents": True, "propagationPolicy": "Background"},
            422,
            'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Background": '
            "orphanDependents and deletionPropagation cannot be both set",
        ),
        (
            {"dryRun": ["Bogus"]},
            422,
            'DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Bogus"]: supported values: "All"',
        ),
        (
            {"kind": "Pod", "apiVersion": "v1"},
            400,
            'no kind "Pod" is registered for version "v1" in scheme "pkg/api/legacyscheme"',
        ),
        (
            {"gracePeriodSeconds": "5"},
            400,
            "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
        ),
    ],
)
def test_bad_delete_options(body: dict[str, Any], code: int, message: str) -> None:
    assert refusal(lambda: options.delete_options({}, body)) == (code, message)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
FIELDS = st.sampled_from(
    ["kind", "apiVersion", "dryRun", "gracePeriodSeconds", "propagationPolicy", "orphanDependents", "preconditions"]
)


@given(st.dictionaries(FIELDS, JSON_VALUES | st.fixed_dictionaries({"uid": JSON_VALUES})))
def test_any_body_is_understood_or_refused(body: dict[str, Any]) -> None:
    with contextlib.suppress(ApiError):
        options.delete_options({}, body)


@given(st.dictionaries(st.sampled_from(["limit", "resourceVersion", "dryRun", "force", "watch"]), st.lists(st.text())))
def test_any_parameters_are_understood_or_refused(query: dict[str, list[str]]) -> None:
    assert ROW is not None
    for read in (options.create_options, options.patch_options, options.delete_options, options.get_options):
        with contextlib.suppress(ApiError):
            read(query)
    with contextlib.suppress(ApiError):
        options.list_options(query, ROW)


def logs(text: str) -> options.LogOptions:
    return options.log_options(parse_query(text), "p")


def test_log_options() -> None:
    assert logs("") == logs("sinceTime=&container=&previous=false&follow=0") == options.LogOptions()
    assert logs("container=c&previous=true&follow=1&timestamps=true&tailLines=0&limitBytes=1&sinceSeconds=1") == (
        options.LogOptions("c", True, True, True, 0, 1, 1)
    )
    assert logs("sinceTime=1970-01-01T01:00:10.5%2B01:00").since_time == 10.0


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("tailLines=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("tailLines=1_0", 400, 'strconv.ParseInt: parsing "1_0": invalid syntax'),
        ("limitBytes=" + "9" * 5000, 400, "value out of range"),
        ("tailLines=-1", 422, "tailLines: Invalid value: -1: must be greater than or equal to 0"),
        ("limitBytes=0", 422, "limitBytes: Invalid value: 0: must be greater than 0"),
        ("sinceSeconds=0", 422, "sinceSeconds: Invalid value: 0: must be greater than 0"),
        ("sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", 422, "at most one of `sinceTime` or `sinceSeconds`"),
        ("sinceTime=noon", 400, 'parsing time "noon" as "2006-01-02T15:04:05Z07:00": cannot parse "noon" as "2006"'),
    ],
)
def test_log_options_that_are_refused(query: str, code: int, message: str) -> None:
    found = refusal(lambda: logs(query))
    assert found[0] == code
    assert message in found[1]


@pytest.mark.parametrize(
    ("manager", "whys"),
    [
        ("a\tb", ["invalid character U+0009 (at position 1)"]),
        ("é\n\x7f", ["invalid character U+000A (at position 2)", "invalid character U+007F (at position 3)"]),
        ("plain é ✓", []),
    ],
)
def test_names_of_managers_are_printable(manager: str, whys: list[str]) -> None:
    if not whys:
        assert options.update_options({"fieldManager": [manager]}).field_manager == manager
        return
    with pytest.raises(ApiError) as caught:
        options.update_options({"fieldManager": [manager]})
    causes = (caught.value.details or {})["causes"]
    assert [cause["message"].rpartition(": ")[2] for cause in causes] == whys
