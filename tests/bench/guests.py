# SPDX-License-Identifier: GPL-3.0-or-later
"""Cases that need another kernel than this one: it may lack delays and an NFS client, and has no mounts
of its own in a namespace."""
import os

import uml
from sandbox import SCRATCH, Failure, sh

HERE = os.path.dirname(os.path.abspath(__file__))


def run(args, case, *options, timeout=3600):
    """The case, of those that a guest runs, with these options and the ones that all have."""
    disk = os.open(SCRATCH, os.O_TMPFILE | os.O_RDWR, 0o600)
    os.truncate(disk, 24 << 30)
    options = [*options, *['--quick'] * args.quick]
    if args.output:
        options += ['--output', os.path.abspath(args.output)]
        os.makedirs(args.output, exist_ok=True)
    status = uml.run([f'{HERE}/guest/inside.sh', case, '--build', os.path.abspath(args.build), '--seed',
                      str(args.seed), '--repeat', str(args.runs), *options],
                     disks=[disk], memory=3072, timeout=timeout,
                     shares=[os.path.abspath(args.output)] if args.output else [])
    os.close(disk)
    if status:
        raise Failure(f'the guest ended with status {status}')


def mount(source, where, options=''):
    """By version 3."""
    os.makedirs(where, exist_ok=True)
    sh('mount', '-t', 'nfs', '-o', 'ro,vers=3,nolock,hard' + options, source, where)
