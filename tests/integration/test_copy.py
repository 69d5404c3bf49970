#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copying beforehand: a baseline, increments, the switch; and trees that another tool has left."""
import collections
import contextlib
import json
import os
import random
import select
import shutil
import signal
import stat
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tree                                                             # noqa: E402
from harness import case, expect, main, no_differences, same            # noqa: E402
from sandbox import BASE, Process, sh, volume, wait_for                 # noqa: E402
from servers import NEW, OLD, VOLUME, Migration, old_server, stack      # noqa: E402

COPY = NEW + '/.migrate/copy'


def run(migration, *options, may_fail=False):
    """One run: its summary, None where it failed and may."""
    out = migration.ctl('copy', '--json', *options, may_fail=may_fail)
    return json.loads(out)['copy'] if out else None


def compared(new):
    no_differences(tree.compare(OLD, new))


def change(old, random, silent=True):
    """Something of everything on the old server, which forgets what it knows.  silent: also what only
    ctime tells.  Returns how many names are gone."""
    files = [p for p in map(os.fsdecode, tree.every(OLD + '/departments'))
             if stat.S_ISREG(os.lstat(p).st_mode)]
    random.shuffle(files)
    gone = files[:20]
    for path in gone:
        os.unlink(path)
    for path in files[20:40]:
        with open(path, 'ab') as file:
            file.write(b'more')
    for path in files[40:60] * silent:              # the same size and mtime
        st = os.stat(path)
        with open(path, 'r+b') as file:
            file.write(random.randbytes(st.st_size))
        os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))
    for path in files[60:80]:
        os.chmod(path, 0o640)
        os.chown(path, 4711, 4711)
    for path in files[80:90]:
        os.rename(path, path + '.renamed')
    for path in files[90:95]:
        os.unlink(path)
        os.mkdir(path)
        open(path + '/inside', 'w').close()
    for path in files[95:100]:
        os.unlink(path)
        os.symlink('elsewhere', path)
    os.link(files[100], OLD + '/another name')
    os.unlink(OLD + '/links/b')
    shutil.rmtree(OLD + '/deep/level 40/level 39')
    open(OLD + '/deep/level 40/level 39', 'w').close()
    os.makedirs(OLD + '/new/directory')
    open(OLD + '/new/directory/file', 'w').write('new')
    os.chmod(OLD + '/wide', 0o711)
    old.restart()
    return len(gone) + 10 + 1


def served(migration, *more):
    """Through the new server, then to the end.  more: paths that a client reads before."""
    server = migration.start_server()
    client = server.client()
    for path in ('departments', 'wide/00000', 'new/directory/file', *more):
        if not os.path.exists(f'{OLD}/{path}'):
            continue
        handle, _ = client.walk(path)
        if os.path.isfile(f'{OLD}/{path}'):
            with open(f'{OLD}/{path}', 'rb') as file:
                same(client.read_all(handle), file.read(), path)
    migration.crawl()
    compared(NEW)
    same(tree.records(NEW), [], 'objects with a record')
    same(tree.records(NEW, 'security.migrate.copied'), [], 'objects with a mark')
    return migration.status()


@case(short=True)
def first(args):
    old, migration = stack(args.build, lambda root: tree.make(root, 3000, args.seed))
    migration.ctl('throttle', argument='1G')        # holds through the new starts
    baseline = run(migration)
    same(int(migration.status()['bandwidth']), 1 << 30, 'bandwidth after the copy')
    expect(baseline['whole'], 'the baseline is not whole')
    compared(COPY)
    same(migration.status()['state'], 'copied', 'state')
    again = run(migration)
    same([again['made'], again['bytes_fetched'], again['gone']], [0, 0, 0], 'nothing changed')
    compared(COPY)
    gone = change(old, args.random)
    update = run(migration)
    compared(COPY)
    expect(update['gone'] >= gone, f'{update["gone"]} names are gone, not {gone}')
    expect(update['made'] < 200, f'{update["made"]} objects were made')
    migration.ctl('attach')
    same(migration.status()['state'], 'migrating', 'state')
    same(int(migration.status()['bandwidth']), 1 << 30, 'bandwidth after the switch')
    before = int(migration.status()['bytes_fetched'])
    status = served(migration)
    same(int(status['bytes_fetched']) - before, 0, 'bytes fetched after the switch')
    expect(migration.ctl('finalize', may_fail=True) is None, 'what is aside must be decided on')
    migration.ctl('aside', '--discard', '--yes')
    migration.ctl('finalize')
    expect(not os.path.exists(NEW + '/.migrate'), '.migrate is still there')


@case()
def marks_have_room(args):
    """In an inode of 256 bytes: no file of the copy takes a block more."""
    def fill(root):
        for n in range(300):
            with open(f'{root}/{n}', 'wb') as file:
                file.write(b'x' * 100)

    migration = stack(args.build, fill, mkfs=('-I', '256'))[1]
    run(migration)
    # with the root and lost+found
    same(len(tree.records(COPY, 'security.migrate.copied')), 302, 'objects with a mark')
    no_differences(tree.compare(OLD, COPY, slack=0))


@case()
def changed_since_the_copy(args):
    """The comparison after the switch finds what no increment has."""
    old, migration = stack(args.build, lambda root: tree.make(root, 2000, args.seed))
    run(migration)
    change(old, args.random)
    migration.ctl('attach')
    served(migration)


@case()
def adopted(args):
    old, migration = stack(args.build, lambda root: tree.make(root, 2000, args.seed))
    sh('cp', '-a', OLD + '/.', NEW)
    open(NEW + '/wide/extra', 'w').write('extra')
    os.makedirs(NEW + '/extra/directory')
    open(NEW + '/extra/directory/file', 'w').write('extra')
    with open(NEW + '/wide/00001', 'ab') as file:           # newer here
        file.write(b'newer')
    os.chmod(NEW + '/wide/00002', 0o777)
    os.setxattr(NEW + '/wide/00003', 'user.extra', b'x')
    os.makedirs(OLD + '/new/directory')
    open(OLD + '/new/directory/file', 'w').write('new')
    old.restart()
    expect(migration.ctl('attach', may_fail=True) is None, 'the root is not empty')
    migration.ctl('attach', '--adopt')
    status = served(migration)
    expect(int(status['bytes_fetched']) < 10_000_000, f'{status["bytes_fetched"]} bytes fetched')
    aside = {json.loads(line)['aside']['path']
             for line in migration.ctl('aside', '--json').splitlines()}
    same(aside, {'wide/extra', 'wide/00001', 'extra/directory/file'}, 'what is set aside')


@case()
def content(args):
    """Bytes of another tool's that are wrong under the right size and mtime."""
    old, migration = stack(args.build, lambda root: tree.make(root, 1000, args.seed))
    sh('cp', '-a', OLD + '/.', NEW)
    wrong = ['wide/00001', 'large/524288 bytes', 'sparse/middle', 'links/a']
    for path in wrong:
        path = f'{NEW}/{path}'
        st = os.stat(path)
        with open(path, 'r+b') as file:
            file.seek(st.st_size // 3)
            file.write(bytes(100) if 'large' in path else b'wrong')
        os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))
    migration.ctl('attach', '--adopt', '--compare=content')
    status = served(migration, *wrong)              # nobody sees what is wrong before
    expect(int(status['bytes_corrected']) > 0, 'nothing was corrected')


@case()
def doors_that_wait(args):
    """Servers that run from before the copy on."""
    old, migration = stack(args.build, lambda root: tree.make(root, 500, args.seed))
    server = migration.start_server()
    run(migration)
    client = server.client()
    names = [os.fsdecode(entry[0]) for entry in client.listing(client.root)]
    same(names, sorted({*os.listdir(NEW)} - {'.migrate'}), 'names before attach')
    for name in names:                  # mkfs's lost+found, which goes
        client.walk(name)
    client.create(client.root, b'too early', mode=0o644)
    expect(migration.ctl('attach', may_fail=True) is None, 'what a client made would be covered')
    client.remove(client.root, b'too early')
    migration.attach()
    for name in ('lost+found/#12', 'wide/00000'):
        with open(f'{OLD}/{name}', 'rb') as file:
            same(client.read_all(client.walk(name)[0]), file.read(), f'content of {name}')
    migration.crawl()
    compared(NEW)


# ---- killed -----------------------------------------------------------------------------------

class Reader:
    """A client that reads files at random, in a thread: what it gets is the old server's."""

    def __init__(self, connect, seed):
        self.connect, self.random = connect, random.Random(seed)
        self.paths = [path for path in tree.every(OLD) if stat.S_ISREG(os.lstat(path).st_mode)]
        self.done, self.error = 0, None
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            client = self.connect()
            while not self.over.is_set():
                path = self.random.choice(self.paths)
                handle, _ = client.walk(os.path.relpath(path, os.fsencode(OLD)))
                with open(path, 'rb') as file:
                    expect(client.read_all(handle) == file.read(), f'{path}: stale bytes are served')
                self.done += 1
        except Exception as error:      # for finish()
            self.error = error

    def finish(self):
        wait_for('the client has read something', lambda: self.done > 20 or self.error)
        self.over.set()
        self.thread.join()
        if self.error:
            raise self.error


def killed(args, migration, start, latest):
    """Runs start() anew until it ends by itself; kills it, what it has started, or the retriever at
    random points before that, --kills times, the early ones first: what it does goes on, and may be
    over soon.  How many met it."""
    met = 0
    for point in sorted(args.random.uniform(0, latest) for _ in range(args.kills)):
        process = start()
        select.select([], [], [], point)        # not a wait
        alive = process.poll() is None
        met += alive
        if args.random.random() < 0.6:
            migration.retriever.stop(signal.SIGKILL)
            migration.start_retriever()
        # what it does goes on without it, or ends when nobody answers
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open(f'/proc/{process.pid}/task/{process.pid}/children') as children:
                for pid in children.read().split():
                    os.kill(int(pid), signal.SIGKILL)
        process.stop(signal.SIGKILL)
    return met


def starter(migration, *argv):
    return lambda: Process('migratectl', [migration.program('migratectl'), '--config',
                                          migration.config, *argv])


def doom(migration, call, when):
    """The retriever dies of that system call, the when-th from now on.  What sees to it."""
    tracer = Process('strace', ['strace', '-f', '-p', migration.retriever.pid, '-o', f'{BASE}/trace',
                                '-e', f'trace={call}', '-e',
                                f'inject={call}:signal=SIGKILL:when={when}'])
    wait_for('strace attaches', lambda: 'attached' in open(tracer.log).read(), process=tracer)
    return tracer


def revive(migration, tracer):
    tracer.stop(signal.SIGKILL)
    migration.retriever.stop(signal.SIGKILL)
    migration.start_retriever()
    Process.all.remove(tracer)


def dies_attaching(migration, attach):
    """Whether the retriever died of it."""
    if migration.ctl(*attach, may_fail=True) is not None:
        return False
    wait_for('the retriever is dead', lambda: migration.retriever.poll() is not None)
    return True


def switched(args, migration, step, *attach):
    """Attaches and compares while a client reads, to the end.  step: a call of the attach's, and
    which of them."""
    tracer = doom(migration, *step)
    expect(dies_attaching(migration, attach), f'{step} is no step of the switch')
    revive(migration, tracer)
    expect(migration.status()['state'] not in ('migrating', 'whole'), 'the switch was over')
    met = killed(args, migration, starter(migration, *attach, VOLUME), 0.1)
    # the retriever may be about to do what a killed command has asked for
    if migration.ctl(*attach, may_fail=True) is None:
        expect(migration.status()['state'] in ('migrating', 'whole'), 'it cannot be attached')
    reader = Reader(migration.start_server().client, args.seed)
    during = killed(args, migration, migration.start_crawler, 0.2)
    early = migration.status()['state'] != 'whole'
    migration.ctl('throttle', argument='0')
    migration.crawl()
    reader.finish()
    print(f'switch kills={1 + met} comparison kills={during} early={early} reads={reader.done}')
    expect(during, f'none of {args.kills} kills met the comparison')
    compared(NEW)
    same(tree.records(NEW), [], 'objects with a record')
    same(tree.records(NEW, 'security.migrate.copied'), [], 'objects with a mark')
    migration.ctl('verify')
    migration.ctl('aside', '--discard', '--yes')
    migration.ctl('finalize')


def change_again(old):
    """After change(): what the comparison is to find."""
    for n in range(100, 200):
        path = f'{OLD}/wide/{n:05}'
        st = os.stat(path)
        with open(path, 'r+b') as file:
            file.write(os.urandom(min(st.st_size, 10)))
        if n % 2:
            os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))
    old.restart()


@case()
def killed_copying(args):
    old, migration = stack(args.build, lambda root: tree.make(root, 2000, args.seed, 1 << 20),
                           bandwidth='2M')
    copy = starter(migration, '--accept', 'copy', VOLUME)
    met = killed(args, migration, copy, 1)
    expect(met > args.kills / 2, f'{met} of {args.kills} kills met the copy')
    change(old, args.random)
    again = killed(args, migration, copy, 1)
    expect(again > 0, 'no kill met an increment')
    migration.ctl('throttle', argument='0')
    run(migration, '--accept', may_fail=True)       # what has changed meanwhile is the next one's
    run(migration, '--accept')
    print(f'copy kills={met} increment kills={again}')
    compared(COPY)
    change_again(old)
    migration.ctl('throttle', argument='2M')
    switched(args, migration, ('renameat2', 1), 'attach')


@case()
def killed_adopting(args):
    old, migration = stack(args.build, lambda root: tree.make(root, 2000, args.seed, 1 << 20),
                           bandwidth='500K')
    sh('cp', '-a', OLD + '/.', NEW)
    change(old, args.random, silent=False)
    switched(args, migration, ('mkdirat', 1), 'attach', '--adopt', '--compare=content')


STEPS = ('renameat2', 'mkdirat', 'fsync', 'syncfs', 'fsetxattr', 'fremovexattr', 'unlinkat', 'fchown',
         'fchmod', 'utimensat', 'openat', 'write', 'linkat', 'fstatfs')


def each_step(args, step, prepare, *attach):
    """Every system call of the attach and of the comparison is the retriever's last.  step: as
    of switched().  prepare(migration): makes what is to be compared."""
    volume(OLD, '1G')
    for n in range(4):
        os.makedirs(f'{OLD}/{n}/below')
        for name in (f'{n}/a', f'{n}/b', f'{n}/below/c', f'{n}.file'):
            with open(f'{OLD}/{name}', 'wb') as file:
                file.write(random.Random(name).randbytes(5000))
    os.link(f'{OLD}/0/a', f'{OLD}/1/other name')
    os.symlink('a', f'{OLD}/0/link')
    old = old_server()
    faults = [(call, when, before) for call in STEPS for when in range(1, 13)
              for before in (True, False)]
    if not args.long:
        faults = [(*step, True), ('utimensat', 3, False), *args.random.sample(faults, 6)]
    met = collections.Counter(killed_at(args, old, fault, prepare, attach) for fault in faults)
    print(f'steps={len(faults)} attach={met["attach"]} comparison={met["comparison"]}')
    expect(met['attach'] > 0, 'no step of the attach was met')
    expect(met['comparison'] > 0, 'no step of the comparison was met')
    expect(met[None] < len(faults) * 3 / 4, 'hardly a step was met')


def spoil(copy):
    """What the comparison finds to do."""
    with open(copy + '/2/a', 'ab') as file:
        file.write(b'newer')
    os.unlink(copy + '/3/a')
    os.makedirs(copy + '/extra/directory')
    os.unlink(copy + '/3/b')
    os.mkdir(copy + '/3/b')


def killed_at(args, old, fault, prepare, attach):
    """What it met: 'attach', 'comparison' or None.  fault: a call, which of them, and whether they
    count from before the attach on, or from after it."""
    call, when, before = fault
    volume(NEW, '300M', mkfs=('-b', '4096'))
    migration = Migration(args.build, f'nfs://{old.address}{OLD}')
    migration.start_retriever()
    prepare(migration)
    if not before:
        migration.ctl(*attach)
    tracer = doom(migration, call, when)
    met = None
    if before and dies_attaching(migration, attach):
        met = 'attach'
    else:
        crawler = migration.start_crawler()
        wait_for('the crawler is done, or the retriever dead', lambda: crawler.poll() is not None or
                 migration.retriever.poll() is not None)
        crawler.stop(signal.SIGKILL)
        if migration.retriever.poll() is not None:
            met = 'comparison'
    revive(migration, tracer)
    if migration.status()['state'] not in ('migrating', 'whole'):
        migration.ctl(*attach)
    migration.crawl()
    found = tree.compare(OLD, NEW)
    expect(not found.differences, f'killed in {fault}: {found.differences[:5]}')
    same(tree.records(NEW), [], f'objects with a record, killed in {fault}')
    print(f'ok {call}:{when} of {"both" if before else "the comparison"}: {met}', flush=True)
    migration.retriever.stop()
    for process in Process.all[:]:
        if process.name in ('retriever', 'crawler'):
            Process.all.remove(process)
    wait_for('the new file system is free', lambda: os.system(f'umount {NEW} 2>/dev/null') == 0)
    return met


@case()
def each_step_of_the_adoption(args):
    def prepare(migration):
        sh('cp', '-a', OLD + '/.', NEW)
        spoil(NEW)

    each_step(args, ('mkdirat', 1), prepare, 'attach', '--adopt')


@case()
def each_step_of_the_switch(args):
    def prepare(migration):
        run(migration)
        spoil(COPY)

    each_step(args, ('renameat2', 1), prepare, 'attach')


def options(parser):
    parser.add_argument('--kills', type=int, default=5, help='of each phase (default %(default)s)')


if __name__ == '__main__':
    sys.exit(main(options))
