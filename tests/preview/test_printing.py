"""Tables as kubectl prints them, the verdicts below them, and the object that programs read."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
import yaml

from kube32_sim.preview.placements import Placement, Verdict, Victim, WantedPod
from kube32_sim.preview.printing import OUTPUTS, render

SCORED = ("memory", "esp32.io/gpio")
TAINT = Verdict("s3", "node(s) had untolerated taint(s)", detail="board=s3:NoSchedule")


def wanted(name: str, namespace: str = "default", owner: str = "") -> WantedPod:
    return WantedPod({"metadata": {"name": name, "namespace": namespace}}, owner)


def placed(
    name: str,
    node: str,
    score: int | None = 81,
    *,
    namespace: str = "default",
    owner: str = "",
    tied: tuple[str, ...] = (),
    victims: tuple[Victim, ...] = (),
    verdicts: tuple[Verdict, ...] = (),
) -> Placement:
    pod = wanted(name, namespace, owner)
    message = f"Successfully assigned {namespace}/{name} to {node}"
    return Placement(pod, node, score, message, tied, victims, verdicts)


def unplaced(name: str, message: str, verdicts: tuple[Verdict, ...] = ()) -> Placement:
    return Placement(wanted(name), "", None, message, verdicts=verdicts)


def feasible(node: str, score: int, *left: int) -> Verdict:
    return Verdict(node, score=score, percentages=tuple(zip(SCORED, left, strict=True)))


def lines(placements: Sequence[Placement], output: str = "table") -> list[str]:
    text = render(placements, "kube32", output)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    return text[:-1].split("\n")


def message_of(placement: Placement) -> str:
    """The last column of the only row."""
    heading, row = lines([placement])
    return row[heading.index("MESSAGE") :]


def test_a_row_a_pod_aligned_three_spaces_apart() -> None:
    assert lines(
        [
            placed("web-0", "esp32-kitchen", tied=("esp32-kitchen", "esp32-porch")),
            placed("web-10", "esp32-porch", 7),
            unplaced("camera", "0/2 nodes are available: 2 Insufficient esp32.io/psram."),
        ]
    ) == [
        "POD      NODE            SCORE    MESSAGE",
        "web-0    esp32-kitchen   81       tied with esp32-porch, first by name",
        "web-10   esp32-porch     7",
        "camera   <none>          <none>   0/2 nodes are available: 2 Insufficient esp32.io/psram.",
    ]


def test_the_namespace_comes_first_where_there_are_several() -> None:
    assert lines([placed("a", "n1"), placed("b", "n1", namespace="kube-system")]) == [
        "NAMESPACE     POD   NODE   SCORE   MESSAGE",
        "default       a     n1     81",
        "kube-system   b     n1     81",
    ]


def test_every_pod_of_many_has_its_row() -> None:
    assert len(lines([placed(f"web-{i}", "n1") for i in range(200)])) == 201


def test_no_pods_are_headings_alone() -> None:
    assert lines([]) == lines([], "wide") == ["POD   NODE   SCORE   MESSAGE"]


def test_a_node_freed_by_evictions_has_no_score_and_tells_where_the_victims_go() -> None:
    victims = (Victim("default/low-a", 0, "n2"), Victim("default/low-b", -5))
    assert lines([placed("urgent", "n1", None, victims=victims)])[1] == (
        "urgent   n1     <none>   evicts 2: default/low-a (to n2), default/low-b (pending)"
    )


def test_a_message_names_a_few_and_counts_the_rest() -> None:
    nodes = tuple(f"n{i}" for i in range(1, 41))
    assert message_of(placed("web", "n1", tied=nodes)) == "tied with n2, n3, n4 and 36 more, first by name"
    assert message_of(placed("web", "n1", tied=nodes[:5])) == "tied with n2, n3, n4, n5, first by name"
    victims = tuple(Victim(f"a/p{i}", 0) for i in range(5))
    assert message_of(placed("web", "n1", victims=victims)) == (
        "evicts 5: a/p0 (pending), a/p1 (pending), a/p2 (pending) and 2 more"
    )


def test_what_is_special_about_a_placed_pod_is_told() -> None:
    assert message_of(Placement(wanted("web"), "n1", None, "spec.nodeName is set")) == "spec.nodeName is set"
    assert message_of(Placement(wanted("web"), "n1", 1, "", ("n1", "n2"))) == "tied with n2, first by name"


def test_wide_has_a_block_a_pod_with_the_chosen_node_marked() -> None:
    first = (feasible("esp32-1", 88, 93, 84), feasible("esp32-2", 88, 93, 84), feasible("esp32-3", 9, 9, 10), TAINT)
    short = Verdict("esp32-1", "Insufficient memory", detail="1Mi asked, 12Ki free")
    printed = lines(
        [
            placed("web-0", "esp32-1", 88, owner="Deployment/web", tied=("esp32-1", "esp32-2"), verdicts=first),
            unplaced("big", "0/2 nodes are available.", (short, TAINT)),
            Placement(wanted("pinned"), "esp32-1", None, "spec.nodeName is set"),
        ],
        "wide",
    )
    assert printed[:5] == [
        "POD      NODE      SCORE    MESSAGE",
        "web-0    esp32-1   88       tied with esp32-2, first by name",
        "big      <none>    <none>   0/2 nodes are available.",
        "pinned   esp32-1   <none>   spec.nodeName is set",
        "",
    ]
    assert printed[5:] == [
        "default/web-0 (Deployment/web): esp32-1",
        "  NODE      SCORE   MEMORY%   ESP32.IO/GPIO%   REASON",
        "* esp32-1   88      93        84               first by name of 2 tied",
        "  esp32-2   88      93        84               tied",
        "  esp32-3   9       9         10",
        "  s3        -       -         -                node(s) had untolerated taint(s): board=s3:NoSchedule",
        "",
        "default/big: no node",
        "  NODE      SCORE   REASON",
        "  esp32-1   -       Insufficient memory: 1Mi asked, 12Ki free",
        "  s3        -       node(s) had untolerated taint(s): board=s3:NoSchedule",
    ]


def test_wide_tells_of_victims_and_of_the_node_they_free() -> None:
    victims = (Victim("default/low-a", 0, "n2"), Victim("default/low-b", -5))
    verdicts = (Verdict("n1", "Insufficient cpu", detail="500m asked, 0 free"), Verdict("n2", "Insufficient cpu"))
    assert lines([placed("urgent", "n1", None, victims=victims, verdicts=verdicts)], "wide")[3:] == [
        "default/urgent: n1",
        "  NODE   SCORE   REASON",
        "* n1     -       Insufficient cpu: 500m asked, 0 free; fits after evicting 2",
        "  n2     -       Insufficient cpu",
        "  EVICTED         PRIORITY   NODE",
        "  default/low-a   0          n2",
        "  default/low-b   -5         <pending>",
    ]


HOSTILE = "a\nb\r\t\x00\x1b[2J\x9b31m\x7f\u202e\u2028\ud800"
ESCAPED = r"a\nb\r\t\x00\x1b[2J\x9b31m\x7f\u202e\u2028\ud800"


def hostile() -> Placement:
    verdicts = (Verdict(HOSTILE, HOSTILE, detail=HOSTILE), Verdict("n", score=1, percentages=((HOSTILE, 1),)))
    victims = (Victim(HOSTILE, 0, HOSTILE),)
    pod = WantedPod({"metadata": {"name": HOSTILE, "namespace": HOSTILE}}, HOSTILE)
    return Placement(pod, HOSTILE, 1, HOSTILE, (HOSTILE, "n"), victims, verdicts)


@pytest.mark.parametrize("output", OUTPUTS)
def test_nothing_from_outside_reaches_the_terminal_as_a_command(output: str) -> None:
    text = render([hostile(), unplaced("web", HOSTILE)], "kestrel", output)
    assert text.replace("\n", "").isprintable()


def test_what_does_not_print_is_escaped_and_stays_on_its_line() -> None:
    table = lines([hostile(), unplaced("web", HOSTILE)])
    assert len(table) == 3
    assert table[1].startswith(f"{ESCAPED}   {ESCAPED}   {ESCAPED}   1 ")
    assert table[2].endswith(f"   <none>   {ESCAPED}")
    wide = lines([hostile()], "wide")
    assert wide[3] == f"{ESCAPED}/{ESCAPED} ({ESCAPED}): {ESCAPED}"
    assert len(wide) == 9


def test_wide_and_combining_characters_keep_the_columns() -> None:
    table = lines(
        [placed("温度", "n1"), placed("e\u0301te\u0301", "n2"), placed("abcd", "n3"), placed("❤\ufe0f", "n4")]
    )
    assert table[1:] == [
        "温度   n1     81",
        "e\u0301te\u0301    n2     81",
        "abcd   n3     81",
        "❤\ufe0f      n4     81",
    ]


def full() -> list[Placement]:
    verdicts = (feasible("esp32-1", 88, 93, 84), TAINT)
    return [
        placed(
            "web-0",
            "esp32-1",
            88,
            owner="Deployment/web",
            tied=("esp32-1", "esp32-2"),
            victims=(Victim("default/low-a", 0, "esp32-2"), Victim("default/low-b", -5)),
            verdicts=verdicts,
        ),
        unplaced("camera", "0/2 nodes are available."),
    ]


DOCUMENT = """\
apiVersion: sim.kube32.io/v1alpha1
kind: SchedulingPreview
spec:
  profile: kube32
status:
  placements:
  - pod: web-0
    namespace: default
    owner: Deployment/web
    node: esp32-1
    score: 88
    message: Successfully assigned default/web-0 to esp32-1
    tieBreak:
    - esp32-1
    - esp32-2
    victims:
    - pod: default/low-a
      priority: 0
      node: esp32-2
    - pod: default/low-b
      priority: -5
      node: null
      phase: Pending
    nodes:
    - name: esp32-1
      feasible: true
      reason: ''
      score: 88
      percentages:
        memory: 93
        esp32.io/gpio: 84
    - name: s3
      feasible: false
      reason: node(s) had untolerated taint(s)
      score: null
      detail: board=s3:NoSchedule
  - pod: camera
    namespace: default
    node: null
    score: null
    message: 0/2 nodes are available.
"""


def test_yaml_is_one_object_in_block_style() -> None:
    assert render(full(), "kube32", "yaml") == DOCUMENT


def test_json_is_the_same_object_indented_by_four() -> None:
    text = render(full(), "kube32", "json")
    assert text.startswith('{\n    "apiVersion": "sim.kube32.io/v1alpha1",\n    "kind": "SchedulingPreview",\n')
    assert text.endswith("\n}\n")
    # The order of keys counts.
    assert json.dumps(json.loads(text)) == json.dumps(yaml.safe_load(DOCUMENT))


def test_json_and_yaml_keep_what_they_are_given() -> None:
    message = "'x'\n\x1b[2J\u202e 温度: é # " + "long " * 100 + "end"
    for read, output in ((json.loads, "json"), (yaml.safe_load, "yaml")):
        (answer,) = read(render([unplaced("web", message)], "kube32", output))["status"]["placements"]
        assert answer["message"] == message


def test_yaml_does_not_fold_long_messages() -> None:
    message = "0/9 nodes are available, " + "and more of it, " * 20 + "at last"
    assert f"    message: {message}\n" in render([unplaced("web", message)], "kube32", "yaml")


@pytest.mark.parametrize(
    "name", ["true", "null", "12", "08", "0o7", "0x1f", "1e3", ".5", "-1", "1_0", "12:30", "y", "N"]
)
def test_strings_that_a_reader_may_take_for_something_else_are_quoted(name: str) -> None:
    assert f"node: '{name}'\n" in render([placed("web", name)], "kube32", "yaml")


def test_an_object_used_twice_is_written_twice() -> None:
    verdicts = (feasible("n1", 88, 93, 84),)
    text = render([placed("a", "n1", verdicts=verdicts), placed("b", "n1", verdicts=verdicts)], "kube32", "yaml")
    assert "&" not in text


def test_a_note_stands_in_the_row_in_the_block_and_in_the_object() -> None:
    refused = replace(placed("a", "n1", verdicts=(feasible("n1", 50, 50, 50), feasible("n2", 40, 40, 40))), note="no!")
    gone = replace(unplaced("b", "Preempted", (feasible("n1", 50, 50, 50),)), note="evicted from n1")
    text = "\n".join(lines([refused, gone], "wide"))
    assert text.count("no!") == 2
    assert "default/b: no node (evicted from n1)" in text
    found = json.loads(render([refused, gone], "kube32", "json"))["status"]["placements"]
    assert [one["note"] for one in found] == ["no!", "evicted from n1"]
