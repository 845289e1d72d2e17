"""The walls around a reading child: limits, Landlock, and the system calls it may make."""

import ctypes
import errno
import fcntl
import mmap
import os
import resource
import signal
from types import ModuleType
from typing import Any

from gateway.extract import landlock

_PR_SET_PDEATHSIG = 1
_CPU_GRACE_S = 5  # between the signal that can be seen and the one that can't be refused

# What a Python process that has imported everything still needs to turn bytes into text.
# All else fails with EPERM: opening, sockets, processes, signals, tracing, changing limits.
_CALLS = (
    "read", "readv", "pread64", "write", "writev", "lseek", "fstat", "close", "dup", "poll",
    "ppoll", "select", "pselect6",
    "brk", "munmap", "mremap", "madvise", "membarrier", "mincore",
    "futex", "futex_waitv", "rseq", "set_robust_list", "get_robust_list", "set_tid_address",
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "sigaltstack",
    "restart_syscall",
    "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time",
    "times", "getrandom", "getrusage", "getrlimit", "getcpu", "sched_yield",
    "sched_getaffinity", "sysinfo", "uname",
    "getpid", "gettid", "getppid", "getuid", "geteuid", "getgid", "getegid", "getpgrp",
    "exit", "exit_group",
)  # fmt: skip
_MEMORY_CALLS = ("mmap", "mprotect")  # allowed unless they ask for memory to execute
_FCNTL_QUESTIONS = (fcntl.F_GETFD, fcntl.F_SETFD, fcntl.F_GETFL)  # others take locks or signals


class SandboxUnavailableError(Exception):
    """This host cannot confine the child; the detail says what is missing."""


def die_with_parent() -> None:
    """The kernel kills this process when the one that started it ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def set_limits(*, memory_mb: int, cpu_s: int) -> None:
    """Memory, processor time, no files, no core dump, no further process."""
    memory = memory_mb * 1024 * 1024
    for limit, soft, hard in (
        (resource.RLIMIT_AS, memory, memory),
        (resource.RLIMIT_CPU, cpu_s, cpu_s + _CPU_GRACE_S),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_NPROC, 0, 0),
        (resource.RLIMIT_NOFILE, 16, 16),
    ):
        resource.setrlimit(limit, (soft, hard))


def confine() -> None:
    """Close every door for good, or raise SandboxUnavailableError with some still open."""
    seccomp = _seccomp()
    try:
        landlock.forbid_new_privileges()
        landlock.lock_everything()
    except OSError as error:
        raise SandboxUnavailableError(f"landlock: {error.strerror}") from error
    try:
        _filter(seccomp).load()
    except OSError as error:
        raise SandboxUnavailableError(f"seccomp: {error.strerror}") from error


def preload() -> None:
    """Find libseccomp while files can still be opened; its absence shows in `confine`."""
    try:
        _seccomp()
    except SandboxUnavailableError:
        return


def _seccomp() -> ModuleType:
    try:
        import pyseccomp  # noqa: PLC0415 - raises where the system's libseccomp is missing
    except (ImportError, RuntimeError, OSError) as error:
        raise SandboxUnavailableError(f"seccomp: {error}") from error
    return pyseccomp  # type: ignore[no-any-return]


def _filter(seccomp: ModuleType) -> Any:
    rules = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
    for name in _CALLS:
        if seccomp.resolve_syscall(seccomp.Arch.NATIVE, name) >= 0:  # this machine has it
            rules.add_rule(seccomp.ALLOW, name)
    no_execution = seccomp.Arg(2, seccomp.MASKED_EQ, mmap.PROT_EXEC, 0)
    for name in _MEMORY_CALLS:
        rules.add_rule(seccomp.ALLOW, name, no_execution)
    for command in _FCNTL_QUESTIONS:
        rules.add_rule(seccomp.ALLOW, "fcntl", seccomp.Arg(1, seccomp.EQ, command))
    return rules


def leave_terminal() -> None:
    """A session of its own, so that all it could ever start can be ended together."""
    os.setsid()
