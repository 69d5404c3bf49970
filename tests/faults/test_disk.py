#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Disks of the new server that fail under a migration, in a guest."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'support'))
import uml                                      # noqa: E402
import volatile                                 # noqa: E402
from harness import case, main, same            # noqa: E402
from sandbox import SCRATCH                     # noqa: E402


def guest(script, args, *words, size=1 << 30):
    """Runs a script of guest/ with an empty disk."""
    disk = os.open(SCRATCH, os.O_TMPFILE | os.O_RDWR, 0o600)
    os.truncate(disk, size)
    status = uml.run([f'{HERE}/guest/{script}', args.build, *map(str, words)], timeout=600,
                     disks=[disk], memory=1024, network=False)
    os.close(disk)
    same(status, 0, 'exit status of the guest')


@case(guest=True)
def storage_lost_ext4(args):
    guest('storage_lost.py', args, 'ext4')


@case(guest=True)
def storage_lost_xfs(args):
    guest('storage_lost.py', args, 'xfs')


@case(guest=True)
def storage_lost_btrfs(args):
    guest('storage_lost.py', args, 'btrfs')


def fails(args, fs, fault):
    guest('disk.py', args, fs, fault, args.seed, args.rounds, size=512 << 20)


def fails_by_request(args, fs, fault):
    """A disk of the host's, which fails one kind of request."""
    disk = volatile.Disk(SCRATCH, 512 << 20, args.random)
    status = uml.run([f'{HERE}/guest/disk.py', args.build, fs, fault, str(args.seed),
                      str(args.rounds)], timeout=600, memory=1024,
                     env={'DISK': f'{disk.port} {disk.size}', 'CONTROL': str(disk.control_port)})
    disk.close()
    same(status, 0, 'exit status of the guest')


@case(guest=True, short=True)
def reads_ext4(args):
    fails_by_request(args, 'ext4', 'reads')


@case(guest=True)
def flushes_ext4(args):
    fails_by_request(args, 'ext4', 'flushes')


@case(guest=True)
def data_ext4(args):
    fails(args, 'ext4', 'data')


@case(guest=True)
def gone_ext4(args):
    fails(args, 'ext4', 'gone')


@case(guest=True)
def gone_xfs(args):
    fails(args, 'xfs', 'gone')


@case(guest=True)
def full_ext4(args):
    fails(args, 'ext4', 'full')


def others():
    """The other pairs, which take longer."""
    faults = {'data': ('xfs',), 'writes': ('ext4', 'xfs', 'btrfs'), 'gone': ('btrfs',),
              'full': ('xfs', 'btrfs'), 'inodes': ('ext4',), 'quota': ('xfs',),
              'readonly': ('ext4', 'xfs', 'btrfs')}
    requests = {'reads': ('xfs', 'btrfs'), 'flushes': ('xfs', 'btrfs')}
    for fault, systems in (faults | requests).items():
        for fs in systems:
            def run(args, fs=fs, fault=fault):
                (fails_by_request if fault in requests else fails)(args, fs, fault)
            run.__name__ = f'{fault}_{fs}'
            case(guest=True, long=True)(run)


def options(parser):
    parser.add_argument('--rounds', type=int, default=3,
                        help='faults of each kind (default %(default)s)')


others()
if __name__ == '__main__':
    sys.exit(main(options))
