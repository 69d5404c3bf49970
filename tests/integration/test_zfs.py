#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A volume on ZFS, in guests with Debian 13's kernel and OpenZFS.  All of it is for the night: its module has to be
compiled, and a guest takes minutes."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'support'))
import qemu                                                             # noqa: E402
import uml                                                              # noqa: E402
import zfs                                                              # noqa: E402
from harness import case, main, same                            # noqa: E402
from sandbox import BASE                                                # noqa: E402

ENOUGH = 16                     # writes that a client was told are durable


def guest(args, disks, *verb, **kw):
    """Its status, and what it said."""
    said = f'{BASE}/log/{verb[0]}'
    with open(said, 'w') as out:
        status = uml.run([f'{HERE}/guest/zfs.py', args.build, zfs.fetch(), *verb], 1500, kind=qemu.Guest,
                         suite=zfs.SUITE, memory=2048, network=False, disks=disks, output=out.fileno(), **kw)
    with open(said, errors='replace') as out:
        text = out.read()
    print(text if len(text) < 9000 else text[-9000:], flush=True)
    return status, text


def make_disks():
    disks = [f'{BASE}/disk{n}' for n in range(2)]
    for disk in disks:
        zfs.partition(disk, 2 << 30)
    return disks


@case(guest=zfs.SUITE, long=True)
def refuses(args):
    """Datasets whose attributes an fsync does not make durable, and those in which two names are one."""
    status, _ = guest(args, make_disks(), 'refuse')
    same(status, 0, 'exit status of the guest')


@case(guest=zfs.SUITE, long=True)
def looks(args):
    """Zeros that are compressed are no loss; a snapshot and a received copy show none that are missing bytes."""
    status, _ = guest(args, make_disks(), 'look')
    same(status, 0, 'exit status of the guest')


@case(guest=zfs.SUITE, long=True)
def quota(args):
    """What has no room is one file's failure."""
    status, _ = guest(args, make_disks(), 'quota')
    same(status, 0, 'exit status of the guest')


@case(guest=zfs.SUITE, long=True)
def migrates(args):
    """To the end, with a power cut after what a client was told is durable, and a kill."""
    disks = make_disks()
    status, said = guest(args, disks, 'start', kill_on=re.compile(rb'^told (\d+)\n', re.M),
                         kill_if=lambda told: told >= ENOUGH)
    same(status, uml.KILLED, 'exit status of the guest whose power is cut')
    told = max(map(int, re.findall(r'^told (\d+)$', said, re.M)))
    status, _ = guest(args, disks, 'finish', str(told))
    same(status, 0, 'exit status of the guest after the cut')


if __name__ == '__main__':
    if {'--long', 'refuses', 'looks', 'quota', 'migrates'} & set(sys.argv):
        zfs.fetch()
    else:
        print('nothing of ZFS is tested: its cases are of --long')
    sys.exit(main())
