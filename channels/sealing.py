"""Vouches for what the gateway itself checked, so that `parse` takes nothing else; pure."""

import hashlib
import hmac
from collections.abc import Mapping

from gateway.errors import SignatureError

KEY_BYTES = 32


def seal(body: bytes, key: bytes, header: str) -> tuple[Mapping[str, str], bytes]:
    """The body and the header that vouches for it."""
    return {header: _seal(body, key)}, body


def check(headers: Mapping[str, str], body: bytes, key: bytes, header: str) -> None:
    """SignatureError for whatever this gateway did not seal itself, a webhook's body too."""
    given = headers.get(header, "").encode("utf-8", "replace")
    if not hmac.compare_digest(given, _seal(body, key).encode()):
        raise SignatureError("not sealed here")


def _seal(body: bytes, key: bytes) -> str:
    return hmac.new(key, body, hashlib.sha256).hexdigest()
