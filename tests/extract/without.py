"""Starts the reading child on a host that lacks Landlock or seccomp, made so by a filter."""

import errno
import os
import sys

import pyseccomp

LANDLOCK_CREATE_RULESET = 444
PR_SET_SECCOMP = 22

missing = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
refused = pyseccomp.ERRNO(errno.ENOSYS)
if sys.argv[1] == "landlock":
    missing.add_rule(refused, LANDLOCK_CREATE_RULESET)
else:
    missing.add_rule(refused, "seccomp")
    missing.add_rule(refused, "prctl", pyseccomp.Arg(0, pyseccomp.EQ, PR_SET_SECCOMP))
missing.load()
os.execv(sys.executable, [sys.executable, "-I", *sys.argv[2:]])
