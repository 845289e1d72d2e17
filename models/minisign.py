"""Signatures in minisign's own form: Ed25519 over the file's BLAKE2b, its name signed as well."""

import base64
import binascii
import hashlib
import secrets
from dataclasses import dataclass
from typing import BinaryIO

from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

KEY, PREHASHED, CHECKED = b"Ed", b"ED", b"B2"  # minisign's names of the algorithms
UNENCRYPTED = b"\0\0"
_CHUNK_BYTES = 1 << 20
_LEAST_LINES = 4
_KDF_BYTES = 32 + 8 + 8  # salt and limits of a password; there is none
_SIGNATURE_BYTES, _PUBLIC_BYTES, _SECRET_BYTES = 2 + 8 + 64, 2 + 8 + 32, 54 + 8 + 64 + 32
_UNTRUSTED, _TRUSTED = "untrusted comment: ", "trusted comment: "


class BadSignature(Exception):
    """Not signed by this key, or not for this file; the words say which."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """Whose signatures are accepted."""

    number: bytes
    key: VerifyKey

    @classmethod
    def parse(cls, text: str) -> "PublicKey":
        """The contents of a `minisign.pub`, or its last line. ValueError."""
        data = _decoded(text.strip().splitlines()[-1:])
        if len(data) != _PUBLIC_BYTES or data[:2] != KEY:
            raise ValueError("not a minisign public key")
        return cls(data[2:10], VerifyKey(data[10:]))

    @property
    def text(self) -> str:
        """The contents of a `minisign.pub`."""
        data = KEY + self.number + bytes(self.key)
        number = self.number[::-1].hex().upper()
        return f"{_UNTRUSTED}minisign public key {number}\n{base64.b64encode(data).decode()}\n"

    def verify(self, name: str, file: BinaryIO, signature: str) -> None:
        """`signature` is the text of the `.minisig`. BadSignature."""
        lines = signature.splitlines()
        if len(lines) < _LEAST_LINES or not lines[2].startswith(_TRUSTED):
            raise BadSignature("no signature of minisign")
        trusted = lines[2].removeprefix(_TRUSTED)
        try:
            data, over_both = _decoded(lines[1:2]), _decoded(lines[3:4])
        except ValueError:
            raise BadSignature("no signature of minisign") from None
        if len(data) != _SIGNATURE_BYTES or data[:2] != PREHASHED:
            raise BadSignature("no prehashed signature of minisign")
        if data[2:10] != self.number:
            raise BadSignature("another key")
        try:
            self.key.verify(data[10:] + trusted.encode(), over_both)
            self.key.verify(_digest(file), data[10:])
        except (BadSignatureError, ValueError):
            raise BadSignature("the signature does not fit") from None
        if f"file:{name}" not in trusted.split("\t"):
            raise BadSignature("signed for another file name")


@dataclass(frozen=True, slots=True)
class SecretKey:
    """Who signs. Never printed."""

    number: bytes
    key: SigningKey

    def __repr__(self) -> str:
        return "SecretKey(…)"

    @classmethod
    def parse(cls, text: str) -> "SecretKey":
        """The contents of a key made with `minisign -G -W`, or its last line. ValueError."""
        data = _decoded(text.strip().splitlines()[-1:])
        if len(data) != _SECRET_BYTES or data[:2] != KEY:
            raise ValueError("not a minisign secret key")
        if data[2:4] != UNENCRYPTED:
            raise ValueError("a secret key with a password cannot be used; make one with -W")
        key = SigningKey(data[62:94])
        if bytes(key.verify_key) != data[94:126]:
            raise ValueError("the halves of the secret key do not fit")
        return cls(data[54:62], key)

    @classmethod
    def make(cls) -> "SecretKey":
        """A new one, as `minisign -G -W` makes it."""
        return cls(secrets.token_bytes(8), SigningKey.generate())

    @property
    def public(self) -> PublicKey:
        """The half that everybody may know."""
        return PublicKey(self.number, self.key.verify_key)

    def reveal(self) -> str:
        """The contents of a secret key's file; for its owner alone."""
        both = bytes(self.key) + bytes(self.key.verify_key)
        digest = hashlib.blake2b(KEY + self.number + both, digest_size=32).digest()
        data = KEY + UNENCRYPTED + CHECKED + bytes(_KDF_BYTES) + self.number + both + digest
        return f"{_UNTRUSTED}minisign secret key\n{base64.b64encode(data).decode()}\n"

    def sign(self, name: str, file: BinaryIO) -> str:
        """The text of the `.minisig`; the same file and name give the same text."""
        signature = self.key.sign(_digest(file)).signature
        trusted = f"file:{name}\thashed"
        over_both = self.key.sign(signature + trusted.encode()).signature
        data = PREHASHED + self.number + signature
        return (
            f"{_UNTRUSTED}signature of a model bundle\n{base64.b64encode(data).decode()}\n"
            f"{_TRUSTED}{trusted}\n{base64.b64encode(over_both).decode()}\n"
        )


def _decoded(line: list[str]) -> bytes:
    try:
        return base64.b64decode("".join(line), validate=True)
    except binascii.Error as error:
        raise ValueError("not base64") from error


def _digest(file: BinaryIO) -> bytes:
    digest = hashlib.blake2b()
    while chunk := file.read(_CHUNK_BYTES):
        digest.update(chunk)
    return digest.digest()
