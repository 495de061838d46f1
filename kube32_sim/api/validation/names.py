"""What names, labels and keys may look like.

Each function answers the reasons why a value is refused, as upstream words them (apimachinery `util/validation` and
`api/validate/content`); no reasons: the value is fine.  With `prefix` the value is the start of a generated name, whose
trailing dash is accepted because letters follow it.
"""

from __future__ import annotations

import re

NONE: list[str] = []
"""Shared answer for a good value: callers only read it."""

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_DNS1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_HTTP_HEADER = "[-A-Za-z0-9]+"
_WILDCARD = rf"\*\.{_SUBDOMAIN}"
_PERCENT = "[0-9]+%"

_is_label = re.compile(_LABEL).fullmatch
_is_subdomain = re.compile(_SUBDOMAIN).fullmatch
_is_dns1035 = re.compile(_DNS1035).fullmatch
_is_key_name = re.compile(_KEY_NAME).fullmatch
_is_label_value = re.compile(_LABEL_VALUE).fullmatch
_is_config_key = re.compile(_CONFIG_KEY).fullmatch
_is_http_header = re.compile(_HTTP_HEADER).fullmatch
_is_wildcard = re.compile(_WILDCARD).fullmatch
_is_percent = re.compile(_PERCENT).fullmatch
_is_port_name = re.compile("[-a-z0-9]+").fullmatch
_has_letter = re.compile("[a-z]").search
_PLAIN_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_is_plain_key = re.compile(
    rf"(?:(?=[^/]{{1,253}}/){_PLAIN_LABEL}(?:\.{_PLAIN_LABEL})*/)?(?:[A-Za-z0-9][-A-Za-z0-9_.]{{0,61}})?[A-Za-z0-9]"
).fullmatch

EMPTY = "must be non-empty"
MAX_USER_ID = 2147483647


def regex_error(message: str, pattern: str, *examples: str) -> str:
    """`MESSAGE (e.g. 'A',  or 'B', regex used for validation is 'PATTERN')`, upstream's spaces included."""
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{message} (e.g. {shown}regex used for validation is '{pattern}')"


def max_characters(length: int) -> str:
    return f"must be no more than {length} characters"


def max_bytes(length: int) -> str:
    return f"must be no more than {length} bytes"


def in_range(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


def byte_length(value: str) -> int:
    """How long Go finds a text, whose bounds are in bytes."""
    return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))


def _masked(value: str, prefix: bool) -> str:
    """A prefix may end in a dash: look at it as if a letter followed (upstream's maskTrailingDash)."""
    return f"{value[:-2]}a" if prefix and len(value) > 1 and value.endswith("-") else value


_LABEL_TEXT = regex_error(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    "with an alphanumeric character",
    _LABEL,
    "my-name",
    "123-abc",
)
_SUBDOMAIN_TEXT = regex_error(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character",
    _SUBDOMAIN,
    "example.com",
)
_DNS1035_TEXT = regex_error(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character",
    _DNS1035,
    "my-name",
    "abc-123",
)
_KEY_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_KEY_NAME_TEXT = regex_error(f"name part {_KEY_RULE}", _KEY_NAME, "MyName", "my.name", "123-abc")
_KEY_TEXT = (
    regex_error(f"a valid label key {_KEY_RULE}", _KEY_NAME, "MyName", "my.name", "123-abc")
    + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
_LABEL_VALUE_TEXT = regex_error(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character",
    _LABEL_VALUE,
    "MyValue",
    "my_value",
    "12345",
)
_CONFIG_KEY_TEXT = regex_error(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    _CONFIG_KEY,
    "key.name",
    "KEY_NAME",
    "key-name",
)
_HTTP_HEADER_TEXT = regex_error(
    "a valid HTTP header must consist of alphanumeric characters or '-'", _HTTP_HEADER, "X-Header-Name"
)
_WILDCARD_TEXT = regex_error(
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    _WILDCARD,
    "*.example.com",
)
_PERCENT_TEXT = regex_error(
    "a valid percent string must be a numeric string followed by an ending '%'", _PERCENT, "1%", "93%"
)
_ENV_NAME_TEXT = "a valid environment variable name must consist only of printable ASCII characters other than '='"


def dns1123_label(value: str, *, prefix: bool = False) -> list[str]:
    value = _masked(value, prefix)
    found = [max_characters(63)] if byte_length(value) > 63 else NONE
    if not _is_label(value):
        found = [*found, "must not contain dots" if _is_subdomain(value) else _LABEL_TEXT]
    return found


def dns1123_subdomain(value: str, *, prefix: bool = False) -> list[str]:
    value = _masked(value, prefix)
    found = [max_characters(253)] if byte_length(value) > 253 else NONE
    if not _is_subdomain(value):
        found = [*found, _SUBDOMAIN_TEXT]
    return found


def dns1035(value: str, *, prefix: bool = False) -> list[str]:
    value = _masked(value, prefix)
    found = [max_characters(63)] if byte_length(value) > 63 else NONE
    if not _is_dns1035(value):
        found = [*found, _DNS1035_TEXT]
    return found


def path_segment(value: str, *, prefix: bool = False) -> list[str]:
    """Any name that can stand in a path (RBAC objects, among others)."""
    if not prefix and value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{part}'" for part in ("/", "%") if part in value]


def wildcard_subdomain(value: str) -> list[str]:
    found = [max_characters(253)] if byte_length(value) > 253 else NONE
    if not _is_wildcard(value):
        found = [*found, _WILDCARD_TEXT]
    return found


def qualified_name(value: str) -> list[str]:
    """A label key: `name`, or `prefix/name` with a DNS subdomain before the slash."""
    if _is_plain_key(value):
        return NONE
    head, slash, name = value.partition("/")
    if "/" in name:
        return [_KEY_TEXT]
    found: list[str] = []
    if not slash:
        name = head
    elif not head:
        found.append(f"prefix part {EMPTY}")
    else:
        found.extend(f"prefix part {why}" for why in dns1123_subdomain(head))
    if not name:
        found.append(f"name part {EMPTY}")
    elif byte_length(name) > 63:
        found.append(f"name part {max_bytes(63)}")
    if not _is_key_name(name):
        found.append(_KEY_NAME_TEXT)
    return found


def label_value(value: str) -> list[str]:
    found = [max_bytes(63)] if byte_length(value) > 63 else NONE
    if not _is_label_value(value):
        found = [*found, _LABEL_VALUE_TEXT]
    return found


def port_name(value: str) -> list[str]:
    """The IANA service name of a port: at most 15 of `[-a-z0-9]`, at least one letter."""
    found = []
    if byte_length(value) > 15:
        found.append(max_characters(15))
    if not _is_port_name(value):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _has_letter(value):
        found.append("must contain at least one letter (a-z)")
    if "--" in value:
        found.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        found.append("must not begin or end with a hyphen")
    return found


def port_number(value: int) -> list[str]:
    return NONE if 1 <= value <= 65535 else [in_range(1, 65535)]


def config_map_key(value: str) -> list[str]:
    found = [max_characters(253)] if byte_length(value) > 253 else NONE
    if not _is_config_key(value):
        return [*found, _CONFIG_KEY_TEXT]
    return [*found, *directory_change(value)]


def directory_change(value: str) -> list[str]:
    if value == ".":
        return ["must not be '.'"]
    if value == "..":
        return ["must not be '..'"]
    return ["must not start with '..'"] if value.startswith("..") else NONE


def environment_name(value: str) -> list[str]:
    if not value:
        return [f"environment variable name {EMPTY}"]
    if value.isascii() and value.isprintable() and "=" not in value:
        return NONE
    return [_ENV_NAME_TEXT]


def http_header_name(value: str) -> list[str]:
    return NONE if _is_http_header(value) else [_HTTP_HEADER_TEXT]


def percent(value: str) -> list[str]:
    return NONE if _is_percent(value) else [_PERCENT_TEXT]


def user_or_group_id(value: int) -> list[str]:
    return NONE if 0 <= value <= MAX_USER_ID else [in_range(0, MAX_USER_ID)]
