"""Kubernetes' `format` library: `!format.dns1123Label().validate(self.name).hasValue()`.

`validate` gives an optional list of what is wrong.  A function of ours cannot make an optional value: it gives a list
of at most one element, which the running expression reads as one (`running.py`).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from datetime import date, datetime

from kube32_sim.api.cel.functions.declaring import FORMAT, Overload, Special, function, method
from kube32_sim.api.cel.functions.gourls import parse_request_uri
from kube32_sim.api.validation import names

_UUID = re.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATETIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?([Zz]|[+-][0-9]{2}:?[0-9]{2})?"
)


def _uri(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except ValueError as error:
        return [str(error)]
    return []


def _uuid(text: str) -> list[str]:
    return [] if _UUID.fullmatch(text) else ["does not match the UUID format"]


def _byte(text: str) -> list[str]:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return ["invalid base64"]
    return []


def is_date(text: str) -> bool:
    try:
        return bool(_DATE.fullmatch(text)) and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _date(text: str) -> list[str]:
    return [] if is_date(text) else ["invalid date"]


def _datetime(text: str) -> list[str]:
    found = _DATETIME.fullmatch(text)
    if found is None or not is_date(found[1]):
        return ["invalid datetime"]
    try:
        datetime(2000, 1, 1, int(found[2]), int(found[3]), int(found[4]))
    except ValueError:
        return ["invalid datetime"]
    return []


VALIDATORS: dict[str, Callable[[str], list[str]]] = {
    "dns1123Label": names.dns1123_label,
    "dns1123Subdomain": names.dns1123_subdomain,
    "dns1035Label": names.dns1035,
    "qualifiedName": names.qualified_name,
    "dns1123LabelPrefix": lambda text: names.dns1123_label(text, prefix=True),
    "dns1123SubdomainPrefix": lambda text: names.dns1123_subdomain(text, prefix=True),
    "dns1035LabelPrefix": lambda text: names.dns1035(text, prefix=True),
    "labelValue": names.label_value,
    "uri": _uri,
    "uuid": _uuid,
    "byte": _byte,
    "date": _date,
    "datetime": _datetime,
}


def _validate(form: Special, text: str) -> list[list[str]]:
    faults = VALIDATORS[form.text](text)
    return [faults] if faults else []


def _named(name: str) -> list[Special]:
    return [Special(FORMAT, name)] if name in VALIDATORS else []


def _constant(name: str) -> Callable[[], Special]:
    return lambda: Special(FORMAT, name)


OVERLOADS: list[Overload] = [
    *(function(f"format.{name}", f"format.{name}", (), FORMAT, _constant(name)) for name in VALIDATORS),
    method("validate", "format-validate", (FORMAT, "string"), "optional_type<list<string>>", _validate),
    function("format.named", "format-named", ("string",), f"optional_type<{FORMAT}>", _named),
]
