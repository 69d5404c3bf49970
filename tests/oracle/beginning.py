# SPDX-License-Identifier: GPL-3.0-or-later
"""What the new tree begins from, where it is not empty: a copy of ours or one of another tool's, in
which some names are stale, missing, re-typed or nobody's.  What is planted depends on the seed and
on the name alone, so that it stays when a case is made shorter."""
import os
import random
import shutil
import stat

import source
from sandbox import sh

KINDS = ('copied', 'adopted')
RULES = {                               # of a type: what is done to it, and how often
    'f': (('stale', 0.12), ('rewritten', 0.06), ('longer', 0.04), ('missing', 0.05), ('retyped', 0.05),
          ('attributes', 0.08), ('joined', 0.03)),
    'd': (('extra', 0.3), ('attributes', 0.1), ('retyped', 0.06), ('missing', 0.05)),
    'l': (('target', 0.2), ('missing', 0.1), ('retyped', 0.1)),
    'h': (('missing', 0.2), ('broken', 0.3)),
}
NODE = (('missing', 0.1), ('retyped', 0.2), ('attributes', 0.2))
EXTRA = ('extra', 'extra directory')


class Plants:
    """In the tree at root, which is as the entries say.  silent: also bytes that neither size nor
    mtime tells of."""

    def __init__(self, entries, root, seed, silent):
        self.entries, self.top, self.silent = entries, os.fsencode(root), silent
        self.shared = {e['to'] for e in entries if e['type'] == 'h'}
        self.files = [e['path'] for e in entries if e['type'] == 'f' and
                      e['path'] not in self.shared]
        self.touched = set()            # paths of objects that are to be made or set again
        for e in entries:
            r = random.Random(f'plant {seed} {e["path"]}')
            what = self.choose(r, e)
            if what and os.path.lexists(self.path(e)):
                self.touched.add(e['path'])
                getattr(self, what)(r, e, self.path(e))

    def path(self, e):
        return os.path.join(self.top, e['path'].encode('latin-1'))

    def choose(self, r, e):
        if not e['path']:
            return 'extra'
        at = r.random()
        for what, often in RULES.get(e['type'], NODE):
            at -= often
            if at < 0:
                return what if e['path'] not in self.shared else None
        return None

    # ---- one name -----------------------------------------------------------------------------

    def stale(self, r, e, path):
        """The same size, another mtime."""
        self.overwrite(r, e, path)
        at = e['times'][1] + r.choice((-1, 1)) * r.choice((1234567, 10**9, 3600 * 10**9))
        os.utime(path, ns=(e['times'][0], at))

    def rewritten(self, r, e, path):
        if self.silent:
            self.overwrite(r, e, path)
            os.utime(path, ns=tuple(e['times']))

    @staticmethod
    def overwrite(r, e, path):
        """Only what is no hole in what it is to be."""
        for offset, length, _ in e['data'][:1]:
            with open(path, 'r+b') as file:
                file.seek(offset)
                file.write(r.randbytes(min(length, 5000)))

    @staticmethod
    def longer(_, e, path):
        with open(path, 'ab') as file:
            file.write(b'longer')
        os.utime(path, ns=tuple(e['times']))

    @staticmethod
    def missing(*args):
        remove(args[-1])

    @staticmethod
    def retyped(r, e, path):
        remove(path)
        kind = r.choice([kind for kind in 'fdlp' if kind != e['type']])
        if kind == 'd':
            os.mkdir(path)
            inside = path + b'/inside'
        else:
            inside = path
        if kind == 'l':
            os.symlink(b'elsewhere', path)
        elif kind == 'p':
            os.mkfifo(path)
        else:
            with open(inside, 'w') as file:
                file.write('of another type')
        if kind != 'd' and r.random() < 0.5:
            os.utime(path, ns=tuple(e['times']), follow_symlinks=False)

    @staticmethod
    def attributes(r, e, path):
        """More is allowed than on the old server, and it is somebody else's."""
        os.chown(path, 4711, 4711)
        os.chmod(path, 0o777)
        if e['type'] in 'fd':
            os.setxattr(path, r.choice((b'user.extra', b'user.DosStream.extra:$DATA')), b'x\0')
        os.utime(path, ns=tuple(e['times']))

    def joined(self, r, e, path):
        """One file for two."""
        other = r.choice(self.files)
        of = os.path.join(self.top, other.encode('latin-1'))
        if other != e['path'] and os.path.isfile(of) and not os.path.islink(of):
            os.unlink(path)
            os.link(of, path)
            self.touched.add(other)

    @staticmethod
    def broken(_, e, path):
        """Two files for one."""
        old = path[:-1] + b'~'
        os.rename(path, old)
        sh('cp', '-a', '--sparse=always', os.fsdecode(old), os.fsdecode(path))
        os.unlink(old)

    @staticmethod
    def target(_, e, path):
        os.unlink(path)
        os.symlink(e['to'].encode('latin-1')[::-1], path)
        os.utime(path, ns=tuple(e['times']), follow_symlinks=False)

    @staticmethod
    def extra(_, e, path):
        for name in map(os.fsencode, EXTRA):
            directory = os.path.join(path, name)
            if name.endswith(b'directory'):
                os.mkdir(directory)
                directory += b'/inside'
            with open(directory, 'w') as file:
                file.write('extra')

    # ---- and back -----------------------------------------------------------------------------

    def undo(self, r, attributes):
        """Some files are written again, others are made again, under what may be the same number."""
        for e in self.entries:
            path = self.path(e)
            if e['type'] == 'd':
                for name in map(os.fsencode, EXTRA):
                    remove(os.path.join(path, name))
            if e['type'] == 'h' and not is_same(path, self.path({'path': e['to']})):
                self.touched |= {e['path'], e['to']}
            if e['path'] not in self.touched or not e['path']:
                continue
            if e['type'] == 'd' and is_directory(path):
                for name in os.listxattr(path):
                    os.removexattr(path, name)
            elif e['type'] == 'f' and os.path.isfile(path) and not os.path.islink(path) and \
                    os.stat(path).st_nlink == 1 and r.random() < 0.5:
                for name in os.listxattr(path):
                    os.removexattr(path, name)
                source.write(e, path)
            else:
                remove(path)
        root = os.fsdecode(self.top)
        source.build(self.entries, root, attributes)
        source.dress((e for e in self.entries if os.path.lexists(self.path(e)) and e['type'] != 'h' and
                      (e['type'] == 'd' or e['path'] in self.touched)), root, attributes)


def is_same(a, b):
    return os.path.lexists(a) and os.path.lexists(b) and os.lstat(a).st_ino == os.lstat(b).st_ino


def is_directory(path):
    return os.path.lexists(path) and stat.S_ISDIR(os.lstat(path).st_mode)


def remove(path):
    if is_directory(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def copy(sequence):
    """Increments, after each of which the old server changes."""
    case, migration = sequence.case, sequence.migration
    r = random.Random(f'begin {case["seed"]}')
    told = case['settings'].get('source') != 'smb'      # Samba does not tell ctime
    content = not told and r.random() < 0.5
    for n in range(r.choice((1, 2))):
        plants = Plants(case['tree'], sequence.source, f'{case["seed"]} {n}', told or content)
        sequence.old.restart()                  # it forgets what it knows
        migration.ctl('copy', '--accept')
        plants.undo(r, sequence.carried)
    sequence.old.restart()
    migration.configure(**sequence.configured)  # the switch reads it
    migration.ctl('attach', f'--compare={"content" if content else "size-mtime"}')


def adopt(sequence):
    case = sequence.case
    content = random.Random(f'begin {case["seed"]}').random() < 0.5
    sources, name = os.path.split(sequence.source)
    # else it writes a block of zeros where a hole is as large
    sh('cp', '-a', '--sparse=always', f'{sources}-quiet/{name}/.', sequence.migrated)
    Plants(case['tree'], sequence.migrated, case['seed'], content)
    sequence.migration.ctl('attach', '--adopt',
                           f'--compare={"content" if content else "size-mtime"}')
