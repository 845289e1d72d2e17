"""A reading child whose "format" is code that tries to break out; run by the supervisor's tests."""

# the plainest calls are what such code would make
# ruff: noqa: PTH102, PTH108, PTH123, PTH208, SIM115

import contextlib
import ctypes
import mmap
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable

from gateway.core.documents import Block
from gateway.core.passages import Locator
from gateway.extract.child import serve
from gateway.extract.reading import Document, ReadOptions

libc = ctypes.CDLL(None, use_errno=True)


def syscall(number: int, *arguments: int | bytes | None) -> None:
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def connect(family: int, kind: int, address: object) -> None:
    with socket.socket(family, kind) as made:
        made.connect(address)  # type: ignore[arg-type]


def overwrite() -> None:
    for descriptor in range(3, 16):
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            return
    raise PermissionError("no descriptor may be cut")


def write_to_the_document() -> None:
    for descriptor in range(3, 16):
        if os.fstat(descriptor).st_size > 0:
            os.write(descriptor, b"x")


def execute_memory() -> None:
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)


def start_thread() -> None:
    threading.Thread(target=int).start()


def spawn() -> None:
    os.posix_spawn("/bin/true", ["true"], {})


def lift_limits() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def exhaust_stack() -> None:
    def deeper(n: int) -> int:
        return deeper(n + 1) + 1

    deeper(0)


X86_ONLY = os.uname().machine == "x86_64"
DEEDS: dict[str, Callable[[], object]] = {
    "read a file": lambda: open("/etc/passwd", "rb").read(),
    "read the environment of the gateway": lambda: open(f"/proc/{os.getppid()}/environ").read(),
    "list a folder": lambda: os.listdir("/"),
    "write a file": lambda: open("/tmp/hostile", "w").write("x"),
    "make a folder": lambda: os.mkdir("/tmp/hostile"),
    "remove a file": lambda: os.unlink("/etc/hostname"),
    "truncate the document": overwrite,
    "write to the document": write_to_the_document,
    "tcp": lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 9)),
    "udp": lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 9)),
    "unix socket": lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, "/run/x"),
    "abstract unix socket": lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, "\0x"),
    "socket pair": socket.socketpair,
    "netlink": lambda: socket.socket(16, socket.SOCK_RAW, 0),
    "fork": os.fork,
    "spawn": spawn,
    "subprocess": lambda: subprocess.run(["/bin/true"], check=True),
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "thread": start_thread,
    "kill the zygote": lambda: os.kill(os.getppid(), signal.SIGTERM),
    "kill all": lambda: os.kill(-1, signal.SIGTERM),
    "executable memory": execute_memory,
    "lift limits": lift_limits,
    "change user": lambda: os.setuid(1),
    "change root": lambda: os.chroot("/"),
    "nice": lambda: os.sched_setaffinity(0, {0}),
    "name space": lambda: syscall(272 if X86_ONLY else 97, 0x10000000),
    "ptrace": lambda: syscall(101 if X86_ONLY else 117, 16, os.getppid(), None, None),
    "read memory": lambda: syscall(310 if X86_ONLY else 270, os.getppid(), None, 0, None, 0, 0),
    "io_uring": lambda: syscall(425, 1, b"\0" * 120),
    "bpf": lambda: syscall(321 if X86_ONLY else 280, 0, None, 0),
    "keyctl": lambda: syscall(250 if X86_ONLY else 219, 0, 0, 0),
    "mount": lambda: syscall(165 if X86_ONLY else 40, b"none", b"/mnt", b"tmpfs", 0, None),
    "memory file": lambda: os.memfd_create("x"),
    "terminal input": lambda: syscall(16 if X86_ONLY else 29, 0, 0x5412, b"x"),
}  # fmt: skip


def spin() -> None:
    while True:
        pass


def allocate() -> None:
    held = []
    while True:
        held.append(b"x" * (64 << 20))


def print_for_ever() -> None:
    while True:
        for descriptor in range(3, 16):
            with contextlib.suppress(OSError):
                os.write(descriptor, b"x" * 65536)


def pretend() -> None:
    """Frames that do not decode."""
    for descriptor in range(3, 16):
        with contextlib.suppress(OSError):
            os.write(descriptor, b"\0\0\0\x02zz")


FATAL: dict[str, Callable[[], object]] = {
    "spin": spin,
    "sleep": lambda: threading.Event().wait(),
    "allocate": allocate,
    "print for ever": print_for_ever,
    "crash": lambda: ctypes.string_at(0),
    "abort": os.abort,
    "exit": lambda: os._exit(3),
    "raise": lambda: 1 // 0,
    "recurse": exhaust_stack,
    "pretend": pretend,
}


def attempt(deed: Callable[[], object]) -> str:
    try:
        deed()
    except OSError as error:
        return f"refused: {error.strerror}"
    except (RuntimeError, ValueError) as error:  # a thread can't start; a limit can't be raised
        return f"refused: {error}"
    return "succeeded"


def read(data: bytes, name: str, options: ReadOptions) -> Document:
    if name in FATAL:
        FATAL[name]()
    if name in DEEDS:
        return document(attempt(DEEDS[name]))
    said = {
        "many characters": document("字" * (options.max_chars + 1)),
        "odd text": document("a\x00b\x1b[31mc\u2028d\r\ne"),
        "odd type": document("text", "text/html\r\nX: y"),
        "page outside": Document((Block("text", Locator(page=7)),), "text/plain", (), 2),
    }
    return said.get(name, document("done"))


def document(text: str, media_type: str = "text/plain") -> Document:
    return Document((Block(text, Locator()),), media_type)


if __name__ == "__main__":
    serve(read, idle_s=float(sys.argv[1]) if len(sys.argv) > 1 else 60)
