"""The page at /ui/: a few files as they lie in the package, for whoever opens a browser.

They hold no data and no secrets, so nobody has to show who he is to get them; what the page shows it asks the API for,
as its reader.  They are read when the first of them is asked for, and all paths there are come from that, so a path
leads to one of them or nowhere.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from aiohttp import web

from kube32_sim.api.errors import method_not_allowed
from kube32_sim.server.answers import plain_not_found

ROOT = "/ui"
FOLDER = Path(__file__).with_name("ui")
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""What the page may do: load its own files and ask this server.  No text can become markup or a script in it."""


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    content_type: str
    etag: str


@cache
def files() -> dict[str, _File]:
    """All files by their paths."""
    found = {}
    for path in sorted(FOLDER.iterdir()):
        if path.suffix in _TYPES:
            content = path.read_bytes()
            etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            name = "" if path.name == "index.html" else path.name
            found[f"{ROOT}/{name}"] = _File(content, _TYPES[path.suffix], etag)
    return found


def is_page(path: str) -> bool:
    return path.startswith(ROOT) and path[len(ROOT) : len(ROOT) + 1] in ("", "/")


def page(request: web.BaseRequest, path: str) -> web.Response:
    """The answer to a request for a path below /ui; raises ApiError 405 for methods that do not read."""
    if request.method not in ("GET", "HEAD"):
        raise method_not_allowed()
    if path == ROOT:
        return web.Response(status=308, headers={"Location": "ui/"})  # relative: a proxy may have it elsewhere
    file = files().get(path)
    if file is None:
        return plain_not_found()
    headers = {
        "Content-Type": file.content_type,
        "Content-Security-Policy": POLICY,
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cache-Control": "no-cache",  # kept, and asked for anew: another version may serve here tomorrow
        "ETag": file.etag,
    }
    asked = request.headers.get("If-None-Match", "")
    if asked.strip() == "*" or file.etag in (one.strip().removeprefix("W/") for one in asked.split(",")):
        return web.Response(status=304, headers=headers)
    return web.Response(body=file.content, headers=headers)
