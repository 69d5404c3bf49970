#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Any operations in any order, by several processes: what the journal says of each object is what the
trees of before and after say.  And, where it is killed in between, nothing is missing."""
import json
import os
import random
import signal
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from harness import case, main, same                                    # noqa: E402
from sandbox import Failure, Process, volume, wait_for                  # noqa: E402
from servers import NEW, OLD, VOLUME, Migration                         # noqa: E402

ID = 'user.id'          # of each object, for good: inode numbers come again
PEOPLE = 3


def give_id(path, name):
    os.setxattr(path, ID, name.encode(), follow_symlinks=False)


def fill(chance):
    for d in range(6):
        os.makedirs(f'{NEW}/d{d}/s')
        for path in (f'd{d}', f'd{d}/s'):
            give_id(f'{NEW}/{path}', path)
            for n in range(5):
                with open(f'{NEW}/{path}/f{n}', 'w') as file:
                    file.write('text')
                give_id(file.name, f'{path}/f{n}')
    for n in range(8):
        os.link(f'{NEW}/d{n % 6}/f{n % 5}', f'{NEW}/d{chance.randrange(6)}/l{n}')
    give_id(NEW, 'root')


class Tree:
    """What is there: .names {id: {(directory's id, name)}}, .facts {id: (content, mode)}, .paths"""

    def __init__(self):
        self.names, self.facts, self.paths, self.entries = {'root': set()}, {}, {'root': '.'}, {}
        self.look(NEW, 'root')

    def look(self, path, number):
        self.entries[number] = {}
        for entry in os.scandir(path):
            if entry.name == 'lost+found':
                continue
            below = os.getxattr(entry.path, ID, follow_symlinks=False).decode()
            self.entries[number][entry.name] = below
            self.names.setdefault(below, set()).add((number, entry.name))
            self.paths.setdefault(below, os.path.relpath(entry.path, NEW))
            mode = entry.stat(follow_symlinks=False).st_mode
            text = ''
            if stat.S_ISREG(mode):
                with open(entry.path) as file:
                    text = file.read()
            self.facts[below] = (text, mode)
            if entry.is_dir(follow_symlinks=False):
                self.look(entry.path, below)


def change(chance, who, turn, count):
    """So many attempts; those that make no sense (any more) fail, which is nobody's business."""
    def directory():
        found = [top for top, _, _ in os.walk(NEW)
                 if 'lost+found' not in top and '.new' not in top]
        return chance.choice(found)

    def some():
        here = directory()
        names = [n for n in os.listdir(here) if n != 'lost+found' and n[0] != '.']
        return f'{here}/{chance.choice(names)}' if names else f'{here}/none'

    def make(n):
        # under another name first: nobody sees it without its id
        fresh = f'{NEW}/.new{who}'
        if chance.random() < 0.3:
            os.mkdir(fresh)
        else:
            with open(fresh, 'w') as file:
                file.write('new')
        give_id(fresh, f'new {turn} {who} {n}')
        os.rename(fresh, f'{directory()}/n{chance.randrange(20)}')

    def append(_):
        file = os.open(some(), os.O_WRONLY | os.O_APPEND)
        os.write(file, b'+')
        os.close(file)

    def back_and_forth(_):
        a, b = some(), f'{directory()}/t{chance.randrange(4)}'
        for turn in range(chance.randrange(1, 6)):
            os.rename(*((b, a) if turn % 2 else (a, b)))

    operations = [make, append, back_and_forth,
                  lambda _: os.rename(some(), f'{directory()}/m{chance.randrange(20)}'),
                  lambda _: os.rename(some(), some()),
                  lambda _: os.link(some(), f'{directory()}/k{chance.randrange(20)}'),
                  lambda _: os.unlink(some()), lambda _: os.rmdir(some()),
                  lambda _: os.chmod(some(), 0o600 + chance.randrange(64))]
    for n in range(count):
        try:
            chance.choice(operations)(n)
        except OSError:
            pass


def all_change(args, turn, count):
    """At the same time.  A leftover that has no id yet is nobody's object."""
    children = []
    for who in range(PEOPLE):
        child = os.fork()
        if child == 0:
            change(random.Random(f'{args.seed} {turn} {who}'), who, turn, count)
            os._exit(0)
        children.append(child)
    for child in children:
        same(os.waitpid(child, 0)[1], 0, 'status of one of them')
    for who in range(PEOPLE):
        try:
            os.rename(f'{NEW}/.new{who}', f'{NEW}/left {turn} {who}')
        except FileNotFoundError:
            pass


def judge(before, after, got, exact):
    """Everything that is wrong."""
    wrong = []
    by_path = {}
    for change_ in got:
        if 'path' in change_:
            by_path[os.path.normpath(change_['path'])] = change_
    rows = {number: next((by_path[os.path.join(after.paths[d], n) if d != 'root' else n]
                          for d, n in names if os.path.normpath(
                              os.path.join(after.paths[d], n)) in by_path), None)
            if number != 'root' else by_path.get('.') for number, names in after.names.items()}

    def say(number, text):
        wrong.append(f'{number} ({after.paths.get(number)}): {text}; row {rows.get(number)}')

    for number, names in after.names.items():
        what = set((rows[number] or {}).get('what', ()))
        if number not in before.names:
            if 'made' not in what and (exact or not what):
                say(number, 'is new')
            continue
        if 'made' in what:
            say(number, 'was there')
        if number != 'root':
            (text, mode), (old_text, old_mode) = after.facts[number], before.facts[number]
            if text != old_text and 'data' not in what:
                say(number, 'other content')
            if mode != old_mode and 'attributes' not in what:
                say(number, 'another mode')
        if number in after.entries and after.entries[number] != before.entries[number] and \
                'entries' not in what:
            say(number, 'other entries')
        # Of a name that a rename gave to another object nobody is told; what has one name only is
        # gone then, others have other links, which is an attribute.
        if not exact or 'attributes' in what:
            continue
        lost = {os.path.normpath(os.path.join(after.paths[d], n))
                for d, n in before.names[number] - names if d in after.paths}
        told = {os.path.normpath(path) for path in (rows[number] or {}).get('before', ())}
        if not lost <= told or (names == before.names[number] and 'names' in what):
            say(number, f'lost {lost}, names {names}, before {before.names[number]}')
    return wrong


def begin(args):
    volume(NEW)
    os.makedirs(OLD, exist_ok=True)
    fill(args.random)
    migration = Migration(args.build, f'file://{OLD}')
    watch(migration)
    return migration, Tree()


def watch(migration):
    """There is no retriever to ask for a status."""
    migration.journal = Process('journal', [migration.program('migrate-journal'), '--config',
                                            migration.config, VOLUME])
    wait_for('the journal watches', lambda: settled(migration) is not None,
             process=migration.journal)


def settled(migration):
    text = migration.ctl('changes', '--json', '--settle', may_fail=True)
    return None if text is None else json.loads(text)


@case(short=True)
def any_order(args):
    migration, before = begin(args)
    for turn in range(6):
        all_change(args, turn, 60)
        wrong = judge(before, Tree(), settled(migration), exact=True)
        if wrong:
            raise Failure('\n  '.join(wrong[:20]))


@case()
def killed(args):
    migration, before = begin(args)
    for turn in range(0, 10, 2):
        all_change(args, turn, 25)
        migration.journal.stop(signal.SIGKILL)
        all_change(args, turn + 1, 25)
        watch(migration)
        wrong = judge(before, Tree(), settled(migration), exact=False)
        if wrong:
            raise Failure('\n  '.join(wrong[:20]))


if __name__ == '__main__':
    sys.exit(main())
