#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is rare: names of any bytes, paths beyond PATH_MAX, hard links whichever name comes first,
very wide directories, holes, the limits of time."""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import tree                                                             # noqa: E402
from harness import Failure, case, expect, main, no_differences, same   # noqa: E402
from servers import NEW, OLD, stack                                     # noqa: E402


def begin(args, fill, **kw):
    _, migration = stack(args.build, fill, **kw)
    migration.attach()
    migration.start_server()
    return migration, migration.server.client()


def finish(migration):
    migration.crawl()
    no_differences(tree.compare(OLD, NEW))
    migration.ctl('finalize')
    no_differences(tree.compare(OLD, NEW, data=False))
    same(tree.records(NEW), [], 'objects with a record')


def put(path, data=b'', ns=None):
    with open(path, 'wb') as file:
        file.write(data)
    if ns is not None:
        os.utime(path, ns=(ns, ns))


@case(short=True)
def names(args):
    """Every byte alone, first and last, and every length."""
    wanted = {bytes([b]) for b in range(1, 256)} - {b'/', b'.'}
    wanted |= {b'a' + bytes([b]) for b in range(1, 256) if b != 47}
    wanted |= {bytes([b]) * 255 for b in range(1, 256) if b != 47}
    wanted |= {b'L' * n for n in range(1, 256)} | {b'.migrate', b'..a', b'...'}

    def fill(root):
        os.mkdir(root + '/names')
        for name in wanted:
            put(os.path.join(os.fsencode(root), b'names', name), name)

    migration, client = begin(args, fill)
    directory, _ = client.walk('names')
    some = args.random.sample(sorted(wanted), 300)
    for name in some:
        fh, _ = client.lookup(directory, name)
        same(client.read_all(fh), name, f'content of {name}')
    same({e[0] for e in client.listing(directory)}, wanted, 'names')
    status, _ = client.once(nfs3.LOOKUP, nfs3.opaque(directory) + nfs3.opaque(b'x' * 256))
    expect(status not in (0, nfs3.JUKEBOX), f'status {status} for a name of 256 bytes')
    finish(migration)


@case()
def beyond_path_max(args):
    """30 levels of names of 250 bytes."""
    path = []

    def fill(root):
        here = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        for level in range(30):
            name = b'%02d' % level + b'd' * 248
            path.append(name)
            os.mkdir(name, dir_fd=here)
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
            os.close(here)
            here = below
            with open(b'file', 'wb', opener=lambda n, f: os.open(n, f, 0o600, dir_fd=here)) as file:
                file.write(b'level %d' % level)
        os.close(here)

    migration, client = begin(args, fill)
    fh, _ = client.walk(b'/'.join(path) + b'/file')
    same(client.read_all(fh), b'level 29', 'content at the bottom')
    finish(migration)


def linked(root):
    for n in range(12):
        os.makedirs(f'{root}/a{n}/inner')
        os.makedirs(f'{root}/b{n}')
        put(f'{root}/a{n}/inner/one', b'linked %d' % n * 1000, 10**18 + n)
        os.link(f'{root}/a{n}/inner/one', f'{root}/b{n}/two')
        os.link(f'{root}/a{n}/inner/one', f'{root}/a{n}/three')
        os.link(f'{root}/a{n}/inner/one', f'{root}/b{n}/four')


@case(short=True)
def hard_links(args):
    """The first name may be any of them, by LOOKUP or by a listing, before or after another's data,
    with the retriever killed in between."""
    migration, client = begin(args, linked)
    for n in range(12):
        paths = [f'a{n}/inner/one', f'b{n}/two', f'a{n}/three', f'b{n}/four']
        args.random.shuffle(paths)
        seen = []
        for path in paths:
            if args.random.random() < 0.3:
                list(client.listing(client.walk(os.path.dirname(path))[0]))
            if args.random.random() < 0.2:
                migration.retriever.stop(signal.SIGKILL)
                migration.start_retriever()
            fh, attr = client.walk(path)
            seen.append((fh, attr.fileid))
            same(attr.size, len(b'linked %d' % n) * 1000, f'{path}: size')
            expect(attr.nlink > 1, f'{path}: seems to have one name only')
            if args.random.random() < 0.4:
                same(client.read_all(fh), b'linked %d' % n * 1000, f'{path}: content')
        same(len(set(seen)), 1, f'number of objects behind the names of {n}')
    finish(migration)


@case()
def hard_links_and_changes(args):
    """A name is removed, renamed, written through before the others were seen."""
    migration, client = begin(args, linked)
    client.remove(client.walk('a0/inner')[0], 'one')
    same(client.read_all(client.walk('b0/two')[0]), b'linked 0' * 1000, 'after a removal')
    client.rename(client.walk('b1')[0], 'two', client.walk('a1')[0], 'moved')
    same(client.walk('a1/moved')[0], client.walk('a1/inner/one')[0], 'handle after a rename')
    client.write(client.walk('a2/three')[0], 5, b'WRITTEN', nfs3.FILE_SYNC)
    content = bytearray(b'linked 2' * 1000)
    content[5:12] = b'WRITTEN'
    same(client.read_all(client.walk('b2/four')[0]), bytes(content), 'written through another name')
    migration.crawl()
    same(client.read_all(client.walk('b2/two')[0]), bytes(content), 'at the end')
    same(os.stat(NEW + '/a1/moved').st_ino, os.stat(NEW + '/a1/inner/one').st_ino, 'inode')
    same(os.stat(NEW + '/b3/two').st_ino, os.stat(NEW + '/a3/three').st_ino, 'inode')
    migration.ctl('finalize')
    same(os.stat(NEW + '/b3/two').st_nlink, 4, 'links after finalize')


def wide(args, entries, seconds):
    def fill(root):
        os.mkdir(root + '/wide')
        here = os.open(root + '/wide', os.O_RDONLY | os.O_DIRECTORY)
        for n in range(entries):
            os.mknod(f'entry number {n}', 0o100640, dir_fd=here)
        os.close(here)

    migration, client = begin(args, fill, mkfs=['-N', str(entries + 100000)])
    client.patience = seconds
    directory, _ = client.walk('wide')
    start = time.monotonic()
    client.lookup(directory, f'entry number {entries // 2}')
    first = time.monotonic() - start
    listed = {e[0] for e in client.listing(directory, plus=False, count=1 << 20)}
    listing = time.monotonic() - start
    same(len(listed), entries, 'names listed')
    expect(b'entry number 0' in listed, 'the first name is not listed')
    migration.crawl(max(seconds, 600))
    print(f'{entries} entries: one name {first * 1000:.0f} ms, all listed after {listing:.1f} s, '
          f'whole after {time.monotonic() - start:.1f} s')
    expect(first < listing / 4, f'a single name took {first:.1f} s, all of them {listing:.1f} s')
    comparison = tree.compare(OLD, NEW)
    no_differences(comparison)
    same(comparison.files, entries, 'files compared')


@case()
def wide_directory(args):
    wide(args, 100000, 120)


@case(long=True)
def very_wide_directory(args):
    wide(args, 1000000, 3000)


@case(short=True)
def holes(args):
    """Zeros are left as holes; what is read through a hole that is missing is never zeros by
    mistake."""
    def fill(root):
        with open(root + '/hole', 'wb') as file:
            file.truncate(256 << 20)
            file.seek((200 << 20) + 12345)
            file.write(b'an island')
        with open(root + '/zeros', 'wb') as file:
            file.write(bytes(4 << 20))
        with open(root + '/tail', 'wb') as file:
            file.write(b'head')
            file.truncate((64 << 20) + 1)

    migration, client = begin(args, fill)
    fh, attr = client.walk('hole')
    expect(attr.used > 0, 'a file that has data seems to take no space')
    same(client.read(fh, (200 << 20) + 12345, 9)[0], b'an island', 'the island')
    migration.crawl()
    no_differences(tree.compare(OLD, NEW))
    for name, most in (('hole', 1 << 20), ('zeros', 64 << 10), ('tail', 64 << 10)):
        used = os.stat(f'{NEW}/{name}').st_blocks * 512
        expect(used <= most, f'{name} takes {used} bytes')


@case(short=True)
def times(args):
    """From 1970 to the last second of NFSv3's clock."""
    wanted = {}

    def fill(root):
        for n, ns in enumerate((0, 1, 999999999, 10**9, 2**31 * 10**9 - 1, 2**31 * 10**9,
                                (2**32 - 1) * 10**9 + 999999999)):
            wanted.update({f'{kind}{n}': ns for kind in ('file', 'dir', 'link')})
            put(f'{root}/file{n}', b'data', ns)
            os.mkdir(f'{root}/dir{n}')
            os.utime(f'{root}/dir{n}', ns=(ns, ns))
            os.symlink('x', f'{root}/link{n}')
            os.utime(f'{root}/link{n}', ns=(ns, ns), follow_symlinks=False)

    migration, client = begin(args, fill)
    seen = {os.fsdecode(name): attr for name, _, attr, _ in client.listing(client.root)}
    for name, ns in wanted.items():
        same(seen[name].mtime, ns, f'{name}: mtime')
        if seen[name].type == nfs3.REG:
            same(seen[name].atime, ns, f'{name}: atime')
    finish(migration)


@case()
def permissions_hold_for_stubs(args):
    """A client that may not read on the old server may not read a stub, nor through a fill."""
    def fill(root):
        put(root + '/secret', b'secret')
        os.chmod(root + '/secret', 0o600)
        put(root + '/mine', b'mine')
        os.chown(root + '/mine', 1000, 1000)
        os.chmod(root + '/mine', 0o600)
        os.mkdir(root + '/closed', 0o700)
        put(root + '/closed/file', b'x')

    migration, _ = begin(args, fill)
    client = migration.server.client(uid=1000, gid=1000)
    same(client.read_all(client.walk('mine')[0]), b'mine', "the user's own file")
    for what, call in (('read', lambda: client.read(client.walk('secret')[0], 0, 10)),
                       ('lookup', lambda: client.walk('closed/file')),
                       ('listing', lambda: list(client.listing(client.walk('closed')[0]))),
                       ('creation', lambda: client.create(client.root, b'new'))):
        try:
            call()
        except nfs3.NfsError as error:
            same(error.status, 13, f'status of a forbidden {what}')
        else:
            raise Failure(f'a forbidden {what} succeeded')
    client.write(client.walk('mine')[0], 2, b'XY', nfs3.FILE_SYNC)
    same(client.read_all(client.walk('mine')[0]), b'miXY', "the user's own file, written")


if __name__ == '__main__':
    sys.exit(main())
