"""Tokens of ServiceAccounts: JSON Web Tokens, signed with a key (RS256), as upstream's.

`reviews` answers requests for them, `registry/tokens` says whether what a token is bound to is still there.  A server
whose objects outlive it keeps its key with them (`kept.py`).  Where nothing is kept there is one key of the process,
made when it is first needed, which takes a moment, and stored nowhere: tokens of other servers open nothing here.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from kube32_sim.api.users import ACCOUNT_PREFIX, User, service_account

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

JsonObject = dict[str, Any]

ISSUER = "https://kubernetes.default.svc.cluster.local"
LEGACY_ISSUER = "kubernetes/serviceaccount"
"""Of tokens that Secrets keep, which last as long as those."""
AUDIENCE = "https://kubernetes.default.svc"
API_AUDIENCES = (AUDIENCE, ISSUER)
"""For whom a token may be made that the API server takes."""
CONFIGURATION_PATH, KEYS_PATH = "/.well-known/openid-configuration", "/openid/v1/jwks"
_CREDENTIAL = "authentication.kubernetes.io/"
_LEGACY = "kubernetes.io/serviceaccount/"


class SigningKey:
    """Signs tokens, and knows those that it has signed.  pem: of `new_key`; None: made when it is needed."""

    def __init__(self, pem: bytes | None = None) -> None:
        self._pem = pem

    @cached_property
    def private(self) -> RSAPrivateKey:
        from cryptography.hazmat.primitives.asymmetric import rsa
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        if self._pem is None:
            return _generated()
        key = load_pem_private_key(self._pem, None)
        assert isinstance(key, rsa.RSAPrivateKey)
        return key

    @cached_property
    def id(self) -> str:
        """By which tokens and the key set name it."""
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        der = self.private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return _encoded(hashlib.sha256(der).digest())


OF_THIS_PROCESS = SigningKey()


def _generated() -> RSAPrivateKey:
    from cryptography.hazmat.primitives.asymmetric import rsa

    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def new_key() -> bytes:
    """A new private key, in PEM."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return _generated().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    """ValueError for what is written in any way but ours: a token has one text only."""
    data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    if _encoded(data) != text:
        raise ValueError("no base64 of a token")
    return data


def _number(value: int) -> str:
    return _encoded(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def signed(claims: JsonObject, key: SigningKey = OF_THIS_PROCESS) -> str:
    """A token of these claims."""
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.hashes import SHA256

    header = _encoded(orjson.dumps({"alg": "RS256", "kid": key.id}))
    body = f"{header}.{_encoded(orjson.dumps(claims))}"
    return f"{body}.{_encoded(key.private.sign(body.encode(), PKCS1v15(), SHA256()))}"


def unverified_issuer(token: str) -> str:
    """Who made a token, as it says itself; "" for what is none."""
    parts = token.split(".")
    if len(parts) != 3:
        return ""
    try:
        claims = orjson.loads(_decoded(parts[1]))
    except (ValueError, binascii.Error):
        return ""
    issuer = claims.get("iss") if isinstance(claims, dict) else None
    return issuer if isinstance(issuer, str) else ""


def claims_of(token: str, key: SigningKey = OF_THIS_PROCESS) -> JsonObject | None:
    """The claims of a token that `signed` made with the key, expired or not; None for any other text."""
    if unverified_issuer(token) not in (ISSUER, LEGACY_ISSUER):
        return None
    return _verified(token, key)


def _verified(token: str, key: SigningKey) -> JsonObject | None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.hashes import SHA256

    body, _, signature = token.rpartition(".")
    try:
        header = orjson.loads(_decoded(body.partition(".")[0]))
        if not isinstance(header, dict) or header.get("alg") != "RS256" or header.get("kid") != key.id:
            return None
        key.private.public_key().verify(_decoded(signature), body.encode("utf-8", "replace"), PKCS1v15(), SHA256())
    except (ValueError, binascii.Error, InvalidSignature):
        return None
    claims: JsonObject = orjson.loads(_decoded(body.partition(".")[2]))
    return claims


def key_set(key: SigningKey = OF_THIS_PROCESS) -> JsonObject:
    """The public key, as a JSON Web Key Set."""
    numbers = key.private.public_key().public_numbers()
    about = {"use": "sig", "kty": "RSA", "kid": key.id, "alg": "RS256"}
    return {"keys": [{**about, "n": _number(numbers.n), "e": _number(numbers.e)}]}


def configuration(address: str) -> JsonObject:
    """The OpenID provider configuration of a server at this address (`host:port`)."""
    return {
        "issuer": ISSUER,
        "jwks_uri": f"https://{address}{KEYS_PATH}",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    }


def legacy_claims(account: JsonObject, secret: str) -> JsonObject:
    """Of the token that a Secret of this name keeps.  account: metadata of the ServiceAccount."""
    namespace, name = account["namespace"], account["name"]
    return {
        "iss": LEGACY_ISSUER,
        f"{_LEGACY}namespace": namespace,
        f"{_LEGACY}secret.name": secret,
        f"{_LEGACY}service-account.name": name,
        f"{_LEGACY}service-account.uid": account["uid"],
        "sub": f"{ACCOUNT_PREFIX}{namespace}:{name}",
    }


def details_of(claims: JsonObject) -> JsonObject:
    """Whose token it is and what it is bound to: `namespace`, `serviceaccount` and perhaps `pod`, `node`, `secret`."""
    if claims.get("iss") != LEGACY_ISSUER:
        details: JsonObject = claims["kubernetes.io"]
        return details
    account = {"name": claims[f"{_LEGACY}service-account.name"], "uid": claims[f"{_LEGACY}service-account.uid"]}
    return {
        "namespace": claims[f"{_LEGACY}namespace"],
        "serviceaccount": account,
        "secret": {"name": claims[f"{_LEGACY}secret.name"]},
    }


def account_user(claims: JsonObject) -> User:
    """The user a ServiceAccount is by a token of these claims."""
    details = details_of(claims)
    extra: dict[str, list[str]] = {}
    if "jti" in claims:
        extra[f"{_CREDENTIAL}credential-id"] = [f"JTI={claims['jti']}"]
    for kind in ("node", "pod"):
        if kind in details:
            extra[f"{_CREDENTIAL}{kind}-name"] = [details[kind]["name"]]
            if details[kind].get("uid"):
                extra[f"{_CREDENTIAL}{kind}-uid"] = [details[kind]["uid"]]
    account = details["serviceaccount"]
    return service_account(details["namespace"], account["name"], uid=account["uid"], extra=extra)
