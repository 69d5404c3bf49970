# SPDX-License-Identifier: GPL-3.0-or-later
"""The servers of a run, and the migration of one sequence: a source on the old server, its
migrating volume behind the new server, and a plain copy behind another."""
import collections
import os
import shutil
import signal
import stat
import time

import compare
import source
import tree
from compare import Difference
from door3 import Door3
from door4 import Door4
from execute import ROOT, Side
from harness import expect
from sandbox import BASE, LOGS, Failure, Host, Process, sh, volume
from servers import Ganesha, Migration
from xdr import RpcError

SOURCES = BASE + '/sources'
FILE_SYSTEMS = ('ext4', 'xfs')


def where(fs, side):
    return f'{BASE}/{fs}-{side}'


class World:
    """Made once in a sandbox."""

    def __init__(self, build):
        self.build = build
        self.number = 0
        self.copies = []
        for path, fs in [(SOURCES, 'ext4')] + [(where(fs, side), fs) for fs in FILE_SYSTEMS
                                               for side in ('migrate', 'plain')]:
            volume(path, '8G', fs)
            # what looks at the trees behind the servers' backs leaves no trace
            os.mkdir(path + '-quiet')
            sh('mount', '--bind', path, path + '-quiet')
            sh('mount', '-o', 'remount,bind,noatime', path + '-quiet')
        self.plain_host = Host('plain')
        self.old = Ganesha('old-server', SOURCES, host=Host('old')).start()

    def sequence(self, case):
        self.number += 1
        return Sequence(self, case)


def server_settings(settings):
    """The same for both servers."""
    cache = ''
    if settings.get('dir_chunk') is not None:
        cache += f'\tDir_Chunk = {settings["dir_chunk"]};\n'
    if settings.get('entries'):
        cache += f'\tEntries_HWMark = {settings["entries"]};\n'
    export = ''
    if settings.get('attr_expiration') is not None:
        export = f'Attr_Expiration_Time = {settings["attr_expiration"]};'
    return {'export': export, 'blocks': f'MDCACHE {{\n{cache}}}\n' if cache else ''}


class Sequence:
    """case: 'door', 'settings', 'tree' (source.py).  A context manager."""

    def __init__(self, world, case):
        self.world, self.case, self.settings = world, case, case['settings']
        fs, n = self.settings['fs'], world.number
        self.source = f'{SOURCES}/{n}'
        self.migrated, self.plain = (f'{where(fs, side)}/{n}' for side in ('migrate', 'plain'))
        self.quiet = [f'{where(fs, side)}-quiet/{n}' for side in ('migrate', 'plain')]
        self.crawler = None
        self.stalled = self.down = False
        self.sides, self.servers = [], []
        self.copied = set()                         # records that were copied to other files
        self.statuses = collections.Counter()       # of the plain side, by operation
        self.migration = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self):
        for log in os.listdir(LOGS):
            os.truncate(f'{LOGS}/{log}', 0)
        for path in (self.source, self.plain, self.migrated):
            os.mkdir(path)
        settings = self.settings
        carried = settings.get('source') == 'file'      # Ganesha tells no ACLs
        for path in (self.source, self.plain):
            source.build(self.case['tree'], path, carried)
        url = (f'file://{self.source}' if settings.get('source') == 'file' else
               f'nfs://{self.world.old.address}{self.source}')
        self.migration = Migration(
            self.world.build, url, self.migrated, hold_ms=settings.get('hold_ms', 500),
            stub_attributes=settings.get('stub_attributes', 'eager'),
            crawler_order=settings.get('crawler_order', 'namespace-first'),
            bandwidth=settings.get('bandwidth', 0))
        self.migration.start_retriever()
        self.migration.attach()
        more = server_settings(settings)
        plain = Ganesha('plain-server', self.plain, host=self.world.plain_host, **more)
        self.servers = [self.migration.start_server(**more), plain.start()]
        self.begin = time.time_ns() - 10**9
        self.disk = compare.Disk(*self.quiet, time.time_ns)
        if settings['fs'] == 'xfs':
            self.disk.slack = 8 << 20           # it preallocates behind what grows
        self.comparer = compare.Comparer(self.disk, self.begin, self.ask_again)
        door = {'nfs3': Door3, 'nfs4': Door4}[self.case['door']]
        for name, server in zip(('migrating', 'plain'), self.servers):
            self.sides.append(Side(name, lambda server=server: door(
                server, self.unblock, settings.get('minor', 0)), settings.get('clients', 2)))

    def __exit__(self, *_):
        for side in self.sides:
            side.close()
        self.resume()
        for process in (self.crawler, self.migration and self.migration.retriever,
                        *(server.process for server in self.servers)):
            if process and process.poll() is None:
                process.kill()
                process.wait()
        del Process.all[:]
        for path in (self.source, self.plain, self.migrated):
            shutil.rmtree(path, ignore_errors=True)

    # ---- operations ---------------------------------------------------------------------------

    def do(self, op, lie=None):
        """Does one operation and compares.  lie(op, result) may change what the migrating side
        said."""
        chaos = getattr(self, 'world_' + op['op'], None)
        if chaos:
            chaos(op)
            return
        if op['op'] == 'parallel':
            for one, *pair in zip(op['ops'], *self.ask(lambda side: side.do_parallel(op['ops']))):
                self.compare(one, pair, lie)
        else:
            self.compare(op, self.ask(lambda side: side.do(op)), lie)

    def ask(self, call):
        """One side after the other."""
        results = []
        for side in self.sides:
            try:
                results.append(call(side))
            except RpcError as error:
                died = [s.name for s in self.servers if s.process.poll() is not None]
                raise Difference('died', f'{side.name} side: {error}; ended: {died}') from error
        return results

    def compare(self, op, results, lie):
        self.statuses[op['op'], str(results[1].get('status', 'missing'))] += 1
        if lie:
            lie(op, results[0])
        try:
            self.comparer.operation(op, *results)
        except Difference as difference:
            difference.results = results
            raise

    def ask_again(self, fh):
        got = self.sides[0].doors[0].getattr(fh, ROOT)
        return None if got['status'] else got['seen'][0][2]

    def resume(self):
        if self.stalled:
            os.kill(self.world.old.process.pid, signal.SIGCONT)
            self.stalled = False

    def unblock(self):
        """A call was answered "ask again": ends what may be the reason."""
        self.resume()
        if self.down:
            self.down = False
            self.migration.start_retriever()

    def world_crawler(self, op):
        if self.crawler and self.crawler.poll() is None:
            self.crawler.stop({'stop': signal.SIGTERM}.get(op['action'], signal.SIGKILL))
        if op['action'] == 'start':
            self.unblock()
            options = ['--metadata-only'] if op.get('metadata') else []
            self.crawler = self.migration.start_crawler(*options)

    def world_crawl(self, op):
        """A crawler's run to the end."""
        self.world_crawler({'action': 'kill'})
        self.unblock()
        self.migration.ctl('throttle', argument='0')
        try:
            self.migration.crawl(120)
        except Failure as failure:
            raise Difference('crawl', str(failure)) from None

    def world_retriever(self, op):
        self.unblock()
        self.migration.retriever.stop(signal.SIGKILL if op['action'] != 'stop' else
                                      signal.SIGTERM)
        self.down = True
        if op['action'] != 'down':
            self.unblock()

    def world_server(self, op):
        """Both, so that both forget what was open."""
        number = {'kill': signal.SIGKILL, 'stop': signal.SIGTERM}[op['action']]
        for server in self.servers:
            server.restart(number)
        for side in self.sides:
            side.reconnect()

    def world_old(self, op):
        if op['action'] == 'stall':
            if not self.stalled:
                os.kill(self.world.old.process.pid, signal.SIGSTOP)
                self.stalled = True
        else:
            self.resume()
            self.world.old.restart(signal.SIGKILL)

    def world_record(self, op):
        """As a tool that copies extended attributes does it on the server; such a record is void."""
        of, to = (f'{self.quiet[0]}/{op[key]}'.encode('latin-1') for key in ('of', 'to'))
        try:
            record = os.getxattr(of, 'security.migrate', follow_symlinks=False)
            if not stat.S_ISREG(os.lstat(to).st_mode) or os.path.samefile(of, to):
                return
            os.setxattr(to, 'security.migrate', record, os.XATTR_CREATE)
        except OSError:                         # one is not there, the first whole or the second not
            return
        self.copied.add(record)
        self.disk.touched.add(os.lstat(to).st_ino)

    def remove_copied(self):
        for path in tree.records(self.quiet[0]):
            try:
                if os.getxattr(path, 'security.migrate', follow_symlinks=False) in self.copied:
                    os.removexattr(path, 'security.migrate', follow_symlinks=False)
            except OSError:                     # it was the object's own, and is gone
                continue

    def world_throttle(self, op):
        self.unblock()
        self.migration.ctl('throttle', argument=op['rate'])

    # ---- the end ------------------------------------------------------------------------------

    def finish(self, lie=None):
        """The crawler runs to the end, the volume is finalized, and the trees are compared, as
        clients see them and on disk."""
        self.world_crawl({})
        try:
            state = self.migration.status()['state']
            expect(state == 'whole', f'the state is {state}')
            errors = self.migration.ctl('errors').strip()
            expect(not errors, f'errors: {errors}')
            self.migration.ctl('verify')
            self.migration.ctl('finalize')
            self.disk.finalized = True
        except Failure as failure:
            raise Difference('finish', str(failure)) from None
        self.remove_copied()
        left = tree.records(self.quiet[0])
        if left or os.path.lexists(self.migrated + '/.migrate'):
            raise Difference('finish', f'left on disk: {left[:3]}, or .migrate')
        if lie:
            lie(self)
        self.compare_disks()
        self.sweep()

    def sweep(self):
        """All objects by both doors."""
        root = os.fsencode(self.quiet[1])
        for path in sorted(compare.paths(root)):
            name = os.path.relpath(path, root).decode('latin-1')
            name = '' if name == '.' else name
            self.do({'op': 'getattr', 'at': name})
            if os.path.islink(path):
                self.do({'op': 'readlink', 'at': name})
            elif os.path.isdir(path):
                self.do({'op': 'list', 'at': name, 'plus': True, 'count': 8192})
            elif os.path.isfile(path):
                self.do({'op': 'readall', 'at': name, 'block': 1 << 20})

    def compare_disks(self):
        def of_now(st):
            return st.st_mtime_ns >= self.begin
        found = tree.compare(*reversed(self.quiet), any_mtime=of_now, slack=self.disk.slack)
        if found.differences:
            raise Difference('disk', 'on disk: ' + '; '.join(found.differences[:5]))
        root = os.fsencode(self.quiet[1])
        for path in compare.paths(root):
            other = os.path.join(os.fsencode(self.quiet[0]), os.path.relpath(path, root))
            pair = [extended(p) for p in (other, path)]
            if pair[0] != pair[1]:
                raise Difference('xattrs', f'on disk: {path}: {pair[0]}, not {pair[1]}')
            if os.path.isfile(path) and not os.path.islink(path):
                self.compare_holes(other, path)

    def compare_holes(self, other, path):
        """Of files whose contents are the same."""
        m, p = allocated(other), allocated(path)
        if m == p or self.settings['fs'] == 'xfs' and self.comparer.exception('xfs_preallocates'):
            return
        extra = [r for r in m if not any(b <= r[0] and r[1] <= e for b, e in p)]
        if extra or not self.disk.of_source(os.stat(path).st_ino):
            raise Difference('holes', f'on disk: {path}: data at {m}, not {p}')
        self.comparer.exception('zeros_are_holes')


def extended(path):
    return {name: os.getxattr(path, name, follow_symlinks=False)
            for name in os.listxattr(path, follow_symlinks=False)}


def allocated(path):
    """(begin, end) of the ranges that are not holes, in whole blocks."""
    out = []
    fd = os.open(path, os.O_RDONLY | os.O_NOATIME)
    try:
        os.fsync(fd)                            # what waits to be allocated
        at, size = 0, os.fstat(fd).st_size
        while at < size:
            try:
                begin = os.lseek(fd, at, os.SEEK_DATA)
            except OSError:                     # ENXIO: none any more
                break
            at = os.lseek(fd, begin, os.SEEK_HOLE)
            out.append((begin, at))
        return out
    finally:
        os.close(fd)


