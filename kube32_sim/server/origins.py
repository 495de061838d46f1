"""Keeping the pages of browsers out: which Host and which Origin a request may name.

Whoever can open a page in a browser on this machine can let it send requests to a server that listens here.  Two things
give such requests away: the name by which the page thinks it reaches the server (Host: a page whose own name was made
to lead here, "DNS rebinding"), and where the page came from (Origin, Sec-Fetch-Site, which no page can set).
Host is looked at where it matters: on a loopback address, and where no credentials are asked for.  Otherwise, as
upstream, a server answers to any name: a page has no token to show.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from aiohttp import web

from kube32_sim.api.errors import ApiError, bad_request
from kube32_sim.hosts import OWN_NAMES, address_of, host_of, is_loopback, spelled
from kube32_sim.options import ServeOptions

MOST_KNOWN = 1000
"""Spellings of Host (with ports) that are remembered as good."""
_BY_THE_USER = frozenset(("same-origin", "none"))
"""What a browser says in Sec-Fetch-Site of requests that no other page caused."""
ASKS_FIRST = "Access-Control-Request-Method"
"""In what a browser asks before a page of another site may send something: no option lets it, for no answer would."""
_LONGEST_SHOWN = 253


class Origins:
    """allowed: besides what a server on this host may be called anyway.  any_host: Host is not looked at."""

    def __init__(self, host: str, allowed: Collection[str] = (), *, any_host: bool = False) -> None:
        self._any_host = any_host
        self._allowed = frozenset(map(spelled, allowed))
        self._names = self._allowed | {spelled(host), *OWN_NAMES}
        self._any_address = not is_loopback(host)
        self._good: set[str | None] = {None}  # without Host: HTTP/1.0, which no browser speaks

    def check(self, request: web.BaseRequest) -> None:
        """Raises ApiError 403 for what a page of somebody else may have sent, and 400 for a strange target."""
        headers = request.headers
        host = headers.get("Host")
        if request.raw_path[:1] != "/" and request.raw_path != "*":
            host = _authority(request.raw_path)
        if host not in self._good and not self._any_host:
            self._check_host(host or "")
        if "Origin" in headers or "Sec-Fetch-Site" in headers:
            for origin in headers.getall("Origin", [""]):  # a browser sends one; none of several may be foreign
                self._check_origin(request, host or "", origin)

    def _check_host(self, host: str) -> None:
        name = host_of(host)
        if not name or not (name in self._names or self._is_own_address(name)):
            told = f"start it with --allowed-host {name}" if name else "use its address"
            raise _refused(f"this server is not called {_shown(host)}: if you want to reach it by that name, {told}")
        if len(self._good) < MOST_KNOWN:
            self._good.add(host)

    def _is_own_address(self, name: str) -> bool:
        """No page can make its own an address that leads here: it would have had to come from here."""
        address = address_of(name)
        return address is not None and (address.is_loopback or self._any_address)

    def _check_origin(self, request: web.BaseRequest, host: str, origin: str) -> None:
        headers = request.headers
        site = headers.get("Sec-Fetch-Site")
        if site in _BY_THE_USER or (origin and self._is_ours(origin, host)):
            return
        if not origin and _follows_a_link(request):
            return
        page = f", and this one is of {_shown(origin)}" if origin else ""
        name = "" if site or ASKS_FIRST in headers else _machine(origin)
        if name in self._names or self._is_own_address(name):
            name = ""  # another program's page on the same machine
        told = f"; if that is a proxy in front of this server, start it with --allowed-host {name}" if name else ""
        raise _refused(f"pages of other sites may not send requests to this server{page}{told}")

    def _is_ours(self, origin: str, host: str) -> bool:
        scheme, slashes, authority = origin.lower().partition("://")
        if scheme not in ("http", "https") or not slashes:
            return False
        return authority == host.lower() or host_of(authority) in self._allowed


def origins_of(options: ServeOptions) -> Origins:
    """As the options of a server say."""
    any_host = options.authenticated and not is_loopback(options.host)
    return Origins(options.host, options.allowed_hosts, any_host=any_host)


def _authority(target: str) -> str:
    """Host and port of a request target that is a whole URL, as proxies get it; it counts instead of Host."""
    try:
        parts = urlsplit(target)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https"):
        raise bad_request(f"the request target {_shown(target)} is neither a path nor a URL")
    return parts.netloc.rpartition("@")[2]


def _follows_a_link(request: web.BaseRequest) -> bool:
    """Somebody clicks on a link elsewhere: he sees the answer, and the page where it stands does not."""
    headers = request.headers
    whole = headers.get("Sec-Fetch-Mode") == "navigate" and headers.get("Sec-Fetch-Dest") == "document"
    return whole and request.method in ("GET", "HEAD")


def _machine(origin: str) -> str:
    return host_of(origin.partition("://")[2])


def _shown(text: str) -> str:
    """What a client says, in an answer to it."""
    plain = text[:_LONGEST_SHOWN].encode("ascii", "replace").decode()
    return f'"{plain}"'


def _refused(message: str) -> ApiError:
    return ApiError(403, "Forbidden", message, {})
