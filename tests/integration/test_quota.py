#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""migratectl quota, between two file systems that have quotas."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'support'))
import uml                                      # noqa: E402
from harness import case, main, same            # noqa: E402
from sandbox import SCRATCH                     # noqa: E402


@case(guest=True)
def from_xfs_to_ext4(args):
    disks = [os.open(SCRATCH, os.O_TMPFILE | os.O_RDWR, 0o600) for _ in range(2)]
    for disk in disks:
        os.truncate(disk, 512 << 20)
    status = uml.run([HERE + '/guest/quota.py', args.build], timeout=300, disks=disks, network=False)
    for disk in disks:
        os.close(disk)
    same(status, 0, 'exit status of the guest')


if __name__ == '__main__':
    sys.exit(main())
