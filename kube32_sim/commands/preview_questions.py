"""`kube32-sim preview --explain`, `--how-many` and `--survive`: arguments in, an answer on stdout."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

from kube32_sim.options import OptionError
from kube32_sim.preview.placements import ClusterState, JsonObject, PreviewError, WantedPod
from kube32_sim.terminal import tell


def asked(parsed: argparse.Namespace) -> bool:
    return parsed.explain is not None or parsed.how_many or bool(parsed.count) or bool(parsed.survive)


def check_options(parsed: argparse.Namespace) -> None:
    """Raises OptionError where options do not go together."""
    given = {
        "--explain": parsed.explain is not None,
        "--how-many": parsed.how_many,
        "--survive": bool(parsed.survive),
        "--count": bool(parsed.count),
    }
    first = next(option for option, there in given.items() if there)
    if parsed.operations:
        raise OptionError(f"{first} does not go with --operations: a replay says itself what happens")
    if parsed.verify:
        raise OptionError(f"--verify does not go with {first}: it compares where pods go, and none is created here")
    for option in ("--how-many", "--survive", "--count"):
        if given["--explain"] and given[option]:
            raise OptionError(f"{option} does not go with --explain: that is about one pod")
    if given["--count"] and not given["--how-many"]:
        raise OptionError("--count goes with --how-many only")
    names = [name for name, _ in parsed.count]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            raise OptionError(f"--count: {name} is given more than once")
    if given["--explain"] and not parsed.explain.strip("/"):
        raise OptionError("--explain: which pod? NAME or NAMESPACE/NAME")
    if not given["--explain"] and not parsed.filename:
        raise OptionError(f"{first}: of what? -f names manifests")
    if parsed.nodes == "-" and "-" in parsed.filename:
        raise OptionError("-f - and --nodes -: only one of them can be read from standard input")


def run(parsed: argparse.Namespace) -> int:
    """The exit code: 0 answered, whatever the answer is.  PreviewError where there is none."""
    if parsed.explain is not None:
        return _explain(parsed)
    return _how_many(parsed) if parsed.how_many else _survive(parsed)


def _answer(text: str, warnings: Iterable[str]) -> int:
    from kube32_sim.commands.preview import answer

    for warning in dict.fromkeys(warnings):
        tell(f"Warning: {warning}")
    answer(text)
    return 0


def _profile(parsed: argparse.Namespace) -> str:
    return parsed.profile or "kube32"


# --explain


def _explain(parsed: argparse.Namespace) -> int:
    from kube32_sim.commands.preview import read_state
    from kube32_sim.preview.explaining import explanation
    from kube32_sim.preview.printing_changes import render

    state, namespace = read_state(parsed)
    namespace = parsed.namespace or namespace
    if parsed.filename:
        state, pod = _pod_of_manifests(parsed, state, namespace)
    else:
        state, pod = _pending_pod(parsed.explain, state, namespace)
    found = explanation(state, pod, _profile(parsed))
    return _answer(render(found, parsed.output or "table"), (*state.warnings, *found.warnings))


def _name(text: str, namespace: str) -> tuple[str, str]:
    """(namespace, name) of `NAME`, `NAMESPACE/NAME` and, as kubectl writes it, `pod/NAME`."""
    words = text.split("/")
    if words[0] in ("pod", "pods", "po") and len(words) > 1:
        words = words[1:]
    if len(words) > 2 or not all(words):
        raise PreviewError(f"--explain: {text!r} is no pod's name: NAME, or NAMESPACE/NAME")
    return (words[0], words[1]) if len(words) == 2 else (namespace, words[0])


def _pod_of_manifests(
    parsed: argparse.Namespace, state: ClusterState, namespace: str
) -> tuple[ClusterState, WantedPod]:
    """(the state with the pods that are placed before, the pod)."""
    from kube32_sim.preview.explaining import beside
    from kube32_sim.preview.manifests import read_manifests
    from kube32_sim.preview.workloads import wanted_pods

    profile = _profile(parsed)
    wanted, state = wanted_pods(read_manifests(parsed.filename, namespace), state, of_kubernetes=profile == "kestrel")
    place = _place_of(parsed.explain, wanted, namespace)
    return beside(state, wanted[:place], wanted[place], profile), wanted[place]


def _place_of(text: str, wanted: Sequence[WantedPod], namespace: str) -> int:
    from kube32_sim.preview.details import some

    where, name = _name(text, namespace)
    named = "/" in text.removeprefix("pod/").removeprefix("pods/").removeprefix("po/")
    found = [place for place, pod in enumerate(wanted) if pod.name == name and (pod.namespace == where or not named)]
    if len(found) == 1:
        return found[0]
    if found:
        several = [f"{wanted[place].namespace}/{name}" for place in found]
        raise PreviewError(f"--explain: there are several pods {name}: {', '.join(several)}")
    names = [f"{pod.namespace}/{pod.name}" for pod in wanted]
    raise PreviewError(f"--explain: no pod {text} among those of the manifests: {some(names)}")


def _pending_pod(text: str, state: ClusterState, namespace: str) -> tuple[ClusterState, WantedPod]:
    """(the state without the pod, the pod as it was created)."""
    from dataclasses import replace

    from kube32_sim.api.pod_state import finished
    from kube32_sim.preview.details import some

    where, name = _name(text, namespace)
    pods = {(pod["metadata"].get("namespace", "default"), pod["metadata"]["name"]): pod for pod in state.pods}
    pod = pods.get((where, name))
    if pod is None:
        waiting = [f"{of}/{called}" for (of, called), one in pods.items() if _waits(one)]
        there = f"Pending are {some(waiting)}" if waiting else "no pod is Pending"
        raise PreviewError(f"--explain: no pod {where}/{name} in the cluster; {there}; -f explains one of manifests")
    if finished(pod):
        raise PreviewError(f"--explain: pod {where}/{name} has finished")
    if not _waits(pod):
        raise PreviewError(f"--explain: pod {where}/{name} has a node: {pod['spec']['nodeName']}")
    alone = {key: value for key, value in pod.items() if key != "status"}
    alone["metadata"] = {"namespace": where, **pod["metadata"]}
    left = replace(state, pods=[one for one in state.pods if one is not pod])
    return left, WantedPod(alone, source=f"pod {where}/{name}")


def _waits(pod: JsonObject) -> bool:
    from kube32_sim.api.pod_state import finished

    return not pod["spec"].get("nodeName") and not finished(pod)


# --how-many, --survive


def _how_many(parsed: argparse.Namespace) -> int:
    from dataclasses import replace

    from kube32_sim.commands.preview import read_state
    from kube32_sim.preview.capacity import MOST, Filling, templates_of
    from kube32_sim.preview.manifests import read_manifests
    from kube32_sim.preview.printing_capacity import render
    from kube32_sim.preview.surviving import survive_more
    from kube32_sim.preview.workloads import wanted_pods
    from kube32_sim.progress import progress_bar

    state, namespace = read_state(parsed)
    profile = _profile(parsed)
    manifests = read_manifests(parsed.filename, parsed.namespace or namespace)
    # without the pods that are there none is taken for replaced: all of them stay
    wanted, made = wanted_pods(manifests, replace(state, pods=()), of_kubernetes=profile == "kestrel")
    state = replace(made, pods=state.pods)
    templates = templates_of(wanted, dict(parsed.count))
    with progress_bar(MOST, "pods") as progress:
        filling = Filling(state, templates, profile, progress)
        found = filling.answer(mix=len(templates) > 1 or bool(parsed.count))
    survival = None
    if parsed.survive:
        with progress_bar(len(filling.rounds) + 1, "numbers") as progress:
            survival = survive_more(filling, parsed.survive, progress)
    warnings = (*state.warnings, *found.warnings, *(survival.warnings if survival is not None else ()))
    return _answer(render(profile, found, survival, parsed.output or "table"), warnings)


def _survive(parsed: argparse.Namespace) -> int:
    from kube32_sim.commands.preview import read_state
    from kube32_sim.preview.manifests import read_manifests
    from kube32_sim.preview.printing_capacity import render
    from kube32_sim.preview.surviving import survive
    from kube32_sim.preview.workloads import wanted_pods

    state, namespace = read_state(parsed)
    profile = _profile(parsed)
    manifests = read_manifests(parsed.filename, parsed.namespace or namespace)
    wanted, state = wanted_pods(manifests, state, of_kubernetes=profile == "kestrel")
    found = survive(state, wanted, profile, parsed.survive)
    return _answer(render(profile, None, found, parsed.output or "table"), (*state.warnings, *found.warnings))
