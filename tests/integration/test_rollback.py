#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The way back: clients change things on the new server, and the old one's tree becomes the same.

The old server's tree is reached through a mount of its own, as an administrator makes it for the way
back; the migration itself reads it through an export that cannot be written (I10)."""
import contextlib
import functools
import itertools
import json
import os
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import knfsd                                                            # noqa: E402
import nfs3                                                             # noqa: E402
import otherwriter                                                      # noqa: E402
import smbfiles                                                         # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, no_differences, same            # noqa: E402
from sandbox import BASE, Process, sh, wait_for                         # noqa: E402
from servers import NEW, OLD, VOLUME, stack                             # noqa: E402

BACK = BASE + '/back'           # the mount with write rights


def begin(args, files=400, dress=None, **settings):
    """A volume that is served, with its journal; its old server exports read-only.  dress: what is done to
    the old tree before."""
    def make(root):
        made = tree.make(root, files, args.seed, 2 << 20)
        if dress:
            dress(root)
        return made
    if args.knfsd:
        settings['serve'] = lambda: knfsd.HostServer(args.knfsd, OLD)
    elif not args.mount:
        settings['old'] = {'export': 'Access_Type = RO;'}
    old, migration = stack(args.build, make, rollback_source=BACK, **settings)
    os.makedirs(BACK)
    if args.mount:
        path = OLD if 'vers=3' in args.mount else '/' if args.knfsd else '/export'
        sh('mount', '-t', 'nfs', '-o', args.mount, f'{old.address}:{path}', BACK)
        migration.rollback = noting_losses(migration.rollback)
    else:
        sh('mount', '--bind', OLD, BACK)
    migration.start_journal()
    migration.attach()
    migration.start_server()
    return old, migration


def going_back(function):
    """A case.  The kernel's client would wait for its server, which ends with the sandbox."""
    @functools.wraps(function)
    def run(args):
        try:
            function(args)
        finally:
            if args.mount and os.path.ismount(BACK):
                sh('umount', '-l', BACK)
    return case()(run)


def equal():
    """Both trees, of which the new one is whole, but for what was listed as lost."""
    found = tree.compare(OLD, NEW, slack=1 << 30)
    found.differences[:] = [line for line in found.differences if not is_listed(line)]
    no_differences(found)
    for path in map(os.fsdecode, tree.every(NEW)):
        there = OLD + path[len(NEW):]
        if path.startswith(NEW + '/.migrate') or os.path.islink(path):
            continue
        for name in ('system.posix_acl_access', 'system.posix_acl_default', 'user.back',
                     'user.DOSATTRIB'):
            if (path[len(NEW) + 1:], name) not in LOST:
                same(attribute(there, name), attribute(path, name), f'{name} of {there}')


LOST = set()                    # as_lost(), what a real NFS server did not take


def as_lost(loss):
    return loss['path'], loss['reason'].split()[0]


def noting_losses(rollback):
    """Ganesha's VFS has no times of symbolic links and no ACLs."""
    def run(*options, **kw):
        got = rollback(*options, **kw)
        if isinstance(got, dict):
            LOST.update(lost for lost in map(as_lost, got['losses'])
                        if lost[1] != 'its' or os.path.islink(f'{NEW}/{lost[0]}'))
        return got
    return run


def is_listed(line):
    """Whether a difference follows from what was listed.  A file without its ACL has another mode."""
    path, what = re.fullmatch(r"'/(.*)': (\w+) .*", line).groups()
    return (path, {'mtime': 'its', 'mode': 'system.posix_acl_access'}.get(what)) in LOST


def crawl(args, migration):
    """The old server's file of a stub that was only renamed, or given other attributes, has another ctime
    after the way back: the administrator says that it is what it was.  Where the tree is changed behind
    the old server's back, it goes on telling the ctimes of before."""
    if args.mount:
        migration.start_crawler().wait(100)
        migration.ctl('retry', '--same')
    migration.crawl()


def attribute(path, name):
    with contextlib.suppress(OSError):
        return os.getxattr(path, name)


def change_by_nfs(client, tag):
    """Three are made, four changed, three renamed, two removed: a replaced one, too.  What was there
    before is of the tree's; tag: 0, 1, ..., each time other objects."""
    wide = client.walk('wide')[0]
    name = [f'{10 * tag + n:05}' for n in range(10)]
    fresh = client.mkdir(client.root, f'new {tag}')
    made = client.create(fresh, 'file', mode=0o640)
    client.write(made, 0, b'made ' * 5000, nfs3.FILE_SYNC)
    client.link(made, wide, f'link {tag}')
    client.symlink(fresh, 'symlink', 'file')
    client.write(client.walk(f'wide/{name[1]}')[0], 100, b'changed', nfs3.FILE_SYNC)
    client.setattr(client.walk(f'wide/{name[2]}')[0], mode=0o604, uid=77, gid=78)
    client.rename(wide, name[3], client.root, f'moved {tag}')
    client.rename(wide, name[4], wide, name[5])
    client.remove(wide, name[6])
    where = client.root if tag % 2 == 0 else wide
    client.rename(where, 'links', wide if tag % 2 == 0 else client.root, 'links')
    client.write(client.walk('wide/links/a' if tag % 2 == 0 else 'links/a')[0], tag, b'linked',
                 nfs3.FILE_SYNC)
    client.setattr(client.walk('large/524288 bytes')[0], size=1000 + tag)


COUNTS = {'made': 3, 'changed': 4, 'renamed': 3, 'removed': 2, 'conflicts': [], 'losses': []}


def counts(got):
    return {**{key: got[key] for key in COUNTS},
            'losses': [loss for loss in got['losses'] if as_lost(loss) not in LOST]}


@going_back
def nothing_migrated(args):
    """Numbers of a plan are those of what is done; and nothing else is brought."""
    _, migration = begin(args)
    began = time.time_ns()
    change_by_nfs(migration.server.client(), 0)
    before = migration.status()
    for path in map(os.fsdecode, tree.every(OLD)):
        expect(os.lstat(path).st_ctime_ns <= began, f'{path} was changed on the old server (I10)')
    plan = migration.rollback('--plan')
    same({**counts(plan), 'losses': []}, COUNTS, 'what is planned')
    expect(not os.path.exists(OLD + '/moved 0'), 'a plan does nothing')
    same(counts(migration.rollback()), COUNTS, 'what is done')
    fetched = int(migration.status()['bytes_fetched']) - int(before['bytes_fetched'])
    expect(fetched < 300_000, f'{fetched} bytes were fetched: stubs cost nothing')
    expect(not os.path.exists(OLD + '/.migrate-rollback'), 'something is left over')
    nothing = dict.fromkeys(('made', 'changed', 'renamed', 'removed'), 0)
    same(counts(migration.rollback()), {**COUNTS, **nothing}, 'what is done again')
    crawl(args, migration)
    equal()


@going_back
def stub_that_is_renamed(args):
    """It costs a rename there, and can still be read here."""
    _, migration = begin(args)
    client = migration.server.client()
    client.rename(client.walk('wide')[0], '00001', client.root, 'moved')
    client.setattr(client.walk('wide/00002')[0], mode=0o604)
    size = os.stat(OLD + '/wide/00001').st_size
    before = os.stat(OLD + '/wide/00001').st_ino
    done = migration.rollback()
    same([done['renamed'], done['made'], done['bytes']], [1, 0, 0], 'what is done')
    same(os.stat(OLD + '/moved').st_ino, before, 'the inode on the old server')
    expect('security.migrate' in os.listxattr(NEW + '/moved') or not size, 'it was brought')
    crawl(args, migration)
    equal()


@going_back
def finished_and_finalized(args):
    """With changes of local programs, and over SMB; the names alone are here at first."""
    _, migration = begin(args)
    crawler = migration.start_crawler('--metadata-only')
    same(crawler.wait(100), 0, 'the crawler')
    client = migration.server.client()
    change_by_nfs(client, 0)
    same(counts(migration.rollback()), COUNTS, 'what is done with the names')
    crawl(args, migration)
    equal()
    smb = smbfiles.Files(migration.start_smbd().session('root'))
    smb.write('wide/by smb', b'smb' * 1000)
    smb.write('wide/00020', b'smb')
    smb.rename('wide/00021', 'wide/00022 renamed')
    smb.unlink('wide/00023')
    change_by_nfs(client, 1)
    done = migration.rollback()
    same(done['conflicts'], [], 'conflicts')
    equal()
    migration.ctl('verify')
    migration.ctl('finalize')
    migration.smbd.stop()
    migration.server.stop()
    sh('setfacl', '-m', 'u:77:rwx,d:g:78:rx', NEW + '/departments')
    os.setxattr(NEW + '/wide/00030', 'user.back', b'value')
    os.truncate(NEW + '/sparse/middle', 64 << 20)
    os.rename(NEW + '/deep', NEW + '/wide/deep')
    shutil.rmtree(NEW + '/odd names')
    os.mknod(NEW + '/special/new', 0o600 | stat.S_IFIFO)
    os.utime(NEW + '/special/relative', ns=(10**9 + 5, 10**9 + 7), follow_symlinks=False)
    migration.rollback()
    equal()
    blocks = os.stat(OLD + '/sparse/middle').st_blocks
    expect(blocks * 512 < 2 << 20, f'{blocks} blocks: holes were filled')


def identities(top):
    """What shows that an object was touched, but for the root, in which the way back works."""
    return {os.path.relpath(path, os.fsencode(top)): (st.st_ino, st.st_ctime_ns)
            for path in tree.every(top) if path != top for st in [os.lstat(path)]}


@going_back
def gap_of_the_journal(args):
    """What a journal that was restarted cannot know is compared, and carried only where it differs."""
    _, migration = begin(args)
    crawl(args, migration)
    migration.journal.stop()
    migration.start_journal()
    before = identities(OLD)
    nothing = dict.fromkeys(('made', 'changed', 'renamed', 'removed', 'left'), 0)
    plan = migration.rollback('--plan')
    same(plan['maybe_changed'], len(set(before.values())) + 1, 'what a scan found')
    same(plan['same'], plan['maybe_changed'], 'what is the same')
    expect(' may have been' in migration.ctl('status'), 'status does not say that it was a gap')
    done = migration.rollback()
    same({key: done[key] for key in nothing}, nothing, 'what is carried')
    same(identities(OLD), before, 'the old tree')
    same(migration.rollback('--plan')['maybe_changed'], 0, 'what is compared again')

    migration.journal.stop()
    names = [os.fsencode(f'wide/{n:05}') for n in (11, 12, 13)]
    for name in names[:2]:      # as tools do that keep times
        with open(os.path.join(os.fsencode(NEW), name), 'r+b') as file:
            times = os.stat(file.fileno())
            file.write(b'!' if name == names[0] else file.read(0))
        os.utime(file.name, ns=(times.st_atime_ns, times.st_mtime_ns))
    os.chmod(os.path.join(os.fsencode(NEW), names[2]), 0o604)
    os.remove(NEW + '/special/relative')
    migration.start_journal()
    planned = {change['path']: (change['what'], change['reason'])
               for change in migration.rollback('--plan', '--list')['changes']}
    same({path: what for path, (what, _) in planned.items()},
         {'wide/00011': ['data', 'attributes'], 'wide/00013': ['attributes'],
          'special': ['attributes'], 'special/relative': ['removed']}, 'what is planned')
    expect('other bytes' in planned['wide/00011'][1], f'{planned}')
    migration.rollback()
    touched = {path for path, identity in identities(OLD).items() if before.get(path) != identity}
    same(touched, {names[0], names[2], b'wide', b'special'}, 'what was touched')
    equal()


@contextlib.contextmanager
def write_there(args, old):
    """A function by which somebody writes files anew in the old tree's `wide`: through the old server,
    which would believe its cache otherwise, where that is asked."""
    def on_disk(name, data):
        with open(f'{OLD}/wide/{name}', 'wb') as file:
            file.write(data)

    def by_nfs(name, data):
        try:
            handle = theirs.walk(f'wide/{name}')[0]
            theirs.setattr(handle, size=0)
        except nfs3.NfsError:
            handle = theirs.create(theirs.walk('wide')[0], name)
        theirs.write(handle, 0, data, nfs3.FILE_SYNC)
    theirs = old.client()
    yield by_nfs if args.mount else on_disk


def extended(path):
    return {name: os.getxattr(path, name) for name in os.listxattr(path)}


@case(short=True)
def what_never_came_stays(args):
    """NFS version 3 tells of no attributes of users, and of none of root's.  What somebody else gave files
    there since is a conflict."""
    args.knfsd = args.mount = None
    names = [f'wide/{n:05}' for n in range(6)]

    def dress(root):
        for name in names[:4]:
            os.setxattr(f'{root}/{name}', 'user.comment', b'x' * 3000)
            os.setxattr(f'{root}/{name}', 'trusted.tier', b'cold')
    _, migration = begin(args, 60, dress)
    client = migration.server.client()
    there = [extended(f'{OLD}/{name}') for name in names]
    client.setattr(client.walk(names[0])[0], mode=0o600)
    client.write(client.walk(names[1])[0], 0, b'ours', nfs3.FILE_SYNC)
    for name in names[4:]:
        client.setattr(client.walk(name)[0], uid=77)
    client.walk(names[2])
    os.setxattr(NEW + '/' + names[2], 'user.ours', b'ours')
    os.setxattr(OLD + '/' + names[4], 'user.theirs', b'theirs')
    os.chown(OLD + '/' + names[5], 88, 99)
    done = migration.rollback(may_fail=True)
    same(sorted(conflict['path'] for conflict in done['conflicts']), names[4:], 'conflicts')
    same(done['losses'], [], 'losses')
    there[2]['user.ours'] = b'ours'
    there[4]['user.theirs'] = b'theirs'
    same([extended(f'{OLD}/{name}') for name in names], there, 'attributes there')
    same(os.stat(OLD + '/' + names[0]).st_mode & 0o7777, 0o600, 'its mode')
    same(os.stat(OLD + '/' + names[5])[4:6], (88, 99), 'its owner')
    with open(OLD + '/' + names[1], 'rb') as file:
        same(file.read(4), b'ours', 'its data')
    os.removexattr(NEW + '/' + names[2], 'user.ours')
    migration.rollback(may_fail=True)
    del there[2]['user.ours']
    same(extended(f'{OLD}/{names[2]}'), there[2], 'attributes there, what came from here taken back')


@going_back
def conflicts(args):
    """What somebody changed there stays, and is listed; the rest goes on."""
    old, migration = begin(args)
    client = migration.server.client()
    wide = client.walk('wide')[0]
    if args.mount:              # what it has seen there is in its caches
        os.listdir(BACK + '/wide')
        for name in ('00001', '00002', '00003', '00004', 'theirs'):
            os.path.exists(f'{BACK}/wide/{name}')
    for name in ('00001', '00002'):
        client.write(client.walk(f'wide/{name}')[0], 0, b'ours', nfs3.FILE_SYNC)
    client.remove(wide, '00003')
    client.remove(wide, '00004')
    with write_there(args, old) as write:
        for name in ('00001', '00003', 'theirs'):
            write(name, b'theirs')
    wanted = {'wide/00001', 'wide/00003', 'wide/theirs'}
    for options in ('--plan',), (), ():
        got = migration.rollback(*options, may_fail=True)
        same({c['path'] for c in got['conflicts']}, wanted, f'conflicts {options}')
    for name in ('00001', '00003', 'theirs'):
        with open(f'{OLD}/wide/{name}') as file:
            same(file.read(), 'theirs', name)
    expect(not os.path.exists(OLD + '/wide/00004'), 'the rest was not done')
    with open(OLD + '/wide/00002', 'rb') as file:
        same(file.read(4), b'ours', 'what has no conflict')


@going_back
def others(args):
    """Somebody writes there all the time, on the old server itself, what clients changed here too."""
    _, migration = begin(args)
    crawl(args, migration)
    client = migration.server.client()
    wide = client.walk('wide')[0]
    # over NFS no step exchanges two names: what takes a name in one round trip is lost
    kind = otherwriter.write_in_place if args.mount else otherwriter.write_or_replace

    def change(i, name, n):
        with contextlib.suppress(nfs3.NfsError):
            handle = client.walk(f'wide/{name}')[0]
            if i % 5 == 4 and n % 3 == 2:
                client.remove(wide, name)
            elif i % 5 == 3:
                client.setattr(handle, mode=0o600 + n % 8)
            else:
                client.write(handle, 0, b'ours %d' % n, nfs3.FILE_SYNC)

    otherwriter.through_runs(lambda: migration.rollback(may_fail=True), [f'{n:05}' for n in range(1, 40)], change,
                             kind(OLD + '/wide'), 'wide', args.random.random(),
                             100 if args.long else 3)


@going_back
def remembered_names(args):
    """The kernel that has the old tree mounted remembers names, and that there are none: it is asked
    again whether somebody has taken them since."""
    old, migration = begin(args)
    client = migration.server.client()
    wide = client.walk('wide')[0]
    client.write(client.create(wide, 'fresh'), 0, b'ours', nfs3.FILE_SYNC)
    client.rename(wide, '00001', wide, 'renamed')
    migration.rollback('--plan')        # what has to wait for a server that has just begun has waited
    for name in ('fresh', 'renamed'):
        expect(not os.path.exists(f'{BACK}/wide/{name}'), f'{name} is not there')
    with write_there(args, old) as write:
        for name in ('fresh', 'renamed'):
            write(name, b'theirs')
    got = migration.rollback(may_fail=True)
    same({c['path'] for c in got['conflicts']}, {'wide/fresh', 'wide/renamed'}, 'conflicts')
    for name in ('fresh', 'renamed'):
        with open(f'{OLD}/wide/{name}') as file:
            same(file.read(), 'theirs', name)


@going_back
def killed(args):
    """At random points, until it comes to its end."""
    _, migration = begin(args, 1000)
    client = migration.server.client()
    for tag in range(8):
        change_by_nfs(client, tag)
    met = 0
    argv = [migration.program('migratectl'), '--config', migration.config, '--yes', 'rollback', VOLUME]
    for _ in range(12):
        process = Process('killed', argv)
        select.select([], [], [], args.random.uniform(0.005, 0.06))   # the random point, not a wait
        met += process.poll() is None
        process.stop(signal.SIGKILL)
    expect(met, 'none was met')
    same(migration.rollback()['conflicts'], [], 'conflicts')
    expect(not os.path.exists(OLD + '/.migrate-rollback'), 'something is left over')
    crawl(args, migration)
    equal()


def wander(client, stopped):
    """Stubs and a directory with some are moved about."""
    places = [client.root, client.walk('wide')[0], client.walk('large')[0],
              client.mkdir(client.root, 'wandered')]
    fresh = client.mkdir(client.root, 'tents')
    for n in range(60, 80):
        client.rename(places[1], f'{n:05}', fresh, f'{n:05}')
    names = ['tents'] + [f'{n:05}' for n in range(40, 60)]
    at = dict.fromkeys(names, 1) | {'tents': 0}
    for n in itertools.count():
        if stopped.is_set():
            return
        name = names[n % len(names)]
        step = (at[name] + 1 + n % 2) % len(places)
        client.rename(places[at[name]], name, places[step], name)
        at[name] = step


def is_asked(pid):
    """SIGUSR1 waits for a process that is stopped."""
    with open(f'/proc/{pid}/status') as status:
        pending = next(line for line in status if line.startswith('ShdPnd'))
    return int(pending.split()[1], 16) >> signal.SIGUSR1 - 1 & 1


@going_back
def followed(args):
    """Round after round while things are moved about: what was there stays the same object, status
    says how far it is behind, and the trees are equal in the end."""
    _, migration = begin(args)
    client = migration.server.client()
    wanderers = [f'{n:05}' for n in range(40, 80)]
    before = {name: os.stat(f'{OLD}/wide/{name}').st_ino for name in wanderers}
    stopped = threading.Event()
    wanderer = threading.Thread(target=wander, args=(migration.server.client(), stopped))
    wanderer.start()
    follower = Process('follower', [migration.program('migratectl'), '--config', migration.config,
                                    '--yes', '--follow', 'rollback', VOLUME])
    try:
        for tag in range(2):
            change_by_nfs(client, tag)
            wait_for('it was carried back',
                     lambda tag=tag: os.path.exists(f'{OLD}/moved {tag}'), process=follower)
            wait_for('the run is noted', lambda: 'follows' in migration.status(), process=follower)
            status = migration.status()
            same([status['follows'], status['conflicts']], [True, 0], 'status')
            expect(int(status['lag_seconds']) < 60, f'{status["lag_seconds"]} s behind')
    finally:
        stopped.set()
        wanderer.join()
    migration.journal.send_signal(signal.SIGSTOP)
    wait_for('the journal is asked', lambda: is_asked(migration.journal.pid), process=follower)
    same(follower.stop(), 0, 'its exit status')     # it waits for no journal
    with open(follower.log) as log:
        LOST.update(re.findall(r"^  (.*/symlink): (its) time", log.read(), re.M))
    migration.journal.send_signal(signal.SIGCONT)
    migration.rollback()
    for path in map(os.fsdecode, tree.every(OLD)):
        if os.path.basename(path) in wanderers:
            same(os.stat(path).st_ino, before.pop(os.path.basename(path)), path)
    same(before, {}, 'what is not there any more')
    crawl(args, migration)
    equal()


@going_back
def refused(args):
    """Another tree, one that cannot be written, no journal, and a gap in it."""
    _, migration = begin(args)
    other = BASE + '/other'
    os.makedirs(other + '/unlike')
    expect('not the tree' in migration.rollback('--to', other, may_fail=True), 'another tree')
    text = migration.rollback('--to', NEW, may_fail=True)
    expect('apart' in text, f'the new tree: {text}')
    sh('mount', '-o', 'remount,bind,ro', BACK)
    expect('cannot be written' in migration.rollback(may_fail=True), 'a read-only mount')
    sh('mount', '-o', 'remount,bind,rw', BACK)
    migration.journal.stop(signal.SIGKILL)
    text = migration.rollback(may_fail=True)
    expect('migrate-journal' in text, f'without the journal: {text}')
    same(os.listdir(other + '/unlike'), [], 'another tree')


@going_back
def switched_again(args):
    """Back, changed there, and switched to the same new server anew: its journal begins anew, too."""
    old, migration = begin(args)
    change_by_nfs(migration.server.client(), 0)
    migration.rollback()
    crawl(args, migration)
    equal()
    migration.ctl('finalize')
    migration.server.stop()
    with open(OLD + '/wide/00040', 'a') as file:
        file.write('changed while it was back')
    os.rename(OLD + '/wide/00041', OLD + '/wide/00041 renamed')
    old.restart()
    migration.ctl('attach', '--adopt')
    migration.start_server()
    change_by_nfs(migration.server.client(), 1)
    migration.crawl()
    same(migration.rollback()['conflicts'], [], 'conflicts')
    equal()


MANY, BEFORE, IN_ONE = 1000000, 100000, 2500    # files; that are there at first; in each directory
PEAK = 256 << 10                                # KiB


def each(directories, change):
    """change(path, n) of the files in them, n the number of each in its directory."""
    for directory in directories:
        os.makedirs(directory, exist_ok=True)
        for n in range(IN_ONE):
            change(f'{directory}/file number {n}.txt', n)


def write_one(path, n):
    with open(path, 'w') as file:
        if n % 8 == 0:
            file.write(path)


def change_one(path, n):
    """Most are changed where they are."""
    if n % 500 == 1:
        os.rename(path, path + '.renamed')
    elif n % 500 == 2:
        os.remove(path)
    elif n % 500 == 3:
        os.link(path, path + '.linked')
    elif n % 500 == 4:
        os.rename(path, f'{NEW}/wide/{path.replace("/", " ")}')
    elif n % 8 == 0:
        with open(path, 'a') as file:
            file.write('changed')
    else:
        os.chmod(path, 0o604)


def carried_within(migration):
    """What a way back says that took no more memory than PEAK."""
    with tempfile.TemporaryFile() as out:
        began = time.monotonic()
        process = subprocess.Popen([migration.program('migratectl'), '--config', migration.config,
                                    '--json', '--yes', 'rollback', VOLUME], stdout=out)
        _, status, used = os.wait4(process.pid, 0)
        out.seek(0)
        said = json.load(out)['rollback']
    print(f'{counts(said)}: {used.ru_maxrss} KiB, {time.monotonic() - began:.0f} s', flush=True)
    same(os.waitstatus_to_exitcode(status), 0, 'exit status')
    expect(used.ru_maxrss <= PEAK, f'{used.ru_maxrss} KiB of memory')
    return said


@case(long=True)
def a_million_changed(args):
    """The memory of a run does not grow with what was changed."""
    before = [f'before{n:03}' for n in range(BEFORE // IN_ONE)]
    _, migration = begin(args, size='64G', dress=lambda root: each([f'{root}/{name}' for name in before],
                                                                   write_one))
    crawl(args, migration)
    each([f'{NEW}/made{n:03}' for n in range((MANY - BEFORE) // IN_ONE)], write_one)
    each([f'{NEW}/{name}' for name in before], change_one)
    for name in before[::10]:
        os.rename(f'{NEW}/{name}', f'{NEW}/wide/{name}')
    done = carried_within(migration)
    same(done['made'], (MANY - BEFORE) * (IN_ONE + 1) // IN_ONE, 'what was made')
    same(done['removed'], BEFORE // 500, 'what was removed')
    same(sh('rsync', '-naiHAX', '--filter=-x trusted.quickmigrate.*', '--delete', '--exclude=/.migrate',
            NEW + '/', OLD + '/'), '', 'what differs')


def options(parser):
    parser.add_argument('--mount', metavar='OPTIONS',
                        help="reach the old server's tree by this kernel's NFS client")
    parser.add_argument('--knfsd', metavar='TOOLS', help='the old server is this kernel, too')


if __name__ == '__main__':
    sys.exit(main(options))
