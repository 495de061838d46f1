"""Who calls: by certificate, by a token of a file or a ServiceAccount, or everybody an administrator."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from aiohttp import web

from kube32_sim.api import errors
from kube32_sim.api.users import ADMIN, ANONYMOUS, User
from kube32_sim.options import OptionError, ServeOptions
from kube32_sim.registry.tokens import Tokens
from kube32_sim.server.client_certificates import ClientCertificates
from kube32_sim.server.exposure import warn_of_readers
from kube32_sim.server.origins import Origins
from kube32_sim.server.token_lines import LineError, records
from kube32_sim.special_files import read_patiently
from kube32_sim.terminal import printable

log = logging.getLogger(__name__)


class TokenFileError(OptionError):
    """A token file that cannot be used; the message names file and line."""


def read_tokens(path: Path) -> dict[bytes, User]:
    """`token,user,uid,"group1,group2"` a line, as kube-apiserver's --token-auth-file."""
    try:
        text = read_patiently(path).decode("utf-8-sig")
    except OSError as error:
        raise TokenFileError(f"--token-file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TokenFileError(f"--token-file {path}: no UTF-8 text") from error
    tokens: dict[bytes, User] = {}
    try:
        for number, record in records(text):
            token, user = _entry(record, number)
            if token in tokens:  # as upstream: told, and the last one counts
                log.warning("--token-file %s, line %d: the token of %s again", path, number, tokens[token].name)
            if any(map(str.strip, record[4:])):  # as upstream, they do not count
                log.warning(
                    '--token-file %s, line %d: what stands behind the groups is ignored; several are "quoted,together"',
                    path, number,
                )  # fmt: skip
            tokens[token] = user
    except LineError as error:
        raise TokenFileError(f"--token-file {path}, {error}") from error
    if not tokens:
        raise TokenFileError(f"--token-file {path}: no tokens in it")
    warn_of_readers("--token-file", path)
    return tokens


def token_to_show(tokens: Mapping[bytes, User], options: ServeOptions) -> bytes:
    """Whose is put into the kubeconfig: an administrator's, or where there is none, which is told, the first."""
    admins = [token for token, user in tokens.items() if "system:masters" in user.groups]
    if admins:
        return admins[0]
    token, user = next(iter(tokens.items()))
    if options.authorization_mode and "AlwaysAllow" not in options.authorization_modes:
        log.warning(
            "--token-file %s: nobody there is in the group system:masters: with --authorization-mode=%s nobody "
            "administers this simulator, unless a certificate or a stored binding lets him; the kubeconfig is %s's",
            options.token_file, options.authorization_mode, printable(user.name),
        )  # fmt: skip
    return token


def _entry(record: Sequence[str], number: int) -> tuple[bytes, User]:
    """(token, user) of one line's fields; LineError where they are not what they should be."""
    token, name, uid, *more = [*map(str.strip, record), "", ""]
    if len(record) < 3 or not token or not name:
        raise LineError(f'line {number}: expected token,user,uid[,"group1,group2"]')
    groups = tuple(group.strip() for group in more[0].split(",") if group.strip())
    return token.encode(), User(name, uid, (*groups, "system:authenticated"))


class Authenticator:
    """Of a server; where its tokens are of no file, everybody is an administrator who shows none.

    certificates: None where none are asked for.  origins: from where a page may call; None: from everywhere.
    """

    def __init__(
        self, tokens: Tokens, certificates: ClientCertificates | None = None, origins: Origins | None = None
    ) -> None:
        self.tokens = tokens
        self._certificates = certificates
        self._origins = origins

    def check_origin(self, request: web.BaseRequest) -> None:
        """Raises ApiError 403 for a page of somebody else."""
        if self._origins is not None:
            self._origins.check(request)

    def user(self, request: web.BaseRequest) -> User:
        """Who sent a request; ApiError 403 for a page of somebody else, 401 for credentials that are not good.

        As upstream, a certificate comes first, and who has shown a good one needs no token.
        """
        self.check_origin(request)
        authorization = request.headers.get("Authorization")
        if self._certificates is None:
            return self._by_token(authorization)
        try:
            user = self._certificates.user(request.transport)
        except ValueError:
            user = self._by_token(authorization)  # which may be a good one
            if user.anonymous:
                raise errors.unauthorized() from None
        return user or self._by_token(authorization)

    def _by_token(self, authorization: str | None) -> User:
        scheme, _, token = (authorization or "").partition(" ")
        token = token.strip() if scheme.lower() == "bearer" else ""  # as upstream: nobody knows another scheme
        open_to_all = self.tokens.static is None
        if not token:
            return ADMIN if open_to_all else ANONYMOUS
        known = self.tokens.known(token)
        if known is None and open_to_all:
            return ADMIN
        if known is None or known.user is None:
            raise errors.unauthorized()
        return known.user
