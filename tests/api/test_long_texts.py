"""Texts of a megabyte, which everybody waits for while one is read: a check that tries all ways would never be done."""

from __future__ import annotations

from base64 import b64encode

from pod_objects import refused

from kube32_sim.api.policies.expressions import Scope
from kube32_sim.api.validation.config_data import secret_warnings
from kube32_sim.api.validation.pod_disks import BAD_INITIATOR
from kube32_sim.api.validation.pod_env import validate_env


def test_names_of_initiators_without_an_end() -> None:
    source = {"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.a" * 80_000, "lun": 1}
    assert BAD_INITIATOR in refused(volumes=[{"name": "v", "iscsi": source}])[0]


def test_blocks_of_a_certificate_without_an_end() -> None:
    data = {"tls.crt": b64encode(b"-----BEGIN A-----\n" * 60_000).decode(), "tls.key": ""}
    assert "failed to find any PEM data" in secret_warnings({"type": "kubernetes.io/tls", "data": data})[0]


def test_blocks_of_a_certificate_inside_others() -> None:
    lines = ("BEGIN A", "BEGIN B", "END A", "BEGIN B", "END B", "BEGIN C")
    data = {"tls.crt": b64encode("\n".join(f"-----{line}-----" for line in lines).encode()).decode()}
    assert "following types: [A B]" in secret_warnings({"type": "kubernetes.io/tls", "data": data})[0]


def test_subscripts_without_an_end() -> None:
    variable = {"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "['.']" * 200_000 + "!"}}}
    (failure,) = validate_env([variable], "env")
    assert "field label not supported" in str(failure)


def test_the_key_of_a_subscript_begins_at_the_first_bracket() -> None:
    variable = {"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels['a['b']"}}}
    (failure, *_) = validate_env([variable], "env")
    assert "a['b" in str(failure)
    assert "does not support subscript" not in str(failure)


def test_expressions_of_long_words_and_gaps() -> None:
    scope = Scope(composed=True)
    assert "undeclared reference to 'x'" in scope.compile(f"'{'a' * 90_000}!' == x.y").fault
    assert scope.compile("variables." + " " * 90_000 + "?").fault
