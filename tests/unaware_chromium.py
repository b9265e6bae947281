"""Chromium that does not notice when an interface of the machine comes or goes, as those of labs beside a test do.

Then it ends every request that has no connection yet (net::ERR_NETWORK_CHANGED), and JupyterLab tries none again: no
launcher, or a notebook without a kernel. No flag of Chromium's prevents it. It goes on as if nothing ever changed where
the kernel has no netlink socket for it.

    python unaware_chromium.py PROGRAM ARGUMENT…
"""

from __future__ import annotations

import errno
import os
import socket
import sys

import pyseccomp

calls = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
netlink = pyseccomp.Arg(0, pyseccomp.EQ, socket.AF_NETLINK)
calls.add_rule(pyseccomp.ERRNO(errno.EAFNOSUPPORT), "socket", netlink)
calls.load()
os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606 - no shell is the point
