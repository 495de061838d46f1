"""The operations in version 2 are those that a client was generated from, of Kubernetes' own document of this release.

What the package kubernetes_asyncio calls says paths, methods, parameters and answers; its source is read, not run.
pyproject.toml asks for the package of this release.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.openapi import OpenAPI
from kube32_sim.api.own import GROUP
from kube32_sim.api.paths import parse

ALPHA = {"ignoreStoreReadErrorWithClusterBreakingPotential", "shardSelector"}
"""Parameters of features that are off unless asked for: they do nothing here and are not told of."""
_OPERATION = re.compile(r"\n    def (\w+)_with_http_info")
_CALL = re.compile(r"call_api\(\s*'([^']+)', '([A-Z]+)'")
_PARAMETERS = re.compile(r"(?:query_params\.append\(\(|path_params\[)'(\w+)'")
_ANSWER = re.compile(r"\n            (\d+): (?:\"(\w+)\"|None)")


class Operation(NamedTuple):
    parameters: set[str]
    answers: dict[str, str]


def generated() -> Iterator[tuple[tuple[str, str], Operation]]:
    spec = find_spec("kubernetes_asyncio")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    for file in sorted((Path(spec.submodule_search_locations[0]) / "client" / "api").glob("*_api.py")):
        for part in _OPERATION.split(file.read_text(encoding="utf-8"))[2::2]:
            call = _CALL.search(part)
            assert call is not None
            body = {"body"} if "local_var_params['body']" in part else set()
            answers = {code: kind or "" for code, kind in _ANSWER.findall(part)}
            yield (call[1], call[2]), Operation({*_PARAMETERS.findall(part), *body}, answers)


def served() -> Iterator[tuple[tuple[str, str], Operation]]:
    document: Any = json.loads(OpenAPI(builtin_table()).answer(parse("GET", "/openapi/v2"), {}).body)
    for path, item in document["paths"].items():
        for method, told in item.items():
            if method != "parameters":
                parameters = {each["name"] for each in (*item.get("parameters", ()), *told.get("parameters", ()))}
                answers = {code: _model(answer.get("schema", {})) for code, answer in told["responses"].items()}
                yield (path, method.upper()), Operation(parameters, answers)


def _model(schema: dict[str, str]) -> str:
    """The name of the class that the client has for a schema; groups that have a kind in common stand before it."""
    if "$ref" not in schema:
        return {"string": "str"}.get(schema.get("type", ""), "")
    version, kind = schema["$ref"].split(".")[-2:]
    return "VersionInfo" if kind == "Info" else f"{version.capitalize()}{kind}"


THEIRS, OURS = dict(generated()), dict(served())
VERSIONS = {row.api_version for row in builtin_table()}


def of_served_versions(path: str) -> bool:
    info = parse("GET", path)
    return f"{info.group}/{info.version}".lstrip("/") in VERSIONS


def test_every_operation_of_what_is_served_is_there() -> None:
    assert len(THEIRS) > 900
    assert {call for call in THEIRS if of_served_versions(call[0])} - OURS.keys() == set()


def test_there_are_no_others_but_watches() -> None:
    others = {path for path, method in OURS.keys() - THEIRS.keys()}
    assert {path for path in others if "/watch/" not in path and f"/{GROUP}/" not in path} == set()


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
def test_they_take_and_answer_the_same(method: str) -> None:
    for call in THEIRS.keys() & OURS.keys():
        if call[1] == method:
            theirs, ours = THEIRS[call], OURS[call]
            assert theirs.parameters - ALPHA == ours.parameters, call
            assert theirs.answers.keys() == ours.answers.keys(), call
            for code, kind in theirs.answers.items():
                assert kind.endswith(ours.answers[code]), (call, code)
