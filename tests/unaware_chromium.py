"""Chromium that does not notice network interfaces which come and go, as those of labs beside a test do.

By itself it aborts every request that is still connecting then (net::ERR_NETWORK_CHANGED), and JupyterLab tries none
again: the page stays without its launcher, or a notebook without its kernel. Chromium has no flag against this, but
without a netlink socket it never learns of a change.

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
