"""`kube32-sim preview`: arguments in, an answer on stdout."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kube32_sim.options import OptionError
from kube32_sim.preview.placements import ClusterState, Placement, Placer, PreviewError, WantedPod

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


def preview(parsed: argparse.Namespace) -> int:
    """The exit code: 0 answered, 1 with `--verify` where a cluster does otherwise.

    PreviewError and KubeconfigError where there is no answer, OptionError where options do not go together.
    """
    check_options(parsed)
    return replay(parsed) if parsed.operations else place(parsed)


def check_options(parsed: argparse.Namespace) -> None:
    if parsed.operations:
        _check_replay(parsed)
    elif not parsed.filename:
        raise OptionError("what to preview? -f names manifests, --operations a file of operations")
    elif parsed.verify and parsed.profile == "kestrel":
        raise OptionError("--verify: the simulator schedules by the profile kube32, so only that can be verified")


def _check_replay(parsed: argparse.Namespace) -> None:
    for option, given in (
        ("-f", parsed.filename),
        ("--server", parsed.server),
        ("--kubeconfig", parsed.kubeconfig),
        ("--nodes", parsed.nodes),
        ("--verify", parsed.verify),
        ("--profile kube32", parsed.profile == "kube32"),
    ):
        if given:
            raise OptionError(f"{option} does not go with --operations: a replay starts from an empty cluster")
    if parsed.output in ("table", "wide"):
        raise OptionError(f"-o {parsed.output} does not go with --operations: results are json or yaml")


# --operations


def replay(parsed: argparse.Namespace) -> int:
    from kube32_sim.kestrel.operations import run, size

    operations = read_operations(parsed.operations)
    with _progress(size(operations), "operations") as progress:
        results = run(operations, progress)
    if parsed.output == "yaml":
        import yaml

        print(yaml.safe_dump(results, sort_keys=False), end="")
    else:
        print(json.dumps(results))
    return 0


def read_operations(path: str) -> list[Any]:
    """A JSON list from a file, or from stdin for `-`."""
    sys.set_int_max_str_digits(0)  # integers of any size are legal
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
        operations = json.loads(text)
    except OSError as error:
        raise PreviewError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PreviewError(f"{path} is not UTF-8") from None
    except RecursionError:
        raise PreviewError(f"{path} is nested too deeply") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise PreviewError(f"{path} is not JSON: {error.msg} ({where})") from None
    if not isinstance(operations, list):
        raise PreviewError(f'{path}: not a list of operations, such as [["pending"]]')
    return operations


# -f


def place(parsed: argparse.Namespace) -> int:
    from kube32_sim.preview.manifests import read_manifests
    from kube32_sim.preview.printing import render
    from kube32_sim.preview.workloads import wanted_pods

    manifests = read_manifests(parsed.filename, parsed.namespace)
    wanted, state = wanted_pods(manifests, read_state(parsed))
    profile = parsed.profile or "kube32"
    if profile == "kube32":
        from kube32_sim.preview.kube32 import without_replaced

        state = without_replaced(state)
    placer = make_placer(profile, state, wanted)
    output = parsed.output or "table"
    placements = place_all(placer, wanted, details=output != "table")
    for warning in (*state.warnings, *placer.warnings):
        print(f"Warning: {warning}", file=sys.stderr)
    print(render(placements, placer.profile, output), end="")
    return verify(placements, state) if parsed.verify else 0


def read_state(parsed: argparse.Namespace) -> ClusterState:
    if parsed.nodes:
        from kube32_sim.preview.state import read_file

        return read_file(parsed.nodes)
    from kube32_sim.kubeconfig import find_access
    from kube32_sim.preview.state import read_cluster

    state: ClusterState = _wait(read_cluster(find_access(parsed.server, parsed.kubeconfig)))
    return state


def make_placer(profile: str, state: ClusterState, wanted: Sequence[WantedPod]) -> Placer:
    if profile == "kestrel":
        from kube32_sim.preview.kestrel import KestrelPlacer

        return KestrelPlacer(state, wanted)
    from kube32_sim.preview.kube32 import Kube32Placer

    return Kube32Placer(state)


def place_all(placer: Placer, wanted: Sequence[WantedPod], *, details: bool) -> list[Placement]:
    placements = []
    with _progress(len(wanted), "pods") as progress:
        for pod in wanted:
            placements.append(placer.place(pod, details=details))
            progress(1)
    return placements


def verify(placements: Sequence[Placement], state: ClusterState) -> int:
    from kube32_sim.preview.verify import differences

    found = _wait(differences(placements, state))
    for line in found:
        print(f"differs: {line}", file=sys.stderr)
    count = len(placements)
    if found:
        print(f"kube32-sim: {len(found)} of {count} pods go elsewhere than previewed", file=sys.stderr)
        return 1
    print(
        f"verified: created in a simulator of this state, all {count} pods go where the preview says", file=sys.stderr
    )
    return 0


def _wait(work: Coroutine[Any, Any, Any]) -> Any:
    import asyncio  # takes a while, and a replay needs none

    return asyncio.run(work)


def _progress(total: int, what: str) -> AbstractContextManager[Callable[[int], None]]:
    from kube32_sim.preview.progress import progress_bar

    return progress_bar(total, what)
