"""Annotations that steer the simulation, as somebody with kubectl meets them."""

import pytest

from kube32_sim.api.steering import FAULT_FORMS
from tests.support.waiting import until

SERVER = "sim.kube32.io/run-secs is unknown on a Pod; there are: sim.kube32.io/run-seconds, "


def test_a_misspelt_annotation_is_told_at_once_and_by_an_event(kubectl):
    made = kubectl.run("run", "p", "--image=i", "--annotations=sim.kube32.io/run-secs=1")
    assert made.stderr.startswith(f"Warning: annotation {SERVER}")
    until(lambda: SERVER in kubectl("events", "--for=pod/p"), "an event about the annotation")
    changed = kubectl.run("annotate", "pod", "p", "sim.kube32.io/run-secs-", "sim.kube32.io/exit-code=ok")
    assert changed.stderr == ("Warning: annotation sim.kube32.io/exit-code is no exit code between 0 and 255: 'ok'\n")


def test_what_never_ends_is_told(kubectl):
    """As `kubectl create job` and `helm test` would wait for it for ever."""
    endless = "Warning: sim.kube32.io/run-seconds is not set: the containers run until the pod is deleted\n"
    assert kubectl.run("run", "p", "--image=i", "--restart=Never").stderr == endless
    assert kubectl.run("label", "pod", "p", "a=b").stderr == ""
    assert kubectl.run("run", "q", "--image=i").stderr == ""
    of_template = kubectl.run("create", "job", "j", "--image=i", "--dry-run=server").stderr
    assert of_template.startswith(
        "Warning: spec.template.metadata.annotations: sim.kube32.io/run-seconds is not set: the Job's pods run "
    )


def test_a_fault_that_there_is_not_is_told(kubectl):
    answer = kubectl.run("annotate", "node", "esp32-1", "sim.kube32.io/fault=broken")
    try:
        complaint = f"annotation sim.kube32.io/fault is none of {FAULT_FORMS}: 'broken'"
        assert answer.stderr == f"Warning: {complaint}\n"
        until(lambda: complaint in kubectl("events", "--for=node/esp32-1", "-n", "default"), "an event about it")
    finally:
        kubectl("annotate", "node", "esp32-1", "sim.kube32.io/fault-")


REFUSED = "attach is not supported: pod p is simulated, nothing runs in it"


@pytest.mark.parametrize("restart", ["Never", "OnFailure", "Always"])
def test_run_with_input_ends_with_the_refusal(kubectl, restart):
    done = kubectl.run("run", "p", "--rm", "-i", "--image=i", f"--restart={restart}", "--", "echo", "hi")
    assert done.returncode == 0
    assert REFUSED in done.stderr
    assert 'pod "p" deleted' in done.stdout
    assert kubectl("get", "pods", "-o", "name") == ""


def test_who_attaches_is_told_how_to_end_it(kubectl):
    command = ("run", "p", "--attach", "--rm", "--image=i", "--restart=Never")
    with kubectl.streaming(*command) as lines:
        lines.wait_for(
            lambda line: REFUSED in line and "sim.kube32.io/run-seconds says when it ends" in line, "refusal"
        )
        kubectl("annotate", "pod", "p", "sim.kube32.io/run-seconds=0", "sim.kube32.io/exit-code=3")
        lines.wait_for(lambda line: "terminated (Error)" in line, "end")
