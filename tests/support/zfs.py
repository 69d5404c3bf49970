# SPDX-License-Identifier: GPL-3.0-or-later
"""OpenZFS in a guest with Debian 13's kernel (qemu.py): its programs and its module are in a tree of Debian 13, which
is made once, in half an hour, and kept."""
import fcntl
import glob
import os
import struct
import subprocess
import tempfile

import qemu
import suites
import uml
from sandbox import Failure, sh

SUITE = 'trixie'
PARTITION = 2048                        # the sector at which it begins: zpool writes to none but partitions
ROOT = '/run/zfs'                       # of the tree, in a guest
MODULES = 'usr/lib/modules/{}/updates/dkms'


def fetch():
    """The tree.  Needs the network the first time: call it before entering the sandbox."""
    version = os.path.basename(qemu.fetch(SUITE)[1])
    where = f'{uml.CACHE}/zfs-{version}'
    with open(uml.CACHE + '/lock-zfs', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(where):
            print(f'making {where} (once; half an hour)', flush=True)
            with tempfile.TemporaryDirectory(dir=uml.CACHE) as scratch:
                make(scratch, version)
                os.rename(scratch + '/tree', where)
    if not glob.glob(f'{where}/{MODULES.format(version)}/zfs.ko*'):
        raise Failure(f'{where} has no module of ZFS for Linux {version}: remove it')
    return where


def make(scratch, version):
    """DKMS compiles the module for the kernel whose headers are there."""
    with open(scratch + '/sources.list', 'w') as out:
        out.write(suites.sources(SUITE).replace(' main\n', ' main contrib\n'))
    os.chmod(scratch, 0o755)
    sh('unshare', '--mount-proc', '--pid', '--fork', '--kill-child', 'mmdebstrap', '--mode=root', '--variant=apt',
       f'--include=linux-headers-{version},zfs-dkms,zfsutils-linux',
       '--dpkgopt=path-exclude=/usr/share/doc/*', '--dpkgopt=path-exclude=/usr/share/man/*', SUITE,
       scratch + '/tree', scratch + '/sources.list')


def partition(path, size):
    """A disk for a pool, with one partition."""
    with open(path, 'wb') as disk:
        disk.truncate(size)
        disk.seek(446)
        disk.write(struct.pack('<B3sB3sII', 0, b'', 0x83, b'', PARTITION, size // 512 - PARTITION))
        disk.seek(510)
        disk.write(b'\x55\xaa')


# ---- in the guest --------------------------------------------------------------------------------

def load(tree):
    """Loads the module, and makes run() possible."""
    for module in ('spl', 'zfs'):
        path, = glob.glob(f'{tree}/{MODULES.format(os.uname().release)}/{module}.ko*')
        with open(f'/run/{module}.ko', 'wb') as out:
            subprocess.run(['xz', '-dcf', path], stdout=out, check=True)
        sh('insmod', f'/run/{module}.ko')
    os.mkdir(ROOT)
    sh('mount', '--bind', tree, ROOT)
    for directory in ('dev', 'proc', 'sys'):
        sh('mount', '--rbind', '/' + directory, f'{ROOT}/{directory}')
    for directory in ('tmp', 'run'):
        sh('mount', '-t', 'tmpfs', 'tmpfs', f'{ROOT}/{directory}')


def run(*argv, **kw):
    """zfs or zpool; its output."""
    return sh('chroot', ROOT, *argv, **kw)


def mount(dataset, where):
    os.makedirs(where, exist_ok=True)
    sh('mount', '-t', 'zfs', dataset, where)
