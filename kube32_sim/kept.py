"""What a cluster keeps in its store beside the objects, so that what was handed out goes on to be good after a restart:
the key that signs the tokens of ServiceAccounts, the certificate authority of `--tls-self-signed`, and the made-up
administrator's token.  A store in memory forgets them with all the rest.
"""

from __future__ import annotations

import secrets
from itertools import count
from typing import TYPE_CHECKING

from kube32_sim.api.account_tokens import OF_THIS_PROCESS, SigningKey, new_key
from kube32_sim.options import StorePlace
from kube32_sim.storage.interface import Store

if TYPE_CHECKING:
    from kube32_sim.server.authority import Authority


async def signing_key(store: Store, place: StorePlace) -> SigningKey:
    """Where nothing is kept, the process's own, which is made when it is needed."""
    return OF_THIS_PROCESS if place.kind == "memory" else SigningKey(await store.keep("account-tokens", new_key))


async def own_authority(store: Store, now: float) -> Authority:
    """now: of the real clock, by which clients go.

    Its certificate is renewed in good time before it ends, for the same key: who has the one before is served for as
    long as that one is good.
    """
    from kube32_sim.server import authority

    key = await store.keep("authority", authority.new_key)
    for number in count(1):
        certificate = await store.keep(f"authority-certificate-{number}", lambda: authority.certificate_of(key, now))
        if authority.outlasts_a_server(certificate, now):
            return authority.Authority(certificate, key)
    raise AssertionError("counting has no end")


async def administrator_token(store: Store) -> str:
    return (await store.keep("administrator", lambda: secrets.token_urlsafe(32).encode())).decode()


def reached(store: Store) -> int:
    """The revision to which earlier runs came; 0 where there were none."""
    return store.revision if any(map(store.count, store.storages())) else 0
