#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Short scenarios whose disks are recorded (tests/support/states.py): what is done in a guest, and what must be
true of each state that a crash may leave, on the host.

    states_scenarios.py BUILD SCENARIO FS OTHERS      in a guest: does it, on new file systems, and tells the record
                                                    what was acknowledged.  OTHERS: "alone", or "among" other
                                                    programs that sync
"""
import json
import os
import random
import select
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'support'))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import nfs3                 # noqa: E402
import powercut             # noqa: E402
import powercut_back        # noqa: E402
from powercut_back import STATE                 # noqa: E402
import sandbox              # noqa: E402
import states               # noqa: E402
import tree                 # noqa: E402
import volatile             # noqa: E402
from sandbox import LOGS, sh                    # noqa: E402
from servers import NEW, OLD, VOLUME, Migration # noqa: E402

ROOT = NEW + '/volume'


def fill(root, random):
    """A few of each kind."""
    for d in range(2):
        os.makedirs(f'{root}/dir{d}/below')
        for n in range(8):
            with open(f'{root}/dir{d}/file{n}', 'wb') as file:
                file.write(random.randbytes((0, 90, 4096, 5000, 20000, 66000)[n % 6]))
        os.link(f'{root}/dir{d}/file3', f'{root}/dir{d}/below/link')
        os.symlink('file1', f'{root}/dir{d}/symlink')


class Scenario:
    """disks: where they are mounted, with the root's first.  has_old: the old server's tree is an image that is read
    only, and filled by fill()."""

    disks, settings, has_old = (NEW,), {}, True
    busy = states.BEGIN                 # what is said when other programs begin to sync, too

    def prepare(self, migration):
        """In the guest, before it is recorded."""

    @staticmethod
    def fill(root, random):
        fill(root, random)

    def migration(self, build):
        return Migration(build, f'file://{OLD}', ROOT, **self.settings)


def number_told(told):
    """The last one of what is counted."""
    return max([-1, *(int(word) for kind, word in map(str.split, told) if kind == 'told')])


class Writes(Scenario):
    """Clients write, stable or with a COMMIT, into files that are filled, to the end; others read all of it through
    the door after the crash, before anything else comes."""

    WRITES, busy = 24, 'served 0'

    @staticmethod
    def fill(root, random):
        fill(root, random)
        import test_powercut
        test_powercut.fill_for_writing(root, random, 40000)

    def act(self, migration, say):
        migration.start_retriever()
        migration.attach()
        say('told -1')
        server = migration.start_server()
        say('served 0')
        powercut.write(server.client(), lambda number: say(f'told {number}'), self.WRITES)
        migration.crawl()
        migration.ctl('finalize')
        say('done 0')

    def check(self, migration, told):
        number = number_told(told)
        problems = powercut.check(ROOT, OLD, 'file', number)
        if 'done 0' in told:
            problems += [f'{path}: still has a record' for path in tree.records(ROOT)]
        if problems or 'done 0' in told:
            return problems
        migration.start_retriever()
        if not told and not powercut.is_attached(migration):
            migration.attach()
        client = migration.start_server().client()
        problems = powercut.different_writes(OLD, number, lambda path: client.read_all(client.walk(path)[0]))
        return problems or powercut.finish(migration, OLD, 'file', number)


class Names(Scenario):
    """Clients move, link and remove what is not here yet, beside files of their own, to the end."""

    FILES, busy = 24, 'served 0'

    @classmethod
    def fill(cls, root, random):
        for n in range(cls.FILES):
            os.makedirs(f'{root}/from{n % 2}', exist_ok=True)
            with open(f'{root}/from{n % 2}/file{n}', 'wb') as file:
                file.write(random.randbytes((90, 5000, 20000, 66000)[n // 4 % 4]))

    @staticmethod
    def own(number):
        return random.Random(number).randbytes(3000)

    def act(self, migration, say):
        migration.start_retriever()
        migration.attach()
        client = migration.start_server().client()
        say('served 0')
        to = client.mkdir(client.root, 'to', mode=0o755)
        for n in range(self.FILES):
            directory, _ = client.walk(f'from{n % 2}')
            name = f'file{n}'
            if n // 2 % 4 == 0:
                client.rename(directory, name, to, name)
            elif n // 2 % 4 == 1:
                client.link(client.lookup(directory, name)[0], to, name)
            elif n // 2 % 4 == 2:
                client.remove(directory, name)
            else:
                client.rename(directory, name, directory, f'moved{n}')
            fh = client.create(to, f'own{n}', mode=0o644)
            client.write(fh, 0, self.own(n), nfs3.FILE_SYNC)
            say(f'told {n}')
        migration.crawl()
        migration.ctl('finalize')
        say('done 0')

    @staticmethod
    def names(number):
        """A file's name before, and the one that the change gives it."""
        first = f'from{number % 2}/file{number}'
        return first, (f'to/file{number}', f'to/file{number}', None,
                       f'from{number % 2}/moved{number}')[number // 2 % 4]

    def check(self, migration, told):
        migration.start_retriever()
        if not told and not powercut.is_attached(migration):
            migration.attach()
        if 'done 0' not in told:
            migration.crawl()
            migration.ctl('finalize')
        problems = [f'{path}: still has a record' for path in tree.records(ROOT)]
        found = {os.path.relpath(os.path.join(base, name), ROOT): os.path.join(base, name)
                 for base, _, names in os.walk(ROOT) for name in names}

        def read(path):
            with open(path, 'rb') as file:
                return file.read()
        for n in range(self.FILES):
            first, second = self.names(n)
            here = [name for name in (first, second) if found.get(name)]
            wanted = read(f'{OLD}/{first}')
            problems += [f'{name}: differs' for name in here if read(found[name]) != wanted]
            kind, own = n // 2 % 4, found.pop(f'to/own{n}', None)
            if kind in (0, 3) and len(here) != 1 or kind == 1 and first not in here:
                problems.append(f'{first}: has these names: {here}')
            if len(here) == 2 and not os.path.samefile(*map(found.get, here)):
                problems.append(f'{first}: is two files')
            if n <= number_told(told) and (own is None or read(own) != self.own(n)):
                problems.append(f'to/own{n}: an acknowledged write is lost')
            for name in here:
                del found[name]
        return problems + [f'{name}: nobody made it' for name in found]


class Copied(Scenario):
    """A copy, its second run, the switch and the comparison, to the end."""

    kind = 'copied'

    def act(self, migration, say):
        def happens(phase, process):
            if process.wait(600):
                raise sandbox.Failure(f'{phase}: exit {process.returncode}')
            say(f'{phase} 0')
        migration.start_retriever()
        powercut.beforehand(migration, self.kind, happens)
        migration.ctl('verify')
        migration.ctl('aside', '--discard', '--yes')
        migration.ctl('finalize')
        say('done 0')

    def check(self, migration, told):
        problems = powercut.check_copy(ROOT, OLD)
        if powercut.record(ROOT) is None and 'attach 0' in told:
            return problems + powercut.left_and_different(ROOT, OLD)
        if powercut.record(ROOT) is not None:
            problems += powercut.check(ROOT, OLD, self.kind, -1)
        elif 'done 0' in told:
            problems.append('it is not at its end')
        migration.start_retriever()
        return problems or powercut.finish_beforehand(migration, OLD, self.kind)


class Adopted(Copied):
    """A copy of another tool's, with mistakes."""

    kind = 'adopted'

    def prepare(self, migration):
        powercut.leave(OLD, ROOT)

    def check(self, migration, told):
        """What only the copy has is set aside, and not lost, until that is let go."""
        there = any('directory/file' in path for path in map(os.fsdecode, tree.every(ROOT)))
        lost = powercut.record(ROOT) is not None and 'compare 0' not in told and not there
        return super().check(migration, told) + ['what only the copy has is gone'] * lost


class Back(Scenario):
    """Clients change things, which the journal sees and the way back carries; all three lose their power."""

    disks, has_old = (NEW, OLD, STATE), False
    settings = {'rollback_source': OLD, 'report': f'{STATE}/{VOLUME}.report',
                'journal': f'{STATE}/{VOLUME}.journal'}
    ROUNDS = 3

    def prepare(self, migration):
        powercut_back.FILES, powercut_back.DIRECTORIES = 24, 3
        powercut_back.make_old_tree(random.Random(7))
        migration.start_retriever()
        powercut_back.switch(migration)

    def act(self, migration, say):
        clients = powercut_back.Clients(7)
        say(f'told {powercut_back.FILES - 1}')
        for _ in range(self.ROUNDS):
            clients.change(10)
            if powercut_back.carry(migration):
                say(f'told {clients.next - 1}')

    def check(self, migration, told):
        problems = powercut_back.check(number_told(told))
        migration.start_retriever()
        migration.start_journal()
        migration.crawl()
        said = migration.rollback(may_fail=True)
        if isinstance(said, str):
            return [*problems, said]
        found = tree.compare(OLD, ROOT, slack=1 << 30).differences
        problems += map(str, said['conflicts'] + said['losses'])
        return problems + found


def ctl(migration, *words):
    """(exit status, what it says)"""
    done = subprocess.run([migration.program('migratectl'), '--config', migration.config, *words],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=300, check=False)
    return done.returncode, done.stdout


def succeed(migration, *words):
    status, said = ctl(migration, *words)
    if status:
        raise sandbox.Failure(f'{" ".join(words)}: exit {status}: {said}')


class Report(Scenario):
    """Contents are compared, and a final report is made, before and after the end."""

    disks = (NEW, STATE)
    settings = {'report': f'{STATE}/{VOLUME}.report', 'journal': f'{STATE}/{VOLUME}.journal'}
    outs = [f'{STATE}/{name}' for name in ('before', 'after')]

    def prepare(self, migration):
        migration.start_retriever()
        migration.attach()
        migration.crawl()

    @staticmethod
    def report(migration, out):
        succeed(migration, 'report', '--final', '--output', out, VOLUME)

    def act(self, migration, say):
        for out in self.outs:
            os.makedirs(out, 0o700)
        sh('sync')
        succeed(migration, 'verify', '--content', VOLUME)
        self.report(migration, self.outs[0])
        say('before 0')
        migration.ctl('finalize')
        say('done 0')
        self.report(migration, self.outs[1])
        say('after 0')

    def check(self, migration, told):
        """A report that is there is good, and each that was told is; what it is made of outlives the end."""
        problems = []
        for out in self.outs:
            name = f'{out}/{VOLUME}-report.json'
            if f'{os.path.basename(out)} 0' in told or os.path.exists(name):
                status, said = ctl(migration, 'report', '--check', '--tree', ROOT, name)
                problems += [f'{name}: {said}'] * bool(status)
        if 'done 0' in told:
            os.makedirs(self.outs[1], exist_ok=True)
            self.report(migration, self.outs[1])
            with open(f'{self.outs[1]}/{VOLUME}-report.json') as file:
                said = json.load(file)
            if not (said['complete'] and said['contents']['compared']):
                problems.append(f'what was compared is forgotten: {said["verdict"]}')
        else:
            migration.start_retriever()
            migration.crawl()
            succeed(migration, 'verify', '--content', VOLUME)
            migration.ctl('finalize')
        return problems + powercut.left_and_different(ROOT, OLD)


class Mended(Scenario):
    """What differs is written anew in the same file; what was there is set aside before."""

    NAMES = [f'dir{d}/file{n}' for d in range(2) for n in (2, 4, 5)]
    AT = 1000

    def prepare(self, migration):
        migration.start_retriever()
        migration.attach()
        migration.crawl()
        for name in self.NAMES:
            st = os.stat(f'{ROOT}/{name}')
            with open(f'{ROOT}/{name}', 'r+b') as file:
                file.seek(self.AT)
                file.write(b'rotten')
            os.utime(f'{ROOT}/{name}', ns=(st.st_atime_ns, st.st_mtime_ns))
        status, said = ctl(migration, 'verify', '--content', VOLUME)
        if status != 1:
            raise sandbox.Failure(f'verify finds nothing: {said}')

    def act(self, migration, say):
        for number, name in enumerate(self.NAMES):
            succeed(migration, 'retry', VOLUME, name)
            say(f'told {number}')

    @classmethod
    def versions(cls, name):
        with open(f'{OLD}/{name}', 'rb') as file:
            old = file.read()
        return old, old[:cls.AT] + b'rotten' + old[cls.AT + 6:]

    def is_aside(self, wanted):
        for base, _, files in os.walk(ROOT + '/.migrate/aside'):
            for name in files:
                with open(f'{base}/{name}', 'rb') as file:
                    if file.read() == wanted:
                        return True
        return False

    def check(self, migration, told):
        problems = []
        for number, name in enumerate(self.NAMES):
            old, rotten = self.versions(name)
            with open(f'{ROOT}/{name}', 'rb') as file:
                data = file.read()
            if data != old and number <= number_told(told):
                problems.append(f'{name}: it was mended, and is not')
            if data != rotten and not self.is_aside(rotten):
                problems.append(f'{name}: what was there is nowhere')
        migration.start_retriever()
        for name in self.NAMES:
            ctl(migration, 'retry', VOLUME, name)
        succeed(migration, 'verify', '--content', VOLUME)
        return problems + tree.compare(OLD, ROOT, any_mtime=lambda st: True).differences


SCENARIOS = {'writes': Writes, 'names': Names, 'back': Back, 'copied': Copied, 'adopted': Adopted, 'mended': Mended,
             'report': Report}


def disturb(where):
    """Another program, whose syncs make durable what the file system has just then."""
    fd = os.open(where + '/disturbed', os.O_WRONLY | os.O_CREAT, 0o600)
    while True:
        os.pwrite(fd, os.urandom(8), 0)
        os.fsync(fd)
        select.select([], [], [], 0.003)


def main():
    build, name, fs, others = sys.argv[1:5]
    scenario = SCENARIOS[name]()
    host, control = os.environ['VM_HOST'], int(os.environ['CONTROL'])
    sh('ip', 'link', 'set', 'lo', 'up')
    for directory in (LOGS, OLD, '/var/lib/nfs/ganesha', '/run/ganesha', '/run/rpcbind'):
        os.makedirs(directory, exist_ok=True)
    if scenario.has_old:
        sh('mount', '-o', 'ro', '/dev/ubda', OLD)
    words = list(map(int, os.environ['DISK'].split()))
    for number, where in enumerate(scenario.disks):
        os.makedirs(where, exist_ok=True)
        disk = volatile.attach(host, *words[2 * number:2 * number + 2], number)
        sh(*sandbox.MKFS[fs], disk)
        sh('mount', '-t', fs, disk, where)
    os.makedirs(ROOT)
    migration = scenario.migration(build)

    def say(text):
        volatile.say(host, control, text)
        if others == 'among' and text == scenario.busy:
            for where in {*scenario.disks} - {OLD}:
                threading.Thread(target=disturb, args=(where,), daemon=True).start()
    try:
        scenario.prepare(migration)
        sh('sync')
        say(states.BEGIN)
        scenario.act(migration, say)
    except Exception:
        sandbox.show_logs()
        raise


if __name__ == '__main__':
    main()
