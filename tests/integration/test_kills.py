#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Any process may be killed at any time: the crawler, the retriever and its workers, the new servers,
the old one, again and again, while clients work; in the end every byte is right.

    test_kills.py --build DIR --kills 1000 everything smb_source

With --seconds no kill comes later than that; the closing line says how many there were."""
import contextlib
import os
import random
import select
import signal
import stat
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import smb2                                                             # noqa: E402
import smbd                                                             # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, no_differences, same            # noqa: E402
from mutator import Mutator, Stepper                                    # noqa: E402
from sandbox import BASE, MOUNT_OPTIONS, Failure, sh, volume, wait_for  # noqa: E402
from servers import NEW, OLD, Migration, old_server, stack                          # noqa: E402
from smbfiles import Files, Refused                                     # noqa: E402
from smbsource import password, workers                                 # noqa: E402
from writers import Nfs3Writer                                          # noqa: E402

MODEL = BASE + '/model'


class Victims:
    def __init__(self, old, migration, source):
        self.old, self.migration, self.random = old, migration, source
        self.crawler = migration.start_crawler()
        self.count = {}

    def kill(self, name):
        """SIGKILL, and a new one in its place."""
        self.count[name] = self.count.get(name, 0) + 1
        migration = self.migration
        if name == 'old':
            self.old.restart(signal.SIGKILL)
        elif name == 'server':
            migration.server.restart(signal.SIGKILL)
        elif name == 'smbd':
            migration.smbd.restart(signal.SIGKILL)
        elif name == 'worker':          # the retriever starts another
            with contextlib.suppress(ProcessLookupError, IndexError):
                os.kill(self.random.choice(sorted(workers(migration))), signal.SIGKILL)
        elif name == 'retriever':
            migration.retriever.stop(signal.SIGKILL)
            migration.start_retriever()
        else:
            self.crawler.stop(signal.SIGKILL)
        if self.crawler.poll() is not None:
            self.crawler = migration.start_crawler()


class SmbClient(Stepper):
    """Reads, writes and truncates what is in one directory of the share, in a thread; whatever fails
    is done again, with another connection."""

    def __init__(self, server, model, directory, source):
        self.server, self.model, self.directory, self.random = server, model, directory, source
        self.names = sorted(os.listdir(f'{model}/{directory}'))
        self.done, self.repeats = 0, 0
        self.touched = set()
        self.files = None

    def ask(self, call, patience=120):
        end = time.monotonic() + patience
        while True:
            try:
                if not self.files:
                    self.files = Files(self.server.session())
                return call(self.files)
            except (smb2.Smb2Error, OSError, Refused, Failure):
                self.files = None
                self.repeats += 1
                if time.monotonic() > end:
                    raise
                select.select([], [], [], 0.1)

    def step(self):
        name = self.random.choice(self.names)
        path, model = f'{self.directory}/{name}', f'{self.model}/{self.directory}/{name}'
        size = os.path.getsize(model)
        if self.random.random() < 0.5:
            got = self.ask(lambda files: files.read(path))
            with open(model, 'rb') as file:
                wanted = file.read()
            expect(got == wanted, f'{path} over SMB: {len(got)} bytes, {len(wanted)} wanted, the first '
                   f'other one at {sum(1 for _ in iter_same(got, wanted))}')
        else:
            offset, data = self.random.randrange(size + 1), self.random.randbytes(3000)

            def write(files):
                with files.open(path, access=smb2.GENERIC_WRITE) as file:
                    file.write(offset, data)
            self.ask(write)
            with open(model, 'r+b') as file:
                file.seek(offset)
                file.write(data)
            self.touched.add(os.stat(model).st_ino)
        self.done += 1


def iter_same(a, b):
    for x, y in zip(a, b):
        if x != y:
            return
        yield x


def smb_directory(root):
    """For the SMB client alone."""
    os.mkdir(root + '/smb')
    os.chmod(root + '/smb', 0o777)
    for n in range(60):
        path = f'{root}/smb/file{n}'
        with open(path, 'wb') as file:
            file.write(random.Random(n).randbytes(1 + n * 3000))
        os.chown(path, *smbd.USERS['alice'][:2])


def torture(args, names, old, migration, clients, compare):
    """Kills the names' processes while the clients (of MODEL) work; compare(model, new) in the end."""
    kills = args.kills
    victims = Victims(old, migration, args.random)
    stop = threading.Event()
    begun = time.monotonic()
    for client in clients:
        client.thread(stop)
    early = done = 0                        # before everything is whole
    while done < kills and (not args.seconds or time.monotonic() < begun + args.seconds):
        select.select([], [], [], args.random.uniform(0, 0.7))      # the random point, not a wait
        victims.kill(names[done] if done < len(names) else args.random.choice(names))
        done += 1
        early += migration.status()['state'] != 'whole'
        if any(client.failure for client in clients):
            break
    wait_for('clients have changed something', lambda: all(c.done > 20 or c.failure for c in clients))
    took = time.monotonic() - begun
    migration.ctl('throttle', argument='0')
    stop.set()
    for client in clients:
        client.finish()
    print(f'faults kills case={"+".join(names)} seed={args.seed} kills={done} '
          f'{" ".join(f"{name}={n}" for name, n in sorted(victims.count.items()))} early={early} '
          f'changes={sum(c.done for c in clients)} repeats={sum(c.repeats for c in clients)} '
          f'seconds={took:.0f}')
    if victims.crawler.wait(300):
        migration.crawl()
    same(migration.status()['state'], 'whole', 'state')
    expect(early > done * 0.9, f'{early} of {done} kills met the migration')
    migration.ctl('verify')
    same(tree.records(NEW), [], 'objects with a record')
    touched = set().union(*(client.touched for client in clients))
    compare(touched)
    migration.ctl('finalize')


def nfs_source(args, names, smb=False):
    volume(MODEL)

    def fill(root):
        tree.make(root, 3000 + 10 * (args.kills - 12), args.seed, 4 << 20)
        smb_directory(root)
        os.chmod(root, 0o755)
        sh('cp', '-a', root + '/.', MODEL)

    # so slow that it lasts until the last of them, however long servers take to start
    old, migration = stack(args.build, fill, bandwidth=f'{max(1, 6 * 1024 // args.kills)}K')
    migration.attach()
    migration.start_server()
    clients = [Mutator(migration.server.client, MODEL, random.Random(args.seed), leave_out=(b'smb',))]
    if smb:
        migration.start_smbd(settings={'migrate:hold': '5'})
        clients.append(SmbClient(migration.smbd, MODEL, 'smb', random.Random(args.seed + 1)))
    torture(args, names, old, migration, clients, lambda touched: no_differences(tree.compare(
        MODEL, NEW, any_mtime=lambda st: st.st_ino in touched, slack=256 << 10)))


class Contents(tree.Comparison):
    """Not what SMB says otherwise: owners, modes and times are another test's."""

    def attributes(self, a, b, path):
        if not stat.S_ISDIR(a.st_mode) and a.st_size != b.st_size:
            self.say(path, f'size {b.st_size}, not {a.st_size}')


@case(short=True)
def crawler_and_retriever(args):
    nfs_source(args, ['crawler', 'retriever'])


@case()
def everything(args):
    nfs_source(args, ['server', 'old', 'smbd', 'retriever', 'crawler'], smb=True)


class Plain(Mutator):
    """Without what an old SMB server's objects have otherwise than the model."""

    OPERATIONS = [name for name in Mutator.OPERATIONS if name not in (
        'stat', 'mode', 'owner', 'times', 'symlink', 'link')]


@case()
def smb_source(args):
    """An old SMB server, and the workers that speak with it."""
    volume(OLD)
    volume(NEW)
    volume(MODEL)
    for d in range(10 + args.kills // 2):
        os.mkdir(f'{OLD}/dir{d}')
        for n in range(30):
            with open(f'{OLD}/dir{d}/file{n}', 'wb') as file:
                file.write(random.Random(d * 100 + n).randbytes(1 + n * n * 50))
    sh('cp', '-a', OLD + '/.', MODEL)
    old = smbd.old_smbd(OLD)
    migration = Migration(args.build, f'smb://root@{old.address}/old', smb_password_file=password(),
                          smb_modes='open', bandwidth=f'{max(1, 4 * 1024 // args.kills)}K')
    migration.start_retriever()
    migration.attach()
    migration.start_server()

    def compare(touched):
        comparison = Contents()
        fds = [os.open(path, os.O_RDONLY | os.O_DIRECTORY) for path in (MODEL, NEW)]
        comparison.directory(*fds)
        no_differences(comparison)

    torture(args, ['worker', 'old', 'retriever', 'server', 'crawler', 'worker'], old, migration,
            [Plain(migration.server.client, MODEL, random.Random(args.seed))], compare)


def handles_of_files(old):
    """Of the old server's files that have bytes, by path."""
    client = old.client()
    handles = {}
    for path in tree.every(OLD):
        st = os.lstat(path)
        if stat.S_ISREG(st.st_mode) and st.st_size:
            path = os.path.relpath(path, os.fsencode(OLD))
            handles[path] = client.walk(path)[0]
    return handles


def is_whole(path):
    path = os.path.join(os.fsencode(NEW), path)
    return os.path.lexists(path) and 'security.migrate' not in os.listxattr(path)


@case()
def nothing_is_done_again(args):
    """A crawler that is killed resumes where unfinished records are: nothing is read twice from the
    old server.  Of what a killed retriever had fetched, nothing is that is whole by then."""
    # so slow that it is not done between two looks
    old, migration = stack(args.build, lambda root: tree.make(root, 4000, args.seed, 1 << 20),
                           proxied=True, bandwidth='8M')
    handles = handles_of_files(old)
    migration.attach()
    for portion in (0.2, 0.4, 0.6):
        crawler = migration.start_crawler()

        def far_enough():
            status = migration.status()
            return int(status['files_whole']) >= portion * 4000 or crawler.poll() is not None

        while not far_enough():
            select.select([], [], [], 0.02)
        crawler.stop(signal.SIGKILL)
    migration.retriever.stop(signal.SIGKILL)
    expect(not old.proxy.repeated(), f'{old.proxy.repeated()} READs were repeated for new crawlers')
    whole = {handle for path, handle in handles.items() if is_whole(path)}
    left = len(handles) - len(whole)
    expect(0 < left < len(handles) * 0.8, f'{left} unfinished files after the kills')
    old.proxy.reset()
    migration.start_retriever()
    migration.ctl('throttle', argument='0')
    migration.crawl()
    again = whole & {handle for handle, offset in old.proxy.read_of}
    expect(not again, f'{len(again)} whole files were read again')
    expect(not old.proxy.repeated(), f'{old.proxy.repeated()} READs were repeated')
    reads = old.proxy.counted().get('READ', 0)
    expect(reads <= left * 1.1 + 100, f'{reads} READs for {left} unfinished files')
    print(f'whole={len(whole)} left={left} reads={reads}')
    no_differences(tree.compare(OLD, NEW))


class Committer(Nfs3Writer):
    """Asks for durability behind some writes, or with each."""

    def write(self, name, offset, data):
        fh, _ = self.client.lookup(self.client.root, name)
        if self.chance.random() < 0.5:
            self.client.write(fh, offset, data, nfs3.FILE_SYNC)
            return
        half = len(data) // 2
        self.client.write(fh, offset, data[:half])
        self.client.write(fh, offset + half, data[half:])
        self.client.commit(fh)


def mount_anew(fs):
    """As on another node: nothing is kept but what was written to the disk, and what is not durable by its
    record is missing."""
    device = sh('findmnt', '-no', 'SOURCE', NEW).strip()
    keeper = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    sh('umount', NEW)
    expect(not os.path.exists(f'/sys/fs/{fs}/{os.path.basename(device)}'), 'it is not mounted any more')
    sh('mount', '-t', fs, '-o', MOUNT_OPTIONS[fs], device, NEW)
    os.close(keeper)


def lost_mounts(args, fs):
    """The retriever is killed while clients write, and the file system is unmounted before another one has
    looked at it: what clients were told is durable is there."""
    files = {f'f{n}': bytearray(args.random.randbytes(1 << 18)) for n in range(40)}

    volume(OLD)
    for name, content in files.items():
        with open(f'{OLD}/{name}', 'wb') as out:
            out.write(content)
    source = f'nfs://{old_server().address}{OLD}'
    volume(NEW, fs=fs)                  # of which the old server's host has no copy
    migration = Migration(args.build, source)
    migration.start_retriever()
    migration.attach()
    migration.start_server()
    names = list(files)
    writers = [Committer(NEW, migration.server.address, {name: files[name] for name in names[n::3]},
                         random.Random(args.random.random())) for n in range(3)]
    for writer in writers:
        writer.start()
    for n in range(100 if args.long else 6):
        wanted = [writer.done + args.random.randrange(1, 8) for writer in writers]
        wait_for('clients write', lambda: any(writer.failed for writer in writers) or all(
            writer.done >= some for writer, some in zip(writers, wanted)))
        migration.retriever.stop(signal.SIGKILL)
        if n % 3 == 2:              # one that has not looked at all of it
            migration.start_retriever()
            migration.retriever.stop(signal.SIGKILL)
        migration.server.stop(signal.SIGKILL if n % 2 else signal.SIGTERM)
        mount_anew(fs)
        migration.start_retriever()
        migration.server.start()
    for writer in writers:
        writer.goes_on('in the end')
        writer.end()
    print(f'{sum(writer.done for writer in writers)} writes', flush=True)
    migration.crawl()
    for name, content in files.items():
        with open(f'{NEW}/{name}', 'rb') as file:
            expect(file.read() == content, f'{name} is as it was written')


@case()
def durable_writes_outlive_a_lost_mount(args):
    lost_mounts(args, 'ext4')


@case(long=True)
def durable_writes_outlive_a_lost_mount_xfs(args):
    lost_mounts(args, 'xfs')


@case(long=True)
def durable_writes_outlive_a_lost_mount_btrfs(args):
    lost_mounts(args, 'btrfs')


def options(parser):
    parser.add_argument('--kills', type=int, default=12, help='how often (default %(default)s)')
    parser.add_argument('--seconds', type=float, help='none later than that')


if __name__ == '__main__':
    sys.exit(main(options))
