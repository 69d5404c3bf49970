#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""On demand: everything can be looked up, listed, stat'ed, opened and read over every version of
NFS while nothing has been migrated, with the old server's attributes."""
import os
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import nfs4                                                             # noqa: E402
import tree                                                             # noqa: E402
from harness import Failure, case, expect, main, same                   # noqa: E402
from sandbox import wait_for                                            # noqa: E402
from servers import NEW, OLD, stack                                     # noqa: E402

TYPES = {stat.S_IFREG: nfs3.REG, stat.S_IFDIR: nfs3.DIR, stat.S_IFLNK: nfs3.LNK,
         stat.S_IFIFO: nfs3.FIFO, stat.S_IFSOCK: nfs3.SOCK, stat.S_IFCHR: nfs3.CHR,
         stat.S_IFBLK: nfs3.BLK}


def snapshot(root):
    """{path below root: os.stat_result}, taken before anybody reads there."""
    return {os.path.relpath(path, os.fsencode(root)): os.lstat(path) for path in
            map(os.fsencode, tree.every(root))}


def check_attributes(path, attr, st, atime=True):
    """attr: of nfs3 or nfs4; directories' sizes and the space used are the new file system's."""
    same(attr.type, TYPES[stat.S_IFMT(st.st_mode)], f'{path}: type')
    same(attr.mode, stat.S_IMODE(st.st_mode), f'{path}: mode')
    same((attr.uid, attr.gid), (st.st_uid, st.st_gid), f'{path}: owner')
    same(attr.mtime, st.st_mtime_ns, f'{path}: mtime')
    if attr.type != nfs3.DIR:
        if atime and st.st_nlink == 1:          # another name may have been read before
            same(attr.atime, st.st_atime_ns, f'{path}: atime')
        same(attr.size, st.st_size, f'{path}: size')
    if attr.type in (nfs3.CHR, nfs3.BLK):
        same(attr.rdev, (os.major(st.st_rdev), os.minor(st.st_rdev)), f'{path}: device')
    if attr.type == nfs3.REG and st.st_blocks:
        expect(attr.used > 0, f'{path}: seems to be all hole')


def old_content(path):
    with open(os.path.join(os.fsencode(OLD), path), 'rb') as file:
        return file.read()


def begin(args, files):
    def fill(path):
        tree.make(path, files, args.seed, 2 << 20)
    server, migration = stack(args.build, fill)
    before = snapshot(OLD)
    migration.attach()
    same([n for n in os.listdir(NEW) if n != '.migrate'], [], 'names there right after attach')
    migration.start_server()
    return server, migration, before


def reach(client, path, st):
    """Walks there; the handle and the attributes, checked against st, as is a symlink's target."""
    fh, attr = client.walk(path)
    check_attributes(path, attr, st)
    if attr.type == nfs3.LNK:
        same(client.readlink(fh), os.readlink(os.path.join(os.fsencode(OLD), path)),
             f'{path}: target')
    return fh, attr


def names_below(before, path):
    prefix = b'' if path == b'.' else path + b'/'
    return {p[len(prefix):] for p in before
            if p != b'.' and p.startswith(prefix) and b'/' not in p[len(prefix):]}


@case(short=True)
def lookup_first(args):
    """NFSv3, paths in random order, nothing ever listed before it is looked up."""
    _, migration, before = begin(args, 1500)
    client = migration.server.client()
    paths = [p for p in before if p != b'.']
    args.random.shuffle(paths)
    for path in paths:
        fh, attr = reach(client, path, before[path])
        if attr.type == nfs3.REG:
            same(client.read_all(fh), old_content(path), f'{path}: content')
            check_attributes(path, client.getattr(fh), before[path], atime=False)
    for name in (b'no such name', b'.migrate'):
        status, _ = client.once(nfs3.LOOKUP, nfs3.opaque(client.root) + nfs3.opaque(name))
        same(status, nfs3.NOENT, f'status of a LOOKUP of {name}')


@case()
def list_first(args):
    """NFSv3, READDIRPLUS and READDIR from the root down."""
    _, migration, before = begin(args, 1500)
    client = migration.server.client()

    def descend(path, fh):
        plus = args.random.random() < 0.7
        entries = list(client.listing(fh, plus))
        same({e[0] for e in entries}, names_below(before, path), f'names in {path}')
        same(len(entries), len({e[0] for e in entries}), f'number of names in {path}')
        for name, fileid, attr, handle in entries:
            below = name if path == b'.' else path + b'/' + name
            if attr is None or handle is None:
                handle, attr = client.lookup(fh, name)
            check_attributes(below, attr, before[below])
            same(attr.fileid, fileid, f'{below}: fileid')
            if attr.type == nfs3.DIR:
                descend(below, handle)
            elif attr.type == nfs3.REG:
                same(client.read_all(handle), old_content(below), f'{below}: content')

    descend(b'.', client.root)


def version4(args, minor):
    _, migration, before = begin(args, 600)
    client = nfs4.Client('127.0.0.1', minor)
    check_attributes(b'.', client.root_attr, before[b'.'])
    paths = [p for p in before if p != b'.']
    args.random.shuffle(paths)
    for path in paths[:300]:
        fh, attr = reach(client, path, before[path])
        if attr.type == nfs3.REG:
            directory, _, name = path.rpartition(b'/')
            fh, stateid = client.open(client.walk(directory)[0], name)
            same(client.read_all(fh, stateid), old_content(path), f'{path}: content')
            now = client.getattr(fh)
            check_attributes(path, now, before[path], atime=False)
            client.release(fh, stateid)

    def descend(path, fh):
        entries = list(client.listing(fh))
        same({e[0] for e in entries}, names_below(before, path), f'names in {path}')
        for name, attr in entries:
            below = name if path == b'.' else path + b'/' + name
            check_attributes(below, attr, before[below], atime=False)
            if attr.type == nfs3.DIR:
                descend(below, client.walk(name, fh)[0])

    descend(b'.', client.root)


@case()
def v4_0(args):
    version4(args, 0)


@case()
def v4_1(args):
    version4(args, 1)


@case(short=True)
def v4_2(args):
    version4(args, 2)


@case()
def libnfs(args):
    """Another client's code: libnfs's utilities, which give up at JUKEBOX and are run again."""
    _, migration, before = begin(args, 600)
    # Newer releases tell the portmapper of their programs when they answer already.
    server = migration.server
    wait_for('the new server is up',
             lambda: 'NFS SERVER INITIALIZED' in open(server.process.log).read(),
             process=server.process)

    def again(*argv):
        for _ in range(200):
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
            if done.returncode == 0:
                return done.stdout
            if b'JUKEBOX' not in done.stderr and b'DELAY' not in done.stderr:
                break
        raise Failure(f'{argv}: exit {done.returncode}: {done.stderr} {done.stdout[-200:]}')

    for version, export in (('3', NEW), ('4', '/export')):
        url = f'nfs://127.0.0.1{export}'
        listing = again('nfs-ls', '-R', f'{url}/departments?version={version}')
        for path, st in before.items():
            if stat.S_ISREG(st.st_mode) and path.startswith(b'departments/'):
                expect(path[len(b'departments/'):] in listing,
                       f'{path} is not listed by nfs-ls over v{version}')
        for path in sorted(before)[::7]:
            name = os.fsdecode(path)
            plain = name.isprintable() and name.isascii() and not set(name) & set('?%#&+ ')
            if stat.S_ISREG(before[path].st_mode) and plain:
                same(again('nfs-cat', f'{url}/{name}?version={version}'), old_content(path),
                     f'{path}: content')


@case()
def listing_shows_no_private_directory(args):
    _, migration, before = begin(args, 600)
    client = migration.server.client()
    expect(os.path.isdir(NEW + '/.migrate'), 'there is no .migrate directory: look elsewhere')
    expect(b'.migrate' not in {e[0] for e in client.listing(client.root)}, '.migrate is listed')
    for call in (lambda: client.mkdir(client.root, b'.migrate', mode=0o755),
                 lambda: client.create(client.root, b'.migrate', mode=0o644)):
        try:
            call()
        except nfs3.NfsError as error:
            same(error.status, 13, 'status of making .migrate')
        else:
            raise Failure('.migrate could be made')
    fh, _ = client.walk(b'odd names/.migrate')      # only the root's is ours
    same(client.read_all(fh), old_content(b'odd names/.migrate'), 'odd names/.migrate')


@case()
def the_private_directory_after_the_end(args):
    """It is hidden until it goes, and the name anybody's from then on."""
    _, migration, before = begin(args, 600)
    client = migration.server.client()
    migration.crawl()

    def made():
        """Its handle, or None where the name is taken by what is hidden."""
        try:
            return client.mkdir(client.root, b'.migrate', mode=0o700)
        except nfs3.NfsError as error:
            same(error.status, 13, 'status of making .migrate')
    same(made(), None, 'a directory beside the retriever\'s')
    migration.ctl('finalize')
    wait_for('the name is free', made)
    expect(b'.migrate' in {e[0] for e in client.listing(client.root)}, '.migrate is not listed')
    client.lookup(client.root, b'.migrate')


if __name__ == '__main__':
    sys.exit(main())
