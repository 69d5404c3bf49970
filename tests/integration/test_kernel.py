#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What programs do to files through the kernel's NFS client, in a guest: on stubs as on plain VFS.
The cases themselves are in guest/kernel.py."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import sandbox                          # noqa: E402
from harness import case, main          # noqa: E402
from pair import Pair                   # noqa: E402
from programs import HERE, fill         # noqa: E402


def cases(args, version, nlm=False):
    pair = Pair(args.build, lambda root: fill(root, args.random), version, nlm)
    pair.run([HERE + '/guest/kernel.sh'], 550)
    pair.finish()


@case(guest=True)
def v3(args):
    cases(args, '3', nlm=True)


@case(guest=True, long=True)
def v4_1(args):
    cases(args, '4.1')


@case(guest=True)
def v4_2(args):
    cases(args, '4.2')


if __name__ == '__main__':
    sys.exit(main())
