# SPDX-License-Identifier: GPL-3.0-or-later
"""The way back of a sequence: in the end the old tree is made what clients see on the new server
(migratectl rollback), at one of four stages of the migration, by the seed, and compared.

With kills it begins while the operations are done (--follow), and in between whatever takes part is
killed, and started again; the journal also misses what happens.  With others, somebody else changes
the old tree (others.py)."""
import ast
import contextlib
import json
import os
import random
import select
import shutil
import signal
import subprocess

import compare
import others
import source
import tree
from compare import Difference
from sandbox import BASE, LOGS, Failure, Process, wait_for
from servers import VOLUME

STAGES = 'finalized', 'nothing', 'half', 'finished'
DEBUG = {**os.environ, 'G_MESSAGES_DEBUG': 'all'}  # what is planned
EVENTS = 16384                  # what the kernel keeps of them for one who does not take them


def possible(case):
    """Not where the mounted tree's numbers are others than those that the old server told."""
    settings = case['settings']
    return (settings.get('source') != 'smb' and not settings.get('begin') and
            'numbers' not in settings.get('odd', ()))


def stage(case):
    return STAGES[case['seed'] % len(STAGES)]


def quietly(path):
    """By the mount that keeps atimes (world.py)."""
    return f'{os.path.dirname(path)}-quiet/{os.path.basename(path)}'


class Back:
    """sequence: of world.py."""

    def __init__(self, sequence):
        self.sequence, self.migration = sequence, sequence.migration
        self.kills = sequence.settings.get('kills')
        self.random = random.Random(f'kills {sequence.case["seed"]}')
        self.untold = source.is_untold(sequence.settings)
        self.others = sequence.settings.get('others')
        self.same = self.others and others.same(*map(quietly, (sequence.source, sequence.plain)))
        self.may_differ = lambda name, what: False
        self.follower = None
        self.stalled = False
        self.gaps = 0

    def close(self):
        self.resume()
        for process in self.follower, self.migration.journal:
            if process:
                process.stop(signal.SIGKILL)

    def argv(self, *options):
        return [self.migration.program('migratectl'), '--config', self.migration.config, '--yes', *options,
                '--to', self.sequence.source, 'rollback', VOLUME]

    def keep(self, directory):
        """What tells how the trees came to differ."""
        shutil.copytree(LOGS, directory, dirs_exist_ok=True)
        for kind in 'journal', 'rollback':
            if os.path.isdir(f'{BASE}/{VOLUME}.{kind}'):
                shutil.copytree(f'{BASE}/{VOLUME}.{kind}', f'{directory}/{kind}',
                                dirs_exist_ok=True)
        with open(f'{directory}/trees', 'w') as out:
            for argv in ([self.migration.program('migratectl'), '--config', self.migration.config,
                          '--json', 'changes', VOLUME],
                         ['ls', '-lAiR', '--time-style=full-iso', self.sequence.quiet[0],
                          self.sequence.source]):
                subprocess.run(argv, stdout=out, stderr=subprocess.STDOUT, check=False)

    # ---- while operations are done ------------------------------------------------------------

    def resume(self):
        if self.stalled:
            self.migration.journal.send_signal(signal.SIGCONT)
            self.stalled = False

    def journal(self, action):
        """kill: it is there again at once; down: only with the next; stall: it falls behind; flood:
        it does not even get what happens until the next."""
        self.resume()
        if action in ('kill', 'down'):
            self.migration.journal.stop(signal.SIGKILL)
        if action == 'down':
            return
        if self.migration.journal.poll() is not None:
            self.migration.journal = Process('journal', [
                self.migration.program('migrate-journal'), '--config', self.migration.config,
                VOLUME])
        if action in ('stall', 'flood'):
            self.migration.journal.send_signal(signal.SIGSTOP)
            self.stalled = True
        if action == 'flood':
            name = os.path.dirname(self.sequence.quiet[0]) + '/flood'
            for _ in range(EVENTS // 2 + 1):
                os.mkfifo(name + f'{_}')
            for _ in range(EVENTS // 2 + 1):
                os.unlink(name + f'{_}')

    def follow(self, action):
        number = {'kill': signal.SIGKILL, 'stop': signal.SIGTERM}[action]
        if self.follower:
            self.follower.stop(number)
        self.follower = Process('follower', self.argv('--follow'), env=DEBUG)

    # ---- the end ------------------------------------------------------------------------------

    def watch(self):
        """The journal runs."""
        if self.kills:
            self.journal('start')
        wait_for('the journal watches', lambda: self.migration.status().get('running'),
                 process=self.migration.journal)

    def kill(self):
        """A run in which something dies at a random point."""
        r, sequence = self.random, self.sequence
        process = Process('killed', self.argv(), env=DEBUG)
        select.select([], [], [], r.choice((0.01, 0.05, 0.2)) * r.random())
        victim = r.choice(('rollback', 'rollback', 'retriever', 'journal', 'server'))
        if victim == 'rollback':
            process.kill()
        elif victim == 'journal':
            self.journal('kill')
        elif victim == 'retriever':
            sequence.world_retriever({'action': 'kill'})
        else:
            sequence.world_server({'action': 'kill'})
        process.wait(120)

    def run(self):
        self.sequence.unblock()
        self.watch()
        if self.follower:
            self.follower.stop(self.random.choice((signal.SIGKILL, signal.SIGTERM)))
        theirs = self.others and others.Others(self.sequence.source, self.same, self.sequence.case['seed'], 0.15)
        with theirs if self.others == 'meanwhile' else contextlib.nullcontext():
            for _ in range(self.random.randrange(4) if self.kills else 0):
                self.kill()
            self.watch()
            done = self.once()
        if theirs:
            done = self.once()
            self.may_differ = theirs.end(self.sequence.quiet[1], done['conflicts'])
        self.lost = bool(done['losses'])
        self.gaps = self.migration.status()['gaps']

    def once(self):
        done = subprocess.run(self.argv('--json'), stdin=subprocess.DEVNULL, capture_output=True,
                              env=DEBUG, text=True, timeout=300, check=False)
        with open(f'{LOGS}/rollback.log', 'a') as log:
            log.write(done.stderr)
        if done.returncode not in ((0, 4) if self.others else (0,)):
            complaint = [line for line in done.stderr.splitlines() if 'DEBUG' not in line]
            raise Difference('rollback', f'exit {done.returncode}: {complaint}{done.stdout}')
        return json.loads(done.stdout)['rollback']

    def differences(self, old, new, **how):
        """Of two trees, but for what somebody else may have made of it."""
        def may(line):
            name, what = line.rsplit(': ', 1)
            return self.may_differ(os.fsencode(ast.literal_eval(name)[1:]) or b'.', what)
        found = tree.compare(old, new, slack=1 << 40, limit=1 << 20, **how)
        return [line for line in found.differences if not may(line)]

    def compare_seen(self):
        """The old server's tree with the plain one, while much is not here: what clients see."""
        found = self.differences(self.sequence.quiet[1], self.sequence.source,
                                 any_mtime=lambda st: st.st_mtime_ns >= self.sequence.begin)
        if found:
            raise Difference('half', 'on disk: ' + '; '.join(found[:5]))
        self.compare_never()

    def compare_disks(self):
        """The old server's tree with the new one, which is whole."""
        old, new = self.sequence.source, self.sequence.quiet[0]
        found = self.differences(old, new)
        if found:
            raise Difference('back', 'on disk: ' + '; '.join(found[:5]))
        for path in compare.paths(os.fsencode(old)):
            if self.may_differ(os.path.relpath(path, os.fsencode(old)), ''):
                continue
            other = os.path.join(os.fsencode(new), os.path.relpath(path, os.fsencode(old)))
            pair = [carried_back(p) for p in (path, other)]
            if pair[0] != pair[1] and not self.lost:
                raise Difference('back', f'on disk: {path}: {pair[0]}, not {pair[1]}')
        self.compare_never()

    def compare_never(self):
        """What no client could see is on the old server as it was, where the plain copy says that the
        object is one of then."""
        plain = os.fsencode(self.sequence.quiet[1])
        for path in compare.paths(plain):
            if self.may_differ(os.path.relpath(path, plain), ''):
                continue
            there = os.path.join(os.fsencode(self.sequence.source), os.path.relpath(path, plain))
            has, had = source.never_came(there), source.never_came(path)
            # what was renamed while the journal missed it looks like a new one, and is made anew
            if source.NEVER in had and not self.whole(has) and (has or not self.gaps):
                raise Difference('never', f'on disk: {there}: has {sorted(has)} of what never came, '
                                 f'{self.gaps} gaps')
            if has and source.NEVER not in had:
                raise Difference('never', f'on disk: {there}: has {sorted(has)}, and is another object')

    def whole(self, has):
        wanted = {source.NEVER} | ({source.NEVER_TOLD} if self.untold else set())
        return set(has) == wanted and has.get(source.NEVER_TOLD, b'n' * 6000) == b'n' * 6000


def carried_back(path):
    names = os.listxattr(path, follow_symlinks=False)
    return {name: os.getxattr(path, name, follow_symlinks=False) for name in names
            if name != source.NEVER_TOLD and
            (name.startswith(('user.', 'system.posix_acl_')) or name == 'security.NTACL')}
