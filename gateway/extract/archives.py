"""Zip containers of documents: every part is measured by what really comes out of it."""

import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping

from gateway.extract.reading import refuse

MAX_PARTS = 10_000
MAX_PART_BYTES = 128 * 1024 * 1024
MAX_TOTAL_BYTES = 512 * 1024 * 1024
MAX_RATIO = 250  # text shrinks 10 to 30 times; only above FREE_BYTES does it matter
FREE_BYTES = 8 * 1024 * 1024
_STEP_BYTES = 1 << 16
_LOCAL_HEADER_BYTES = 30
_ENCRYPTED_FLAG = 0x1


class Archive:
    """The parts of a checked container. Bombs and lying sizes are `document_limits`."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._parts = _directory(data)
        total = 0
        for info in self._parts.values():
            total += self._measured(info)
            if total > MAX_TOTAL_BYTES:
                raise refuse("document_limits", "the parts are too large together")

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._parts)

    def find(self, name: str) -> bytes | None:
        """The part's bytes, or None where there is no such part."""
        info = self._parts.get(name)
        return b"".join(self._inflated(info)) if info else None

    def _measured(self, info: zipfile.ZipInfo) -> int:
        size = 0
        for step in self._inflated(info):
            size += len(step)
            packed = max(1, info.compress_size)
            if size > MAX_PART_BYTES or (size > FREE_BYTES and size > packed * MAX_RATIO):
                raise refuse("document_limits", "a part is too large")
        if size != info.file_size:
            raise refuse("document_limits", "a part has another size than it says")
        return size

    def _inflated(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        packed = memoryview(self._data)[_start_of(self._data, info) :][: info.compress_size]
        if info.compress_type == zipfile.ZIP_STORED:
            yield from (
                bytes(packed[at : at + _STEP_BYTES]) for at in range(0, len(packed), _STEP_BYTES)
            )
            return
        if info.compress_type != zipfile.ZIP_DEFLATED:
            raise refuse("unsupported_format", "another compression than Office's")
        inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        rest: bytes | memoryview = packed
        try:
            while rest and not inflate.eof:
                yield inflate.decompress(rest, _STEP_BYTES)
                rest = inflate.unconsumed_tail
            yield inflate.flush()
        except zlib.error as error:
            raise refuse("extract_crashed", "a part does not inflate") from error


def _directory(data: bytes) -> Mapping[str, zipfile.ZipInfo]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as container:
            infos = container.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, UnicodeDecodeError) as error:
        raise refuse("extract_crashed", "not a whole zip file") from error
    if len(infos) > MAX_PARTS:
        raise refuse("document_limits", "too many parts")
    if any(info.flag_bits & _ENCRYPTED_FLAG for info in infos):
        raise refuse("encrypted")
    return {info.filename: info for info in infos}


def _start_of(data: bytes, info: zipfile.ZipInfo) -> int:
    header = data[info.header_offset : info.header_offset + _LOCAL_HEADER_BYTES]
    if len(header) < _LOCAL_HEADER_BYTES or not header.startswith(b"PK\x03\x04"):
        raise refuse("extract_crashed", "a part is not where the directory says")
    name, extra = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
    return info.header_offset + _LOCAL_HEADER_BYTES + name + extra
