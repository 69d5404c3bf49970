#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""In a guest: a migration onto the disk of the host (volatile.py), whose power the host cuts.

    powercut.py BUILD OLD SOURCE FS start|resume TOLD   migrates; prints "at N" as files become
                                                        whole, and "told N" for each change of
                                                        attributes and write that were acknowledged
    powercut.py BUILD OLD SOURCE FS check TOLD          what must be true right after the cut
    powercut.py BUILD OLD SOURCE FS finish TOLD         migrates to the end and compares

SOURCE is "file", the tree OLD itself, or "smb", the share of it that the host serves.  Or it is the
tree OLD, and there is a copy before the switch: "copied" is ours, "adopted" another tool's.  Then
start and resume print "tick N" as it goes on, and resume and finish begin with what check does.
"""
import os
import random
import select
import stat
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'support'))
import nfs3         # noqa: E402
import sandbox      # noqa: E402
import smbsource    # noqa: E402
import tree         # noqa: E402
import volatile     # noqa: E402
from sandbox import LOGS, Failure, sh       # noqa: E402
from servers import NEW, VOLUME, Migration  # noqa: E402

WRITES = 'for writing'          # the directory that the client in here writes to
ATTRIBUTES = 100                # files in it of which it changes the attributes only
RECORD = 'security.migrate'


def record(path, name=RECORD):
    """The value of the record, or None."""
    try:
        return os.getxattr(path, name, follow_symlinks=False)
    except OSError as error:
        if error.errno == 61:           # ENODATA
            return None
        raise


def source_of(old, kind):
    """Its URL, and what is configured for it."""
    if kind != 'smb':
        return f'file://{old}', {}
    return (f'smb://root@{os.environ["VM_HOST"]}/old',
            {'smb_password_file': smbsource.password(), 'smb_modes': 'open'})


def begin(build, old, kind, fs, fresh):
    os.makedirs(LOGS)
    os.makedirs(NEW)
    disk = volatile.attach(os.environ['VM_HOST'], *map(int, os.environ['DISK'].split()))
    if fresh:
        sh(*sandbox.MKFS[fs], disk)
    sh('mount', '-t', fs, disk, NEW)
    os.makedirs(NEW + '/volume', exist_ok=True)
    url, settings = source_of(old, kind)
    return Migration(build, url, NEW + '/volume', **settings)


def start_retriever(migration):
    """As an init system does: on a busy machine an old server may not answer in time."""
    for left in reversed(range(5)):
        try:
            migration.start_retriever()
            return
        except Failure:
            if not left:
                raise


def migrate(migration, fresh):
    """Crawls and writes until the power goes."""
    start_retriever(migration)
    if fresh:
        migration.attach()
    server = migration.start_server()
    written = threading.Event()

    def told(number):
        print('told', number, flush=True)
        written.set()
    threading.Thread(target=write, args=(server.client(), told), daemon=True).start()
    if not written.wait(120):           # the first cut is to meet a write that was acknowledged
        raise Failure('no write is acknowledged')
    crawler = migration.start_crawler()
    while crawler.poll() is None:
        status = migration.status()
        print('at', status['files_whole'], flush=True)
        select.select([], [], [], 0.1)
    print('at the end', flush=True)


# ---- a copy before the switch -----------------------------------------------------------------

BEFOREHAND = ('copied', 'adopted')


def leave(old, root):
    """What another tool has copied, with its mistakes."""
    chance = random.Random(5)
    sh('cp', '-a', '--sparse=always', old + '/.', root)
    for path in sorted(map(os.fsencode, tree.every(root))):
        st = os.lstat(path)
        if not stat.S_ISREG(st.st_mode) or chance.random() < 0.6:
            continue
        if chance.random() < 0.2:
            os.unlink(path)
        elif st.st_size:                # under the right size and mtime
            with open(path, 'r+b') as file:
                file.seek(st.st_size // 2)
                file.write(b'wrong'[:st.st_size])
            os.truncate(path, st.st_size)
            os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))
    os.makedirs(root + '/extra/directory')
    with open(root + '/extra/directory/file', 'w') as file:
        file.write('extra')
    sh('sync')


def is_attached(migration):
    return migration.status()['state'] in ('migrating', 'whole')


def beforehand(migration, kind, happens):
    """To the end; happens(phase, process): waits for it."""
    def run(*argv):
        happens(argv[0], sandbox.Process('migratectl', [migration.program('migratectl'), '--config',
                                                        migration.config, *argv, VOLUME]))
    if kind == 'copied' and not is_attached(migration) and not os.path.isdir(
            migration.root + '/.migrate/prior'):
        run('copy', '--accept')
        run('copy', '--accept')
    if not is_attached(migration):
        run('attach', *(('--adopt', '--compare=content') if kind == 'adopted' else ()))
    happens('compare', migration.start_crawler())


def tick(phase, process):
    """Numbers that grow, of each phase from another million on."""
    number = ('copy', 'attach', 'compare').index(phase) * 10**6
    while process.poll() is None:
        number += 1
        print('tick', number, flush=True)
        select.select([], [], [], 0.02)


def check_copy(root, old):
    """What has a mark is whole."""
    problems, marked = [], 0
    for copy in ('copy', 'prior'):
        top = os.fsencode(f'{root}/.migrate/{copy}')
        for path in tree.every(top) if os.path.isdir(top) else ():
            if not os.path.isfile(path) or os.path.islink(path) or b'/.migrate/' in path[len(top):] or \
                    record(path, 'security.migrate.copied') is None:
                continue
            marked += 1
            source = os.path.join(os.fsencode(old), os.path.relpath(path, top))
            with open(path, 'rb') as a, open(source, 'rb') as b:
                if a.read() != b.read():
                    problems.append(f'{path}: has a mark and is not whole')
    print(f'{marked} files have a mark')
    return problems


def finish_beforehand(migration, old, kind):
    beforehand(migration, kind, lambda _, process: process.wait(600))
    migration.ctl('verify')
    migration.ctl('aside', '--discard', '--yes')
    migration.ctl('finalize')
    return left_and_different(migration.root, old)


def left_and_different(root, old):
    return [f'{p}: still has a record' for p in tree.records(root)] + tree.compare(
        old, root, any_mtime=lambda st: True).differences


# ---- writes -------------------------------------------------------------------------------------

def block(number):
    """What the write of this number puts: 1000 bytes that nothing else has."""
    return random.Random(number).randbytes(1000)


def position(number):
    """(name, offset) of a write: into ranges that are missing, each one once."""
    return f'file{number % 20}', 3000 * (number // 20) + 1111


def attributes(number):
    return {'mode': 0o600 | number & 0o77, 'uid': number + 1, 'mtime': 10**18 + number}


def write(client, told, count=2000):
    """What is stable, or committed, makes durable what was changed before it, in the file system's journal."""
    directory, _ = client.walk(WRITES)
    for number in range(count):
        name, offset = position(number)
        if number < ATTRIBUTES:
            fh, _ = client.lookup(directory, f'attr{number}')
            client.setattr(fh, **attributes(number))
        fh, _ = client.lookup(directory, name)
        if number % 2:
            client.write(fh, offset, block(number))
            client.commit(fh)
        else:
            client.write(fh, offset, block(number), nfs3.FILE_SYNC)
        told(number)


def lost_attributes(root, told, whole=False):
    """What a client set is there, and no fill undoes it; mtime is in the record until then (I7).  btrfs
    makes with a file that is synced no other one durable."""
    problems = []
    if sandbox.sh('stat', '-f', '-c', '%T', root).strip() == 'btrfs':
        return problems
    for number in range(min(told + 1, ATTRIBUTES)):
        st, new = os.lstat(f'{root}/{WRITES}/attr{number}'), attributes(number)
        if (stat.S_IMODE(st.st_mode), st.st_uid) != (new['mode'], new['uid']) or (
                whole and st.st_mtime_ns != new['mtime']):
            problems.append(f'{WRITES}/attr{number}: acknowledged attributes are lost: {st}')
    return problems


def check(root, old, kind, told):
    """No object without a record is anything but whole, and what was told to a client is there."""
    problems, whole, left = [], 0, 0
    for base, dirs, files in os.walk(os.fsencode(root)):
        below = os.path.relpath(base, os.fsencode(root))
        if below == b'.' and b'.migrate' in dirs:
            dirs.remove(b'.migrate')
        mine = record(base)
        for name in dirs + files:
            path, source = os.path.join(base, name), os.path.join(os.fsencode(old), below, name)
            st = os.lstat(path)
            if record(path) is not None:
                left += 1
                if mine is None:
                    problems.append(f'{path}: unfinished in a directory that is normal (I5)')
            else:
                whole += 1
                if below == os.fsencode(WRITES) and name.startswith(b'attr'):
                    continue
                problems += differences(path, source, st, kind, below == os.fsencode(WRITES))
    problems += lost_attributes(root, told)
    for number in range(told + 1):
        name, offset = position(number)
        path = f'{root}/{WRITES}/{name}'
        with open(path, 'rb') as file:
            file.seek(offset)
            if file.read(1000) != block(number):
                problems.append(f'{path}: the acknowledged write {number} is lost')
    print(f'{whole} objects are whole, {left} are not')
    return problems


def differences(path, source, st, kind, written):
    """Modes and owners are not what an old SMB server's files have there."""
    wanted = os.lstat(source)
    problems = []
    if kind == 'smb':
        wanted = os.stat_result([st.st_mode, *wanted[1:4], st.st_uid, st.st_gid, *wanted[6:]])
    if (stat.S_IFMT(st.st_mode), st.st_uid, st.st_gid) != (
            stat.S_IFMT(wanted.st_mode), wanted.st_uid, wanted.st_gid):
        problems.append(f'{path}: whole, but another type or owner')
    if stat.S_IMODE(st.st_mode) != stat.S_IMODE(wanted.st_mode):
        problems.append(f'{path}: whole, but mode {st.st_mode:o}')
    if stat.S_ISREG(st.st_mode) and not written:
        with open(path, 'rb') as a, open(source, 'rb') as b:
            if a.read() != b.read():
                problems.append(f'{path}: has no record and is not whole (I3)')
    return problems


def compare(old, root, kind):
    """Sentences."""
    settings = {'any_mtime': lambda st: True, 'leave_out': {b'/' + os.fsencode(WRITES)}}
    if kind == 'file':
        return tree.compare(old, root, **settings).differences
    comparison = smbsource.Same(**settings)
    fds = [os.open(path, os.O_RDONLY | os.O_DIRECTORY) for path in (old, root)]
    comparison.directory(*fds)
    return comparison.differences


def finish(migration, old, kind, told):
    migration.crawl()
    migration.ctl('finalize')
    root = migration.root
    left = tree.records(root)
    problems = [f'{p}: still has a record' for p in left]
    problems += compare(old, root, kind)
    problems += lost_attributes(root, told, True)
    for n in range(ATTRIBUTES):
        with open(f'{old}/{WRITES}/attr{n}', 'rb') as a, open(f'{root}/{WRITES}/attr{n}', 'rb') as b:
            if a.read() != b.read():
                problems.append(f'{WRITES}/attr{n}: its content differs')

    def read(path):
        with open(f'{root}/{path}', 'rb') as file:
            return file.read()
    return problems + different_writes(old, told, read)


def different_writes(old, told, read):
    """What of the files that clients wrote to is neither the old server's nor theirs; read(path): the bytes."""
    problems = []
    for n in range(20):
        with open(f'{old}/{WRITES}/file{n}', 'rb') as file:
            wanted = bytearray(file.read())
        got = read(f'{WRITES}/file{n}')
        # writes after the last one that was told may be there or not, each as a whole or in part
        for number in range(n, 2000, 20):
            offset = position(number)[1]
            if number <= told:
                wanted[offset:offset + 1000] = block(number)
            elif got[offset:offset + 1000] != wanted[offset:offset + 1000]:
                wanted[offset:offset + 1000] = got[offset:offset + 1000]
        if got != bytes(wanted):
            problems.append(f'{WRITES}/file{n} differs')
    return problems


def main():
    build, old, kind, fs, verb, told = sys.argv[1:7]
    sh('ip', 'link', 'set', 'lo', 'up')
    for directory in ('/var/lib/nfs', '/run/ganesha', '/run/rpcbind'):
        os.makedirs(directory, exist_ok=True)
    os.makedirs('/var/lib/nfs/ganesha', exist_ok=True)
    migration = begin(build, old, kind, fs, verb == 'start')
    problems = []
    try:
        if kind in BEFOREHAND:
            if verb != 'start':
                problems = check_copy(migration.root, old)
                if record(migration.root) is not None:          # it is attached
                    problems += check(migration.root, old, kind, -1)
            elif kind == 'adopted':
                leave(old, migration.root)
            start_retriever(migration)
            if verb == 'finish' and not problems:
                problems = finish_beforehand(migration, old, kind)
            elif not problems:
                beforehand(migration, kind, tick)
                print('at the end', flush=True)
        elif verb in ('start', 'resume'):
            migrate(migration, verb == 'start')
        elif verb == 'check':
            problems = check(migration.root, old, kind, int(told))
        else:
            start_retriever(migration)
            problems = finish(migration, old, kind, int(told))
    except Failure as failure:
        problems = [str(failure)]
        if migration.retriever:
            print(migration.ctl('status', '--json', may_fail=True))
    for problem in problems[:30]:
        print(problem)
    if problems:
        sandbox.show_logs()
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
