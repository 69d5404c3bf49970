#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal knows what clients changed, through either door, whatever happens to it in between."""
import contextlib
import ctypes
import mmap
import os
import shutil
import signal
import struct
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import smbfiles                                                         # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import BASE, sh, wait_for                                  # noqa: E402
from servers import NEW, OLD, VOLUME, Stalled, stack                   # noqa: E402

QUEUE = '/proc/sys/fs/fanotify/max_queued_events'


def fill(root):
    for directory in 'abc':
        os.mkdir(f'{root}/{directory}')
        os.chmod(f'{root}/{directory}', 0o777)
        for n in range(8):
            with open(f'{root}/{directory}/{n}', 'w') as file:
                file.write(f'{directory}{n}' * 1000)
            os.chmod(file.name, 0o666)


def begin(args):
    _, migration = stack(args.build, fill)
    migration.start_journal()
    migration.attach()
    return migration


def whats(changes):
    """{path: what is said of it}"""
    return {path: set(c['what']) for path, c in changes.items()}


def covers(changes, wanted):
    """Nothing is missing; there may be more, as after a gap."""
    got = whats(changes)
    missing = [f'{path}: {got.get(path)}, not {what}' for path, what in wanted.items()
               if path not in got or not what <= got[path]]
    same(missing, [], 'what is missing')


def append(path, text='more'):
    with open(f'{NEW}/{path}', 'a') as file:
        file.write(text)


@case(short=True)
def over_nfs(args):
    """Each kind of change; nothing else has a row, though everything was fetched meanwhile.  What is
    known outlives the end of the migration, and not that of the way back."""
    migration = begin(args)
    migration.start_server()
    client = migration.server.client()
    a, b = client.walk('a')[0], client.walk('b')[0]
    client.write(client.walk('a/0')[0], 0, b'changed', nfs3.FILE_SYNC)
    client.setattr(client.walk('a/1')[0], mode=0o600)
    client.setattr(client.walk('a/4')[0], mtime=10**18)
    client.setattr(client.walk('a/5')[0], size=3)
    client.setattr(b, mode=0o770)
    client.rename(a, '2', b, 'moved')
    client.remove(a, '3')
    client.mkdir(b, 'made')
    client.link(client.walk('b/1')[0], a, 'link')
    client.rename(client.root, 'c', b, 'c')
    migration.crawl()
    wanted = {          # the kernel tells of an mtime as of a modification
        '.': {'entries'}, 'a': {'entries'}, 'b': {'entries', 'attributes'}, 'a/0': {'data'},
        'a/1': {'attributes'}, 'a/4': {'data'}, 'a/5': {'data'}, 'b/moved': {'names'}, 'a/3': {'attributes', 'names', 'removed'},
        'b/made': {'made'}, 'b/c': {'names'}, 'a/link': {'attributes', 'names'}}
    got = migration.changes()
    same(whats(got), wanted, 'changes')
    same((got['b/moved']['before'], got['b/c']['before']), (['a/2'], ['c']), 'places before')
    migration.ctl('finalize')
    same(whats(migration.changes()), wanted, 'changes after the end')
    expect('complete from' in migration.ctl('status'), 'status does not say that it is complete')
    append('b/c/5')
    migration.journal.stop(signal.SIGKILL)
    append('b/c/6')
    migration.start_journal()
    del wanted['a/link']        # or that of its other name
    covers(migration.changes(), {**wanted, 'b/c/5': {'data'}, 'b/c/6': {'data'}})
    migration.ctl('commit', '--yes')
    same(migration.journal.wait(60), 0, "the journal's exit status")
    expect(migration.ctl('changes', may_fail=True) is None, 'there are changes after the end')
    expect('closed' in migration.ctl('status'), 'status does not say that the way back is closed')


def abandon(migration, *options):
    """Its status, and what it says."""
    done = subprocess.run([migration.program('migratectl'), '--config', migration.config, 'abandon', *options, VOLUME],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def is_refused(migration, *words, options=('--yes',)):
    status, said = abandon(migration, *options)
    same(status, 1, f'the status of what said {said}')
    for word in words:
        expect(word in said, f'{word} is not in {said}')
    expect(os.path.exists(NEW + '/a/0'), 'nothing is removed')


@contextlib.contextmanager
def another_volume():
    """It is mounted where this one's file system should be."""
    sh('mount', '-t', 'tmpfs', 'tmpfs', NEW)
    os.mkdir(NEW + '/.migrate')
    handle = handle_of(NEW + '/.migrate').raw
    size, kind = struct.unpack_from('Ii', handle)
    os.setxattr(NEW + '/.migrate', 'security.migrate.private', bytes([kind, size]) + handle[8:8 + size])
    os.mkdir(NEW + '/a')
    append('a/0', 'its own')
    yield
    sh('umount', NEW)


@contextlib.contextmanager
def exported(path):
    """By the kernel's NFS server, so it is said."""
    sh('mount', '-t', 'tmpfs', 'tmpfs', '/var/lib/nfs')
    with open('/var/lib/nfs/etab', 'w') as file:
        file.write(f'{path}\t*(rw,sync,hide,crossmnt,no_subtree_check)\n')
    yield
    sh('umount', '/var/lib/nfs')


@case()
def abandoned(args):
    """Not while a file server has it, nor with what is here alone, unless that is said; and never
    another volume."""
    migration = begin(args)
    migration.start_server()
    client = migration.server.client()
    client.write(client.walk('a/0')[0], 0, b'changed', nfs3.FILE_SYNC)
    is_refused(migration, 'serves it: take it out of ganesha.conf, then: systemctl restart nfs-ganesha')
    migration.crawl()
    migration.retriever.stop()
    is_refused(migration, 'serves it: take it out of ganesha.conf')
    migration.start_retriever()
    migration.server.stop()
    sh('mount', '-t', 'tmpfs', 'tmpfs', NEW)
    status, said = abandon(migration, '--yes')
    sh('umount', NEW)
    same(status, 1, f'the status, when another file system is mounted there, of what said {said}')
    expect('nothing of the migration is in ' + NEW in said, said)
    with another_volume():
        is_refused(migration, 'is of another directory than what', options=['--yes', '--discard'])
    with open(NEW + '/.migrate/source', 'r+') as file:
        url = file.read()
        file.seek(0)
        file.write('nfs://another/tree')
        file.truncate()
        file.flush()
        is_refused(migration, 'came from another source', options=['--yes', '--discard'])
        file.seek(0)
        file.write(url)
        file.truncate()
    for path in (BASE, NEW + '/a'):
        with exported(path):
            is_refused(migration, f"the kernel's NFS server exports {path}:", options=['--yes', '--discard'])
    is_refused(migration, 'data                      a/0\n', '1 object that clients changed is not on the old server',
               'nobody has compared the whole files', '--discard removes them all the same')
    migration.rollback(f'--to={OLD}')
    migration.ctl('verify', '--content')
    same(abandon(migration, '--dry-run')[0], 0, 'the status once it is carried back and compared')
    is_refused(migration, 'its retriever still runs')
    migration.retriever.stop()
    mark = NEW + '/.migrate/abandoned'
    os.symlink('all', mark)
    os.utime(mark, (0, 0), follow_symlinks=False)
    is_refused(migration, 'goes on with what was begun', 'since it was begun 24 files', '  b/')
    os.remove(mark)
    status, said = abandon(migration, '--yes', '--discard')
    same(status, 0, f'the status of what said {said}')
    same(os.listdir(NEW), [], 'the root')
    same(migration.journal.wait(60), 0, "the journal's exit status")
    with open(OLD + '/a/0') as file:
        expect(file.read().startswith('changed'), "the old server's file is as it was")
    expect(set('abc') <= set(os.listdir(OLD)), "the old server's directories")


@case(short=True)
def over_smb(args):
    migration = begin(args)
    client = smbfiles.Files(migration.start_smbd().session())
    client.write('a/0', b'changed')
    client.rename('a/2', 'b/moved')
    client.unlink('a/3')
    client.mkdir('b/made')
    client.write('b/new', b'new')
    client.set_basic('a/4', written=12345)
    migration.crawl()
    got = migration.changes()
    covers(got, {'a': {'entries'}, 'b': {'entries'}, 'a/0': {'data'}, 'b/moved': {'names'},
                 'a/3': {'names', 'removed'}, 'b/made': {'made'}, 'b/new': {'made', 'data'}, 'a/4': {'attributes'}})
    same(got['b/moved']['before'], ['a/2'], 'where it was')
    untouched = {path for path in got if path.startswith('c/')}
    same(untouched, set(), 'rows of what nobody changed')


@case()
def killed(args):
    """Again and again, with changes before, while it is away, and while it scans; the retriever and
    the crawler as well."""
    migration = begin(args)
    client = migration.start_server().client()
    a, b, c = (client.walk(name)[0] for name in 'abc')
    wanted = {}
    crawler = migration.start_crawler()
    for n in range(8):
        client.write(client.lookup(a, str(n))[0], 5, b'more', nfs3.FILE_SYNC)
        if n % 2:       # else it is not in the store
            migration.changes()
        migration.journal.stop(signal.SIGKILL)
        client.rename(b, str(n), c, f'moved{n}')
        client.mkdir(client.root, f'new{n}')
        if n == 4:
            migration.retriever.stop(signal.SIGKILL)
            migration.start_retriever()
        migration.start_journal()
        client.write(client.lookup(c, str(n))[0], 5, b'more', nfs3.FILE_SYNC)
        wanted |= {f'a/{n}': {'data'}, f'c/moved{n}': set(), f'new{n}': set(), f'c/{n}': {'data'}}
    crawler.wait(300)
    migration.crawl()
    got = migration.changes()
    covers(got, {**wanted, '.': {'entries'}, 'b': {'entries'}, 'c': {'entries'}})
    same(migration.status()['gaps'], 8, 'gaps')


@case()
def overflow(args):
    """It stands still while more happens than the kernel's queue holds."""
    migration = begin(args)
    migration.crawl()
    migration.changes()
    same(migration.status()['gaps'], 0, 'gaps')
    with open(QUEUE) as file:
        limit = int(file.read())
    with Stalled(migration.journal):
        for n in range(limit + 1000):
            os.mkdir(f'{NEW}/{n}')
        append('a/0')
        os.rename(f'{NEW}/b/1', f'{NEW}/c/moved')
        os.remove(f'{NEW}/b/2')
    got = migration.changes()
    covers(got, {'a/0': {'data', 'scanned'}, 'b': {'entries'}, 'c': {'entries'}, 'c/moved': set(),
                 **{str(n): set() for n in range(limit + 1000)}})
    status = migration.status()
    expect(status['complete'] and status['gaps'] >= 1, f'{status}')
    same(status['last_gap'], 'overflow', 'why there was a gap')


@case()
def not_told(args):
    """A mapping that is written while nobody closes it; and files that are only opened for it."""
    migration = begin(args)
    migration.crawl()
    with open(f'{NEW}/a/0', 'r+b') as file, open(f'{NEW}/a/1', 'r+b') as other:
        with mmap.mmap(file.fileno(), 0) as mapping, mmap.mmap(other.fileno(), 0) as unused:
            mapping[0:4] = b'XXXX'
            expect(unused[0:2] == b'a1', 'the content')
            covers(migration.changes(), {'a/0': {'data'}})
    same(set(migration.changes()), {'a/0'}, 'changes')


def handle_of(path):
    """A struct file_handle."""
    handle = ctypes.create_string_buffer(struct.pack('Ii', 128, 0), 8 + 128)
    if ctypes.CDLL(None).name_to_handle_at(-100, path.encode(), handle, ctypes.byref(ctypes.c_int()), 0):
        raise OSError(f'{path}: no handle')
    return handle


def write_by_handle(handle, text):
    """As another export of the file system does, which has only just been started."""
    sh('mount', '-o', 'remount', NEW)       # drops what names the kernel knows
    at = os.open(NEW, os.O_RDONLY)
    file = ctypes.CDLL(None).open_by_handle_at(at, handle, os.O_WRONLY)
    os.write(file, text)
    os.close(file)
    os.close(at)


@contextlib.contextmanager
def mapped(path):
    """Written through a mapping; then the mtime is as it was, and then it is closed."""
    times = os.stat(path)
    with open(path, 'r+b') as file, mmap.mmap(file.fileno(), 0) as mapping:
        mapping[0:4] = b'MAPS'
        mapping.flush()
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        yield


@case()
def elsewhere(args):
    """What the kernel tells of by a name that is not in the tree, or not at all; and the retriever's
    own doing that is a change.  All of it is carried back, and nothing of another tree is."""
    tree, beside, back = NEW + '/tree', NEW + '/beside', BASE + '/back'
    names = ['a', 'b', 'c', 'dir/file', 'left', 'linked', 'map', 'open', 'kept']

    def prepare(root):
        os.mkdir(f'{root}/dir')
        for name in names[:-1]:
            with open(f'{root}/{name}', 'w') as file:
                file.write(name * 1000)
            os.utime(file.name, (10**9, 10**9))
        os.remove(f'{root}/b')
        os.link(f'{root}/a', f'{root}/b')
        sh('cp', '-a', root, tree)
        os.link(f'{tree}/a', f'{tree}/gone')
        os.remove(f'{root}/c')
        os.rename(f'{tree}/c', f'{tree}/kept')
        os.mkdir(beside)

    _, migration = stack(args.build, prepare, root=tree, rollback_source=back)
    os.mkdir(back)
    sh('mount', '--bind', OLD, back)
    migration.start_journal()
    migration.ctl('attach', '--adopt')
    migration.crawl()
    wait_for('a file of its own', lambda: os.stat(f'{tree}/a').st_nlink == 2)
    same({os.stat(f'{tree}/.migrate/aside/{name}').st_nlink for name in ('gone', 'kept')}, {1}, 'links')
    with open(f'{tree}/open', 'r+b') as file, mmap.mmap(file.fileno(), 0) as mapping:
        mapping[0:4] = b'MAPS'
        migration.rollback()        # the first one looks for what nobody has closed
        expect(open(f'{OLD}/open').read(4) == 'MAPS', 'what is written through a mapping is not there')
    client = migration.start_server().client()
    file = client.walk('a')[0]
    sh('mount', '-o', 'remount', NEW)
    sh('find', f'{tree}/.migrate')
    client.write(file, 0, b'changed', nfs3.FILE_SYNC)
    migration.ctl('aside', '--restore', argument='kept')
    os.link(f'{tree}/linked', f'{beside}/linked')
    os.rename(f'{tree}/left', f'{beside}/left')
    os.rename(f'{tree}/dir', f'{beside}/dir')
    same(migration.changes()['kept']['what'], ['made'], 'what was restored')
    for name in ('left', 'linked', 'dir/file'):
        with open(f'{beside}/{name}', 'r+') as file:
            file.write('changed')
    migration.changes()
    os.rename(f'{beside}/left', f'{tree}/left')
    os.rename(f'{beside}/dir', f'{tree}/dir')
    with mapped(f'{tree}/map'):
        pass
    shutil.copy(f'{tree}/map', f'{beside}/foreign')
    migration.rollback()
    for name in names:
        if name != 'c':
            expect(open(f'{tree}/{name}').read() == open(f'{OLD}/{name}').read(), f'{name} is another')
    for text in (b'once', b'more'):
        write_by_handle(handle_of(f'{beside}/foreign'), text)
        got = migration.rollback()
        same((got['made'], got['bytes'], got['left']), (0, 0, 0), 'what was done for another tree')
    with open(f'{tree}/kept', 'a') as file:
        file.write('changed')
    same(migration.rollback()['bytes'], os.path.getsize(file.name), 'a change of what was restored')
    expect('may have been changed' in migration.ctl('commit', '--yes'), 'commit does not say what was changed')


@case()
def coming_back(args):
    """Where directories come back all the time, what was changed before the question is said."""
    tree, beside = NEW + '/tree', NEW + '/beside'
    over = threading.Event()

    def prepare(root):
        fill(root)
        sh('cp', '-a', root, tree)
        os.mkdir(beside)

    def move():
        while not over.wait(0.001):
            os.rename(f'{tree}/c', f'{beside}/c')
            os.rename(f'{beside}/c', f'{tree}/c')

    _, migration = stack(args.build, prepare, root=tree)
    migration.start_journal()
    migration.ctl('attach', '--adopt')
    migration.crawl()
    mover = threading.Thread(target=move)
    mover.start()
    try:
        for n in range(3):
            append(f'tree/a/{n}')
            covers(migration.changes(), {f'a/{n}': {'data'}})
    finally:
        over.set()
        mover.join()


@case()
def late(args):
    """Started after the volume, and begun anew by a store that was lost: nothing is missing either.
    And where it does not run, that is said."""
    _, migration = stack(args.build, fill)
    migration.attach()
    migration.crawl()
    append('a/0')
    expect('none' in migration.ctl('status'), 'status does not say that there is no journal')
    migration.start_journal()
    append('a/1')
    wait_for('the scan', lambda: migration.status()['complete'])
    covers(migration.changes(), {'a/0': {'data'}, 'a/1': {'data'}})
    migration.journal.stop()
    expect('not running' in migration.ctl('status'), 'status does not say that nobody watches')
    expect(migration.ctl('changes', may_fail=True) is None, 'changes are said to be complete')


if __name__ == '__main__':
    sys.exit(main())
