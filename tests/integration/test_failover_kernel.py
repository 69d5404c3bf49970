#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel's NFS client goes on by itself when its volume moves from node to node (test_failover.py)."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from guest_client import LOCKED, Kernel                                 # noqa: E402
from harness import case, main, same                                    # noqa: E402
from served import Rivals, Served                                       # noqa: E402


@case(guest=True, long=True)
def a_kernel_goes_on(args):
    """By NFSv3 and NFSv4.1, after its node was killed, and when it is moved back: what it was told is durable is
    there, and nobody gets its locks in between."""
    served = Served(args, ['projects'], Kernel, rate='500K', nlm=True, grace=20)
    cluster = served.cluster
    first = served.moved('projects', None, 'it is up')
    rivals = Rivals(served.volumes[0], LOCKED.values())
    served.kill_node(first)
    second = served.moved('projects', first, 'it has left a dead node')
    same(cluster.fenced, [first], 'nodes that were fenced')
    rivals.are_refused('the node is dead')
    cluster.revive(first)
    cluster.alive().sh('crm_standby', '--node', second, '--update', 'on')
    served.moved('projects', second, 'it has moved')
    rivals.are_refused('it has moved')
    served.end()
    rivals.get_them()


if __name__ == '__main__':
    sys.exit(main())
