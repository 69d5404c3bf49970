#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""In a guest, whose kernel is the client of a CephFS.

    cephfs.py BUILD ADDRESS KEY
"""
import ctypes
import errno
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'support'))
import sandbox                                          # noqa: E402
from ceph import ceph                                   # noqa: E402
from harness import expect, same                        # noqa: E402
from sandbox import sh                                  # noqa: E402
from servers import OLD, VOLUME, Migration              # noqa: E402

PLACE = '/cephfs'
RECORD = 'security.migrate'
RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
OPTIONS = None                          # of the mount
libc = ctypes.CDLL(None, use_errno=True)


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def failure(function, *args):
    """The errno's name, or None."""
    try:
        function(*args)
    except OSError as error:
        return errno.errorcode[error.errno]
    return None


def mount():
    os.makedirs(PLACE, exist_ok=True)
    sh('mount', '-i', '-t', 'ceph', OPTIONS[0] + ':6789:/', PLACE, '-o', 'name=admin,secret=' + OPTIONS[1])


def session():
    return os.getxattr(PLACE, 'ceph.client_id')


def refused(build):
    """In one line, and nothing of the trial stays."""
    os.makedirs(OLD)
    root = PLACE + '/new'
    migration = Migration(build, 'file://' + OLD, root)
    migration.start_retriever()
    done = subprocess.run([migration.program('migratectl'), '--config', migration.config, 'attach', VOLUME],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    print(done.stderr, end='', flush=True)
    same(done.returncode, 1, 'exit status of attach')
    same(done.stderr.count('\n'), 1, 'lines of attach')
    expect('cannot be made a volume: the file system lacks' in done.stderr, 'attach does not say what is lacking')
    same(os.listdir(root), [], 'what stays in the root')
    migration.retriever.stop()


def lacking():
    """What would need another way."""
    root = os.open(PLACE, os.O_RDONLY)
    for name in ('a', 'b'):
        with open(f'{PLACE}/{name}', 'w') as file:
            file.truncate(1 << 20)

    def rename(flags, to):
        checked(libc.renameat2(root, b'a', root, to, flags))

    same(failure(os.open, PLACE, os.O_TMPFILE | os.O_RDWR), 'ENOTSUP', 'O_TMPFILE')
    same(failure(rename, RENAME_NOREPLACE, b'c'), 'EINVAL', 'NOREPLACE onto a free name')
    same(failure(rename, RENAME_NOREPLACE, b'b'), 'EEXIST', 'NOREPLACE onto a name')
    same(failure(rename, RENAME_EXCHANGE, b'b'), 'EINVAL', 'EXCHANGE')
    same(failure(os.link, PLACE + '/a', PLACE + '/b'), 'EEXIST', 'link onto a name')
    fd = os.open(PLACE + '/a', os.O_RDONLY)
    same((os.lseek(fd, 0, os.SEEK_DATA), os.lseek(fd, 0, os.SEEK_HOLE)), (0, 1 << 20), 'data and hole of an empty file')
    os.close(fd)
    os.close(root)


def evicted():
    """With bytes that are not durable: fdatasync and syncfs say so, and nothing of it is shown.  fsync does not."""
    syncs = {'data': os.fdatasync, 'all': lambda fd: checked(libc.syncfs(fd)), 'whole': os.fsync}
    files = {name: os.open(f'{PLACE}/{name}', os.O_RDWR | os.O_CREAT, 0o600) for name in syncs}
    said = {}
    sh('sysctl', 'vm.dirty_writeback_centisecs=0')      # no bytes are written before somebody asks
    for fd in files.values():
        os.pwrite(fd, b'old' * 1000, 0)
        os.fsync(fd)
        os.pwrite(fd, b'new' * 1000, 0)
    before = session()
    ceph('tell', 'mds.a', 'client', 'evict', 'id=' + before.decode().removeprefix('client'))
    for name, fd in files.items():
        said[name] = failure(syncs[name], fd)
    same(failure(os.pread, files['data'], 3, 0), 'EACCES', 'a read of an evicted client')
    same(failure(session), 'EACCES', 'the session of an evicted client')
    for fd in files.values():
        os.close(fd)
    sh('umount', PLACE)
    mount()
    expect(session() != before, 'a new mount has the session of the last one')
    for name, error in said.items():
        with open(f'{PLACE}/{name}', 'rb') as file:
            is_lost = file.read() != b'new' * 1000
        print(f'sync of {name}: {error or "no error"}, {"lost" if is_lost else "there"}', flush=True)
        expect(error or not is_lost or name == 'whole', f'{name}: bytes are lost, and nobody said so')


def main(build, *options):
    global OPTIONS                      # pylint: disable=global-statement
    OPTIONS = options
    for directory in (sandbox.BASE, sandbox.LOGS):
        os.makedirs(directory, exist_ok=True)
    sh('modprobe', 'ceph')
    mount()
    lacking()
    evicted()
    refused(build)


if __name__ == '__main__':
    main(*sys.argv[1:])
