#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""In a guest: a migration onto a dataset of ZFS, whose power the host cuts.  The pool is on /dev/vda1, the old
server's tree on /dev/vdb; or there is a pool without the feature zilsaxattr.

    zfs.py BUILD TREE refuse            what attach says of datasets that cannot be used
    zfs.py BUILD TREE start             migrates, and prints "told N" for each write that was acknowledged
    zfs.py BUILD TREE finish TOLD       what must be true after the cut; a kill; the end
    zfs.py BUILD TREE quota             what its owner's quota has no room for
    zfs.py BUILD TREE look              zeros that are compressed, a kill, a snapshot, and a copy that was received
"""
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
for directory in ('../../support', '..', ''):
    sys.path.insert(0, os.path.join(HERE, directory))
import powercut             # noqa: E402
import sandbox              # noqa: E402
import test_powercut        # noqa: E402
import tree                 # noqa: E402
import zfs                  # noqa: E402
from nfs3 import NfsError   # noqa: E402
from sandbox import LOGS, Failure, sh, wait_for             # noqa: E402
from servers import NEW, OLD, Migration                     # noqa: E402
from smbfiles import Files, Refused                         # noqa: E402

FILES, SIZE = 20, 1 << 20
ZEROS = 256 << 10               # two of ZFS's blocks
ALONE = 12                      # writes before the crawler begins
OWNER = 1500                    # has a quota
SETTINGS = ('acltype=posixacl', 'xattr=sa', 'mountpoint=legacy')
NO_LOG = 'lacks an fsync that makes extended attributes durable'
FOLDED = 'lacks names that differ in case, or in Unicode normalization, alone'
WRONG = (({'xattr': 'dir'}, NO_LOG), ({'sync': 'disabled'}, NO_LOG),
         ({'casesensitivity': 'insensitive'}, FOLDED), ({'normalization': 'formD'}, FOLDED))


def expect(truth, what):
    if not truth:
        raise Failure(what)


def make_old():
    """It keeps its numbers and times over a power cut."""
    sh('mkfs.ext4', '-q', '/dev/vdb')
    sh('mount', '/dev/vdb', OLD)
    tree.make(OLD, FILES, 3, 256 << 10)
    test_powercut.fill_for_writing(OLD, random.Random(4), 100000)
    for name in ('zeros', 'unstable', 'later', 'before', 'huge'):
        with open(f'{OLD}/{name}', 'wb') as file:
            file.write(b'O' * SIZE)
    for name in ('before', 'huge'):     # and cannot be compressed
        with open(f'{OLD}/{name}', 'wb') as file:
            file.write(random.Random(name).randbytes(SIZE))
        os.chown(f'{OLD}/{name}', OWNER, OWNER)
    sh('sync')


def create(pool, device, *options):
    zfs.run('zpool', 'create', '-f', *options, *(f'-O{setting}' for setting in SETTINGS), pool, device)


def attach(migration):
    """What it says where it refuses, or None."""
    migration.start_retriever()
    try:
        migration.attach()
    except Failure as failure:
        return str(failure)
    finally:
        migration.retriever.stop()
    return None


def refuse(build):
    """Each in one line that says what to do."""
    create('tank', '/dev/vda1')
    create('old', '/dev/vdb1', '-o', 'feature@zilsaxattr=disabled')
    problems = []
    for n, (properties, wanted) in enumerate((*WRONG, (None, NO_LOG))):
        dataset = f'old/{n}' if properties is None else f'tank/{n}'
        zfs.run('zfs', 'create', *(f'-o{k}={v}' for k, v in (properties or {}).items()), dataset)
        zfs.mount(dataset, f'{NEW}/{n}')
        said = attach(Migration(build, 'file://' + OLD, f'{NEW}/{n}'))
        print(properties, said, flush=True)
        if wanted not in (said or '') or '\n' in said.strip():
            problems.append(f'{properties}: attach says {said}')
        if os.listdir(f'{NEW}/{n}'):
            problems.append(f'{properties}: attach left {os.listdir(f"{NEW}/{n}")}')
    return problems


def make(build):
    """A volume that is attached, and its NFS server."""
    make_old()
    create('tank', '/dev/vda1')
    zfs.run('zfs', 'create', 'tank/v')
    zfs.mount('tank/v', NEW)
    migration = Migration(build, 'file://' + OLD, NEW)
    powercut.start_retriever(migration)
    migration.attach()
    migration.start_server()
    return migration


def start(build):
    migration = make(build)

    def told(number):
        print('told', number, flush=True)
        if number == ALONE:             # what it makes meets the cut
            migration.start_crawler()
    powercut.write(migration.server.client(), told)


def expect_bytes(data, what, begin):
    """The client's zeros are at the beginning, and none anywhere else (I4, I7)."""
    expect(len(data) == SIZE, f'{what}: {len(data)} bytes')
    expect(not data[:begin].strip(b'\0'), f'{what}: the old bytes came back over a client\'s')
    expect(data[begin:] == b'O' * (SIZE - begin), f'{what}: {data[begin:].count(0)} zeros of nobody')


def kill_retriever(migration):
    migration.retriever.stop(9)
    migration.start_retriever()


def write_zeros(migration):
    """ZFS makes holes of them, which are no loss, whether they are committed or not when it is killed."""
    client = migration.server.client()
    for name in ('zeros', 'unstable'):
        fh, _ = client.walk(name)
        expect(powercut.record(f'{NEW}/{name}') is not None, f'{name} is no stub any more: nothing is tested')
        client.write(fh, 0, bytes(ZEROS))
        if name == 'zeros':
            client.commit(fh)
    kill_retriever(migration)
    for name in ('zeros', 'unstable'):
        fh, _ = client.walk(name)
        client.commit(fh)
        expect_bytes(client.read_all(fh), name, ZEROS)


def look_at_snapshot(migration, files):
    """What is missing in one cannot be had through the doors, though its stubs have the handles of those that the
    retriever knows."""
    client = migration.server.client(patience=5)
    client.read(client.walk('later')[0], 0, 1)
    zfs.run('zfs', 'snapshot', 'tank/v@s')
    path = '.zfs/snapshot/s/later'
    try:
        data = client.read_all(client.walk(path)[0])
        expect_bytes(data, 'a snapshot by NFS', 0)
    except NfsError as error:
        print('a snapshot by NFS:', error)
    try:
        expect_bytes(files.read(path), 'a snapshot by SMB', 0)
    except Refused as refused:
        print('a snapshot by SMB:', refused)


def receive(build, migration):
    """A copy of an unfinished dataset has its stubs, and is no old server."""
    zfs.run('sh', '-c', 'zfs send tank/v@s | zfs receive -o mountpoint=legacy tank/copy')
    zfs.mount('tank/copy', '/run/copy')
    migration.retriever.stop()
    try:
        Migration(build, 'file:///run/copy', '/run/w').start_retriever()
    except Failure:
        with open(LOGS + '/retriever.log') as log:
            expect('is a copy of such a tree' in log.read(), 'a received copy is refused for another reason')
    else:
        raise Failure('a received copy is taken for an old server')
    migration.configure(source=migration.source)
    migration.start_retriever()


def over_quota(build):
    """What its owner's quota has no room for fails alone, and comes when there is room."""
    migration = make(build)
    client = migration.server.client(patience=20)
    wanted = {name: random.Random(name).randbytes(SIZE) for name in ('before', 'huge')}
    expect(client.read_all(client.walk('before')[0]) == wanted['before'], 'before differs')
    zfs.run('zfs', 'set', f'userquota@{OWNER}=64K', 'tank/v')
    zfs.run('zpool', 'sync')
    fh, _ = client.walk('huge')
    try:
        client.read_all(fh)
        raise Failure('the quota does not count what is written for its owner')
    except NfsError as error:
        print('over quota:', error)
    reasons = migration.errors()
    print('errors:', reasons, flush=True)
    expect(list(reasons) == ['huge'], f'not that file alone: {reasons}')
    expect_bytes(client.read_all(client.walk('later')[0]), 'beside what is over quota', 0)
    zfs.run('zfs', 'set', f'userquota@{OWNER}=none', 'tank/v')
    zfs.run('zpool', 'sync')
    migration.ctl('retry')
    expect(client.read_all(fh) == wanted['huge'], 'huge differs')


def crawl_and_kill(migration):
    """The retriever is killed in the middle."""
    crawler = migration.start_crawler()
    whole = migration.status()['files_whole']
    wait_for('the crawler goes on', lambda: migration.status()['files_whole'] > whole or crawler.poll() is not None)
    expect(crawler.poll() is None, 'the crawler is done before the kill')
    kill_retriever(migration)
    expect(crawler.wait(400) == 0, f'the crawler ends with {crawler.returncode}')


def look(build):
    migration = make(build)
    print(migration.ctl('status', '--verbose'), flush=True)
    migration.start_smbd()
    write_zeros(migration)
    files = Files(migration.smbd.session('root'))
    look_at_snapshot(migration, files)
    receive(build, migration)
    expect_bytes(files.read('zeros'), 'by SMB', ZEROS)
    expect_bytes(files.read('later'), 'by SMB', 0)


def finish(build, told):
    sh('mount', '/dev/vdb', OLD)
    zfs.run('zpool', 'import', '-d', '/dev', 'tank')
    zfs.mount('tank/v', NEW)
    migration = Migration(build, 'file://' + OLD, NEW)
    problems = powercut.check(NEW, OLD, 'file', told)
    powercut.start_retriever(migration)
    migration.start_server()
    crawl_and_kill(migration)
    return problems + powercut.finish(migration, OLD, 'file', told)


def main():
    build, packages, verb = sys.argv[1:4]
    sh('ip', 'link', 'set', 'lo', 'up')
    for directory in (LOGS, OLD, NEW, '/var/lib/nfs/ganesha', '/run/ganesha', '/run/rpcbind'):
        os.makedirs(directory, exist_ok=True)
    zfs.load(packages)
    try:
        if verb == 'finish':
            problems = finish(build, int(sys.argv[4]))
        else:
            problems = {'refuse': refuse, 'look': look, 'quota': over_quota, 'start': start}[verb](build)
    except (Failure, NfsError, Refused) as failure:
        problems = [repr(failure)]
    print(*(problems or ())[:30], sep='\n')
    if problems:
        sandbox.show_logs()
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
