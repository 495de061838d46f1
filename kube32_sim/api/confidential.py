"""What errors and logs do not show, whoever caused them: what is in Secrets, and tokens that are asked about.

Upstream quotes bodies and patches, and the object that a patch made, where that is no object of the type: of a Secret
that would be all that is in it, and what kubectl prints ends in the log of a pipeline.
"""

from __future__ import annotations

import re
from typing import Any

from kube32_sim.api import errors
from kube32_sim.api.errors import ApiError

REDACTED = "<secret contents redacted>"
"""In upstream's words, who says so of the types of Secrets whose content he looks into."""
KINDS = frozenset(("Secret", "TokenRequest", "TokenReview"))
_ABOUT = re.compile(r"/(?:secrets|tokenreviews)(?:/|$)|/serviceaccounts/[^/]*/token(?:/|$)")
_QUOTED = re.compile(r"(unknown anchor) '.*'|(, got) .*", re.DOTALL)


def is_confidential(row: Any) -> bool:
    """Of a row of the table of resources (or of a body's kind).  Kinds of custom types may have any name."""
    return row.kind in KINDS and row.custom is None


def is_about_secrets(path: str) -> bool:
    """Of the path of a request, decoded."""
    return _ABOUT.search(path) is not None


def without_values(why: str) -> str:
    """A complaint about a text or a value, without what it quotes."""
    return _QUOTED.sub(lambda found: f"{found[1]}" if found[1] else f"{found[2]} another value", why)


def cleaned(error: ApiError) -> ApiError:
    """A refusal of a patch that may quote the patch."""
    return errors.bad_request(f"the patch cannot be applied: {REDACTED}") if error.code == 400 else error


def unquoted(error: ApiError) -> ApiError:
    """A refusal that may quote stored values which a patch has put elsewhere: which fields it is about, and no more."""
    if error.code not in (400, 409, 422):
        return error
    causes = (error.details or {}).get("causes", ())
    where = ", ".join(dict.fromkeys(str(cause.get("field", "")) for cause in causes)) or "the object"
    return ApiError(error.code, error.reason, f"{where}: not as it must be after this patch: {REDACTED}", {})
