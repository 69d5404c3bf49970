# SPDX-License-Identifier: GPL-3.0-or-later
"""The servers of a run, and the migration of one sequence: a source on the old server, its
migrating volume behind the new server, and a plain copy behind another."""
import collections
import contextlib
import filecmp
import os
import shutil
import signal
import stat
import time

from samba.dcerpc import xattr
from samba.ndr import ndr_pack, ndr_unpack

import back
import beginning
import compare
import compare_smb
import door_smb
import guarded
import odd
import smb2
import smbd
import source
import source_smb
import tree
from compare import Difference
from harness import expect
from pairs import LocalPair, NfsPair, SmbPair
from sandbox import BASE, LOGS, MOUNT_OPTIONS, Failure, Host, Process, sh, volume, wait_for
from servers import VOLUME, Ganesha, Migration

SOURCES = BASE + '/sources'
PASSWORD = BASE + '/old-password'
FILE_SYSTEMS = ('ext4', 'xfs', 'btrfs')


def where(fs, side):
    return f'{BASE}/{fs}-{side}'


class World:
    """Made once in a sandbox.  twice: the migrating side is one more plain copy, to see whether the
    comparison itself is right.  back: with the way back (back.py).  kept: where that of a sequence
    that differs is copied."""

    def __init__(self, build, twice=False, back=False, kept=None):
        self.build, self.twice, self.back, self.kept = build, twice, back, kept
        self.number = 0
        self.copies = []
        for path, fs in [(SOURCES, 'ext4')] + [(where(fs, 'plain'), fs) for fs in FILE_SYSTEMS]:
            volume(path, '8G', fs, mkfs=('-O', 'ea_inode') if path == SOURCES else ())
            self.watch_quietly(path)
        self.plain_host = Host('plain')
        self.old = Ganesha('old-server', SOURCES, host=Host('old')).start()
        self.old_smb, self.old_smb_host, self.odd_host = None, Host('old-smb'), Host('odd')
        for fs in FILE_SYSTEMS:                 # no host keeps it mounted
            volume(where(fs, 'migrate'), '8G', fs)
            self.watch_quietly(where(fs, 'migrate'))

    def old_smbd(self):
        """The old server, where it speaks SMB: it tells atimes, and must not move them."""
        if not self.old_smb:
            with open(PASSWORD, 'w') as out:
                os.fchmod(out.fileno(), 0o600)
                out.write(smbd.PASSWORD)
            self.old_smb = smbd.old_smbd(SOURCES + '-quiet', host=self.old_smb_host, settings={
                'acl_xattr:ignore system acls': 'yes', 'hide dot files': 'no'})
        return self.old_smb

    def remount(self, fs):
        """The file system of the migrating side is mounted anew, as on another node: nothing of it is kept
        but what was written."""
        path = where(fs, 'migrate')
        device = sh('findmnt', '-no', 'SOURCE', path).strip()
        keeper = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
        sh('umount', path + '-quiet', path)
        expect(not os.path.exists(f'/sys/fs/{fs}/{os.path.basename(device)}'), f'{path} is not mounted any more')
        sh('mount', '-t', fs, '-o', MOUNT_OPTIONS[fs], device, path)
        os.close(keeper)
        self.watch_quietly(path)

    @staticmethod
    def watch_quietly(path):
        """What looks at the tree behind the servers' backs leaves no trace."""
        os.makedirs(path + '-quiet', exist_ok=True)
        sh('mount', '--bind', path, path + '-quiet')
        sh('mount', '-o', 'remount,bind,noatime', path + '-quiet')

    def sequence(self, case):
        self.number += 1
        return Sequence(self, case)


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
        self.pairs = []
        self.old = None
        self.copied = set()                         # records that were copied to other files
        self.migration = None
        self.stage = 'finalized'
        self.back = None
        self.guard = None

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
        carried = self.carried = settings.get('source') in ('file', 'smb')  # Ganesha tells no ACLs
        for path in (self.source, self.plain) + (self.migrated,) * self.world.twice:
            source.build(self.case['tree'], path, carried)
        if settings.get('rules'):
            source.rule_out(self.case, self.source)
        if self.world.back:
            source.leave_out(self.case, self.source, self.plain)
        if not self.world.twice:
            self.start_migration()
        self.begin = time.time_ns() - 10**9
        self.disk = compare.Disk(*self.quiet, time.time_ns)
        if settings['fs'] == 'xfs':
            self.disk.slack = 8 << 20           # it preallocates behind what grows
        door = self.case['door']
        if door != 'smb':
            self.pairs.append(LocalPair() if door == 'local' else NfsPair())
            self.pairs[-1].start(self, settings.get('version', door))
        if door in ('smb', 'mixed'):
            self.pairs.append(SmbPair())
            self.pairs[-1].start(self)
        for pair in self.pairs:
            pair.comparer.listings = self.pairs[0].comparer.listings

    def start_retriever(self):
        self.migration.start_retriever(*(guarded.OWN_MOUNTS if self.case['door'] == 'local' else ()))

    def start_migration(self):
        settings, more = self.settings, {}
        kind = settings.get('source', 'nfs')
        if kind == 'smb':
            self.old = self.world.old_smbd()
            url = f'smb://root@{self.old.address}/old/{os.path.basename(self.source)}'
            more = {'smb_modes': 'open', 'smb_password_file': PASSWORD,
                    'default_owner': '%d:%d' % source_smb.NOBODY}
        elif kind == 'odd':
            self.old = odd.Server(self.world.odd_host, f'{SOURCES}-quiet/{self.world.number}',
                                  self.case['seed'], settings['odd'])
            url = self.old.url
        else:
            self.old = self.world.old
            url = {'file': 'file://' + self.source, 'nfs': f'nfs://{self.old.address}{self.source}',
                   'nfs4': self.old.url4('4.2', '/' + os.path.basename(self.source))}[kind]
        begin = settings.get('begin')
        self.configured = dict(
            more, source=url, hold_ms=settings.get('hold_ms', 500),
            stub_attributes=settings.get('stub_attributes', 'eager'),
            crawler_order=settings.get('crawler_order', 'namespace-first'),
            bandwidth=settings.get('bandwidth', 0), **({'exclude': source.RULE} if settings.get('rules') else {}))
        self.migration = Migration(self.world.build, root=self.migrated,
                                   **{**self.configured, **({'bandwidth': 0} if begin == 'copied' else {})})
        self.start_retriever()
        if self.case['door'] == 'local':
            self.guard = guarded.Guard(self.migration).start()
        if self.world.back and back.possible(self.case):
            self.stage = back.stage(self.case)
            self.back = back.Back(self)
            self.migration.start_journal()
        if begin:
            {'copied': beginning.copy, 'adopted': beginning.adopt}[begin](self)
        else:
            self.migration.attach()

    def __exit__(self, kind=None, *_):
        if kind and self.back and self.world.kept:
            self.back.keep(f'{self.world.kept}/{self.case["door"]}-{self.case["seed"]}')
        for pair in self.pairs:
            pair.close()
        self.resume()
        for server in (s for pair in self.pairs for s in pair.servers):
            if server.process:
                server.stop(signal.SIGKILL)
        if self.back:
            self.back.close()
        if self.guard:
            self.guard.close()
        for process in (self.crawler, self.migration and self.migration.retriever,
                        self.settings.get('source') == 'odd' and self.old and self.old.process):
            if process and process.poll() is None:
                process.kill()
                process.wait()
        del Process.all[:]
        for path in (self.source, self.source + '.aside', self.plain, self.migrated, f'{BASE}/{VOLUME}.journal',
                     f'{BASE}/{VOLUME}.rollback'):
            shutil.rmtree(path, ignore_errors=True)

    # ---- operations ---------------------------------------------------------------------------

    def do(self, op, lie=None):
        """Does one operation and compares.  lie(op, result) may change what the migrating side
        said."""
        chaos = getattr(self, 'world_' + op['op'], None)
        pair = self.pairs[0] if chaos else self.pair(op)
        self.used_by_smb(op)
        if not chaos:
            pair.do(op, lie)
        elif self.migration or op['op'] == 'server':
            chaos(op)
        if pair is not self.pairs[0]:
            self.used_by_smb(op)
            if op['op'] in ('smb_rename', 'smb_link'):
                self.pairs[0].comparer.placed_over_smb(os.path.dirname(op['to']))

    def used_by_smb(self, op):
        """Where clients of NFS see the same objects, too."""
        if len(self.pairs) > 1 and (self.pair(op) is not self.pairs[0] or op['op'] == 'server'):
            self.pairs[0].comparer.by_smb |= self.pairs[-1].about(op)

    def pair(self, op):
        smb = op['op'].startswith('smb_') or op.get('door') == 'smb'
        return self.pairs[-1 if smb else 0]

    def both(self, protocol):
        """The two sides, or None."""
        kind = {'nfs': NfsPair, 'smb': SmbPair}[protocol]
        return next((pair.sides for pair in self.pairs if isinstance(pair, kind)), None)

    @property
    def used(self):
        """Exceptions: how often."""
        return dict(sum((collections.Counter(pair.comparer.used) for pair in self.pairs),
                        collections.Counter()))

    @property
    def statuses(self):
        return sum((pair.statuses for pair in self.pairs), collections.Counter())

    def resume(self):
        if self.stalled:
            self.signal_old(signal.SIGCONT)
            self.stalled = False

    def signal_old(self, number):
        if self.old is self.world.old:
            os.kill(self.old.process.pid, number)
        else:
            self.old.kill(number)

    def unblock(self):
        """A call was answered "ask again": ends what may be the reason."""
        self.resume()
        if self.settings.get('source') == 'odd':
            self.old.hurry()
        if self.down:
            self.down = False
            self.start_retriever()

    def world_crawler(self, op):
        if self.crawler and self.crawler.poll() is None:
            self.crawler.stop({'stop': signal.SIGTERM}.get(op['action'], signal.SIGKILL))
        if op['action'] == 'start' and self.stage != 'nothing':
            self.unblock()
            options = ['--metadata-only'] if op.get('metadata') else []
            self.crawler = self.migration.start_crawler(*options)

    def world_crawl(self, op):
        """A crawler's run to the end."""
        if self.stage == 'nothing':
            return
        self.world_crawler({'action': 'kill'})
        self.unblock()
        self.migration.ctl('throttle', argument='0')
        try:
            self.migration.crawl()
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
        number = {'kill': signal.SIGKILL, 'stop': signal.SIGTERM}[op['action']]
        for pair in self.pairs if op.get('which') is None else [self.pairs[op['which']]]:
            pair.restart(number)

    def world_move(self, op):
        """The volume moves to another node: who serves it ends in the order of its group, the doors stopped or
        killed, and there it begins again."""
        self.unblock()
        # before that, what clients wrote when a retriever was killed may be lost, as in a crash
        wait_for('the retriever has looked at everything', lambda: self.migration.status()['exact'])
        for pair in self.pairs:
            pair.stop({'kill': signal.SIGKILL, 'stop': signal.SIGTERM}[op['action']])
        self.world_crawler({'action': 'stop'})
        self.migration.retriever.stop()
        self.world.remount(self.settings['fs'])
        self.start_retriever()
        for pair in self.pairs:
            pair.resume()

    def world_old(self, op):
        if op['action'] == 'stall':
            if not self.stalled:
                self.signal_old(signal.SIGSTOP)
                self.stalled = True
        else:
            self.resume()
            self.old.restart(signal.SIGKILL)

    def world_poke(self, op):
        """A client of the migrating side asks for a name that the old server answers to, and does not list."""
        side, at = self.pairs[0].sides[0], op['at']
        listed = self.was_listed(at)
        got = side.do({**op, 'op': 'lookup', 'who': 0})
        self.pairs[0].statuses['poke', str(got.get('status', 'missing'))] += 1
        if got.get('status') != 0:
            return
        if listed or op['kind'] == 'spelling':
            raise Difference('poke', f'{at}: {op["name"]!r} is there, and the old server does not list it')
        path = f'{at}/{op["name"]}'.lstrip('/')
        for more in ({'op': 'list', 'plus': True, 'count': 4096}, {'op': 'readall', 'block': 1 << 20}):
            side.do({**more, 'at': path, 'client': op['client'], 'who': 0})

    def was_listed(self, at):
        """Whether the directory has, on the migrating side, all names that the old server lists."""
        path = f'{self.quiet[0]}/{at}'.encode('latin-1')
        if not os.path.isdir(path):             # or a name alone
            return False
        try:
            return os.getxattr(path, 'security.migrate')[1] != compare.UNFILLED
        except OSError:                         # it is whole
            return True

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

    def world_journal(self, op):
        if self.back:
            self.back.journal(op['action'])

    def world_follow(self, op):
        if self.back:
            self.back.follow(op['action'])

    # ---- the end ------------------------------------------------------------------------------

    def finish(self, lie=None):
        """The crawler runs to the end, the volume is finalized, and the trees are compared, as
        clients see them and on disk."""
        if self.back and self.stage in ('nothing', 'half'):
            self.back.run()
            self.back.compare_seen()
            return
        if self.migration:
            self.end_migration()
        if lie:
            lie(self)
        self.compare_disks()
        for pair in self.pairs:
            pair.sweep(self.quiet[1])
        if self.back:
            self.back.run()
            self.back.compare_disks()

    def end_lies(self):
        """What is whole is right, the rest is listed and keeps the volume from its end, until the old server is
        honest."""
        with contextlib.suppress(Difference):
            self.world_crawl({})
        errors = self.migration.errors()
        listed = {os.lstat(f'{self.quiet[0]}/{name}').st_ino for name in errors
                  if os.path.lexists(f'{self.quiet[0]}/{name}')}
        for path in map(os.fsdecode, compare.paths(os.fsencode(self.quiet[1]))):
            name = os.path.relpath(path, self.quiet[1])
            here = f'{self.quiet[0]}/{name}'
            if not stat.S_ISREG(os.lstat(path).st_mode) or name in errors or os.lstat(here).st_ino in listed:
                continue
            if not filecmp.cmp(here, path, shallow=False):
                raise Difference('lies', f'{name} (state {self.disk.state(os.lstat(here).st_ino)}) is not what the '
                                         f'old server has, and not in the list of errors: {sorted(errors)}')
        if errors and self.migration.ctl('finalize', may_fail=True) is not None:
            raise Difference('lies', f'finalized with {sorted(errors.items())[:5]}')
        self.old.be_honest()
        self.migration.ctl('retry')

    def end_migration(self):
        if 'sizes' in self.settings.get('odd', ()):
            self.end_lies()
        self.world_crawl({})
        try:
            state = self.migration.status()['state']
            expect(state == 'whole', f'the state is {state}')
            errors = self.migration.ctl('errors').strip()
            expect(not errors, f'errors: {errors}')
            if self.guard and self.migration.ctl('verify', may_fail=True) is None:
                # what was moved into what was whole, which the next run brings
                self.migration.crawl()
            self.migration.ctl('verify')
            if self.settings.get('begin') or 'hidden' in self.settings.get('odd', ()):
                self.migration.ctl('aside', '--discard', '--yes')
            if self.stage == 'finalized':
                self.migration.ctl('finalize')
            if self.guard and self.stage == 'finalized':
                expect(self.guard.process.wait(60) == 0, 'the guard failed in the end')
                self.guard.listen()
            self.disk.finalized = self.stage == 'finalized'
        except Failure as failure:
            raise Difference('finish', str(failure)) from None
        self.remove_copied()
        left = self.disk.finalized and tree.records(self.quiet[0])
        if left or self.disk.finalized and os.path.lexists(self.migrated + '/.migrate'):
            raise Difference('finish', f'left on disk: {left[:3]}, or .migrate')

    def compare_disks(self):
        def of_now(st):
            return st.st_mtime_ns >= self.begin
        found = tree.compare(*reversed(self.quiet), any_mtime=of_now, slack=self.disk.slack)
        if found.differences:
            raise Difference('disk', 'on disk: ' + '; '.join(found.differences[:5]))
        root = os.fsencode(self.quiet[1])
        for path in compare.paths(root):
            other = os.path.join(os.fsencode(self.quiet[0]), os.path.relpath(path, root))
            pair = [extended(p, self.settings.get('source') == 'smb' and self.begin)
                    for p in (other, path)]
            if self.settings.get('hold') == 1:
                archive_lost(*pair, smb2.A_DIRECTORY if os.path.isdir(path) else 0)
            if pair[0] != pair[1]:
                m, p = ({k: v for k, v in side.items() if other.get(k) != v}
                        for side, other in (pair, pair[::-1]))
                raise Difference('xattrs', f'on disk: {path}: {m}, not {p}')
            if os.path.isfile(path) and not os.path.islink(path):
                self.compare_holes(other, path)

    def exception(self, name):
        return self.pairs[0].comparer.exception(name)

    def compare_holes(self, other, path):
        """Of files whose contents are the same."""
        self.compare_ranges(path, os.stat(path).st_ino, allocated(other), allocated(path))

    def compare_ranges(self, path, fileid, m, p):
        if m == p or self.settings['fs'] == 'xfs' and self.exception('xfs_preallocates'):
            return
        extra = sum(end - begin for begin, end in compare_smb.without(*(
            [(begin, end - begin) for begin, end in side] for side in (m, p))))
        if extra and not self.btrfs_fills_a_block(extra) or not self.disk.of_source(fileid):
            raise Difference('holes', f'on disk: {path}: data at {m}, not {p}')
        self.exception('zeros_are_holes')

    def btrfs_fills_a_block(self, extra):
        return (self.settings['fs'] == 'btrfs' and 'sizes' in self.settings.get('odd', ()) and extra <= 4096 and
                self.exception('btrfs_fills_a_block'))


def extended(path, until):
    """until: times of creation before that are told, and are the same."""
    out = {name: os.getxattr(path, name, follow_symlinks=False)
           for name in os.listxattr(path, follow_symlinks=False)
           if name != source.NEVER and not name.startswith('trusted.quickmigrate.')}
    if 'user.DOSATTRIB' in out:                 # with the time when the file was made
        dos = ndr_unpack(xattr.DOSATTRIB, out['user.DOSATTRIB'])
        out['user.DOSATTRIB'] = dos.version, dos.info.attrib & ~0x80, dos.info.valid_flags
        if until:
            out['user.DOSATTRIB'] += min(door_smb.ns(dos.info.create_time), until),
    if 'security.NTACL' in out:                 # ... and when the ACL was set
        acl = ndr_unpack(xattr.NTACL, out['security.NTACL'])
        sd = acl.info if acl.version == 1 else acl.info.sd
        out['security.NTACL'] = acl.version, ndr_pack(sd)
    return out


def archive_lost(m, p, directory):
    """compare_smb.EXCEPTIONS, as it is on disk.  directory: A_DIRECTORY of one."""
    if m.get('user.DOSATTRIB') != p.get('user.DOSATTRIB'):
        for side in (m, p):
            version, attributes, *rest = side.setdefault('user.DOSATTRIB', (5, directory, 17))
            side['user.DOSATTRIB'] = version, attributes & ~smb2.A_ARCHIVE, *rest


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


