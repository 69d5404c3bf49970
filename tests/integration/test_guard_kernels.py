#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard on other kernels than this machine's: in guests, with guest/guarding.py."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import knfsd as server                                      # noqa: E402
import qemu                                                 # noqa: E402
import uml                                                  # noqa: E402
from harness import case, main, same                        # noqa: E402

GUEST = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'guest', 'guarding.py')


def run(args, suite, *command):
    status = uml.run([GUEST, args.build, *command], 300, kind=qemu.Guest,
                     suite=suite, memory=2048, network=False)
    same(status, 0, 'exit status of the guest')


@case(guest=qemu.CURRENT)
def knfsd(args):
    """The kernel's NFS server exports the volume, read-only: its clients see what the old server has,
    through stalls, a killed guard and a restart; whoever can be served does not wait for others."""
    run(args, qemu.CURRENT, 'knfsd', server.fetch())


@case(guest=qemu.OLDER, long=True)      # it boots another kernel, to try what --refuse tries
def older_kernel(args):
    """Without pre-content events files are refused until they are here."""
    run(args, qemu.OLDER, 'older')


if __name__ == '__main__':
    server.fetch()
    sys.exit(main())
