"""Entries of audit logs: ours, and those of a real server."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube32_sim.recording.audit import Entry, NoEntry, from_json, to_json

REAL = {
    "kind": "Event",
    "apiVersion": "audit.k8s.io/v1",
    "level": "RequestResponse",
    "auditID": "5a1",
    "stage": "ResponseComplete",
    "requestURI": "/api/v1/namespaces/default/pods",
    "verb": "create",
    "user": {"username": "ada", "groups": ["system:authenticated"]},
    "sourceIPs": ["10.1.2.3"],
    "userAgent": "kubectl/v1.36.0 (linux/amd64) kubernetes/abc",
    "objectRef": {"resource": "pods", "namespace": "default", "apiVersion": "v1"},
    "responseStatus": {"metadata": {}, "code": 201},
    "requestObject": {"kind": "Pod", "apiVersion": "v1", "metadata": {"generateName": "web-"}},
    "responseObject": {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "web-x7k2p"}},
    "requestReceivedTimestamp": "2026-03-01T10:00:00.250000Z",
    "stageTimestamp": "2026-03-01T10:00:00.260000Z",
}


@given(
    time=st.integers(0, 4 * 10**9).map(float),
    verb=st.sampled_from(["create", "update", "patch", "delete", "deletecollection"]),
    body=st.one_of(st.none(), st.dictionaries(st.text(), st.text())),
    code=st.sampled_from([200, 201, 409, 422]),
    made=st.text(),
    revision=st.integers(0, 10**9),
)
def test_what_is_written_is_read_back(
    time: float, verb: str, body: dict[str, str] | None, code: int, made: str, revision: int
) -> None:
    uri, user = "/api/v1/namespaces/a/pods/b?fieldManager=x", {"username": "ada"}
    entry = Entry(time, verb, uri, user, "kubectl/1", body, "application/json", code, made, revision, "u")
    assert from_json(to_json(entry)) == entry


def test_a_real_servers_entry() -> None:
    entry = from_json(REAL)
    assert entry is not None
    assert (entry.verb, entry.path, entry.code, entry.made) == (
        "create",
        "/api/v1/namespaces/default/pods",
        201,
        "web-x7k2p",
    )
    assert entry.body["metadata"] == {"generateName": "web-"}
    assert entry.time == 1772359200.25
    assert entry.done


@pytest.mark.parametrize("change", [{"stage": "RequestReceived"}, {"verb": "list"}, {"verb": "watch"}])
def test_what_is_no_finished_write_is_passed_over(change: dict[str, str]) -> None:
    assert from_json({**REAL, **change}) is None


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"requestURI": 7}, "requestURI"),
        ({"requestURI": "pods"}, "requestURI"),
        ({"requestReceivedTimestamp": "yesterday"}, "requestReceivedTimestamp"),
        ({"annotations": []}, None),
        ({"annotations": ["x"]}, "annotations"),
        ({"user": "ada"}, "user"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, object], field: str | None) -> None:
    if field is None:
        assert from_json({**REAL, **change}) is not None
        return
    with pytest.raises(NoEntry, match=f"^{field}: "):
        from_json({**REAL, **change})


@pytest.mark.parametrize(
    ("uri", "body", "kind"),
    [
        ("/api/v1/namespaces/a/pods/b", [{"op": "remove", "path": "/x"}], "json-patch+json"),
        ("/api/v1/namespaces/a/pods/b", {"spec": {}}, "strategic-merge-patch+json"),
        ("/apis/apps/v1/namespaces/a/deployments/b/scale", {"spec": {}}, "strategic-merge-patch+json"),
        ("/apis/batch/v1/namespaces/a/jobs/b", {"spec": {}}, "strategic-merge-patch+json"),
        ("/apis/example.org/v1/namespaces/a/things/b", {"spec": {}}, "merge-patch+json"),
        (
            "/api/v1/namespaces/a/pods/b?fieldManager=kubectl&force=true",
            {"apiVersion": "v1", "kind": "Pod"},
            "apply-patch+yaml",
        ),
    ],
)
def test_how_a_patch_of_a_real_log_is_meant(uri: str, body: object, kind: str) -> None:
    entry = from_json({**REAL, "verb": "patch", "requestURI": uri, "requestObject": body})
    assert entry is not None
    assert entry.content_type == f"application/{kind}"
