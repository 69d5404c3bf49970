#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A volume whose nodes are guests, with kernels and links of their own (test_failover.py)."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from guest_client import LOCKED, Kernel                                 # noqa: E402
from guest_nodes import DrbdCluster, GuestCluster, LvmCluster           # noqa: E402
from harness import case, main, same                                    # noqa: E402
from sandbox import wait_for                                            # noqa: E402
from served import SIZE, Rivals, Served                                 # noqa: E402
from writers import Nfs4Writer                                          # noqa: E402


def cut_off(args, guests):
    """The node that serves a volume is cut off, and fenced; the other one has it, with all that is durable.  When
    the first is back, it moves there again."""
    served = Served(args, ['projects'], lambda one, *rest: Nfs4Writer(one.address, *rest), rate='100K', files=600,
                    guests=guests, protocols='4', grace=60)
    cluster = served.cluster
    first = served.moved('projects', None, 'it is up')
    cluster.refuses(next(name for name in cluster.nodes if name != first))
    begin = time.monotonic()
    cluster.nodes[first].cut()
    served.moved('projects', first, 'it has left the node that is cut off')
    print(f'clients write again after {time.monotonic() - begin:.1f} s', flush=True)
    same(cluster.fenced, [first], 'nodes that were fenced')
    cluster.revive(first)
    second = cluster.place('address-projects')
    wait_for('the volume could be there, too', lambda: cluster.ready(first))
    cluster.refuses(first)
    cluster.alive().sh('crm_standby', '--node', second, '--update', 'on')
    served.moved('projects', second, 'it is where it was')
    cluster.nodes[first].sh('migratectl', 'throttle', 'projects', '0')
    for writer in served.writers['projects']:
        writer.end()
        print(f'{type(writer).__name__}: {writer.done} writes, {writer.connections} connections', flush=True)
    wait_for('everything is whole', lambda: served.status('projects').get('volume', {}).get('state') == 'whole')
    for writer in served.writers['projects']:
        for file, content in writer.files.items():
            same(writer.until_it_is_done(writer.read, file, 0, SIZE), bytes(content), file)


@case(guest=True, long=True)
def a_shared_disk_of_two_guests(args):
    cut_off(args, GuestCluster)


@case(guest=True, long=True)
def a_volume_group_of_two_guests(args):
    """Which the node that does not have it cannot activate by itself."""
    cut_off(args, LvmCluster)


@case(guest=True, long=True)
def two_guests_with_drbd(args):
    """DRBD of Linux itself (8.4), which knows no quorum: fencing alone decides."""
    cut_off(args, DrbdCluster)


@case(guest=True, long=True)
def many_failovers_of_guests_lose_nothing(args):
    """In each way, again and again, while a kernel writes by NFSv3 and NFSv4.1, and a client of SMB: every byte is
    there in the end, and nobody gets a lock in between that the kernel has.  Grace begins with Ganesha, while the
    address is up many seconds later in a guest."""
    served = Served(args, ['projects'], Kernel, rate='40K', files=3000, guests=GuestCluster, interval='5s', pause=0.15,
                    nlm=True, grace=60)
    served.moved('projects', None, 'it is up')
    rivals = Rivals(served.volumes[0], LOCKED.values())
    served.fail_over('projects', args.failovers, rivals.are_refused)
    served.end()
    rivals.get_them()


if __name__ == '__main__':
    sys.exit(main(lambda parser: parser.add_argument('--failovers', type=int, default=50)))
