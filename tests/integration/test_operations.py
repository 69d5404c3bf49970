#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every operation on stubs gives what it gives on a plain copy.

One server has two exports: the migrating volume, and a copy of the old tree on plain FSAL VFS.  A
case is a function that does something in a directory of its own; it is called for both exports,
through every version of NFS and with its directory in every state, and what it sees must be the
same: results, errors, attributes, contents.  At the end, after the crawler, it must be so again.
"""
import errno
import hashlib
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import operations_data                                                  # noqa: E402, F401
import operations_attributes                                            # noqa: E402, F401
import operations_names                                                 # noqa: E402, F401
import sandbox                                                          # noqa: E402
import tree                                                             # noqa: E402
from doors import door, fs_facts                                        # noqa: E402
from harness import Failure, case, expect, main, same, shorten          # noqa: E402
from operations import KIB, NOISE, OLD_TIME, OPERATIONS                 # noqa: E402
from sandbox import BASE, volume, wait_for                           # noqa: E402
from servers import NEW, stack                                          # noqa: E402

PLAIN = BASE + '/plain'
SECOND = '''
EXPORT {
	Export_Id = 78;
	Path = "%s";
	Pseudo = "/plain";
	FSAL {
		Name = VFS;
	}
}
''' % PLAIN
ONCE = 'once'           # ctime moved, as it may when an object becomes whole
NOSPC = 28


# ---- the tree ----------------------------------------------------------------------------------

def put(path, data=b'', mode=0o644, uid=1000, gid=1000, age=0):
    with open(path, 'wb') as file:
        file.write(data)
    dress(path, mode, uid, gid, age)


def dress(path, mode, uid, gid, age=0):
    os.chown(path, uid, gid, follow_symlinks=False)
    if not os.path.islink(path):
        os.chmod(path, mode)
    os.utime(path, ns=(OLD_TIME + age, OLD_TIME + age + 7), follow_symlinks=False)


def sparse(path):
    with open(path, 'wb') as file:
        file.truncate(1 << 20)
        for offset, length in ((128 * KIB, 4 * KIB), (900000, 5)):
            file.seek(offset)
            file.write(NOISE[:length])
    dress(path, 0o644, 1000, 1000)


SAMPLE = ('file', 'small', 'suid', 'secret', 'group', 'nothing', 'holes', 'one', 'two', 'symlink',
          'fifo', 'full', 'empty', 'other')


def sample(root):
    """What a case finds in its directory."""
    os.mkdir(root)
    put(root + '/file', NOISE, age=1)
    put(root + '/small', NOISE[:100], age=2)
    put(root + '/suid', NOISE[:5000], 0o6755)
    put(root + '/secret', NOISE[:5000], 0o600, 1001, 1001)
    put(root + '/group', NOISE[:5000], 0o660, 1001, 2000)
    put(root + '/nothing', b'')
    sparse(root + '/holes')
    put(root + '/one', NOISE[:10000])
    os.link(root + '/one', root + '/two')
    os.symlink('file', root + '/symlink')
    os.mkfifo(root + '/fifo')
    for name in ('full', 'full/inner', 'empty', 'other'):
        os.mkdir(f'{root}/{name}')
    put(root + '/full/a', NOISE[:3000])
    put(root + '/full/inner/x', NOISE[:30])
    put(root + '/other/b', NOISE[:30000])
    for name in ('fifo', 'symlink'):
        dress(f'{root}/{name}', 0o640, 1000, 1000)
    for name in ('full/inner', 'full', 'empty', 'other', ''):
        dress(f'{root}/{name}', 0o755, 1000, 1000)


# ---- a case's view of one export ---------------------------------------------------------------

class View:
    """One export through one version of NFS, and what was seen there."""

    def __init__(self, version, path, pseudo, migrating):
        self.version, self.migrating = version, migrating
        self.door = door(version, path, pseudo, patience=5)
        self.user = door(version, path, pseudo, uid=1000, gid=1000)
        self.member = door(version, path, pseudo, uid=1002, gid=1002, gids=(7, 2000))
        self.path = path
        self.start = time.time_ns() - 10**9

    def close(self):
        for client in (self.door, self.user, self.member):
            client.close()

    def enter(self, name):
        self.name, self.log, self.seen, self.states, self.whole = name, [], {}, [], set()
        self.dir, _ = self.door.walk(name)

    def when(self, ns):
        return 'now' if ns > self.start else ns

    def note(self, what, value):
        self.log.append((what, value))
        return value

    def look(self, attr):
        """An Attr in words that are the same for both exports.  Of ctime and the change attribute:
        whether they moved since the object was seen last in this case."""
        if attr is None:
            return None
        clocks = attr.ctime, getattr(attr, 'change', None)
        before = self.seen.get(attr.fileid, clocks)
        self.seen[attr.fileid] = clocks
        moved = tuple((a > b) - (a < b) if a is not None else 0 for a, b in zip(clocks, before))
        if any(moved) and self.became_whole(attr):
            moved = ONCE
        kind, atime = attr.type, self.when(attr.atime)
        # A read or a listing moves it, which the server's cache shows sooner or later; that fills
        # do not is another case.
        if atime == 'now' or OLD_TIME <= atime < OLD_TIME + 1000:
            atime = 'any'
        return {'type': kind, 'mode': attr.mode & 0o7777, 'uid': attr.uid, 'gid': attr.gid,
                'nlink': attr.nlink, 'size': attr.size if kind == nfs3.REG else None,
                'rdev': attr.rdev if kind in (nfs3.BLK, nfs3.CHR) else None,
                'mtime': self.when(attr.mtime), 'atime': atime, 'moved': moved,
                'used': attr.used if kind != nfs3.DIR else None}

    def became_whole(self, attr):
        """Whether it has no record any more; once for an object, but for what was seen before that
        moved the time."""
        if not self.migrating or attr.fileid in self.whole:
            return False
        for path in tree.every(f'{self.path}/{self.name}'):
            found = os.lstat(path)
            if found.st_ino == attr.fileid:
                if 'security.migrate' in os.listxattr(path, follow_symlinks=False):
                    return False
                if found.st_ctime_ns != attr.ctime:
                    return True
        self.whole.add(attr.fileid)
        return True

    def at(self, name):
        return self.door.walk(name, self.dir)[0]

    def do(self, method, *args, by='door', **kw):
        """An operation's result, or None after an error; what came of it is noted."""
        what = method + str(tuple(a for a in args if not isinstance(a, bytes) or len(a) < 4))
        try:
            result = getattr(getattr(self, by), method)(*args, **kw)
        except nfs3.NfsError as error:
            self.note(what, f'status {error.status}')
            return None
        self.note(what, 'ok')
        return result

    def attr(self, fh, what='attributes'):
        try:
            return self.note(what, self.look(self.door.getattr(fh)))
        except nfs3.NfsError as error:
            return self.note(what, f'status {error.status}')

    def bytes(self, fh, offset=0, count=1 << 20, state=None, by='door'):
        try:
            data, eof = getattr(self, by).read(fh, offset, count, state)
            self.note(f'read {offset} {count}', (len(data), hashlib.md5(data).hexdigest(), eof))
            return data
        except nfs3.NfsError as error:
            return self.note(f'read {offset} {count}', f'status {error.status}')

    def open(self, name, access=3, directory=None):
        fh, state = self.door.open(directory or self.dir, name, access)
        self.states.append((fh, state))
        return fh, state

    def leave(self):
        for fh, state in self.states:
            try:
                self.door.release(fh, state)
            except nfs3.NfsError as error:
                self.note('close', f'status {error.status}')

    def snapshot(self):
        """{path: (attributes, content)} below the case's directory."""
        found = {}

        def walk(fh, path):
            for name, attr in sorted(self.door.names(fh).items()):
                here = f'{path}/{os.fsdecode(name)}'
                child, attr = self.door.lookup(fh, name)
                inside = None
                if attr.type == nfs3.REG:
                    try:
                        inside = hashlib.md5(content(self.door, child)).hexdigest()
                    except nfs3.NfsError as error:
                        inside = f'status {error.status}'
                elif attr.type == nfs3.LNK:
                    inside = self.door.readlink(child)
                look = self.look(attr)
                del look['moved'], look['atime'], look['used']
                found[here] = (look, inside)
                if attr.type == nfs3.DIR:
                    walk(child, here)
        walk(self.dir, '')
        return found


def content(client, fh, most=2 << 20):
    """What is at the beginning, for a file may be sparse and huge."""
    parts, offset = [], 0
    while offset < most:
        data, eof = client.read(fh, offset, 1 << 20)
        parts.append(data)
        offset += len(data)
        if eof:
            break
    return b''.join(parts)


# ---- states ------------------------------------------------------------------------------------

def untouched(view):
    """The directory is unfilled."""


def listed(view):
    """It is filled, and everything in it a stub."""
    for name, attr in view.door.names(view.dir).items():
        if attr.type == nfs3.DIR:
            view.door.names(view.door.walk(name, view.dir)[0])


def partial(view):
    """Some ranges are here; odd ones, so clients wrote them."""
    listed(view)
    for name in ('file', 'suid', 'one', 'other/b'):
        fh = view.at(name)
        for start, end in ((0, 1), (1000, 5000), (70000, 70001), (150000, 180003)):
            size = view.door.getattr(fh).size
            if end <= size:
                view.door.write(fh, start, NOISE[start:end])


def named(view):
    """One name was asked for, so that the others are here, but nothing is known of them."""
    view.door.walk('small', view.dir)
    if view.migrating:
        wait_for('all names', lambda: len(os.listdir(f'{NEW}/{view.name}')) == len(SAMPLE))


STATES = {f.__name__: f for f in (untouched, listed, partial, named)}
EAGER = ('untouched', 'listed', 'partial')


# ---- comparing ---------------------------------------------------------------------------------

class World:
    def __init__(self, args, names, **settings):
        self.args, self.differences = args, []
        volume(PLAIN)

        def fill(root):
            for name in names:
                sample(f'{root}/{name}')
        fill(PLAIN)

        _, self.migration = stack(args.build, fill, **settings)
        self.migration.attach()
        self.server = self.migration.start_server(blocks=SECOND)

    def views(self, version):
        return [View(version, NEW, '/export', True), View(version, PLAIN, '/plain', False)]

    def differ(self, name, what, new, plain):
        self.differences.append(f'{name}: {what}: {shorten(new)}, not {shorten(plain)}')

    def run(self, views, name, function, state):
        for view in views:
            view.enter(name)
            STATES[state](view)
            try:
                function(view)
            except nfs3.NfsError as error:
                view.note('error', str(error))
            view.leave()
        new, plain = (view.log for view in views)
        for step, (a, b) in enumerate(zip(new, plain)):
            if not alike(a[1], b[1]):
                self.differ(name, f'step {step} {b[0]}', *telling(a[1], b[1]))
        if len(new) != len(plain):
            self.differ(name, 'steps', len(new), len(plain))

    def settled(self, views, name):
        """What is there at the end of a case, or of everything."""
        for view in views:
            view.enter(name)
        new, plain = (view.snapshot() for view in views)
        for path in sorted(new.keys() | plain.keys()):
            if new.get(path) != plain.get(path):
                self.differ(name, path, *telling(new.get(path), plain.get(path)))

    def compare_holes(self):
        """Where a client can see holes, they are those of the plain copy; the retriever leaves
        more of them, for zeros."""
        for base, _, files in os.walk(PLAIN):
            for name in files:
                path = os.path.join(base, name)
                other = NEW + path[len(PLAIN):]
                if os.path.islink(path) or not os.path.isfile(path) or not os.path.isfile(other):
                    continue
                extra = data_of(other) - data_of(path)
                if extra:
                    self.differ(path[len(PLAIN):], 'data in blocks', sorted(extra)[:5], 'holes')

    def check(self):
        if self.differences:
            raise Failure(f'{len(self.differences)} differences:\n  ' +
                          '\n  '.join(self.differences[:400]))


def alike(new, plain):
    """But for what is documented: ctime moves when an object becomes whole; of the space that a
    stub will take, holes are not known, and its record may need a block."""
    if isinstance(new, dict) and isinstance(plain, dict):
        new = dict(new)
        if new['moved'] == ONCE:
            new['moved'] = plain['moved']
        if plain['used'] is not None and plain['used'] <= new['used'] <= most_space(plain):
            new['used'] = plain['used']
        if sandbox.FS == 'xfs' and plain['used'] is not None:
            if abs(new['used'] - plain['used']) <= 64 * KIB:    # it allocates behind the end, too
                new['used'] = plain['used']
    return new == plain


def most_space(plain):
    return max(plain['used'], plain['size'] or 0) + 12 * KIB


def data_of(path, block=4 * KIB):
    """The numbers of the first blocks that hold data."""
    found = set()
    with open(path, 'rb') as file:
        end, at = min(os.fstat(file.fileno()).st_size, 2 << 20), 0
        while at < end:
            try:
                start = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                break
            at = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            found.update(range(start // block, -(-min(at, end) // block)))
    return found


def telling(a, b):
    """Of two dictionaries what differs."""
    if isinstance(a, tuple) and isinstance(b, tuple) and a and isinstance(a[0], dict):
        return (telling(a[0], b[0])[0], a[1]), (telling(a[0], b[0])[1], b[1])
    if not isinstance(a, dict) or not isinstance(b, dict):
        return a, b
    keys = [k for k in b if a.get(k) != b[k]]
    return {k: a.get(k) for k in keys}, {k: b[k] for k in keys}


def table(states, versions):
    for version in versions:
        for state in states:
            for name, (function, has) in OPERATIONS.items():
                if version in has:
                    yield version, state, name, function


def run_table(args, states, versions, every=1, **settings):
    """every: one row of so many, unless it may take long; another one for another seed."""
    if sandbox.FS == 'btrfs':   # a hole over what is missing is one over a hole, which moves no times
        sandbox.FS = 'ext4'     # there, clears no set-id bits, and takes no blocks
    rows = list(table(states, versions))
    if not args.long and not args.only:
        rows = rows[args.seed % every::every]
    if args.only:
        rows = [r for r in rows if args.only in f'{r[0]}-{r[1]}-{r[2]}']
    names = {(v, s, n): f'{v}-{s}-{n}' for v, s, n, _ in rows}
    world = World(args, names.values(), **settings)
    views = {}
    for version, state, name, function in rows:
        if version not in views:        # not before: a session that is not used ends
            views[version] = world.views(version)
        world.run(views[version], names[version, state, name], function, state)
        world.settled(views[version], names[version, state, name])
    world.migration.crawl()
    for version, state, name, _ in rows:
        world.settled(views[version], names[version, state, name])
    same(tree.records(NEW), [], 'objects with a record')
    world.compare_holes()
    world.check()


@case()
def operations(args):
    run_table(args, EAGER, (3, 42))


@case()
def operations_of_other_versions(args):
    run_table(args, EAGER, (40, 41), 6)


@case()
def operations_on_dummies(args):
    """Names come first, and attributes when they are asked for."""
    run_table(args, ('untouched', 'named'), (3, 42), 3, stub_attributes='lazy')


@case(short=True)
def no_space(args):
    """What does not fit is refused, and listed, and comes when there is room; nothing is zeros."""
    large = args.random.randbytes(24 << 20)

    def fill(root):
        put(root + '/large', large)
        put(root + '/other', NOISE)

    _, migration = stack(args.build, fill, size='96M')
    migration.attach()
    migration.start_server()
    doors = [door(version, NEW, '/export') for version in (3, 42)]
    ballast = doors[0].create(doors[0].root, 'ballast', mode=0o600)
    for piece in (1 << 20, 4096):
        same(nfs3.status_of(fill_up, doors[0], ballast, piece), NOSPC, 'status of a write')
    for client in doors:
        fh, attr = client.walk('large')
        for offset in (0, 12345678, (24 << 20) - 10):
            same(nfs3.status_of(client.read, fh, offset, 10), NOSPC, 'status of a read')
        same(nfs3.status_of(client.write, fh, 5 << 20, NOISE), NOSPC, 'status of a write to a stub')
        same(client.getattr(fh)[-2:], attr[-2:], 'times')
    listed_errors = migration.ctl('errors')
    expect('large' in listed_errors and 'space' in listed_errors, f'errors: {listed_errors}')
    doors[0].remove(doors[0].root, 'ballast')
    same(content(doors[0], doors[0].walk('large')[0], 24 << 20), large,
         'content when there is room')
    migration.crawl()
    same(content(doors[1], fh, 24 << 20), large, 'content at the end')
    same(migration.ctl('errors').strip(), '', 'errors at the end')
    same(tree.records(NEW), [], 'objects with a record')


@case()
def access_times(args):
    """Neither filling nor finishing moves them."""
    world = World(args, ['one', 'two'])
    view = world.views(3)[0]
    view.enter('one')
    view.door.create(view.dir, 'new', mode=0o600)       # fills it
    same(os.stat(NEW + '/one').st_atime_ns, OLD_TIME, 'atime of a directory that was filled')
    world.migration.crawl()
    for path in map(os.fsdecode, tree.every(NEW + '/two')):
        wanted = os.lstat(PLAIN + path[len(NEW):]).st_atime_ns
        if not os.path.islink(path):
            same(os.lstat(path).st_atime_ns, wanted, f'atime of {path}')


def fill_up(client, fh, piece):
    """Until it fails."""
    offset = client.getattr(fh).size
    while True:
        client.write(fh, offset, bytes([1]) * piece, stable=2)
        offset += piece


@case()
def facts_of_the_file_system(args):
    world = World(args, ['case'])
    new, plain = (fs_facts(view.door) for view in world.views(3))
    for what in ('fsinfo', 'pathconf'):
        same(new[what], plain[what], what)
    for name, a, b in zip(('bytes', 'free', 'available', 'files', 'free files', 'available files'),
                          new['fsstat'], plain['fsstat']):
        expect(abs(a - b) <= max(b // 1000, 1000), f'{name}: {a}, not {b}')


if __name__ == '__main__':
    sys.exit(main(lambda parser: parser.add_argument('--only', help='part of a row\'s name')))
