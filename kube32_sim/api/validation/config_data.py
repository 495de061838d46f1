"""Validation of ConfigMap and Secret.  Rules, order and words are upstream's core validation."""

from __future__ import annotations

import base64
import re
from typing import Any

from kube32_sim.api import jsontext
from kube32_sim.api.decode.diagnose import describe
from kube32_sim.api.errors import FieldError, forbidden_field, invalid_value, required, too_long
from kube32_sim.api.validation.names import byte_length, config_map_key
from kube32_sim.api.validation.workloads_common import IMMUTABLE

JsonObject = dict[str, Any]

MOST_BYTES = 1024 * 1024
"""Of all values of a ConfigMap or Secret together."""

ACCOUNT_NAME = "kubernetes.io/service-account.name"
LOCKED = "field is immutable when `immutable` is set"
_REDACTED = "<secret contents redacted>"


def encoded_size(value: str) -> int:
    """Bytes behind a base64 text (that was decoded once already)."""
    return len(value) * 3 // 4 - value.count("=", -2)


def validate_config_map(obj: JsonObject) -> list[FieldError]:
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    found: list[FieldError] = []
    size = 0
    for key in sorted(data):
        found += [invalid_value(f"data[{key}]", key, why) for why in config_map_key(key)]
        if key in binary:
            found.append(invalid_value(f"data[{key}]", key, "duplicate of key present in binaryData"))
        size += byte_length(data[key])
    for key in sorted(binary):
        found += [invalid_value(f"binaryData[{key}]", key, why) for why in config_map_key(key)]
        size += encoded_size(binary[key])
    return [*found, too_long("[]", MOST_BYTES)] if size > MOST_BYTES else found


def locked(new: JsonObject, old: JsonObject, *fields: str) -> list[FieldError]:
    """Failures of changes to an object whose `immutable` is set: neither that nor `fields` may change."""
    if not old.get("immutable"):
        return []
    found = [] if new.get("immutable") else [forbidden_field("immutable", LOCKED)]
    return found + [forbidden_field(f, LOCKED) for f in fields if (new.get(f) or {}) != (old.get(f) or {})]


def validate_secret(obj: JsonObject) -> list[FieldError]:
    data = obj.get("data") or {}
    found: list[FieldError] = []
    for key in sorted(data):
        found += [invalid_value(f"data[{key}]", key, why) for why in config_map_key(key)]
    if sum(encoded_size(value) for value in data.values()) > MOST_BYTES:
        found.append(too_long("data", MOST_BYTES))
    return found + _secret_type(obj, obj.get("type", ""), data)


_DOCKER_KEYS = {"kubernetes.io/dockerconfigjson": ".dockerconfigjson", "kubernetes.io/dockercfg": ".dockercfg"}


def _secret_type(obj: JsonObject, kind: str, data: JsonObject) -> list[FieldError]:
    if kind == "kubernetes.io/service-account-token":
        name = (obj["metadata"].get("annotations") or {}).get(ACCOUNT_NAME)
        return [] if name else [required(f"metadata.annotations[{ACCOUNT_NAME}]")]
    if kind in _DOCKER_KEYS:
        return _docker_config(data, _DOCKER_KEYS[kind])
    if kind == "kubernetes.io/basic-auth":
        keys = ("username", "password")
        return [] if any(key in data for key in keys) else [required(f"data[{key}]") for key in keys]
    if kind == "kubernetes.io/ssh-auth":
        return [] if data.get("ssh-privatekey") else [required("data[ssh-privatekey]")]
    if kind == "kubernetes.io/tls":
        return [required(f"data[{key}]") for key in ("tls.crt", "tls.key") if key not in data]
    return []


def _docker_config(data: JsonObject, key: str) -> list[FieldError]:
    if key not in data:
        return [required(f"data[{key}]")]
    try:
        config = jsontext.loads(base64.b64decode(data[key]))
    except jsontext.JsonError as error:
        return [invalid_value(f"data[{key}]", _REDACTED, str(error))]
    if config is None or isinstance(config, dict):
        return []
    why = f"json: cannot unmarshal {describe(config)} into Go value of type map[string]interface {{}}"
    return [invalid_value(f"data[{key}]", _REDACTED, why)]


def secret_type_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    kind = new.get("type", "")
    return [] if kind == old.get("type", "") else [invalid_value("type", kind, IMMUTABLE)]


_PEM_MARK = re.compile(r"-----(BEGIN(?= [^-\n]++-----\r?\n)|END) ([^-\n]++)-----")


def secret_warnings(secret: JsonObject) -> list[str]:
    """A TLS secret is taken whatever is in it; what Go would say of its contents is said."""
    if secret.get("type") != "kubernetes.io/tls":
        return []
    data = secret.get("data") or {}
    certificate, key = (_pem_types(data.get(name, "")) for name in ("tls.crt", "tls.key"))
    if "CERTIFICATE" not in certificate:
        return [f"tls: {_no_certificate(certificate)}"]
    if not any(kind.endswith("PRIVATE KEY") for kind in key):
        return [f"tls: {_no_key(key)}"]
    return []


def _pem_types(encoded: str) -> list[str]:
    marks = list(_PEM_MARK.finditer(base64.b64decode(encoded).decode("latin-1")))
    ends = {mark[2]: mark.start() for mark in marks if mark[1] == "END"}
    found, inside = [], ""
    for mark in marks:
        if inside:
            inside = "" if (mark[1], mark[2]) == ("END", inside) else inside
        elif mark[1] == "BEGIN" and mark.start() < ends.get(mark[2], 0):
            inside = mark[2]
            found.append(inside)
    return found


def _no_certificate(found: list[str]) -> str:
    if not found:
        return "failed to find any PEM data in certificate input"
    if len(found) == 1 and found[0].endswith("PRIVATE KEY"):
        why = "but did find a private key; PEM inputs may have been switched"
        return f"failed to find certificate PEM data in certificate input, {why}"
    kinds = " ".join(found)
    after = f"after skipping PEM blocks of the following types: [{kinds}]"
    return f'failed to find "CERTIFICATE" PEM block in certificate input {after}'


def _no_key(found: list[str]) -> str:
    if not found:
        return "failed to find any PEM data in key input"
    if found == ["CERTIFICATE"]:
        return "found a certificate rather than a key in the PEM for the private key"
    kinds = " ".join(found)
    after = f"after skipping PEM blocks of the following types: [{kinds}]"
    return f'failed to find PEM block with type ending in "PRIVATE KEY" in key input {after}'
