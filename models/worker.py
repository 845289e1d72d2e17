"""The embedding worker: one process, one text at a time, frames over a socket pair."""

import ctypes
import os
import signal
import socket
import sys
from pathlib import Path

import msgspec

from models.frames import FAILED, QUERY, READY, REPLY, REQUEST, VECTOR
from models.recipe import Recipe
from models.session import FAILURES, EmbeddingSession

_PR_SET_PDEATHSIG = 1


def main(descriptor: int, folder: Path, parent: int, recipe: str) -> int:
    """Serve until the socket closes; 0 then, 1 when the model cannot be loaded."""
    _die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the gateway's to handle
    with socket.socket(fileno=descriptor) as connection:
        try:
            session = EmbeddingSession(folder, msgspec.json.decode(recipe, type=Recipe))
            session.embed(QUERY, "")  # the first run is slow; a question must not pay for it
        except FAILURES as error:
            _reply(connection, 0, FAILED, type(error).__name__.encode())
            return 1
        try:
            _serve(connection, session)
        except (BrokenPipeError, ConnectionResetError):
            return 0  # the gateway let us go while we worked for nobody
    return 0


def _serve(connection: socket.socket, session: EmbeddingSession) -> None:
    _reply(connection, 0, READY, b"")
    while header := _receive(connection, REQUEST.size):
        number, kind, size = REQUEST.unpack(header)
        text = _receive(connection, size).decode()
        try:
            vector = session.embed(kind, text)
        except FAILURES as error:
            _reply(connection, number, FAILED, type(error).__name__.encode())
        else:
            _reply(connection, number, VECTOR, vector.tobytes())


def _reply(connection: socket.socket, number: int, status: int, body: bytes) -> None:
    connection.sendall(REPLY.pack(number, status, len(body)) + body)


def _receive(connection: socket.socket, size: int) -> bytes:
    """Exactly `size` bytes, or nothing when the gateway has closed the socket."""
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            return b""
        data += piece
    return bytes(data)


def _die_with(parent: int) -> None:
    """Never outlive the gateway, not even when it is killed while we are busy."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
