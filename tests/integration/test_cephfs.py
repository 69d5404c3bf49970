#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""CephFS as the new file system: it is refused, and what docs/design/cephfs.md says of it is so."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'support'))
import uml                                      # noqa: E402
from ceph import ADDRESS, ENVIRONMENT, HOME, Ceph       # noqa: E402
from harness import case, main, same            # noqa: E402


@case(guest=True, long=True)
def of_one_node(args):
    cluster = Ceph()
    status = uml.run([HERE + '/guest/cephfs.py', args.build, ADDRESS, cluster.key], timeout=600, shares=[HOME],
                     env=ENVIRONMENT)
    same(status, 0, 'exit status of the guest')


if __name__ == '__main__':
    sys.exit(main())
