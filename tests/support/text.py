"""Reading what kubectl prints for people."""

from __future__ import annotations

import re


def rows(table: str) -> list[dict[str, str]]:
    """The rows of a table by its headers; columns are two spaces or more apart."""
    lines = [line for line in table.splitlines() if line.strip()]
    headers = list(re.finditer(r"\S+(?: \S+)*", lines[0]))
    ends = [header.start() for header in headers[1:]] + [None]
    spans = [(header[0], header.start(), end) for header, end in zip(headers, ends, strict=True)]
    return [{header: line[start:end].strip() for header, start, end in spans} for line in lines[1:]]


def section(description: str, title: str) -> str:
    """The indented lines below `Title:` in what `kubectl describe` prints, and the rest of that line."""
    found = re.search(rf"^{re.escape(title)}:(.*\n(?:[ \t]+.*\n)*)", description + "\n", re.M)
    assert found, f"no {title} in:\n{description}"
    return found[1]
