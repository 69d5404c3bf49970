# SPDX-License-Identifier: GPL-3.0-or-later
"""Somebody else, who changes the old tree before its way back and while that goes on.

What he wrote is there in the end; each other change of his is, too, or a conflict names the object.  What
differs from what clients see, and what is a conflict, has to do with him."""
import os
import random
import re
import stat

import otherwriter
import tree
from compare import Difference
from sandbox import check, libc

ATTRIBUTE = 'user.theirs'
BEFORE = {stat.S_IFREG: ('give', 'own', 'write', 'write', 'replace', 'replace', 'remove', 'rename', 'add'),
          stat.S_IFDIR: ('own', 'rename', 'add', 'add', 'add_directory')}
# which the way back can tell to the last moment; it cannot of attributes
MEANWHILE = {stat.S_IFREG: ('write', 'write', 'replace', 'replace', 'remove', 'rename', 'add'),
             stat.S_IFDIR: ('add',)}
NODE = 'remove', 'rename'
OWNER = 4711
STAGE = b'.migrate-rollback/'
AT_FDCWD, NOREPLACE, EXCHANGE = -100, 1, 2


def names_of(root):
    """Inode number: the paths of an object."""
    found, top = {}, os.fsencode(root)
    for path in tree.every(top):
        name = os.path.relpath(path, top)
        if not name.startswith(b'.migrate'):
            found.setdefault(os.lstat(path).st_ino, set()).add(name)
    return found


def same(root, copy):
    """Inode number: the one of the object in a copy, which nobody has changed yet."""
    return {inode: os.lstat(os.path.join(os.fsencode(copy), min(names))).st_ino
            for inode, names in names_of(root).items()}


class Others(otherwriter.OtherWriter):
    """root: of the old tree; same: an inode number there, and that of the object in the plain copy; share:
    of all names, what he changes before the block, and in it."""

    def __init__(self, root, same, seed, share):
        r = random.Random(f'others {seed}')
        self.root, self.aside, self.same = os.fsencode(root), os.fsencode(root) + b'.aside', same
        self.before = names_of(root)
        names = sorted(set().union(*self.before.values()) - {b'.'})
        early = r.sample(names, int(len(names) * share))
        super().__init__(r.sample(names, len(early)), lambda *what: self.change(MEANWHILE, *what), r.random())
        self.places, self.inodes = set(), set()         # (directory, name), objects: that he changed
        self.named, self.owned = {}, set()              # such a place: what he put there; what he gave away
        os.makedirs(self.aside)
        for n, name in enumerate(early):
            try:
                self.change(BEFORE, name, b'theirs before %d' % n)
            except FileNotFoundError:                   # he moved or removed what it was in
                continue

    # ---- changes ------------------------------------------------------------------------------

    def change(self, kinds, name, data):
        """data: like no other of his."""
        path = os.path.join(self.root, name)
        kind = self.random.choice(kinds.get(stat.S_IFMT(os.lstat(path).st_mode), NODE))
        self.touch(path)
        getattr(self, kind)(path, data)

    def touch(self, path):
        """He is about to change what is there, or did."""
        where, name = os.path.split(path)
        place = os.lstat(where).st_ino, name
        self.places.add(place)
        if os.path.lexists(path):
            self.inodes.add(os.lstat(path).st_ino)
        return place

    def note(self, name, data):
        """It is noted already."""

    def forget(self, path):
        """What is there, outside, he did away with."""
        gone = self.found(path) if os.path.isfile(path) and not os.path.islink(path) else ()
        self.wrote = {name: data for name, data in self.wrote.items() if data[:100] not in gone}
        self.owned.discard(os.lstat(path).st_ino)
        os.unlink(path)

    def give(self, path, data):
        os.setxattr(path, ATTRIBUTE, data)
        self.wrote[data] = data

    def own(self, path, _):
        os.chown(path, OWNER, OWNER)
        self.owned.add(os.stat(path).st_ino)

    def write(self, path, data):
        with open(os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK), 'r+b', 0) as file:
            self.inodes.add(os.fstat(file.fileno()).st_ino)
            was = file.read(100)
            file.truncate(0)
            file.seek(0)
            file.write(data)
        self.wrote = {n: d for n, d in self.wrote.items() if d[:100] != was}
        self.wrote[data] = data

    def fresh(self, data):
        with open(self.aside + b'/fresh', 'wb') as file:
            file.write(data)
            self.inodes.add(os.fstat(file.fileno()).st_ino)
        return file.name

    def replace(self, path, data):
        fresh = self.fresh(data)
        check(libc.renameat2(AT_FDCWD, fresh, AT_FDCWD, path, EXCHANGE))
        self.wrote[data] = data
        self.inodes.add(os.lstat(fresh).st_ino)
        self.forget(fresh)

    def remove(self, path, _):
        os.rename(path, self.aside + b'/gone')
        self.forget(self.aside + b'/gone')

    def put(self, path, at, data):
        """Under a name of his, where at is."""
        to = os.path.join(os.path.dirname(at), data.split(b' of ')[0])
        place, inode = self.touch(to), os.lstat(path).st_ino
        self.inodes.add(inode)
        check(libc.renameat2(AT_FDCWD, path, AT_FDCWD, to, NOREPLACE))
        self.named[place] = inode

    def rename(self, path, data):
        self.put(path, path, data)

    def add(self, path, data):
        self.put(self.fresh(data), path + b'/' if os.path.isdir(path) else path, data)
        self.wrote[data] = data

    def add_directory(self, path, data):
        os.mkdir(self.aside + b'/directory')
        self.put(self.aside + b'/directory', path + b'/', data)

    # ---- the end ------------------------------------------------------------------------------

    def found(self, path):
        return super().found(path) | ({os.getxattr(path, ATTRIBUTE)} if ATTRIBUTE in os.listxattr(path) else set())

    def end(self, plain, conflicts):
        """Of the last run: a function that says whether an object may differ so, or a Difference."""
        after, now = names_of(self.root), names_of(plain)

        def names(inode):
            return self.before.get(inode, set()) | after.get(inode, set()) | now.get(self.same.get(inode), set())

        def at(directory, name):
            return {os.path.normpath(os.path.join(where, name)) for where in names(directory)}

        def linked(paths):
            """With the other names of the objects."""
            for links in [*self.before.values(), *now.values(), *after.values()] * 2:
                paths |= links if links & paths else set()
            return paths

        theirs = linked(set().union(*map(names, self.inodes), *(at(*place) for place in self.places)))
        listed = {as_it_is(conflict['path']): conflict['reason'] for conflict in conflicts}
        of = {name: old for old, new in self.same.items() for name in now.get(new, ())}
        named = {path: {path} | names(of.get(path)) for path in listed}
        strange = [path for path, reason in listed.items()
                   if not are_near(named[path], theirs) and not re.search('stays there|may be what', reason) and
                   not path.startswith(STAGE)]
        lost = self.lost(self.root)
        lost += [at(*place) for place, inode in self.named.items()
                 if not at(*place) & after.get(inode, set()) and not are_near(at(*place) | names(inode), listed)]
        for inode in self.owned:
            there = [os.lstat(os.path.join(self.root, name)) for name in after.get(inode, ())]
            if any(st.st_uid != OWNER for st in there) and not are_near(names(inode), listed):
                lost.append((names(inode), 'owner'))
        if lost or strange:
            raise Difference('others', f'of his is lost: {lost[:5]}; conflicts where he changed nothing: {strange[:5]} '
                             f'of {sorted(listed.items())}; his: {sorted(theirs)}')
        theirs = linked(theirs.union(*named.values()))
        theirs |= {path.split(b'/')[0] for path in listed if path.startswith(STAGE)}
        directories = {os.path.dirname(name) or b'.' for name in theirs}
        return lambda name, what: (are_near({name}, theirs, below=True) or
                                   what.startswith('mtime') and name in directories)


def are_near(some, others, below=False):
    """Whether one is one of the others, or in it; or not below and the other way round."""
    return any(a == b or b == b'.' or a.startswith(b + b'/') or not below and (a == b'.' or b.startswith(a + b'/'))
               for a in some for b in others)


def as_it_is(path):
    """Of what migratectl prints."""
    return re.sub(rb'\\([0-7]{3})', lambda found: bytes([int(found[1], 8)]), os.fsencode(path))
