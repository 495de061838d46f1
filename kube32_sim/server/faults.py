"""What faults that were asked for do to a request (docs/faults.md); imported when the first scenario is set.

They meet clients outside, over HTTP: loops and boards in this process call the registry and hear nothing of them.  Nor
do types of the simulator's own, the simulator's own commands, and what is no request about a resource: a scenario can
always be looked at and taken away.

Delays are the clients' time, so they are real; they are waited for before the request takes a seat, so that who is
delayed keeps nobody else waiting.
"""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from socket import SO_LINGER, SOL_SOCKET

from aiohttp import web

from kube32_sim.api import errors
from kube32_sim.api.errors import ApiError
from kube32_sim.api.fault_scenarios import Effect, Request
from kube32_sim.api.own import GROUP
from kube32_sim.clock import RealClock
from kube32_sim.registry.fault_scenarios import Met, Running
from kube32_sim.registry.reading import CONTINUE_TOO_OLD, LIST_TOO_OLD, decode_continue, encode_continue
from kube32_sim.server.broken_streams import BrokenStream, ExpiredStream
from kube32_sim.server.call import Call
from kube32_sim.server.incoming import told

HEADER = "Sim-Kube32-Fault"
"""Of answers that a fault was about: the names of its rules."""
LONGEST_AGENT = 256
OUR_COMMANDS = "kube32-sim/"
"""How the user agents of the simulator's own commands begin."""
TOO_MANY = "Too many requests, please try again later."
LEADER_CHANGED = "etcdserver: leader changed"
UNABLE = "the server is currently unable to handle the request"
_CUT_AT_ONCE = struct.pack("ii", 1, 0)

Work = Callable[[], Awaitable[web.StreamResponse]]


async def under_faults(running: Running, call: Call, work: Work) -> web.StreamResponse:
    """The answer to a request as faults have it.  Raises what the work raises, ApiError, and ConnectionResetError."""
    if call.row.group == GROUP or _agent(call).startswith(OUR_COMMANDS):
        return await work()
    met = running.meet(_request(call), told(call.info.path))
    if not met.rules:
        return await work()
    header = HEADER, ", ".join(met.rules)
    try:
        response = await _met(met, call, work, header)
    except ApiError as error:
        error.headers = (*error.headers, header)
        raise
    if not response.prepared:
        response.headers[HEADER] = header[1]
    return response


async def _met(met: Met, call: Call, work: Work, header: tuple[str, str]) -> web.StreamResponse:
    clients = RealClock()
    if met.before:
        await clients.sleep(met.before)
    effect = met.failing
    if effect is not None and not effect.after:
        _fail(effect, call)
    call.stream_headers.add(*header)
    if met.breaking is not None and call.stream is None:
        call.stream = partial(BrokenStream, met.breaking)
    response = await work()
    if met.after:
        await clients.sleep(met.after)
    if effect is not None and effect.after:
        _fail(effect, call)
    return response


def _fail(effect: Effect, call: Call) -> None:
    """Raise what a request is to fail with; a watch of the past is told in its stream that this is gone."""
    if effect.reset:
        reset(call.request)
        raise ConnectionResetError("a fault that was asked for")
    if effect.status == 410 and call.info.verb == "watch":
        call.stream = ExpiredStream
        return
    raise _failure(effect, call)


def reset(request: web.BaseRequest) -> None:
    """End a connection so that its other side is told `connection reset by peer`."""
    transport = request.transport
    if transport is None:
        return
    connection = transport.get_extra_info("socket")
    with suppress(OSError, AttributeError):
        connection.setsockopt(SOL_SOCKET, SO_LINGER, _CUT_AT_ONCE)
    transport.abort()


def _failure(effect: Effect, call: Call) -> ApiError:
    row, code = call.row, effect.status
    if code == 409:
        return errors.conflict(row.group, row.plural, call.info.name, errors.MODIFIED)
    if code == 410:
        return _expired(call)
    if code == 429:
        return errors.too_many_requests(TOO_MANY, 1 if effect.retry_after is None else effect.retry_after)
    if code == 500:
        return errors.internal_error(LEADER_CHANGED)
    return errors.unavailable(UNABLE, effect.retry_after) if code == 503 else errors.timeout()


def _expired(call: Call) -> ApiError:
    """As where what was there at a list's revision has been compacted: the rest can be had, inconsistently."""
    token = _first(call, "continue")
    if not token:
        return errors.expired(LIST_TOO_OLD)
    return errors.expired(CONTINUE_TOO_OLD, encode_continue(-1, decode_continue(token)[1]))


def _request(call: Call) -> Request:
    info = call.info
    resource = f"{call.row.plural}/{info.subresource}" if info.subresource else call.row.plural
    agent, user = _agent(call), call.user.name
    return Request(info.verb, call.row.group, resource, info.namespace, info.name, agent, user, _asks_for_past(call))


def _asks_for_past(call: Call) -> bool:
    """Whether what is asked for may have been compacted: nothing newer would do instead."""
    version, token = _first(call, "resourceVersion"), _first(call, "continue")
    if call.info.verb == "watch":
        return version not in ("", "0") and _first(call, "sendInitialEvents") != "true"
    if call.info.verb != "list":
        return False
    if token:
        with suppress(ApiError):  # which is not a token: told as without faults
            return decode_continue(token)[0] > 0
        return False
    exact = _first(call, "resourceVersionMatch")
    return version not in ("", "0") and (exact == "Exact" or (not exact and _first(call, "limit") not in ("", "0")))


def _first(call: Call, parameter: str) -> str:
    return (call.query.get(parameter) or ("",))[0]


def _agent(call: Call) -> str:
    """Nobody's is longer; what is no UTF-8 in it cannot be told."""
    return told(call.request.headers.get("User-Agent", "")[:LONGEST_AGENT])
