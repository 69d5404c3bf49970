#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""AppArmor's profiles, enforced: in guests, because not every kernel has it, with guest/confined.py."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import qemu                                                 # noqa: E402
import uml                                                  # noqa: E402
from harness import case, main, same                        # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


def run(args, suite):
    status = uml.run([HERE + '/guest/confined.py', args.build], 900, kind=qemu.Guest, suite=suite, memory=2048,
                     network=False)
    same(status, 0, 'exit status of the guest')


@case(guest=qemu.CURRENT, long=True)
def enforced(args):
    """A volume is migrated from an old SMB server, and nothing is refused but what shall be."""
    run(args, qemu.CURRENT)


@case(guest=qemu.OLDER, long=True)
def enforced_by_an_older_kernel(args):
    run(args, qemu.OLDER)


if __name__ == '__main__':
    sys.exit(main())
