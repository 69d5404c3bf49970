#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Listers, readers, lookups and writers on eight connections race with the crawler: every answer of
the server is one that a plain server could have given, and at the end its cache holds nothing that
is not on disk, whether or not what is cached ever expires."""
import collections
import os
import random
import stat
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import nfs4                                                             # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import Failure, wait_for                                   # noqa: E402
from servers import CACHES, NEW, OLD, Ganesha, stack                    # noqa: E402

DIRS, BLOCK, BLOCKS = 16, 4096, 8
# What a door may show of an unfinished object for so long after it was finished.
SETTLE = 10
TYPES = {stat.S_IFREG: 1, stat.S_IFDIR: 2, stat.S_IFBLK: 3, stat.S_IFCHR: 4, stat.S_IFLNK: 5,
         stat.S_IFSOCK: 6, stat.S_IFIFO: 7}
NEVER = 'Attr_Expiration_Time = -1;'


# ---- the model ---

class Versions:
    """A value that changes: which of its values may be seen by whom asked at t0 and was answered
    at t1."""

    def __init__(self, value):
        self.all = [[value, 0, 0]]

    def change(self, value, make):
        version = [value, time.monotonic(), None]
        self.all.append(version)
        make()
        version[2] = time.monotonic()

    def seen(self, t0, t1):
        values, done = [], len(self.all)
        for n in range(done - 1, -1, -1):
            value, start, end = self.all[n]
            if start <= t1:
                values.append(value)
            if end is not None and end <= t0:
                break
        return values

    @property
    def last(self):
        return self.all[-1][0]


class File:
    """What is known of an object.  blocks: of a file that clients write, else None."""

    def __init__(self, path, st):
        self.path, self.st = path, st
        self.type = TYPES[stat.S_IFMT(st.st_mode)]
        self.mode = Versions(stat.S_IMODE(st.st_mode))
        self.size = Versions(st.st_size)
        self.there = Versions(True)
        self.changed = False            # by a client: its mtime is not known
        self.blocks = None


def unit(number, block, version):
    return struct.pack('<IIII', number, block, version, 0x5eed5eed)


def block_of(number, block, version):
    return unit(number, block, version) * (BLOCK // 16)


class Model:
    """The tree as clients should see it."""

    def __init__(self, root):
        self.root = root
        self.objects = {}
        self.names = collections.defaultdict(dict)      # directory -> name -> File
        for base, dirs, files in os.walk(root):
            at = os.path.relpath(base, root)
            for name in dirs + files:
                path = name if at == '.' else f'{at}/{name}'
                self.add(path, File(path, os.lstat(f'{base}/{name}')))
        self.bytes = sum(st.st_size for st in {
            o.st.st_ino: o.st for o in self.objects.values() if o.type == 1}.values())
        self.directories = [''] + [p for p, o in self.objects.items() if o.type == 2]
        self.stable = [p for p in self.objects if '/stable' in p]
        self.written = [p for p in self.objects if '/written' in p]
        for number, path in enumerate(self.written):
            self.objects[path].number = number
            self.objects[path].blocks = [Versions(0) for _ in range(BLOCKS)]
        self.sized = [p for p in self.objects if '/sized' in p]

    def add(self, path, file):
        self.objects[path] = file
        directory, _, name = path.rpartition('/')
        self.names[directory][name] = file

    def changing(self, directory, t0, t1):
        """Whether a name came or went meanwhile."""
        return any(len(set(file.there.seen(t0, t1))) == 2
                   for file in list(self.names[directory].values()))

    # ---- checks ---

    def attributes(self, file, attr, t0, t1, what):
        where = f'{what} of {file.path}'
        same(attr.type, file.type, f'{where}: type')
        expect(attr.mode in file.mode.seen(t0, t1),
               f'{where}: mode {attr.mode:o}, not one of {file.mode.seen(t0, t1)}')
        same((attr.uid, attr.gid), (file.st.st_uid, file.st.st_gid), f'{where}: owner')
        if file.type == 2:
            return
        expect(attr.size in file.size.seen(t0, t1),
               f'{where}: size {attr.size}, not one of {file.size.seen(t0, t1)}')
        if not file.changed:
            same(attr.mtime, file.st.st_mtime_ns, f'{where}: mtime')
        # who removes it meanwhile may do so between its name and its attributes
        least = 0 if False in file.there.seen(t0, t1) else 1
        expect(least <= attr.nlink <= file.st.st_nlink + 1, f'{where}: {attr.nlink} links')

    def listing(self, directory, entries, t0, t1, what):
        """entries: name -> Attr or None"""
        for name, file in list(self.names[directory].items()):
            seen = file.there.seen(t0, t1)
            if seen == [True]:
                expect(name in entries, f'{what} of /{directory}: {name} is missing')
        for name, attr in entries.items():
            file = self.names[directory].get(name)
            expect(file and True in file.there.seen(t0, t1),
                   f'{what} of /{directory}: {name} is not there any more')
            if attr:
                self.attributes(file, attr, t0, t1, what)

    def data(self, file, offset, data, t0, t1):
        if file.blocks is None:
            with open(f'{self.root}/{file.path}', 'rb') as source:
                source.seek(offset)
                wanted = source.read(len(data))
            expect(data == wanted, f'{file.path}: wrong data from {offset}'
                   f'{"" if any(data) else " (zeros)"}')
            return
        for at in range(0, len(data), 16):
            number, block, version, seed = struct.unpack_from('<IIII', data, at)
            real = (offset + at) // BLOCK
            expect((number, block, seed) == (file.number, real, 0x5eed5eed) and
                   version in file.blocks[real].seen(t0, t1),
                   f'{file.path}: byte {offset + at} is of {number}/{block} version {version}, '
                   f'not one of {file.blocks[real].seen(t0, t1)}')


def fill(root):
    rng = random.Random(7)
    noise = rng.randbytes(1 << 20)

    def write(path, data, mode=0o644):
        with open(path, 'wb') as file:
            file.write(data)
        os.chmod(path, mode)
        os.chown(path, rng.choice((0, 1000)), rng.choice((0, 100)))
        os.utime(path, ns=(10**18 + rng.randrange(10**9), 10**18 + rng.randrange(10**9)))

    write(f'{root}/common', noise[:70000])
    for n in range(DIRS):
        directory = f'{root}/dir{n}'
        os.mkdir(directory)
        for m in range(6):
            size = rng.choice((0, 1, 3000, 20000, 200000))
            start = rng.randrange(len(noise) - size)
            write(f'{directory}/stable{m}', noise[start:start + size], rng.choice((0o644, 0o600)))
        for m in range(2):
            write(f'{directory}/written{m}', bytes(BLOCK * BLOCKS))
            write(f'{directory}/sized{m}', noise[:50000])
        os.link(f'{root}/common', f'{directory}/linked')
        os.symlink('stable0', f'{directory}/symlink')
        os.mkfifo(f'{directory}/fifo')
        for m in range(3):
            os.mkdir(f'{directory}/sub{m}')
            for k in range(4):
                write(f'{directory}/sub{m}/stable{k}', noise[:rng.randrange(40000)])
            os.mkdir(f'{directory}/sub{m}/empty')
    model = Model(root)
    for path in model.written:
        file = model.objects[path]
        with open(f'{root}/{path}', 'r+b') as out:
            for block in range(BLOCKS):
                out.write(block_of(file.number, block, 0))
        os.utime(f'{root}/{path}', ns=(file.st.st_atime_ns, file.st.st_mtime_ns))


# ---- the racers ---

def v3(server):
    return server.client()


def v4(server):
    return nfs4.Client(server.address, 1, port=server.port)


class Race:
    """servers: doors of the same volume, taken in turn; neighbours do the same at each."""

    # Ganesha takes a name's attributes from the object, also when that is removed just then, and
    # answers so, over plain VFS too; clients ask again.  The second: where it keeps listings.
    CHANCE = nfs3.STALE, nfs3.NOENT

    def __init__(self, model, servers, until, seed):
        self.model, self.servers, self.until, self.seed = model, servers, until, seed
        self.failures, self.counts, self.threads = [], collections.Counter(), []

    def start(self, body, number, connect):
        def run():
            rng = random.Random(self.seed * 100 + number // len(self.servers))
            try:
                client = connect(self.servers[number % len(self.servers)])
                while not self.failures and time.monotonic() < self.until:
                    body(client, rng, number)
                    self.counts[body.__name__] += 1
            except BaseException as error:          # reported by finish()
                self.failures.append(error)
        self.threads.append(threading.Thread(target=run, daemon=True))
        self.threads[-1].start()

    def finish(self):
        for thread in self.threads:
            thread.join()
        print(', '.join(f'{count} x {name}' for name, count in sorted(self.counts.items())))
        if self.failures:
            raise self.failures[0]

    def a_directory(self, rng):
        return rng.choice(self.model.directories)

    def check_listing(self, client, rng, what, attr_at, **kw):
        directory = self.a_directory(rng)
        fh, _ = client.walk(directory)
        while True:
            t0 = time.monotonic()
            try:
                entries = {entry[0].decode(): attr_at and entry[attr_at]
                           for entry in client.listing(fh, **kw)}
            except nfs3.NfsError as error:
                chance = self.CHANCE[:1 if 'Dir_Chunk = 0' in self.servers[0].blocks else 2]
                if (error.status not in chance or
                        not self.model.changing(directory, t0, time.monotonic())):
                    raise
                self.counts['listing again'] += 1
                continue
            self.model.listing(directory, entries, t0, time.monotonic(), what)
            return

    def list_plus(self, client, rng, _number):
        self.check_listing(client, rng, 'READDIRPLUS', 2, count=rng.choice((1 << 16, 2000)))

    def list_names(self, client, rng, _number):
        self.check_listing(client, rng, 'READDIR', None, plus=False)

    def list_v4(self, client, rng, _number):
        self.check_listing(client, rng, 'READDIR of v4', 1, count=rng.choice((1 << 16, 8000)))

    def look(self, client, rng, _number):
        """LOOKUP, GETATTR and READ, of v3 or v4."""
        path = rng.choice(self.model.stable + self.model.written + self.model.sized)
        file = self.model.objects[path]
        t0 = time.monotonic()
        fh, attr = client.walk(path)
        self.model.attributes(file, attr, t0, time.monotonic(), 'LOOKUP')
        t0 = time.monotonic()
        attr = client.getattr(fh)
        self.model.attributes(file, attr, t0, time.monotonic(), 'GETATTR')
        if '/sized' in path:
            return
        offset = rng.randrange(0, max(attr.size, 1) + BLOCK, BLOCK)
        t0 = time.monotonic()
        data, _ = client.read(fh, offset, rng.choice((BLOCK, 4 * BLOCK, 1 << 20)))
        self.model.data(file, offset, data, t0, time.monotonic())

    def change(self, client, rng, number):
        """What belongs to writer `number` alone: every second directory."""
        n = rng.randrange(DIRS // 2) * 2 + number % 2
        what = ['write', 'write', 'resize', 'chmod']
        if len(self.servers) == 1:          # no server tells another of names
            what += ['names', 'names']
        getattr(self, rng.choice(what))(client, rng, f'dir{n}')

    def write(self, client, rng, directory):
        file = self.model.objects[f'{directory}/written{rng.randrange(2)}']
        block = rng.randrange(BLOCKS)
        version = file.blocks[block].last + 1
        fh, _ = client.walk(file.path)
        file.changed = True
        file.blocks[block].change(version, lambda: client.write(
            fh, block * BLOCK, block_of(file.number, block, version)))

    def resize(self, client, rng, directory):
        file = self.model.objects[f'{directory}/sized{rng.randrange(2)}']
        size = rng.randrange(100000)
        fh, _ = client.walk(file.path)
        file.changed = True
        file.size.change(size, lambda: client.setattr(fh, size=size))

    def chmod(self, client, rng, directory):
        file = self.model.objects[f'{directory}/{rng.choice(("stable0", "written0", "sub0"))}']
        mode = rng.choice((0o600, 0o640, 0o700, 0o755))
        fh, _ = client.walk(file.path)
        file.mode.change(mode, lambda: client.setattr(fh, mode=mode))

    def names(self, client, rng, directory):
        """A name is made, moved and removed; it is never used again."""
        directory += rng.choice(('', '/sub0', '/sub1/empty'))
        fh, _ = client.walk(directory)
        first, second = (self.fresh(directory) for _ in range(2))
        made = first.there

        def create():
            client.create(fh, os.path.basename(first.path), mode=0o600)

        def rename():
            client.rename(fh, os.path.basename(first.path), fh, os.path.basename(second.path))

        made.change(True, create)
        # both change at the same time
        made.change(False, lambda: second.there.change(True, rename))
        second.there.change(False, lambda: client.remove(fh, os.path.basename(second.path)))

    def fresh(self, directory):
        """An object of a client that is not there yet."""
        self.counts['name'] += 1
        path = f'{directory}/new {threading.get_ident()} {self.counts["name"]}'
        st = os.stat_result((stat.S_IFREG | 0o600, 0, 0, 1, 0, 0, 0, 0, 0, 0))
        file = File(path, st)
        file.there, file.changed = Versions(False), True
        self.model.add(path, file)
        return file


# ---- the end ---

def shown(attr, path):
    """Differences between what the server shows and what is on disk."""
    st = os.lstat(f'{NEW}/{path}')
    hidden = not path and os.path.isdir(f'{NEW}/.migrate')
    pairs = {
        'type': (attr.type, TYPES[stat.S_IFMT(st.st_mode)]),
        'mode': (attr.mode, stat.S_IMODE(st.st_mode)),
        'links': (attr.nlink, max(st.st_nlink - hidden, 1)),     # always 1 on btrfs
        'owner': ((attr.uid, attr.gid), (st.st_uid, st.st_gid)),
        'size': (attr.size, st.st_size),
        'space': (attr.used, st.st_blocks * 512),
        'mtime': (attr.mtime, st.st_mtime_ns),
        'ctime': (attr.ctime, st.st_ctime_ns),
    }
    if not path:
        del pairs['ctime']              # the end of .migrate is not shown
    return {what: pair for what, pair in pairs.items() if pair[0] != pair[1]}


def stale(server):
    """What the running server shows otherwise than it is on disk: path -> differences."""
    found = {}
    for version, connect in (3, v3), (4, v4):
        client, left = connect(server), ['']
        while left:
            directory = left.pop()
            fh, attr = client.walk(directory)
            names = set(os.listdir(f'{NEW}/{directory}')) - ({'.migrate'} if not directory else
                                                           set())
            entries = {e[0].decode(): e[2] if version == 3 else e[1] for e in client.listing(fh)}
            attrs = {'': attr, **entries}
            if set(entries) != names:
                found[f'v{version} /{directory}'] = f'names: {sorted(set(entries) ^ names)}'
            for name in names & set(entries) | {''}:
                path = f'{directory}/{name}' if directory and name else directory + name
                got = shown(attrs[name], path)
                got.update(shown(client.getattr(client.walk(path)[0]), path))
                if got:
                    found[f'v{version} /{path}'] = got
                if name and attrs[name].type == 2:
                    left.append(path)
        client.close()
    return found


def settled(server):
    """Nothing stale is left before long."""
    end = time.monotonic() + SETTLE
    while True:
        begin = time.monotonic()        # a look takes time, too
        found = stale(server)
        if not found:
            return
        if begin > end:
            text = '\n  '.join(f'{path}: {what}' for path, what in sorted(found.items())[:20])
            expect(False, f'stale after {SETTLE} s ({len(found)} objects):\n  {text}')


def another_door(first):
    """A second server of the same volume beside the first."""
    fsal, plugins = first.fsal
    second = Ganesha('second-server', NEW, fsal, plugins=plugins, port=3049, mount_port=30048,
                     export=first.export)
    second.rpcbind = first.rpcbind
    return second.start()


def race(args, doors=1, lazy=False, **server):
    seconds = args.seconds or (60 if args.long else 2)
    _, migration = stack(args.build, fill, '1G', hold_ms=200, bandwidth='%d' % (12e6 / seconds),
                         **({'stub_attributes': 'lazy'} if lazy else {}))
    migration.attach()
    model = Model(OLD)
    servers = [migration.start_server(**server)]
    if doors == 2:
        servers.append(another_door(migration.server))
    racers = Race(model, servers, time.monotonic() + seconds, args.seed)
    plan = ((racers.list_plus, v3), (racers.list_names, v3), (racers.list_v4, v4),
            (racers.look, v3), (racers.look, v4), (racers.look, v3), (racers.change, v3),
            (racers.change, v3))
    crawler = migration.start_crawler()
    for number, (body, connect) in enumerate(plan):
        racers.start(body, number, connect)
    racers.finish()
    migration.ctl('throttle', argument='0')
    same(crawler.wait(300), 0, 'exit status of the crawler')
    for each in servers:
        settled(each)
    migration.ctl('finalize')
    for each in servers:
        settled(each)


@case()
def a_listing_brings_attributes(args):
    """Who has listed a directory sees what it takes now, though what it took never expires."""
    def wide(root):
        for n in range(8):
            os.mkdir(f'{root}/wide{n}')
            for m in range(60):
                os.mkdir(f'{root}/wide{n}/{"x" * 200}{m}')

    _, migration = stack(args.build, wide, '1G')
    migration.attach()
    server = migration.start_server(export=NEVER)
    for n, connect in enumerate((v3, v4) * 4):
        client = connect(server)
        fh, attr = client.walk(f'wide{n}')
        same(len(list(client.listing(fh))), 60, 'names')
        after, disk = client.getattr(fh), os.stat(f'{NEW}/wide{n}')
        same((after.used, after.nlink), (disk.st_blocks * 512, disk.st_nlink), f'space and links of wide{n}')
        same((attr.size, after.size), (4096, 4096), f'size of wide{n}, unfinished')
        expect(attr.used < after.used, f'wide{n} took {attr.used} bytes before it was filled')


@case(short=True)
def what_is_looked_up_all_the_time(args):
    """MDCACHE takes each lookup that it cannot answer for a look at the object's attributes: they expire
    nevertheless."""
    _, migration = stack(args.build, fill, '1G')
    migration.attach()
    server = migration.start_server(export=NEVER, **CACHES['no-chunks'])
    client, paths = v3(server), ('dir5/sub1', 'dir5/sub1/stable0')
    wrong = {}
    crawler = migration.start_crawler()

    def right():
        nonlocal wrong
        ended = crawler.poll() is not None
        wrong = {path: shown(client.walk(path)[1], path) for path in paths}
        return ended and not any(wrong.values())
    try:
        wait_for('what is shown is right', right, 60)
    except Failure as failure:
        raise Failure(f'{failure}: {wrong}') from None
    same(crawler.wait(), 0, 'exit status of the crawler')


@case(short=True)
def default(args):
    race(args)


@case()
def never_expires(args):
    race(args, export=NEVER)


@case()
def no_chunks(args):
    race(args, export=NEVER, **CACHES['no-chunks'])


@case()
def tiny(args):
    race(args, **CACHES['tiny'])


@case()
def off(args):
    race(args, **CACHES['off'])


@case()
def lazy(args):
    """Dummies: the type of an object is known late."""
    race(args, lazy=True, export=NEVER)


@case()
def two_doors(args):
    """Two servers and the crawler on the same files: what one writes the other shows."""
    race(args, 2, export='Attr_Expiration_Time = 0;')


@case()
def one_fill(args):
    """Readers at two servers ask for the same ranges: each byte comes once."""
    _, migration = stack(args.build, fill, '1G', hold_ms=200)
    migration.attach()
    model = Model(OLD)
    first = migration.start_server()
    racers = Race(model, (first, another_door(first)), time.monotonic() + 1, args.seed)
    for number in range(8):
        racers.start(racers.look, number, (v3, v4)[number // 2 % 2])
    racers.finish()
    migration.crawl()
    same(int(migration.status()['bytes_fetched']), model.bytes, 'bytes that were fetched')


if __name__ == '__main__':
    sys.exit(main(lambda parser: parser.add_argument(
        '--seconds', type=float, help='of a race')))
