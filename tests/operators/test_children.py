"""What becomes of an operator's children with the manifests of docs/examples."""

from __future__ import annotations

import json
from typing import Any

from tests.support.kubectl import Kubectl
from tests.support.servers import CLONE

END = "sim.kube32.io/run-seconds"
POLICY = str(CLONE / "docs/examples/jobs-end.yaml")


def job(name: str, **metadata: Any) -> str:
    template = {
        "metadata": metadata,
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i:1"}]},
    }
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": template}}
    return json.dumps(body)


def test_jobs_end_that_do_not_say_so(admin: Kubectl) -> None:
    """And nobody is warned that they do not; what a Job says itself stays."""
    admin("apply", "-f", POLICY)
    said: dict[str, dict[str, Any]] = {
        "plain": {},
        "named": {"annotations": {"a": "b"}},
        "slow": {"annotations": {END: "7"}},
    }
    bodies = "\n---\n".join(job(name, **metadata) for name, metadata in said.items())
    shown = "-o=jsonpath={.spec.template.metadata.annotations}{'\\n'}"
    made = admin.quietly("create", "-f", "-", "--dry-run=server", shown, stdin=bodies)
    admin("delete", "-f", POLICY)
    assert [json.loads(line) for line in made.splitlines()] == [{END: "2"}, {"a": "b", END: "2"}, {END: "7"}]
