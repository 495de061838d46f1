"""kubectl apply --server-side of each version: who manages which field, conflicts, and objects that move over."""

from __future__ import annotations

import json
import re

from tests.support.kubectl import Kubectl
from tests.support.manifests import MISTAKEN, SETTINGS, WEB


def apply_on_server(kubectl: Kubectl, manifest: str, *options: str) -> str:
    return kubectl.quietly("apply", "--server-side", *options, "-f", "-", stdin=manifest)


def test_apply_on_the_server(kubectl):
    for _ in range(2):
        assert apply_on_server(kubectl, WEB) == "deployment.apps/web serverside-applied\n"
    shown = json.loads(kubectl.quietly("get", "deploy/web", "-o", "json", "--show-managed-fields"))
    mine = [entry for entry in shown["metadata"]["managedFields"] if entry["operation"] == "Apply"]
    assert [entry["manager"] for entry in mine] == ["kubectl"]
    env = mine[0]["fieldsV1"]["f:spec"]["f:template"]["f:spec"]["f:containers"]['k:{"name":"web"}']["f:env"]
    assert set(env) == {'k:{"name":"A"}', 'k:{"name":"B"}'}

    other = WEB.replace("web:1", "web:2")
    error = kubectl.fails("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=other)
    assert 'conflict with "kubectl": .spec.template.spec.containers[name="web"].image' in error
    assert "--force-conflicts" in error
    apply_on_server(kubectl, other, "--field-manager=other", "--force-conflicts")
    assert 'conflict with "other"' in kubectl.fails("apply", "--server-side", "-f", "-", stdin=WEB)

    apply_on_server(kubectl, other.replace(', {name: B, value: "2"}', ""), "--field-manager=other")
    both = kubectl.quietly("get", "deploy/web", "-o", "jsonpath={.spec.template.spec.containers[0].env[*].name}")
    assert both == "A B"  # the first one still wants it
    apply_on_server(kubectl, other.replace(', {name: B, value: "2"}', ""))
    one = kubectl.quietly("get", "deploy/web", "-o", "jsonpath={.spec.template.spec.containers[0].env[*].name}")
    assert one == "A"
    assert apply_on_server(kubectl, SETTINGS, "--dry-run=server").endswith("(server dry run)\n")
    assert kubectl.quietly("get", "cm/settings", "--ignore-not-found") == ""


def test_an_applied_object_moves_to_the_server(kubectl):
    kubectl.quietly("apply", "-f", "-", stdin=SETTINGS)
    apply_on_server(kubectl, SETTINGS.replace(', b: "2"', ""))
    data = json.loads(kubectl.quietly("get", "cm/settings", "-o", "json"))["data"]
    found = kubectl.quietly("get", "cm/settings", "-o", "json", "--show-managed-fields")
    managers = {entry["manager"]: entry["operation"] for entry in json.loads(found)["metadata"]["managedFields"]}
    assert managers.pop("kubectl") == "Apply"
    if kubectl.minor < 26:  # it leaves what it managed before as it was, so nobody lets go of b
        assert data == {"a": "1", "b": "2"}
        assert managers == {"kubectl-client-side-apply": "Update"}
    else:
        assert data == {"a": "1"}
        assert managers == {"kubectl-last-applied": "Apply"}


def test_what_no_schema_knows_is_refused(kubectl):
    error = kubectl.fails("apply", "--server-side", "-f", "-", stdin=MISTAKEN)
    assert '.spec.containers[name="a"].imag: field not declared in schema' in error


def test_diff_with_the_server(kubectl):
    apply_on_server(kubectl, WEB)
    done = kubectl.run("diff", "--server-side", "-f", "-", stdin=WEB.replace("web:1", "web:2"))
    assert (done.returncode, done.stderr) == (1, ""), done
    changed = [line[1:].strip(" -") for line in done.stdout.splitlines() if re.match(r"[-+] .*image: ", line)]
    assert changed == ["image: web:1", "image: web:2"]
    assert kubectl.quietly("diff", "--server-side", "-f", "-", stdin=WEB) == ""
