"""docs/compatibility.md is what its command writes, and what it tells is so."""

from __future__ import annotations

from collections import Counter

import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.idle import IDLE
from tests.conformance.acting import ACTED_ON, ANSWERED, DATA, SILENT
from tests.conformance.compatibility import PAGE, key_of, page
from tests.conformance.refusals import REFUSALS
from tests.support.http import Http
from tests.support.waiting import until


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tests.conformance.compatibility"


def test_of_every_type_it_is_told_what_acts_on_it() -> None:
    counted = Counter(key for tables in (ACTED_ON, ANSWERED, DATA, SILENT, IDLE) for key in tables)
    assert [key for key, times in counted.items() if times > 1] == []
    assert counted.keys() == {key_of(row) for row in builtin_table().rows()}


def test_answered_is_what_is_not_stored() -> None:
    assert ANSWERED.keys() == {key_of(row) for row in builtin_table().rows() if not row.stored}


POD = {"metadata": {"name": "it", "labels": {"app": "it"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
SERVICE = {"metadata": {"name": "it"}, "spec": {"selector": {"app": "it"}, "ports": [{"port": 80}]}}


@pytest.fixture
def placeholders(http: Http, namespace: str) -> dict[str, str]:
    """A namespace with what the refused requests are about."""
    http.post(f"/api/v1/namespaces/{namespace}/services", SERVICE)
    pods = f"/api/v1/namespaces/{namespace}/pods"
    bound = http.post(pods, POD)
    until(lambda: http.get(f"{pods}/it")["status"].get("podIP"), "the pod has an address")
    return {"namespace": namespace, "node": bound["spec"]["nodeName"]}


def test_what_is_refused(http: Http, placeholders: dict[str, str]) -> None:
    told = {it.what: (it.status, it.message.format(**placeholders)) for it in REFUSALS}
    answers = {it.what: http.request(it.method, it.path.format(**placeholders), it.body, it.headers) for it in REFUSALS}
    assert {
        what: (status, (answer if isinstance(answer, str) else answer["message"])[: len(told[what][1])])
        for what, (status, answer) in answers.items()
    } == told
