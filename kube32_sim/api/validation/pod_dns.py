"""Validation of a pod's own DNS configuration."""

from __future__ import annotations

import re
from typing import Any

from kube32_sim.api.errors import FieldError, invalid_value, required
from kube32_sim.api.validation.addresses import ip_errors
from kube32_sim.api.validation.names import max_characters, regex_error

JsonObject = dict[str, Any]

MOST_NAMESERVERS = 3
MOST_SEARCHES = 32
LONGEST_SEARCHES = 2048
_PART = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SEARCH = rf"{_PART}(\.{_PART})*"
_is_search = re.compile(_SEARCH).fullmatch
_SEARCH_WRONG = regex_error(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must "
    "start and end with an alphanumeric character",
    _SEARCH,
    "example.com",
)


def validate_dns_config(config: JsonObject | None, policy: str, path: str) -> list[FieldError]:
    if policy == "None":
        if config is None:
            return [required(path, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.get("nameservers"):
            why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(f"{path}.nameservers", why)]
    if config is None:
        return []
    found = _validate_nameservers(config.get("nameservers") or [], f"{path}.nameservers")
    found += _validate_searches(config.get("searches") or [], f"{path}.searches")
    return found + [
        required(f"{path}.options[{index}]", "must not be empty")
        for index, option in enumerate(config.get("options") or ())
        if not option.get("name")
    ]


def _validate_nameservers(servers: list[str], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if len(servers) > MOST_NAMESERVERS:
        found.append(invalid_value(path, servers, f"must not have more than {MOST_NAMESERVERS} nameservers"))
    for index, server in enumerate(servers):
        found += ip_errors(server, f"{path}[{index}]")
    return found


def _validate_searches(searches: list[str], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if len(searches) > MOST_SEARCHES:
        found.append(invalid_value(path, searches, f"must not have more than {MOST_SEARCHES} search paths"))
    if len(" ".join(searches)) > LONGEST_SEARCHES:
        why = f"must not have more than {LONGEST_SEARCHES} characters (including spaces) in the search list"
        found.append(invalid_value(path, searches, why))
    for index, search in enumerate(searches):
        name = search.removesuffix(".")
        if search == ".":
            continue
        if len(name) > 253:
            found.append(invalid_value(f"{path}[{index}]", name, max_characters(253)))
        if not _is_search(name):
            found.append(invalid_value(f"{path}[{index}]", name, _SEARCH_WRONG))
    return found
