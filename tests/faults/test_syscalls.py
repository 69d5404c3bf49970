#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each system call of the retriever's write path fails once, or is its last: a small tree is moved
by the crawler while a client reads, writes, truncates, makes, moves and removes.  What has no record
is what the old server has or what the client did, at once, after a restart and in the end.

strace counts the calls of each thread by itself: "the third pwrite64" is the third of the thread
that comes to three first, and strace leaves with it.
"""
import collections
import contextlib
import os
import random
import re
import select
import signal
import stat
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import BASE, Failure, Process, sh, volume, wait_for        # noqa: E402
from servers import NEW, OLD, Migration, old_server                     # noqa: E402
from xdr import RpcError                                                # noqa: E402

KIB = 1 << 10
LIMIT = 150             # seconds of a run, which takes two where nothing else is done
CALLS = ('pwrite64', 'ftruncate', 'fsetxattr', 'fremovexattr', 'fdatasync', 'fsync', 'syncfs',
         'linkat', 'renameat', 'renameat2', 'utimensat', 'openat', 'open_by_handle_at', 'mkdirat',
         'symlinkat', 'mknodat', 'unlinkat', 'fchown', 'fchownat', 'fchmod', 'fchmodat', 'write',
         'fallocate', 'sendto')
# Another errno than EIO is what these give when something is short.
SHORT = {'pwrite64': 'ENOSPC', 'ftruncate': 'ENOSPC', 'fsetxattr': 'ENOSPC', 'linkat': 'ENOSPC',
         'openat': 'EMFILE', 'open_by_handle_at': 'EMFILE', 'mkdirat': 'ENOSPC',
         'mknodat': 'ENOSPC', 'symlinkat': 'ENOSPC', 'sendto': 'ENOBUFS', 'fsync': 'ENOSPC',
         'fdatasync': 'ENOSPC'}
# What no kernel gives.  Nearly every write(2) wakes a thread through an eventfd, where a wake-up that
# is lost is waited for in vain; strace cannot tell these from files, which test_disk.py fails.
NEVER = {'sendto': ('EIO',), 'write': ('EIO',)}


# ---- what is to be there ------------------------------------------------------------------------

def content(name, size):
    noise = random.Random(name)
    return noise.randbytes(size)


def fill(root):
    os.chmod(root, 0o755)
    for directory in ('a', 'a/deep', 'b'):
        os.mkdir(f'{root}/{directory}')
    for directory in ('a', 'a/deep', 'b'):
        for n in range(8):
            path = f'{directory}/file{n}'
            with open(f'{root}/{path}', 'wb') as file:
                file.write(content(path, (100, 5000, 70 * KIB, 200 * KIB)[n % 4]))
            os.chmod(f'{root}/{path}', 0o640)
            os.chown(f'{root}/{path}', 1000 + n, 100)
            os.utime(f'{root}/{path}', ns=(10**18 + n, 10**18 + n * 1000))
    os.symlink('file1', f'{root}/a/link')
    os.mkfifo(f'{root}/a/fifo')
    os.link(f'{root}/a/file3', f'{root}/b/second name')


class Model:
    """What may be at each path: a set of contents, None for nothing there.  A call of which nothing
    is known adds what it would have made."""

    def __init__(self, root):
        self.may = {}
        self.touched = set()
        for base, _, names in os.walk(root):
            for name in names:
                path = os.path.relpath(f'{base}/{name}', root)
                if stat.S_ISREG(os.lstat(f'{root}/{path}').st_mode):
                    with open(f'{root}/{path}', 'rb') as file:
                        self.may[path] = {file.read()}

    def change(self, call, *changes):
        """changes: (path, function of a content).  Whether it was done for certain."""
        try:
            call()
            sure = True
        except (nfs3.NfsError, RpcError):
            sure = False
        for path, function in changes:
            before = self.may.get(path, {None})
            self.may[path] = {function(data) for data in before} | (set() if sure else before)
            self.touched.add(path)
        return sure


def spliced(data, offset, more):
    data = data.ljust(offset, b'\0')
    return data[:offset] + more + data[offset + len(more):]


def unlike(data, may):
    """How it differs from each content that may be."""
    out = []
    for wanted in may:
        wanted = wanted or b''
        wrong = [i for i, (x, y) in enumerate(zip(data, wanted)) if x != y]
        ends = (wrong[0], wrong[-1]) if wrong else min(len(data), len(wanted))
        zeros = bool(wrong) and not any(data[wrong[0]:wrong[-1] + 1])
        out.append(f'{len(data)} bytes, {len(wanted)} wanted, other ones {ends}'
                   f'{", zeros" if zeros else ""}')
    return 'neither ' + ' nor '.join(out)


class Client:
    """One who does all that a client does, whatever fails."""

    def __init__(self, connect, model, seed):
        self.connect, self.model, self.random = connect, model, random.Random(seed)
        self.failed = 0
        self.error = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            self.client = self.connect()
            ops = [self.read] * 4 + [self.write] * 6 + [self.truncate] * 3 + [
                self.make, self.move, self.remove]
            self.random.shuffle(ops)
            paths = [p for p in sorted(self.model.may) if p not in ('a/file3', 'b/second name')]
            self.random.shuffle(paths)
            for op in ops:
                op(paths.pop())
        except Exception as error:      # for the main thread
            self.error = error

    def walk(self, path):
        return self.client.walk(path)[0]

    def try_to(self, call, *changes):
        self.failed += not self.model.change(call, *changes)

    def read(self, path):
        try:
            data = self.client.read_all(self.walk(path))
        except (nfs3.NfsError, RpcError):
            self.failed += 1
            return
        expect(data in self.model.may[path], f'{path}: a client reads what is {unlike(data, self.model.may[path])}')

    def write(self, path):
        size = len(next(iter(self.model.may[path])))
        offset = self.random.randrange(size)
        data = self.random.randbytes(self.random.choice((10, 3000, 50000)))
        stable = self.random.choice((nfs3.UNSTABLE, nfs3.FILE_SYNC))

        def call():
            fh = self.walk(path)
            self.client.write(fh, offset, data, stable)
            self.client.commit(fh)
        self.try_to(call, (path, lambda old: spliced(old, offset, data)))
        self.read(path)

    def truncate(self, path):
        size = len(next(iter(self.model.may[path])))
        size = self.random.choice((0, size // 2, size + 3000))
        self.try_to(lambda: self.client.setattr(self.walk(path), size=size),
                    (path, lambda old: old[:size].ljust(size, b'\0')))
        self.read(path)

    def make(self, _):
        data = self.random.randbytes(30000)
        handle = []
        self.try_to(lambda: handle.append(self.client.create(self.walk('b'), b'new', mode=0o600)),
                    ('b/new', lambda _: b''))
        if handle:
            self.try_to(lambda: self.client.write(handle[0], 0, data, nfs3.FILE_SYNC),
                        ('b/new', lambda _: data))

    def move(self, path):
        directory, _, name = path.rpartition('/')
        may = self.model.may[path]
        sure = self.model.change(
            lambda: self.client.rename(self.walk(directory), name, self.walk('b'), b'moved'),
            (path, lambda _: None))
        self.model.may['b/moved'] = set(may) if sure else may | {None}
        self.model.touched.add('b/moved')
        self.failed += not sure

    def remove(self, path):
        directory, _, name = path.rpartition('/')
        self.try_to(lambda: self.client.remove(self.walk(directory), name), (path, lambda _: None))


# ---- one run ------------------------------------------------------------------------------------

class Tracer:
    """strace at the running retriever.  inject: (call, what, when), or None to count."""

    count = 0

    def __init__(self, pid, inject):
        Tracer.count += 1
        self.kills = inject and inject[1] == 'KILL'
        self.out = f'{BASE}/trace.{Tracer.count}'
        options = ['-e', f'trace={",".join("?" + call for call in CALLS)}']
        if inject:
            call, what, when = inject
            what = 'signal=SIGKILL' if what == 'KILL' else f'error={what}'
            options = ['-e', f'trace={call}', '-e', f'inject={call}:{what}:when={when}']
        self.process = Process(f'strace-{Tracer.count}', ['strace', '-f', '-p', pid, '-o', self.out,
                                                          *options])
        wait_for('strace attaches', lambda: 'attached' in open(self.process.log).read(),
                 process=self.process)

    def hit(self):
        """The line of what was injected, or None."""
        with open(self.out, errors='replace') as file:
            lines = [line for line in file if 'INJECTED' in line or '+++ killed by SIGKILL' in line]
        return lines[0].strip() if lines else None

    def stop(self):
        """strace has been seen to wait for ever for one whose threads are all gone."""
        if self.process.poll() is None:
            self.process.stop(signal.SIGKILL if self.kills else signal.SIGINT)

    def counts(self):
        """{call: the most that one thread made}"""
        by_thread = collections.Counter()
        with open(self.out, errors='replace') as file:
            for line in file:
                found = re.match(r'(\d+) +(\w+)\(', line)
                if found:
                    by_thread[found[1], found[2]] += 1
        most = collections.Counter()
        for (_, call), n in by_thread.items():
            most[call] = max(most[call], n)
        return most


class Run:
    """On a fresh new file system, with the old server that is there."""

    def __init__(self, args, old, inject):
        self.args, self.old, self.inject = args, old, inject
        self.restarts = 0
        volume(NEW, '300M', mkfs=('-b', '4096'))
        self.migration = Migration(args.build, f'nfs://{old.address}{OLD}', hold_ms=300)
        self.migration.start_retriever()
        self.model = Model(OLD)
        self.hit = None
        signal.signal(signal.SIGALRM, self.too_long)
        signal.alarm(LIMIT)
        try:
            self.play()
        except BaseException:
            os.system(f'tail -n 5 {BASE}/trace.{Tracer.count} >&2')
            raise
        finally:
            signal.alarm(0)
            self.clean()

    @staticmethod
    def too_long(*_):
        raise Failure(f'something waits for ever: it is not done after {LIMIT} s')

    def play(self):
        migration = self.migration
        tracer = Tracer(migration.retriever.pid, self.inject)
        self.attach()
        migration.start_server()
        client = Client(lambda: migration.server.client(patience=20), self.model, self.args.seed)
        crawler = None
        while client.thread.is_alive() or crawler is None or crawler.poll() is None:
            if not self.hit and self.inject and (hit := tracer.hit()):
                self.hit = hit
                tracer.stop()
            self.living()
            if crawler is None or crawler.poll() == signal.SIGKILL:
                crawler = migration.start_crawler('--once', '--quiet')
            select.select([], [], [], 0.02)
        self.hit = self.hit or (self.inject and tracer.hit())
        tracer.stop()
        self.counts = tracer.counts()
        if client.error:
            raise client.error
        self.failed = client.failed
        self.scan('at once')
        migration.server.stop()
        migration.retriever.stop()
        self.scan('after the retriever was stopped')
        migration.start_retriever()
        migration.ctl('retry')
        migration.crawl(60)
        same(migration.errors(), {}, 'errors in the end')
        same(migration.status()['state'], 'whole', 'state')
        migration.ctl('verify')
        same(tree.records(NEW), [], 'objects with a record')
        self.scan('in the end', True)
        migration.ctl('finalize')

    def attach(self):
        """May fail once in each thread that makes it, and be killed."""
        for _ in range(12):
            self.living()
            if self.migration.ctl('attach', may_fail=True) is not None:
                return
            wait_for('the retriever is gone or there', lambda: self.migration.retriever.poll() is not
                     None or self.migration.ctl('status', may_fail=True) is not None)
        if self.migration.status()['state'] == 'unattached':
            self.migration.ctl('attach')

    def living(self):
        if self.migration.retriever.poll() is not None:
            same(self.migration.retriever.returncode, -signal.SIGKILL, 'how the retriever ended')
            self.restarts += 1
            self.migration.start_retriever()

    def scan(self, when, everything=False):
        """What has no record is right."""
        seen = set()
        for base, directories, names in os.walk(NEW):
            if base == NEW and '.migrate' in directories:
                directories.remove('.migrate')
            for name in names:
                path = os.path.relpath(f'{base}/{name}', NEW)
                seen.add(path)
                if 'security.migrate' not in os.listxattr(f'{NEW}/{path}', follow_symlinks=False):
                    self.right(path, when)
        if everything:
            for path, may in self.model.may.items():
                expect(None in may or path in seen, f'{when}: {path} is missing')
            for path in ('a/link', 'a/fifo'):
                expect(path in seen, f'{when}: {path} is missing')

    def right(self, path, when):
        st = os.lstat(f'{NEW}/{path}')
        if stat.S_ISREG(st.st_mode):
            with open(f'{NEW}/{path}', 'rb') as file:
                data = file.read()
            may = self.model.may.get(path, {None})
            expect(data in may, f'{when}: {path} is whole by its record and {unlike(data, may)}')
        if path not in self.model.touched and path not in ('b/second name', 'a/file3'):
            old = os.lstat(f'{OLD}/{path}')
            for what in ('st_mode', 'st_uid', 'st_gid', 'st_mtime_ns'):
                same(getattr(st, what), getattr(old, what), f'{when}: {what} of {path}')

    def clean(self):
        """Nothing of this run is left but its logs."""
        for process in reversed(Process.all[:]):
            if process.name.startswith(('retriever', 'crawler', 'new-server', 'strace')):
                if process.poll() is None:
                    with contextlib.suppress(Failure):
                        process.stop(signal.SIGKILL)
                Process.all.remove(process)
        wait_for('the new file system is free', lambda: os.system(f'umount {NEW} 2>/dev/null') == 0)


def all_faults(counts, cap):
    """Every call, each time that one thread makes it, each kind."""
    for call in CALLS:
        for when in range(1, min(cap, counts[call]) + 1):
            for what in ('EIO', SHORT.get(call), 'KILL'):
                if what and what not in NEVER.get(call, ()):
                    yield call, what, when


def old_tree():
    volume(OLD, '1G')
    fill(OLD)
    return old_server()


@case()
def each_call(args):
    old = old_tree()
    begun = time.monotonic()
    calm = Run(args, old, None)
    took = time.monotonic() - begun
    same(calm.failed, 0, 'what failed without a fault')
    faults = list(all_faults(calm.counts, args.cap))
    print(dict(calm.counts))
    if args.fault:
        faults = [(call, what, int(when)) for call, what, when in
                  (fault.split(':') for fault in args.fault)]
    elif not args.long:
        faults = args.random.sample(faults, args.runs)
    else:
        args.random.shuffle(faults)     # whoever has not the time for all has seen of each
    hits, wrong, client_failures, done = collections.Counter(), [], 0, 0
    end = time.monotonic() + (args.seconds or 1e9)
    for fault in faults:
        if time.monotonic() > end:
            break
        done += 1
        name = ':'.join(map(str, fault))
        try:
            run = Run(args, old, fault)
        except Exception as error:
            wrong.append(f'{name}: {error}')
            print(f'not ok {name}: {error}', flush=True)
            if args.fault and len(args.fault) == 1:
                raise
            continue
        hits[fault[1]] += bool(run.hit)
        client_failures += run.failed
        print(f'ok {name}: {run.hit or "not reached"}; {run.failed} calls of the client failed',
              flush=True)
    print(f'faults syscalls seed={args.seed} runs={done} of={len(faults)} seconds_each={took:.1f} '
          f'errors={sum(hits.values()) - hits["KILL"]} kills={hits["KILL"]} '
          f'client_errors={client_failures} wrong={len(wrong)}')
    same(wrong, [], 'runs that went wrong')
    expect(sum(hits.values()) > done / 3, 'hardly a fault was met')


def options(parser):
    parser.add_argument('--runs', type=int, default=6, help='how many of the short form')
    parser.add_argument('--cap', type=int, default=12, help='the last call of a thread that fails')
    parser.add_argument('--seconds', type=float, help='begin no run after so many')
    parser.add_argument('--fault', action='append', metavar='CALL:ERRNO:WHEN',
                        help='only this one; KILL for ERRNO; more than once: in turn')


if __name__ == '__main__':
    sys.exit(main(options))
