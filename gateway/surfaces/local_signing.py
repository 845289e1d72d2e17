"""The signature on the local route: HMAC over method, path, body, time and nonce (DESIGN 9.3)."""

import hashlib
import hmac
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

KEY_BYTES = 32
VALID_FOR = timedelta(seconds=60)
SOCKET = "run/gateway.sock"
KEY_FILE = "run/local.key"


@contextmanager
def socket_address(home: Path) -> Iterator[str]:
    """The socket's path by way of its open folder: a Unix address holds 107 bytes, a home more.

    OSError where the folder is not there.
    """
    path = home / SOCKET
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


@dataclass(frozen=True, slots=True)
class Signed:
    """What travels in the headers of one signed request."""

    at: str  # RFC 3339
    nonce: str
    signature: str


def signature(key: bytes, method: str, path: str, body: bytes, at: str, nonce: str) -> str:
    """Hex HMAC-SHA256; every part is on a line of its own, and none may hold a line break."""
    digest = hashlib.sha256(body).hexdigest()
    message = "\n".join((method, path, digest, at, nonce)).encode()
    return hmac.new(key, message, hashlib.sha256).hexdigest()


class Verifier:
    """Checks signatures and refuses a nonce it has seen within the time a signature is valid."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._seen: dict[str, datetime] = {}

    def accepts(self, signed: Signed, request: tuple[str, str, bytes], now: datetime) -> bool:
        """Whether this request (method, path, body) is freshly signed with our key."""
        try:
            at = datetime.fromisoformat(signed.at)
        except ValueError:
            return False
        if at.tzinfo is None or abs(now - at) > VALID_FOR or "\n" in signed.nonce:
            return False
        self._seen = {n: t for n, t in self._seen.items() if now - t <= 2 * VALID_FOR}
        if signed.nonce in self._seen:
            return False
        expected = signature(self._key, *request, signed.at, signed.nonce)
        if not hmac.compare_digest(expected.encode(), signed.signature.encode("utf-8", "replace")):
            return False
        self._seen[signed.nonce] = now
        return True
