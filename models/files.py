"""The files of an installed model and the manifest that names their hashes."""

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from gateway.errors import ModelError

MODEL_FILE, TOKENIZER_FILE, MANIFEST_FILE = "model.onnx", "tokenizer.model", "manifest.json"
BPE_FILE = "tokenizer.json"
_CHUNK_BYTES = 1 << 20

Progress = Callable[[str, int, int], None]  # step, done, all: bytes, or parts when building


class FileRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file as it was when it was installed."""

    size: int  # bytes
    sha256: str


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`manifest.json` of an installed model."""

    model: str
    source: str
    files: dict[str, FileRecord]


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def is_as_recorded(path: Path, record: FileRecord) -> bool:
    """False also when it is absent; an unreadable file raises OSError."""
    is_there = path.is_file() and path.stat().st_size == record.size
    return is_there and sha256_of(path) == record.sha256


def read_manifest(folder: Path) -> Manifest:
    """ModelError: `model_missing` when there is none, `model_verification_failed` if unreadable."""
    try:
        data = (folder / MANIFEST_FILE).read_bytes()
    except FileNotFoundError as error:
        raise ModelError(f"no model in {folder.name}") from error
    except OSError as error:
        raise ModelError("unreadable manifest", code="model_verification_failed") from error
    try:
        return msgspec.json.decode(data, type=Manifest)
    except msgspec.DecodeError as error:
        raise ModelError("unreadable manifest", code="model_verification_failed") from error


def write_manifest(folder: Path, manifest: Manifest) -> None:
    path = folder / MANIFEST_FILE
    path.write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
    sync(path)


def sync(path: Path) -> None:
    """Put a file, or a folder's entries, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check(folder: Path, expected: Mapping[str, FileRecord]) -> None:
    """Compare size and hash of every file; ModelError names the first that differs."""
    for name, record in expected.items():
        try:
            is_whole = is_as_recorded(folder / name, record)
        except OSError as error:
            raise ModelError(f"{name}: {error}", code="model_verification_failed") from error
        if not is_whole:
            raise ModelError(f"{name}: damaged", code="model_verification_failed")
