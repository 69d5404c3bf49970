#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_rollback.py where the old server's tree is mounted by a kernel's NFS client, as administrators
mount it: with its caches, and with what a real NFS server takes and does not take."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + '/../support')
import knfsd                                                # noqa: E402
import uml                                                  # noqa: E402
from harness import case, main, same                        # noqa: E402
from sandbox import SCRATCH                                 # noqa: E402

V3, V4 = 'vers=3,hard,acl,nolock', 'vers=4.2,hard'


def run(args, mount, *cases, kernel=False):
    """kernel: the old server is the kernel's, with ACLs; else Ganesha."""
    disk = os.open(SCRATCH, os.O_TMPFILE | os.O_RDWR, 0o600)
    os.truncate(disk, 8 << 30)
    options = ['--knfsd', knfsd.fetch()] if kernel else []
    status = uml.run([HERE + '/guest/rollback.sh', '--build', args.build, '--mount', mount, *options,
                      *cases], disks=[disk], memory=2048)
    os.close(disk)
    same(status, 0, 'exit status of the guest')


@case(guest=True)
def v3_of_ganesha(args):
    run(args, V3, 'finished_and_finalized')


@case(guest=True)
def v3_of_a_kernel(args):
    run(args, V3, 'finished_and_finalized', kernel=True)


@case(guest=True)
def v4_2_of_a_kernel(args):
    run(args, V4, 'conflicts', 'others', kernel=True)


@case(guest=True, long=True)
def all_of_it(args):
    for mount in V3, V4:
        for kernel in False, True:
            run(args, mount, 'nothing_migrated', 'stub_that_is_renamed', 'finished_and_finalized',
                'conflicts', 'remembered_names', 'killed', 'followed', 'switched_again',
                *(['others'] if kernel else []), kernel=kernel)


if __name__ == '__main__':
    knfsd.fetch()
    sys.exit(main())
