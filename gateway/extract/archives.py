"""Zip containers of documents: no part gives more than the checked directory says."""

import io
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping

from gateway.extract.reading import refuse

MAX_PARTS = 10_000
MAX_PART_BYTES = 128 * 1024 * 1024
MAX_TOTAL_BYTES = 512 * 1024 * 1024
MAX_RATIO = 250  # text shrinks 10 to 30 times; only above FREE_BYTES does it matter
FREE_BYTES = 8 * 1024 * 1024
HEAD_BYTES = 4096
_STEP_BYTES = 1 << 16
_SLICE_BYTES = 1 << 14
_LOCAL_HEADER_BYTES = 30
_ENTRY_MARK = b"PK\x01\x02"
_ENCRYPTED_FLAG = 0x1


class Archive:
    r"""The parts of a checked container. Bombs and lying sizes are `document_limits`.

    What the directory says is checked at once, and each part is held to it when it is read; what
    nobody reads is never inflated. Names are compared as Office does: without case, `\` is `/`.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._parts = _directory(data)
        _check_sizes(self._parts.values(), len(data))

    @property
    def names(self) -> frozenset[str]:
        return frozenset(_plain(info.filename) for info in self._parts.values())

    def find(self, name: str) -> bytes | None:
        """The part's bytes, or None where there is no such part."""
        info = self._parts.get(_plain(name).lower())
        if info is None:
            return None
        part = bytearray()
        for step in self._inflated(info):
            part += step
            if len(part) > info.file_size:
                break
        if len(part) != info.file_size:
            raise refuse("document_limits", "a part has another size than it says")
        if zlib.crc32(part) != info.CRC:
            raise refuse("extract_crashed", "a part is damaged")
        return bytes(part)

    def head(self, name: str) -> bytes:
        """The first bytes of a part, to tell what it is; none where there is no such part."""
        info = self._parts.get(_plain(name).lower())
        return next(self._inflated(info), b"")[:HEAD_BYTES] if info else b""

    def _inflated(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        packed = memoryview(self._data)[_start_of(self._data, info) :][: info.compress_size]
        if info.compress_type == zipfile.ZIP_STORED:
            yield from (
                bytes(packed[at : at + _STEP_BYTES]) for at in range(0, len(packed), _STEP_BYTES)
            )
            return
        if info.compress_type != zipfile.ZIP_DEFLATED:
            raise refuse("unsupported_format", "another compression than Office's")
        try:
            yield from _steps(packed)
        except zlib.error as error:
            raise refuse("extract_crashed", "a part does not inflate") from error


def _steps(packed: memoryview) -> Iterator[bytes]:
    """Inflated bit by bit from small slices: what a slice leaves over is copied each time."""
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    for at in range(0, len(packed), _SLICE_BYTES):
        rest: bytes | memoryview = packed[at : at + _SLICE_BYTES]
        while rest and not inflate.eof:
            yield inflate.decompress(rest, _STEP_BYTES)
            rest = inflate.unconsumed_tail
        if inflate.eof:
            break
    yield inflate.flush()


def _directory(data: bytes) -> Mapping[str, zipfile.ZipInfo]:
    """The parts by their names in lower case; cheaper to refuse than to fill."""
    if data.count(_ENTRY_MARK) > MAX_PARTS:  # before the library makes an object of each
        raise refuse("document_limits", "too many parts")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as container:
            infos = [info for info in container.infolist() if not info.is_dir()]
    except (zipfile.BadZipFile, ValueError, NotImplementedError, UnicodeDecodeError) as error:
        raise refuse("extract_crashed", "not a whole zip file") from error
    if any(info.flag_bits & _ENCRYPTED_FLAG for info in infos):
        raise refuse("encrypted")
    parts = {_plain(info.filename).lower(): info for info in infos}
    if len(parts) < len(infos):  # readers would disagree on which one is meant
        raise refuse("extract_crashed", "two parts have one name")
    return parts


def _check_sizes(parts: Collection[zipfile.ZipInfo], file_bytes: int) -> None:
    """By what the directory says, which each part is then held to."""
    if sum(info.compress_size for info in parts) > file_bytes:
        raise refuse("document_limits", "parts share their bytes")
    total = sum(info.file_size for info in parts)
    if total > MAX_TOTAL_BYTES or _is_bomb(total, file_bytes):
        raise refuse("document_limits", "the parts are too large together")
    for info in parts:
        if info.file_size > MAX_PART_BYTES or _is_bomb(info.file_size, info.compress_size):
            raise refuse("document_limits", "a part is too large")


def _is_bomb(size: int, packed: int) -> bool:
    return size > FREE_BYTES and size > packed * MAX_RATIO


def _plain(name: str) -> str:
    return name.replace("\\", "/").lstrip("/")


def _start_of(data: bytes, info: zipfile.ZipInfo) -> int:
    header = data[info.header_offset : info.header_offset + _LOCAL_HEADER_BYTES]
    if len(header) < _LOCAL_HEADER_BYTES or not header.startswith(b"PK\x03\x04"):
        raise refuse("extract_crashed", "a part is not where the directory says")
    name, extra = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
    return info.header_offset + _LOCAL_HEADER_BYTES + name + extra
