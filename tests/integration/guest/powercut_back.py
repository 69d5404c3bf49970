#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""In a guest: the way back from one disk of the host (volatile.py) to another one, which lose their
power, as does a third one with what the programs keep: so that nothing but they themselves makes the
new tree durable.

    powercut_back.py BUILD FS KIND start TOLD    makes both trees and switches; then clients change
                                                 things and they are carried back, until the power goes:
                                                 prints "tick N" as that goes on, and "told N" when all
                                                 objects up to that number are on the old server
    powercut_back.py BUILD FS KIND resume TOLD   looks at the old tree as the cut left it, and goes on
    powercut_back.py BUILD FS KIND finish TOLD   looks at it, and carries back what is left: both trees
                                                 are the same then

KIND is "plain", once after each round of changes, or "follow", while clients go on.
"""
import hashlib
import itertools
import os
import random
import re
import select
import signal
import stat
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'support'))
import sandbox      # noqa: E402
import tree         # noqa: E402
import volatile     # noqa: E402
from sandbox import LOGS, Failure, Process, sh      # noqa: E402
from servers import NEW, OLD, VOLUME, Migration     # noqa: E402

ROOT, STATE = NEW + '/volume', sandbox.BASE + '/state'
FILES, DIRECTORIES = 240, 12
HEAD = 80
STAGE = '/.migrate-rollback'
SPARE = '.spare'                # a file that has no name of its own yet


# ---- files that say what they are ----------------------------------------------------------------

def content(number, chance):
    data = chance.randbytes(chance.choice((0, 300, 4096, 20000, 200000)))
    return b'%08d %-6d %s' % (number, len(data), hashlib.sha256(data).hexdigest().encode()) + data


def number_of(path):
    """Of the object; -1: it is not whole."""
    with open(path, 'rb') as file:
        head = file.read(HEAD).split()
        if len(head) != 3:
            return -1
        number, size, digest = head
        same = hashlib.sha256(file.read(int(size))).hexdigest().encode() == digest
    return int(number) if same else -1


def said(path):
    """The number, whether the rest is whole or not."""
    with open(path, 'rb') as file:
        head = file.read(HEAD).split()
    return int(head[0]) if len(head) == 3 else -1


def is_linked(number):
    """It gets several names, and is written in place there."""
    return number % 7 == 0


def is_appended_to(number):
    return number % 7 == 1


def files(top):
    for base, directories, names in os.walk(top):
        if base == ROOT and '.migrate' in directories:
            directories.remove('.migrate')
        for name in names:
            path = f'{base}/{name}'
            if name != SPARE and stat.S_ISREG(os.lstat(path).st_mode):
                yield path


def numbers(top, problems):
    """Of all files below; what is not whole is a problem."""
    found = set()
    for path in files(top):
        number = number_of(path)
        found.add(number)
        name = os.path.basename(path)
        # what has several names is written in place; what is being made stands in STAGE
        being_made = f'{STAGE}/' in path and name[0] != 'p'
        if number < 0 and os.stat(path).st_nlink == 1 and not being_made and \
                not name.startswith('linked'):
            problems.append(f'{path}: is not whole')
    return found


# ---- clients -------------------------------------------------------------------------------------

class Clients:
    """What they do to the new tree.  A file is whole before it gets its name, so that it is whole
    wherever it is seen."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        names = (name for _, *both in os.walk(ROOT) for name in itertools.chain(*both))
        self.next = 1 + max(FILES, *map(said, files(ROOT)),
                            *(int(n) for name in names for n in re.findall(r'\d+$', name)))

    def directories(self):
        return [base for base, *_ in os.walk(ROOT) if '/.migrate' not in base]

    def some(self, wanted=lambda number: True):
        found = [path for path in files(ROOT) if wanted(said(path))]
        return self.chance.choice(found) if found else None

    def put(self, number, path):
        spare = f'{os.path.dirname(path)}/{SPARE}'
        with open(spare, 'wb') as file:
            file.write(content(number, self.chance))
            file.flush()
            os.fsync(file.fileno())
        os.rename(spare, path)

    def make(self):
        kind = 'linked' if is_linked(self.next) else 'file'
        self.put(self.next, f'{self.chance.choice(self.directories())}/{kind}{self.next}')
        self.next += 1

    def write(self):
        path = self.some(lambda number: not is_linked(number))
        if path:
            self.put(said(path), path)

    def append(self):
        path = self.some(is_appended_to)
        if path:
            with open(path, 'ab') as file:
                file.write(self.chance.randbytes(3000))

    def rename(self):
        path = self.some()
        if path:
            os.rename(path, f'{self.chance.choice(self.directories())}/{os.path.basename(path)}')

    def link(self):
        path = self.some(is_linked)
        if path:
            self.next += 1
            os.link(path, f'{self.chance.choice(self.directories())}/linked{self.next}')

    def unlink(self):
        path = self.some()
        if path:
            os.unlink(path)

    def mkdir(self):
        os.mkdir(f'{self.chance.choice(self.directories())}/dir{self.next}')
        self.next += 1

    def move(self):
        a, b = (self.chance.choice(self.directories()) for _ in range(2))
        if a != ROOT and not (b + '/').startswith(a + '/'):
            os.rename(a, f'{b}/{os.path.basename(a)}')

    def symlink(self):
        os.symlink(f'target {self.next}', f'{self.chance.choice(self.directories())}/link{self.next}')
        self.next += 1

    def attributes(self):
        path = self.some() or ROOT
        os.chmod(path, 0o600 | self.chance.randrange(0o200))
        os.chown(path, self.chance.randrange(1000), 7)
        os.setxattr(path, 'user.back', self.chance.randbytes(9))
        os.utime(path, ns=(10**18, 10**18 + self.chance.randrange(10**9)))

    def change(self, times):
        steps = (self.make, self.make, self.write, self.write, self.write, self.append, self.rename,
                 self.rename, self.link, self.unlink, self.mkdir, self.move, self.symlink,
                 self.attributes)
        for _ in range(times):
            self.chance.choice(steps)()


# ---- the machine ---------------------------------------------------------------------------------

def mount(fs, fresh):
    words = list(map(int, os.environ['DISK'].split()))
    for number, where in enumerate((NEW, OLD, STATE)):
        os.makedirs(where)
        disk = volatile.attach(os.environ['VM_HOST'], *words[2 * number:2 * number + 2], number)
        if fresh:
            sh(*sandbox.MKFS[fs], disk)
        sh('mount', '-t', fs, disk, where)


def make_old_tree(chance):
    if os.path.isdir(OLD + '/lost+found'):
        os.rmdir(OLD + '/lost+found')
    for d in range(DIRECTORIES):
        os.mkdir(f'{OLD}/old{d}')
    for number in range(FILES):
        kind = 'linked' if is_linked(number) else 'file'
        path = f'{OLD}/old{number % DIRECTORIES}/{kind}{number}'
        with open(path, 'wb') as file:
            file.write(content(number, chance))
        if number % 14 == 0:
            os.link(path, path + ' again')
    sh('sync')


def switch(migration):
    migration.start_journal()
    migration.attach()
    migration.crawl()


def tick(carrying):
    """For whoever cuts the power."""
    for number in itertools.count():
        carrying.wait()                 # not while clients change things
        print('tick', number, flush=True)
        select.select([], [], [], 0.005)


def check(told):
    """What the cut left on the old server: nothing is in pieces, and what was there is there still."""
    problems = []
    there = numbers(OLD, problems)
    here = numbers(ROOT, [])
    lost = [n for n in here - there if 0 <= n <= told and not is_linked(n)]
    problems += [f'file {n} was on the old server, and is not' for n in lost[:10]]
    print(f'{len(there)} files on the old server, {len(here)} here; {len(lost)} of {told} lost')
    return problems


def carry(migration):
    """TRUE: all of it."""
    done = migration.rollback()
    if done['conflicts'] or done['losses']:
        raise Failure(f'{done["conflicts"] or done["losses"]}')
    return not done['left']


def plain(migration, clients, carrying):
    while True:
        carrying.clear()
        clients.change(clients.chance.randrange(1, 120))
        if clients.chance.random() < 0.5:
            sh('sync')
        last = clients.next - 1
        carrying.set()
        if carry(migration):
            print('told', last, flush=True)


def follow(migration, clients, carrying):
    """Clients work while it is carried back; it is ended now and then, to begin anew at once."""
    carrying.set()
    while True:
        follower = Process('follower', [migration.program('migratectl'), '--config', migration.config,
                                        '--yes', '--follow', 'rollback', VOLUME])
        for _ in range(clients.chance.randrange(1, 15)):
            clients.change(clients.chance.randrange(1, 6))
            select.select([], [], [], 0.03)
        follower.stop(signal.SIGTERM)
        last = clients.next - 1
        if carry(migration):
            print('told', last, flush=True)


def finish(migration):
    migration.crawl()           # what was brought last had its data here, and not yet its times
    carry(migration)
    found = tree.compare(OLD, ROOT, slack=1 << 30)
    return found.differences


def main():
    build, fs, kind, verb, told = sys.argv[1:6]
    sh('ip', 'link', 'set', 'lo', 'up')
    os.makedirs(LOGS)
    mount(fs, verb == 'start')
    chance = random.Random(os.urandom(8))
    if verb == 'start':
        make_old_tree(chance)
        os.makedirs(ROOT)
    problems = check(int(told)) if verb != 'start' else []
    migration = Migration(build, f'file://{OLD}', ROOT, rollback_source=OLD,
                          report=f'{STATE}/{VOLUME}.report', journal=f'{STATE}/{VOLUME}.journal')
    try:
        migration.start_retriever()
        if verb == 'start':
            switch(migration)
            print('told', FILES - 1, flush=True)
        else:
            migration.start_journal()
        if problems:
            pass
        elif verb == 'finish':
            problems = finish(migration)
        else:
            carrying = threading.Event()
            threading.Thread(target=tick, args=(carrying,), daemon=True).start()
            {'plain': plain, 'follow': follow}[kind](migration, Clients(chance.random()), carrying)
    except (Failure, subprocess.SubprocessError) as failure:
        problems.append(str(failure))
    for problem in problems[:30]:
        print(problem)
    if problems:
        sandbox.show_logs()
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
