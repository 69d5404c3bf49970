# SPDX-License-Identifier: GPL-3.0-or-later
"""In a guest: a disk that fails when it is told to (device mapper)."""
import fcntl
import os
import struct
import subprocess

from sandbox import Failure, sh, wait_for

BTRFS_START_SYNC, BTRFS_WAIT_SYNC = 0x80089418, 0x40089416
NAME = 'faulty'
MKFS = {'ext4': ['mkfs.ext4', '-q', '-F', '-E', 'packed_meta_blocks=1,lazy_itable_init=0'],
        'xfs': ['mkfs.xfs', '-q', '-f', '-d', 'agcount=4'],
        'btrfs': ['mkfs.btrfs', '-q', '-f']}


def write_to(path, text):
    with open(path, 'w') as file:
        file.write(text)


class Device:
    """All of another block device, until it fails."""

    def __init__(self, backing, fs, where):
        self.backing, self.fs, self.where = backing, fs, where
        self.sectors = int(sh('blockdev', '--getsz', backing))
        sh('modprobe', 'dm-mod')
        sh('modprobe', 'dm-flakey')
        sh('dmsetup', 'create', NAME, '--noudevsync', '--table', self.table('linear'))
        self.path = '/dev/dm-' + sh('dmsetup', 'info', '-c', '--noheadings', '-o', 'minor',
                                    NAME).strip()

    def table(self, *kinds):
        """Equal parts of the device, of these kinds."""
        lines, at = [], 0
        for n, kind in enumerate(kinds, 1):
            end = self.sectors * n // len(kinds) // 8 * 8
            length = (self.sectors if n == len(kinds) else end) - at
            if kind == 'error':
                lines.append(f'{at} {length} error')
            elif kind == 'linear':
                lines.append(f'{at} {length} linear {self.backing} {at}')
            else:               # reads are answered
                lines.append(f'{at} {length} flakey {self.backing} {at} 0 100000 1 error_writes')
            at += length
        return '\n'.join(lines)

    def become(self, *kinds):
        sh('dmsetup', 'suspend', '--noflush', '--nolockfs', '--noudevsync', NAME)
        try:
            sh('dmsetup', 'load', '--noudevsync', NAME, '--table', self.table(*kinds))
        finally:
            sh('dmsetup', 'resume', '--noudevsync', NAME)

    def make(self, *options):
        sh(*MKFS[self.fs], *options, self.path)

    def mount(self, *options):
        os.makedirs(self.where, exist_ok=True)
        sh('mount', '-t', self.fs, *options, self.path, self.where)

    def unmount(self):
        def unmounted():
            try:
                sh('umount', self.where)
            except Failure as failure:
                if 'busy' not in str(failure):
                    raise
                return False
            return True
        wait_for(f'{self.where} can be unmounted', unmounted)

    def errors(self):
        """How many errors ext4 has found in itself since it was checked."""
        try:
            with open(f'/sys/fs/ext4/{os.path.basename(self.path)}/errors_count') as file:
                return int(file.read())
        except FileNotFoundError:       # another file system
            return 0

    def repair(self):
        done = subprocess.run(['e2fsck', '-f', '-y', self.path], stdout=subprocess.PIPE, text=True)
        if done.returncode & ~3:
            raise Failure(f'e2fsck exits with {done.returncode}: {done.stdout}')

    def commit(self):
        """Makes metadata durable, and no file's data that waits to be written."""
        fd = os.open(self.where, os.O_RDONLY)
        if self.fs == 'btrfs':
            answer = bytearray(8)
            fcntl.ioctl(fd, BTRFS_START_SYNC, answer)
            fcntl.ioctl(fd, BTRFS_WAIT_SYNC, struct.pack('Q', *struct.unpack('Q', answer)))
        else:
            other = os.open(self.where + '/other', os.O_CREAT | os.O_RDWR)
            os.fsync(other)
            os.close(other)
        os.close(fd)

    def works(self):
        """Whether the file system still takes changes."""
        try:
            other = os.open(self.where + '/other', os.O_CREAT | os.O_RDWR)
            try:
                os.pwrite(other, b'x', 0)
                os.fsync(other)
            finally:
                os.close(other)
        except OSError:
            return False
        return True


def drop_caches():
    write_to('/proc/sys/vm/drop_caches', '3')
