#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""In a guest: a guarded volume on another kernel than this machine's.  CASE: knfsd, or older.

    guarding.py BUILD CASE [TOOLS]       TOOLS: the directory of exportfs and others
"""
import argparse
import concurrent.futures
import errno
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'support'))
import guarded                                              # noqa: E402
import sandbox                                              # noqa: E402
from harness import expect, same                            # noqa: E402
from sandbox import sh, volume, wait_for                    # noqa: E402
from servers import NEW, OLD, VOLUME, Migration, Stalled    # noqa: E402

FILES = 8
SIZE = 512 << 20                                            # of a device
THREADS = 4                                                 # of the kernel's NFS server
V3, V4 = '/mnt/3', '/mnt/4'


def content(name):
    return (f'{name} ' * 60000).encode()[:180000]


def read(path):
    with open(path, 'rb') as file:
        return file.read()


def seen(path):
    """What is read there is the old server's."""
    same(read(path), content('/'.join(path.split('/')[-2:])), path)


def refused(number, call, *args):
    try:
        call(*args)
    except OSError as error:
        same(error.errno, number, f'the error of {call.__name__} {args}')
        return
    expect(False, f'{call.__name__} {args} is allowed')


def table(name, kind, *words):
    """A device as LVM makes it."""
    sh('dmsetup', 'create', name, '--table', f'0 {SIZE // 512} {kind} {" ".join(words)}')
    return '/dev/mapper/' + name


def loop(name):
    path = f'{sandbox.SCRATCH}/{name}'
    with open(path, 'wb') as image:
        image.truncate(SIZE)
    return sh('losetup', '--find', '--show', path).strip()


def begin(build):
    for module in ('loop', 'dm-snapshot'):
        sh('modprobe', module)
    volume(OLD, '512M')
    origin = table('new', 'snapshot-origin', table('new-real', 'linear', loop('new'), '0'))
    sh('mkfs.ext4', '-q', origin)
    os.mkdir(NEW)
    sh('mount', origin, NEW)
    os.rmdir(NEW + '/lost+found')
    for directory in 'abcd':
        os.mkdir(f'{OLD}/{directory}')
        for n in range(FILES):
            with open(f'{OLD}/{directory}/{n}', 'wb') as file:
                file.write(content(f'{directory}/{n}'))
    migration = Migration(build, f'file://{OLD}')
    migration.start_retriever(*guarded.OWN_MOUNTS)
    guard = guarded.Guard(migration).start()
    migration.attach()
    wait_for('the guard sees that it is attached', lambda: migration.status().get('attached'))
    os.listdir(NEW)
    return migration, guard


def snapshot(migration, whole):
    """What is missing in one of LVM is what is listed there, though it comes afterwards."""
    sh('dmsetup', 'suspend', 'new')
    taken = table('taken', 'snapshot', '/dev/mapper/new-real', loop('cow'), 'P', '8')
    sh('dmsetup', 'resume', 'new')
    os.mkdir('/mnt/taken')
    sh('mount', '-o', 'ro,noload', taken, '/mnt/taken')
    seen(f'{NEW}/d/7')
    listed = sh(migration.program('migratectl'), '--config', migration.config, '--for', 'paths',
                'backup-list', VOLUME, '/mnt/taken').split('\0')
    missing = {f'{directory}/{n}' for directory in 'abcd' for n in range(FILES)} - whole
    same({path for path in listed if path.count('/') == 1}, missing, 'what is missing in the snapshot')
    for path in whole:
        seen('/mnt/taken/' + path)
    sh('umount', '/mnt/taken')


# ---- the kernel's NFS server -------------------------------------------------------------------

def export(tools, options):
    with open('/etc/exports', 'w') as exports:
        exports.write(f'{NEW} *({options},no_root_squash,no_subtree_check,insecure,fsid=0)\n')
    sh(tools + '/exportfs', '-ra')


def start_knfsd(tools):
    sh('modprobe', 'nfsd')
    sh('mount', '-t', 'nfsd', 'nfsd', '/proc/fs/nfsd')
    for directory in ('sm', 'v4recovery'):
        os.makedirs('/var/lib/nfs/' + directory)
    for name in ('etab', 'rmtab'):
        with open('/var/lib/nfs/' + name, 'w'):
            pass
    export(tools, 'ro')
    sh('rpcbind', '-w')
    sh(tools + '/rpc.mountd', '-p', '20048')
    sh(tools + '/rpc.nfsd', '-G', '10', THREADS)
    for where, options, path in ((V3, 'vers=3,nolock', NEW), (V4, 'vers=4.2', '/')):
        os.mkdir(where)
        sh('mount', '-t', 'nfs', '-o', f'{options},nosharecache', f'127.0.0.1:{path}', where)


def knfsd(args):
    migration, guard = begin(args.build)
    same(migration.start_crawler('--metadata-only').wait(120), 0, "the crawler's status")
    start_knfsd(args.tools)
    print('exported', flush=True)
    for root in (V3, V4):
        for directory in 'abcd':
            same(len(os.listdir(f'{root}/{directory}')), FILES, f'names in {root}/{directory}')
    same(os.stat(NEW + '/a/0').st_blocks, 0, 'what is here before')
    for path in (V3 + '/a/0', V4 + '/a/1'):
        seen(path)
    same(sh('nfs-cat', f'nfs://127.0.0.1{NEW}/a/2').encode(), content('a/2'), 'over libnfs')
    refused(errno.EACCES, os.truncate, V3 + '/a/3', 10)
    refused(errno.EROFS, os.open, V4 + '/a/3', os.O_WRONLY)
    print('read', flush=True)
    snapshot(migration, {'a/0', 'a/1', 'a/2'})
    print('snapshot', flush=True)
    with concurrent.futures.ThreadPoolExecutor(FILES) as pool:
        with Stalled(migration.retriever):
            wait = [pool.submit(seen, f'{(V3, V4)[n % 2]}/b/{n}') for n in range(FILES)]
            seen(V3 + '/a/0')           # more wait than there are threads
            sh('dd', f'if={V4}/a/1', 'of=/dev/null', 'iflag=direct', 'bs=180000')
            expect(not any(done.done() for done in wait), 'the retriever stands still')
        for done in wait:
            done.result(120)
        print('stalled', flush=True)
        guard.stop(signal.SIGKILL)
        wait = [pool.submit(seen, f'{root}/c/{n}') for n, root in enumerate((V3, V4))]
        done, _ = concurrent.futures.wait(wait, 1)
        same(len(done), 0, 'who read without a guard')
        guard.start()
        for done in wait:
            done.result(120)
    print('killed', flush=True)
    with open(V3 + '/d/0', 'rb', 0) as file, open(V3 + '/a/0', 'rb', 0) as whole:
        sh(args.tools + '/rpc.nfsd', 0)
        sh(args.tools + '/exportfs', '-ra')
        sh(args.tools + '/rpc.nfsd', '-G', '10', THREADS)
        same(file.read(), content('d/0'), 'by a handle of before')
        same(os.pread(whole.fileno(), 3, 9), content('a/0')[9:12], 'by another')
    expect('for writing' not in migration.ctl('status'), 'status takes it for writable')
    export(args.tools, 'rw')
    expect(f'exports {NEW} for writing' in migration.ctl('status'), 'status does not warn')


# ---- before pre-content events -----------------------------------------------------------------

def older(args):
    migration, guard = begin(args.build)
    same(sorted(guard.kept), ['open'], 'what this kernel can tell')
    same(len(os.listdir(NEW + '/a')), FILES, 'names')
    refused(errno.EPERM, read, NEW + '/a/0')
    for flags in (os.O_WRONLY, os.O_RDWR | os.O_TRUNC):
        refused(errno.EPERM, os.open, NEW + '/a/0', flags)
    with open(guard.process.log) as log:
        expect(f'{NEW}/a/0: refused to guarding.py (' in log.read(), 'the log does not name it')
    expect('unfinished files are refused' in migration.ctl('status'), 'status does not say so')
    migration.crawl()
    guard.stop(signal.SIGKILL)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        wait = pool.submit(seen, NEW + '/a/0')
        done, _ = concurrent.futures.wait([wait], 1)
        same(len(done), 0, 'who read without a guard')
        guard.start()
        wait.result(60)
    for directory in 'abcd':
        for n in range(FILES):
            seen(f'{NEW}/{directory}/{n}')


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('build')
    parser.add_argument('case', choices=('knfsd', 'older'))
    parser.add_argument('tools', nargs='?')
    args = parser.parse_args()
    sandbox.SCRATCH = '/dev/shm'        # an overlay of Linux 6.1 has no unnamed files

    # No namespaces: the guard and the kernel's threads are in those of the machine.
    os.environ['DM_DISABLE_UDEV'] = '1'
    for directory in (sandbox.LOGS, '/run/rpcbind'):
        os.makedirs(directory)
    sh('mount', '-t', 'tmpfs', 'tmpfs', '/var/lib/nfs')
    try:
        {'knfsd': knfsd, 'older': older}[args.case](args)
    except BaseException:
        sandbox.show_logs()
        raise


if __name__ == '__main__':
    main()
