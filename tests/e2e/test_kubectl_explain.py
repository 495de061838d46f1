"""kubectl explain, in all its forms, and for every kind there is."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.discovery import groups_in_order
from tests.support.kubectl import Kubectl
from tests.support.text import section

OLD_FORM = ("--output", "plaintext-openapiv2")
KINDS = sorted((row.plural, row.api_version, row.kind) for row in builtin_table())


def test_every_kind_with_all_its_fields(kubectl: Kubectl) -> None:
    def explained(kind: tuple[str, str, str]) -> str:
        plural, version, _ = kind
        return kubectl.quietly("explain", plural, f"--api-version={version}", "--recursive")

    with ThreadPoolExecutor(2) as pool:
        for (_, version, kind), text in zip(KINDS, pool.map(explained, KINDS), strict=True):
            assert section(text, "KIND").strip() == kind
            assert section(text, "VERSION").strip() == version.rpartition("/")[2]
            assert section(text, "DESCRIPTION").strip()
            assert "  apiVersion\t<string>" in text


def test_a_kind_of_every_group_in_the_old_form(kubectl: Kubectl) -> None:
    table = builtin_table()
    for group, versions in groups_in_order(table).items():
        row = table.rows(group, versions[0])[-1]
        text = kubectl.quietly("explain", row.plural, f"--api-version={row.api_version}", "--recursive", *OLD_FORM)
        assert text.startswith(f"KIND:     {row.kind}\nVERSION:  {row.api_version}\n"), row
        assert "\n   metadata\t<Object>\n" in text


def test_a_field_of_fixed_values(kubectl: Kubectl) -> None:
    text = kubectl("explain", "pod.spec.restartPolicy")
    assert "FIELD: restartPolicy <string>\nENUM:\n    Always\n    Never\n    OnFailure\n" in text
    assert 'Possible enum values:\n     - `"Always"`' in text
    assert '- `"OnFailure"`' in kubectl("explain", "pod.spec.restartPolicy", *OLD_FORM)


def test_fields_deep_within(kubectl: Kubectl) -> None:
    text = kubectl("explain", "deployment.spec.template.spec.containers.resources.limits")
    assert "FIELD: limits <map[string]Quantity>" in text
    assert "FIELD: metadata <ObjectMeta>" in kubectl("explain", "cm.metadata")
    assert "port\t<integer> -required-" in kubectl("explain", "service.spec.ports")
    assert "schedule\t<string> -required-" in kubectl("explain", "cronjob.spec")
    assert "fieldsV1\t<FieldsV1>" in kubectl("explain", "pod.metadata.managedFields")


def test_another_version(kubectl: Kubectl) -> None:
    old = kubectl("explain", "hpa.spec", "--api-version=autoscaling/v1")
    assert "targetCPUUtilizationPercentage" in old
    assert "metrics" in kubectl("explain", "hpa.spec")
    error = kubectl.fails("explain", "hpa", "--api-version=autoscaling/v9")
    assert error == 'error: couldn\'t find resource for "autoscaling/v9, Resource=horizontalpodautoscalers"\n'


@pytest.mark.parametrize("form", [(), OLD_FORM])
@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("pod.spec.nope", 'error: field "nope" does not exist'),
        ("nosuch", 'the server doesn\'t have a resource type "nosuch"'),
    ],
)
def test_what_there_is_not(kubectl: Kubectl, path: str, message: str, form: tuple[str, ...]) -> None:
    assert kubectl.fails("explain", path, *form).strip().endswith(message)
