"""`jsonpatch.escapeKey`, with which mutating admission policies write the paths of patches."""

from __future__ import annotations

from kube32_sim.api.cel.functions.declaring import Overload, function


def _escape_key(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


OVERLOADS: list[Overload] = [
    function("jsonpatch.escapeKey", "string_jsonpatch_escapeKey_string", ("string",), "string", _escape_key)
]
