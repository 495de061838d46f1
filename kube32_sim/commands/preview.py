"""`kube32-sim preview`: arguments in, an answer on stdout."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kube32_sim.commands import preview_questions
from kube32_sim.options import OptionError
from kube32_sim.preview.placements import ClusterState, Placement, PreviewError
from kube32_sim.terminal import tell

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


MOST_DIGITS = 100_000
"""Of a number in a file of operations: to read one takes time that grows with the square."""
DEFAULT_NAMESPACE = "default"


def run(parsed: argparse.Namespace) -> int:
    """The exit code: 0 answered, 1 with `--verify` where a cluster does otherwise.

    PreviewError and KubeconfigError where there is no answer, OptionError where options do not go together.
    """
    if preview_questions.asked(parsed):
        preview_questions.check_options(parsed)
        return preview_questions.run(parsed)
    check_options(parsed)
    return replay(parsed) if parsed.operations else place(parsed)


def check_options(parsed: argparse.Namespace) -> None:
    if parsed.operations:
        _check_replay(parsed)
    elif not parsed.filename:
        raise OptionError("what to preview? -f names manifests, --explain a pod, --operations a file of operations")
    elif parsed.nodes == "-" and "-" in parsed.filename:
        raise OptionError("-f - and --nodes -: only one of them can be read from standard input")
    elif parsed.limit < 0:
        raise OptionError(f"--limit {parsed.limit}: how many nodes to tell of, from 1; 0: all")
    elif parsed.limit and parsed.output in (None, "table"):
        raise OptionError("--limit: a table tells of no nodes; -o wide, json and yaml do")


def _check_replay(parsed: argparse.Namespace) -> None:
    empty = "a replay starts from an empty cluster"
    for option, given, why in (
        ("-f", parsed.filename, "a replay says itself which pods there are"),
        ("-n", parsed.namespace, "Kestrel's pods are in no namespaces"),
        ("--server", parsed.server, empty),
        ("--kubeconfig", parsed.kubeconfig, empty),
        ("--nodes", parsed.nodes, empty),
        ("--limit", parsed.limit, "results tell of no nodes"),
        ("--verify", parsed.verify, "only what the simulator's scheduler would do can be verified"),
        ("--profile kube32", parsed.profile == "kube32", "operations are Kestrel's own"),
    ):
        if given:
            raise OptionError(f"{option} does not go with --operations: {why}")
    if parsed.output in ("table", "wide"):
        raise OptionError(f"-o {parsed.output} does not go with --operations: results are json or yaml")


def answer(text: str) -> None:
    if sys.stdout is None:
        raise PreviewError("standard output is closed: there is nowhere to answer to")
    sys.stdout.write(text)


# --operations


def replay(parsed: argparse.Namespace) -> int:
    from kube32_sim.kestrel.operations import run, size

    operations = read_operations(parsed.operations)
    with _progress(size(operations), "operations") as progress:
        results = run(operations, progress)
    if parsed.output == "yaml":
        import yaml

        answer(yaml.safe_dump(results, sort_keys=False))
    else:
        answer(json.dumps(results) + "\n")
    return 0


def read_operations(path: str) -> list[Any]:
    """A JSON list from a file, or from stdin for `-`."""
    sys.set_int_max_str_digits(MOST_DIGITS)
    try:
        operations = json.loads(_read(path))
    except OSError as error:
        raise PreviewError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PreviewError(f"{path} is not UTF-8") from None
    except RecursionError:
        raise PreviewError(f"{path} is nested too deeply") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise PreviewError(f"{path} is not JSON: {error.msg} ({where})") from None
    except ValueError:
        raise PreviewError(f"{path}: a number has more than {MOST_DIGITS} digits") from None
    if not isinstance(operations, list):
        raise PreviewError(f'{path}: not a list of operations, such as [["pending"]]')
    return operations


def _read(path: str) -> str:
    if path != "-":
        return Path(path).read_text(encoding="utf-8")
    if sys.stdin is None:
        raise PreviewError("standard input is closed")
    return sys.stdin.buffer.read().decode("utf-8")


# -f


def place(parsed: argparse.Namespace) -> int:
    from kube32_sim.preview.manifests import read_manifests
    from kube32_sim.preview.placing import MOST_VERDICTS, made_by_nobody, make_placer, place_all
    from kube32_sim.preview.printing import render
    from kube32_sim.preview.workloads import wanted_pods

    state, namespace = read_state(parsed)
    manifests = read_manifests(parsed.filename, parsed.namespace or namespace)
    profile = parsed.profile or "kube32"
    wanted, state = wanted_pods(manifests, state, of_kubernetes=profile == "kestrel")
    placer = make_placer(profile, state, wanted)
    output = parsed.output or "table"
    told = min(len(state.nodes), parsed.limit or len(state.nodes))
    if output != "table" and len(wanted) * told > MOST_VERDICTS:
        size = f"{len(wanted)} pods on {told} nodes"
        cure = "use -o table, or --limit"
        raise PreviewError(f"-o {output} tells what each node says of each pod, too much for {size}: {cure}")
    with _progress(len(wanted), "pods") as progress:
        placements = place_all(placer, wanted, details=output != "table", limit=parsed.limit, progress=progress)
    for warning in dict.fromkeys((*state.warnings, *made_by_nobody(wanted, profile), *placer.warnings)):
        tell(f"Warning: {warning}")
    answer(render(placements, placer.profile, output))
    return verify(placements, state, profile) if parsed.verify else 0


def read_state(parsed: argparse.Namespace) -> tuple[ClusterState, str]:
    """(what there is, the namespace that manifests are in unless they say so)."""
    if parsed.nodes:
        from kube32_sim.preview.state import read_file

        return read_file(parsed.nodes), DEFAULT_NAMESPACE
    from kube32_sim.kubeconfig import find_access
    from kube32_sim.preview.state import read_cluster

    access = find_access(parsed.server, parsed.kubeconfig)
    return _wait(read_cluster(access)), access.namespace or DEFAULT_NAMESPACE


def verify(placements: Sequence[Placement], state: ClusterState, profile: str) -> int:
    from kube32_sim.commands.verify import differences

    if sys.stdout is not None:
        sys.stdout.flush()  # what has been answered need not wait for the trial
    found = _wait(differences(placements, state, profile))
    for line in found:
        tell(f"differs: {line}")
    count = len(placements)
    if found:
        tell(f"kube32-sim: {len(found)} of {count} pods fare otherwise than previewed")
        return 1
    pods = "the pod fares" if count == 1 else f"all {count} pods fare"
    tell(f"verified: created one by one in a simulator of this state, without boards, {pods} as previewed")
    return 0


def _wait(work: Coroutine[Any, Any, Any]) -> Any:
    import asyncio  # takes a while, and a replay needs none

    return asyncio.run(work)


def _progress(total: int, what: str) -> AbstractContextManager[Callable[[int], None]]:
    from kube32_sim.progress import progress_bar

    return progress_bar(total, what)
