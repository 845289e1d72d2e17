"""A reading child whose "format" is code that tries to break out; run by the supervisor's tests."""

# the plainest calls are what such code would make
# ruff: noqa: PTH101, PTH102, PTH104, PTH108, PTH115, PTH116, PTH123, PTH208, PTH211, SIM115

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
from gateway.extract.reading import Document, ReadOptions, refuse
from gateway.extract.serving import serve
from gateway.extract.warm import warm_up

PICTURE = b"\x89PNG"
libc = ctypes.CDLL(None, use_errno=True)


def syscall(number: int, *arguments: int | bytes | None) -> None:
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def connect(family: int, kind: int, address: object) -> None:
    with socket.socket(family, kind) as made:
        made.connect(address)  # type: ignore[arg-type]


def overwrite() -> None:
    refusals = []
    for descriptor in range(3, 16):
        try:
            os.ftruncate(descriptor, 0)
        except OSError as error:
            refusals.append(error)
        else:
            return
    raise refusals[0]


def write_to_the_document() -> None:
    for descriptor in range(3, 16):
        with contextlib.suppress(OSError):  # the pipe has no end to seek
            os.lseek(descriptor, 0, os.SEEK_END)
            break
    else:
        raise AssertionError("the document has gone")
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


def protect_to_execute() -> None:
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(page))
    if libc.mprotect(ctypes.c_void_p(start), 4096, mmap.PROT_READ | mmap.PROT_EXEC) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


IS_X86 = os.uname().machine == "x86_64"
GATEWAY = os.getppid()  # of the zygote, which runs this line
CALLS: dict[str, tuple[int, int, tuple[int | bytes | None, ...]]] = {
    # name: (its number on x86_64, on aarch64, arguments)
    "join a name space": (308, 268, (0, 0)),
    "unshare": (272, 97, (0x10000000,)),
    "ptrace the gateway": (101, 117, (16, GATEWAY, None, None)),
    "be traced": (101, 117, (0, 0, None, None)),
    "read memory": (310, 270, (GATEWAY, None, 0, None, 0, 0)),
    "write memory": (311, 271, (GATEWAY, None, 0, None, 0, 0)),
    "compare processes": (312, 272, (GATEWAY, os.getpid(), 0, 0, 0)),
    "hold a process": (434, 434, (GATEWAY, 0)),
    "signal a held process": (424, 424, (0, 9, None, 0)),
    "signal a thread": (200, 130, (GATEWAY, 15)),
    "signal a thread of a group": (234, 131, (GATEWAY, GATEWAY, 15)),
    "signal with a value": (129, 138, (GATEWAY, 15, b"\0" * 128)),
    "io_uring": (425, 425, (1, b"\0" * 120)),
    "old asynchronous input": (206, 0, (1, b"\0" * 8)),
    "bpf": (321, 280, (0, None, 0)),
    "performance counters": (298, 241, (b"\0" * 128, 0, -1, -1, 0)),
    "user faults": (323, 282, (0,)),
    "watch files": (294, 26, (0,)),
    "watch all files": (300, 262, (0, 0)),
    "open by handle": (304, 265, (-100, b"\0" * 16, 0)),
    "open the new way": (437, 437, (-100, b"/etc/passwd\0", b"\0" * 24, 24)),
    "name a file in memory": (319, 279, (b"x\0", 0)),
    "hide memory": (447, 447, (0,)),
    "clone the new way": (435, 435, (b"\0" * 88, 88)),
    "execute a descriptor": (322, 281, (3, b"\0", None, None, 0x1000)),
    "add a key": (248, 217, (b"user\0", b"x\0", b"x", 1, -3)),
    "ask for a key": (249, 218, (b"user\0", b"x\0", None, 0)),
    "control keys": (250, 219, (0, 0, 0)),
    "mount": (165, 40, (b"none\0", b"/mnt\0", b"tmpfs\0", 0, None)),
    "change root by pivot": (155, 41, (b"/\0", b"/\0")),
    "swap": (167, 224, (b"/tmp/x\0", 0)),
    "load a module": (175, 105, (b"", 0, b"\0")),
    "reboot": (169, 142, (0, 0, 0, None)),
    "name the host": (170, 161, (b"x", 1)),
    "set the clock": (227, 112, (0, b"\0" * 16)),
    "personality": (135, 92, (0x0040000,)),
    "process settings": (157, 167, (4, 1, 0, 0, 0)),
    "a filter of its own": (317, 277, (1, 0, None)),
    "a ruleset of its own": (444, 444, (None, 0, 1)),
    "shared memory": (29, 194, (1, 4096, 0o1600)),
    "message queue": (68, 186, (1, 0o1600)),
    "message queue by name": (240, 180, (b"x\0", 0o102, 0o600, None)),
    "splice": (275, 76, (3, None, 1, None, 1, 0)),
    "send a file": (40, 71, (1, 3, None, 1)),
    "lift another's limits": (302, 261, (GATEWAY, 7, b"\0" * 16, None)),
    "terminal input": (16, 29, (0, 0x5412, b"x")),
    "tell who owns signals": (72, 25, (3, 8, GATEWAY)),
}


def call(name: str) -> Callable[[], None]:
    on_x86, on_arm, arguments = CALLS[name]
    return lambda: syscall(on_x86 if IS_X86 else on_arm, *arguments)


DEEDS: dict[str, Callable[[], object]] = {
    "read a file": lambda: open("/etc/passwd", "rb").read(),
    "read its own environment": lambda: open("/proc/self/environ").read(),
    "read the environment of the gateway": lambda: open(f"/proc/{os.getppid()}/environ").read(),
    "open the memory of the zygote": lambda: open(f"/proc/{os.getppid()}/mem", "rb"),
    "open its own memory": lambda: open("/proc/self/mem", "r+b"),
    "open the document anew to write": lambda: open("/proc/self/fd/3", "r+b"),
    "list a folder": lambda: os.listdir("/"),
    "look whether a file is there": lambda: os.stat("/etc/passwd"),
    "read a link": lambda: os.readlink("/proc/self/exe"),
    "write a file": lambda: open("/tmp/hostile", "w").write("x"),
    "make a folder": lambda: os.mkdir("/tmp/hostile"),
    "make a link": lambda: os.symlink("/etc/passwd", "/tmp/hostile"),
    "make a pipe with a name": lambda: os.mkfifo("/tmp/hostile"),
    "remove a file": lambda: os.unlink("/etc/hostname"),
    "rename a file": lambda: os.rename("/etc/hostname", "/etc/hostname2"),
    "change rights": lambda: os.chmod("/etc/hostname", 0o777),
    "truncate the document": overwrite,
    "write to the document": write_to_the_document,
    "tcp": lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 9)),
    "tcp over IPv6": lambda: connect(socket.AF_INET6, socket.SOCK_STREAM, ("::1", 9)),
    "udp": lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 9)),
    "raw packets": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1),
    "unix socket": lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, "/run/x"),
    "abstract unix socket": lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, "\0x"),
    "socket pair": socket.socketpair,
    "netlink": lambda: socket.socket(16, socket.SOCK_RAW, 0),
    "virtual machine's socket": lambda: socket.socket(40, socket.SOCK_STREAM, 0),
    "fork": os.fork,
    "spawn": spawn,
    "subprocess": lambda: subprocess.run(["/bin/true"], check=True),
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "thread": start_thread,
    "kill the zygote": lambda: os.kill(os.getppid(), signal.SIGTERM),
    "kill its group": lambda: os.killpg(os.getppid(), signal.SIGTERM),
    "kill all": lambda: os.kill(-1, signal.SIGTERM),
    "executable memory": execute_memory,
    "make memory executable": protect_to_execute,
    "memory file": lambda: os.memfd_create("x"),
    "lift limits": lift_limits,
    "change user": lambda: os.setuid(1),
    "change root": lambda: os.chroot("/"),
    "change folder": lambda: os.chdir("/tmp"),
    "leave its session": os.setsid,
    "choose processors": lambda: os.sched_setaffinity(0, {0}),
    "be nicer to itself": lambda: os.setpriority(os.PRIO_PROCESS, 0, -20),
    **{name: call(name) for name in CALLS},
}


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
    if data.startswith(PICTURE) and not options.page:
        raise refuse("unsupported_format")  # the other zygote is asked next
    if options.page:
        options.on_progress(options.page - 1, 2 if name == "crash once" else 1)
        if name == "crash once" and options.page == 1:
            ctypes.string_at(0)
    if name in FATAL:
        FATAL[name]()
    if name in DEEDS:
        return document(attempt(DEEDS[name]))
    said = {
        "many characters": document("字" * (options.max_chars + 1)),
        "odd text": document("a\x00b\x1b[31mc\u2028d\r\ne"),
        "odd type": document("text", "text/html\r\nX: y"),
        "crash once": Document((Block("done", Locator(page=2)),), "text/plain", (), 2),
        "page outside": Document((Block("text", Locator(page=7)),), "text/plain", (), 2),
    }
    return said.get(name, document("done"))


def document(text: str, media_type: str = "text/plain") -> Document:
    return Document((Block(text, Locator()),), media_type)


def main() -> None:
    """As the real one: with an idle time; with "ocr" also with all that OCR loads."""
    idle_s, *rest = (*sys.argv[1:], *["60"][len(sys.argv) - 1 :])
    if "ocr" in rest:
        from gateway.extract.ocr_child import PageReader  # noqa: PLC0415 - seconds to load

        serve(read, PageReader().warm_up, float(idle_s))
    else:
        serve(read, warm_up, float(idle_s))


if __name__ == "__main__":
    main()
