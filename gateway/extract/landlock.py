"""Landlock by its three system calls: ask for every right the kernel knows, grant none."""

import ctypes
import errno
import os

# the same numbers on every architecture
_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_VERSION = 1  # flag: tell the ABI instead of creating a ruleset
_PR_SET_NO_NEW_PRIVS = 38

# file system rights added by each ABI: 1 has the first 13, 2 adds refer, 3 truncate, 5 ioctl
_FS_BITS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_NET_BITS = 2  # bind and connect of TCP, from ABI 4
_SCOPE_BITS = 2  # abstract Unix sockets and signals, from ABI 6

_libc = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """The kernel's Landlock version; 0 where there is none."""
    version = _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    return max(0, int(version))


def forbid_new_privileges() -> None:
    """No set-user-id program gains anything from here on. OSError."""
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def lock_everything() -> None:
    """No file by path, no TCP, no signal to others: open descriptors only. OSError."""
    version = abi()
    if version < 1:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    handled = (
        (1 << _FS_BITS[min(version, max(_FS_BITS))]) - 1,
        (1 << _NET_BITS) - 1 if version >= 4 else 0,
        (1 << _SCOPE_BITS) - 1 if version >= 6 else 0,
    )
    known = 3 if version >= 6 else 2 if version >= 4 else 1
    attributes = (ctypes.c_uint64 * known)(*handled[:known])
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    ruleset = _libc.syscall(_CREATE_RULESET, attributes, size, ctypes.c_uint32(0))
    _check(ruleset)
    try:
        _check(_libc.syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)))
    finally:
        os.close(ruleset)


def _check(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
