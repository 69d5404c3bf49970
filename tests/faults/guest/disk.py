#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""In a guest: a migration onto a disk that fails while it is filled, written and read.

    disk.py BUILD FS FAULT SEED ROUNDS

FAULT, at a random moment of each round and for a random time:
    data      writes fail where mostly data is; reads are answered
    writes    all writes fail; the file system gives up, and is mounted anew when the disk is back
    gone      everything fails, likewise
    reads     reads fail, of a disk of the host's; writes are taken.  ext4 goes on, and may give
              blocks to two files: no file may become whole by that, and e2fsck parts them
    flushes   flushes fail, likewise
    full      there is no room
    inodes    there is no inode
    quota     the owner of some files has no room
    readonly  the file system is mounted read-only
"""
import contextlib
import os
import random
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', 'support'))
sys.path.insert(0, HERE)
import nfs3                                                 # noqa: E402
import sandbox                                              # noqa: E402
import tree                                                 # noqa: E402
import volatile                                             # noqa: E402
from device import Device, drop_caches                      # noqa: E402
from sandbox import LOGS, Failure, sh, wait_for             # noqa: E402
from servers import NEW, OLD, Migration                     # noqa: E402
from xdr import RpcError                                    # noqa: E402

FILES, LARGE, WRITTEN = 160, 3, 12
WRITES = 'for writing'
SIZE, BLOCK, STRIDE = 300000, 1000, 3000
RECORD = 'security.migrate'
OWNER = 1234                    # who has a quota
REQUESTS = {'reads': volatile.READ, 'flushes': volatile.FLUSH}
# of equal parts of the disk, while it fails
PARTS = {('data', 'ext4'): ('linear',) + 7 * ('writes',),
         ('data', 'xfs'): ('linear', 'writes', 'linear', 'writes'),
         'writes': ('writes',), 'gone': ('error',)}


def bytes_without_zero(generator, size):
    return generator.randbytes(size).replace(b'\0', b'\1')


def fill(root, generator):
    def put(path, size):
        with open(path, 'wb') as file:
            file.write(bytes_without_zero(generator, size))

    for d in range(8):
        os.mkdir(f'{root}/dir{d}')
    for n in range(FILES):
        path = f'{root}/dir{n % 8}/file{n}'
        put(path, generator.choice((generator.randrange(1, 4096), generator.randrange(1, 60000))))
        if n % 5 == 0:
            os.chown(path, OWNER, OWNER)
    for n in range(LARGE):
        put(f'{root}/large{n}', 2 << 20)
    os.mkdir(f'{root}/{WRITES}')
    for n in range(WRITTEN):
        put(f'{root}/{WRITES}/file{n}', SIZE)


def content(path):
    with open(path, 'rb') as file:
        return file.read()


def has_record(path):
    return RECORD in os.listxattr(path, follow_symlinks=False)


class Writer:
    """A client: each block once, stable or with a COMMIT behind some.  What it was told decides
    what may be there."""

    def __init__(self, old):
        self.old = [content(f'{old}/{WRITES}/file{n}') for n in range(WRITTEN)]
        self.told, self.maybe = set(), set()
        self.number = self.refused = 0

    @staticmethod
    def block(number):
        return bytes_without_zero(random.Random(number), BLOCK)

    @staticmethod
    def position(number):
        return number % WRITTEN, STRIDE * (number // WRITTEN) + 777

    def left(self):
        return self.position(self.number)[1] + STRIDE < SIZE

    def step(self, client):
        """Some writes to one file; whether they are told to be durable."""
        stable = self.number // WRITTEN % 2 == 0
        numbers = [self.number + WRITTEN * i for i in range(1 if stable else 2)]
        name = f'file{self.number % WRITTEN}'
        if not stable and self.number // WRITTEN % 4 == 2:      # the second one of two
            self.number += 1
            return
        self.number += 1
        numbers = [n for n in numbers if self.position(n)[1] + BLOCK <= SIZE]
        self.maybe.update(numbers)
        try:
            fh, _ = client.walk(f'{WRITES}/{name}')
            for number in numbers:
                client.write(fh, self.position(number)[1], self.block(number),
                             nfs3.FILE_SYNC if stable else nfs3.UNSTABLE)
            if not stable:
                client.commit(fh)
        except nfs3.NfsError:
            self.refused += 1
            return
        self.told.update(numbers)

    def problems(self, n, data, what):
        """What of a file's bytes must not be there."""
        if len(data) != SIZE:
            return [f'{what}: {len(data)} bytes, not {SIZE}']
        wanted = bytearray(self.old[n])
        for number in sorted(self.maybe):
            if number % WRITTEN != n:
                continue
            at, block = self.position(number)[1], self.block(number)
            if number in self.told:
                wanted[at:at + BLOCK] = block
                continue
            for i in range(at, at + BLOCK):     # the old byte or the new one
                if data[i] == block[i - at]:
                    wanted[i] = data[i]
        if data == wanted:
            return []
        bad = [i for i in range(SIZE) if data[i] != wanted[i]]
        zeros = sum(data[i] == 0 for i in bad)
        told = [m for m in self.told if m % WRITTEN == n and
                any(self.position(m)[1] <= i < self.position(m)[1] + BLOCK for i in bad)]
        return [f'{what}: {len(bad)} wrong bytes from {bad[0]} on, {zeros} of them zeros; of '
                f'acknowledged writes: {sorted(told)[:5]}']


class Run:
    def __init__(self, build, fs, fault, seed, rounds):
        self.fs, self.fault, self.rounds = fs, fault, rounds
        self.random = random.Random(seed)
        self.problems, self.crawler, self.client = [], None, None
        self.remounts = self.refused = self.reads = self.found = self.damaged = 0
        self.failing = False
        for directory in (LOGS, OLD, '/var/lib/nfs/ganesha', '/run/ganesha', '/run/rpcbind'):
            os.makedirs(directory, exist_ok=True)
        sh('mount', '-t', 'tmpfs', 'tmpfs', OLD)
        fill(OLD, self.random)
        self.writer = Writer(OLD)
        disk = '/dev/ubda'
        if fault in REQUESTS:
            disk = volatile.attach(os.environ['VM_HOST'], *map(int, os.environ['DISK'].split()))
        self.device = Device(disk, fs, NEW)
        self.options = ['-o', 'uquota'] if fault == 'quota' else []
        self.device.make(*(['-N', '250'] if fault == 'inodes' else []))
        self.device.mount(*self.options)
        self.migration = Migration(build, 'file://' + OLD, NEW + '/volume', bandwidth='2M')
        self.root = self.migration.root

    # ---- the programs ------------------------------------------------------------------------

    def start(self):
        log = LOGS + '/new-server.log'
        self.logged = os.path.getsize(log) if os.path.exists(log) else 0
        self.start_retriever()
        if not self.migration.server:
            self.migration.attach()
            self.migration.start_server()
        else:
            self.migration.server.start()
        self.connect()

    def start_retriever(self):
        """As an init system does."""
        def started():
            try:
                self.migration.start_retriever()
            except Failure:
                return False
            return True
        wait_for('the retriever can be started', started)

    def connect(self):
        def connected():
            try:
                self.client = self.migration.server.client(patience=2, timeout=60)
            except (RpcError, nfs3.NfsError, OSError):
                return False
            return True
        wait_for('the new server can be mounted', connected)

    def crawl(self):
        if not self.crawler or self.crawler.poll() is not None:
            self.crawler = self.migration.start_crawler()

    def remount(self):
        """The administrator's part, where the file system has given up, or counts errors."""
        self.remounts += 1
        damaged = self.device.errors()
        for process in (self.crawler, self.migration.retriever, self.migration.server.process):
            if process:
                process.stop(9)
        self.device.unmount()
        if damaged:
            self.device.repair()
        self.device.mount(*self.options)
        self.start()

    # ---- the clients -------------------------------------------------------------------------

    def use(self, seconds):
        """Reads and writes for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if self.writer.left():
                    self.writer.step(self.client)
                    self.read(FILES + LARGE + (self.writer.number - 1) % WRITTEN)
                self.read()
            except (RpcError, OSError):     # the server is gone
                self.connect()
            if self.failing:            # a page that could not be written goes, and a hole is there
                drop_caches()

    @staticmethod
    def path_of(n):
        return (f'dir{n % 8}/file{n}' if n < FILES else f'large{n - FILES}'
                if n < FILES + LARGE else f'{WRITES}/file{n - FILES - LARGE}')

    def read(self, n=None):
        if n is None:
            n = self.random.randrange(FILES + LARGE + WRITTEN)
        path = self.path_of(n)
        try:
            fh, _ = self.client.walk(path)
            data = self.client.read_all(fh)
            if self.random.random() < 0.3:          # what a fill wrote is synced with it
                self.client.commit(fh)
        except nfs3.NfsError:
            self.refused += 1
            return
        self.reads += 1
        self.judge(n, path, data, 'a client reads ' + path)

    def judge(self, n, path, data, what):
        if n >= FILES + LARGE:
            self.problems += self.writer.problems(n - FILES - LARGE, data, what)
            return
        old = content(f'{OLD}/{path}')
        if data != old:
            wrong = sum(a != b for a, b in zip(data, old)) + abs(len(data) - len(old))
            self.problems.append(f'{what}: {wrong} wrong bytes, {data.count(0)} zeros')

    # ---- the faults --------------------------------------------------------------------------

    @contextlib.contextmanager
    def fault_now(self):
        parts = PARTS.get((self.fault, self.fs)) or PARTS.get(self.fault)
        if parts:
            self.device.become(*parts)
            yield
            self.device.become('linear')
        elif self.fault in REQUESTS:
            self.let_fail(REQUESTS[self.fault])
            drop_caches()
            yield
            self.let_fail(volatile.NOTHING)
        elif self.fault == 'readonly':
            with contextlib.suppress(Failure):      # a file that is open for writing keeps it so
                sh('mount', '-o', 'remount,ro', NEW)
            yield
            sh('mount', '-o', 'remount,rw', NEW)
        elif self.fault == 'quota':
            self.quota('4k')
            yield
            self.quota('0')
        else:
            self.take()
            yield
            sh('rm', '-rf', NEW + '/taken')

    @staticmethod
    def let_fail(kind):
        volatile.let_fail(os.environ['VM_HOST'], int(os.environ['CONTROL']), kind)

    def quota(self, limit):
        sh('xfs_quota', '-x', '-c', f'limit -u bhard={limit} {OWNER}', NEW)

    def take(self):
        """All room, or all inodes."""
        os.mkdir(NEW + '/taken')
        if self.fault == 'full':
            fd = os.open(NEW + '/taken/room', os.O_CREAT | os.O_WRONLY)
            at = 0
            for size in (1 << shift for shift in range(28, 11, -1)):
                with contextlib.suppress(OSError):
                    while True:
                        os.posix_fallocate(fd, at, size)
                        at += size
            os.close(fd)
            return
        with contextlib.suppress(OSError):
            for n in range(100000):
                os.close(os.open(f'{NEW}/taken/{n}', os.O_CREAT))

    def round(self, n):
        if n:                   # the first one meets the first names
            self.crawl()
            self.use(self.random.uniform(0.2, 1.5))
        with self.fault_now():
            self.failing = True
            self.crawl()
            self.use(self.random.uniform(0.2, 2.5))
        works, errors = self.device.works(), self.device.errors()
        if errors:
            self.damaged += 1
            self.look_on()
        if errors and works:
            self.check(OSError)
        if errors or not works:
            self.remount()
        self.settle()
        self.check()

    def look_on(self):
        """What clients read from an ext4 that has found errors, before it is mounted anew."""
        wait_for('the server notices', self.server_noticed)
        drop_caches()
        for n in range(FILES + LARGE):
            try:
                self.read(n)
            except (RpcError, OSError):
                self.connect()

    def server_noticed(self):
        with open(self.migration.server.process.log, 'rb') as log:
            log.seek(self.logged)
            return b'found errors in itself' in log.read()

    def settle(self):
        """What the kernel could not write is known to nobody before the next sync of that file."""
        self.failing = False
        drop_caches()
        for n in range(WRITTEN):
            with contextlib.suppress(nfs3.NfsError, RpcError, OSError):
                self.read(FILES + LARGE + n)

    def check(self, excused=FileNotFoundError):
        """What is whole by its record is whole on the disk.  excused: where it cannot be read."""
        whole = []
        for n in range(FILES + LARGE):
            path = f'dir{n % 8}/file{n}' if n < FILES else f'large{n - FILES}'
            with contextlib.suppress(excused):
                if not has_record(f'{self.root}/{path}'):
                    whole.append((n, path))
        drop_caches()
        for n, path in whole:
            with contextlib.suppress(excused):
                self.judge(n, path, content(f'{self.root}/{path}'), path + ' has no record, and')
        self.found += len(whole)

    def finish(self):
        for _ in range(3):              # what failed is tried again
            self.migration.ctl('throttle', argument='0')
            self.crawl()
            if self.crawler.wait(300) == 0:
                break
            if self.fault == 'reads':   # ext4 takes bitmaps that it could not read for damaged,
                self.remount()          # until it is mounted anew
        else:
            raise Failure('the crawler does not come to an end: ' + self.migration.ctl('errors'))
        if self.migration.ctl('finalize', may_fail=True) is None:
            self.migration.ctl('finalize')      # the kernel tells an old failure once
        sh('sync')
        drop_caches()
        self.problems += tree.compare(OLD, self.root, any_mtime=lambda st: True,
                                      leave_out={b'/' + os.fsencode(WRITES)}).differences
        for n in range(WRITTEN):
            self.problems += self.writer.problems(n, content(f'{self.root}/{WRITES}/file{n}'),
                                                  f'file{n} at the end')

    def run(self):
        self.start()
        for n in range(self.rounds):
            self.round(n)
            if self.problems:
                print(f'in round {n}:')
                return
        self.finish()


def main():
    sh('ip', 'link', 'set', 'lo', 'up')
    build, fs, fault, seed, rounds = sys.argv[1:6]
    run = Run(build, fs, fault, f'{seed}/{fs}/{fault}', int(rounds))
    try:
        run.run()
    except (Failure, subprocess.SubprocessError) as failure:
        run.problems.append(str(failure))
    print(*run.problems[:30], sep='\n')
    print(f'figures {fs} {fault} rounds={rounds} remounts={run.remounts} damaged={run.damaged} '
          f'reads={run.reads} refused={run.refused + run.writer.refused} '
          f'acknowledged={len(run.writer.told)} whole_files_looked_at={run.found} problems={len(run.problems)}', flush=True)
    if run.problems:
        sandbox.show_logs()
    return 1 if run.problems else 0


if __name__ == '__main__':
    sys.exit(main())
