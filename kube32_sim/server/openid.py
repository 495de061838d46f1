"""How others verify tokens of ServiceAccounts: the provider configuration and the public key, as OpenID has them."""

from __future__ import annotations

import orjson
from aiohttp import web

from kube32_sim.api import errors
from kube32_sim.api.account_tokens import CONFIGURATION_PATH, KEYS_PATH, SigningKey, configuration, key_set
from kube32_sim.server.answers import answer

CACHED = {"Cache-Control": "public, max-age=3600"}


def document(path: str, method: str, address: str, key: SigningKey) -> web.Response | None:
    """The answer at one of the two paths; None elsewhere.  address: of this server, `host:port`.  key: its own."""
    if path not in (CONFIGURATION_PATH, KEYS_PATH):
        return None
    if method != "GET":
        raise errors.method_not_allowed()
    if path == KEYS_PATH:
        return answer(orjson.dumps(key_set(key)), 200, "application/jwk-set+json", (), CACHED)
    return answer(orjson.dumps(configuration(address)), 200, "application/json", (), CACHED)
