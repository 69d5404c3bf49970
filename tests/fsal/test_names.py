#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names through the door: lookups, listings, what makes, moves and takes names."""
import fcntl
import os
import sys

from door import ACCES, CTIME, MTIME, ROOT, TEXT, World, unfilled
import fake as f
import nfs3
import nfs4
from fake import BEGIN, CHANGED, END, FILL, FILLED, HOLD, NAME, PLACE, RANGE
from harness import case, expect, main, same
from sandbox import Process
from servers import CACHES
from xdr import opaque, u32


@case()
def private_directory_is_hidden(args):
    def fill(world):
        os.mkdir(world.path('dir'))
        os.mkdir(world.path('dir/.migrate'))
    world = World(args, fill)
    client = world.client
    name = opaque(b'.migrate')
    same([n for n, _, _, _ in client.listing(client.root)], [b'dir'], 'names in the root')
    same(client.once(nfs3.LOOKUP, opaque(client.root) + name)[0], nfs3.NOENT, 'LOOKUP')
    same(client.once(nfs3.MKDIR, opaque(client.root) + name + nfs3.sattr())[0], ACCES, 'MKDIR')
    same(client.once(nfs3.CREATE, opaque(client.root) + name + u32(0) + nfs3.sattr())[0], ACCES,
         'CREATE')
    same(client.once(nfs3.SYMLINK, opaque(client.root) + name + nfs3.sattr() + opaque(b'x'))[0],
         ACCES, 'SYMLINK')
    same(client.once(nfs3.RENAME, opaque(client.root) + opaque(b'dir') + opaque(client.root) +
                     name)[0], ACCES, 'RENAME')
    below = world.fh('dir')
    same([n for n, _, _, _ in client.listing(below)], [b'.migrate'], 'names elsewhere')
    client.lookup(below, b'.migrate')
    expect(os.path.isdir(ROOT + '/.migrate'), 'it is gone')


CHURN = '''
import os, sys
while True:
    for n in range(500):
        os.close(os.open(f'{sys.argv[1]}/vanishing{n}', os.O_CREAT | os.O_WRONLY))
    for n in range(500):
        os.unlink(f'{sys.argv[1]}/vanishing{n}')
'''


@case()
def names_that_vanish_while_they_are_listed(args):
    """FSAL VFS looks up each name that it has read.  One that was removed in between is not listed;
    it does not end the listing."""
    staying = [b'staying%d' % n for n in range(100)]

    def fill(world):
        os.mkdir(world.path('dir'))
        for name in staying:
            world.normal(f'dir/{name.decode()}')
    world = World(args, fill, **CACHES['no-chunks'])
    directory = world.fh('dir')
    churn = Process('churn', [sys.executable, '-c', CHURN, world.path('dir')])
    before, different = set(), 0
    while different < 150:
        names = {n for n, _, _, _ in world.client.listing(directory, different % 2)}
        same(sorted(n for n in names if n.startswith(b'staying')), sorted(staying), 'names')
        different += names != before
        before = names
    same(churn.poll(), None, 'status of what makes and removes names')


@case()
def private_directory_of_the_volumes_root_only(args):
    """An export below the root shows a directory of that name."""
    def fill(world):
        world.fake.directory(world.path('below'), state=FILLED)
        os.mkdir(world.path('below/.migrate'))
    world = World(args, fill, path=ROOT + '/below')
    same([n for n, _, _, _ in world.client.listing(world.client.root)], [b'.migrate'], 'names')


@case()
def lookup_asks_for_one_name(args):
    world = World(args, unfilled)
    client = world.client
    directory = world.fh('dir')
    fh, attr = client.lookup(directory, b'file3')
    same([(r.op, r.text) for r in world.fake.requests()], [(NAME, b'file3')], 'requests')
    same((attr.size, attr.mtime, attr.ctime), (16, MTIME, CTIME), 'attributes')
    same(client.once(nfs3.LOOKUP, opaque(directory) + opaque(b'nothing'))[0], nfs3.NOENT, 'no name')
    same(os.listdir(world.path('dir')), ['file3'], 'names on disk')
    same(client.read_all(fh), b'content of file3', 'content')


@case()
def open_by_name_asks_for_one_name(args):
    """NFSv4's OPEN, which looks the name up below by itself."""
    world = World(args, unfilled)
    v4 = nfs4.Client('127.0.0.1', 0)
    directory, _ = v4.walk('dir')
    fh, stateid = v4.open(directory, b'file5')
    same([(r.op, r.text) for r in world.fake.requests()], [(NAME, b'file5')], 'requests')
    same(v4.read_all(fh, stateid), b'content of file5', 'content')
    v4.release(fh, stateid)


@case()
def symbolic_links_are_not_followed(args):
    """Clients follow them.  The server below would, to what is not here yet, and make it anew."""
    def fill(world):
        unfilled(world)
        os.symlink('dir/file5', world.path('link'))
        os.symlink('dir/new', world.path('dangling'))
    world = World(args, fill)
    client, v4 = world.client, nfs4.Client('127.0.0.1', 1)
    for name in (b'link', b'dangling'):     # before the server has seen them
        status, _ = client.once(nfs3.CREATE,
                                opaque(client.root) + opaque(name) + u32(0) + nfs3.sattr())
        expect(status != 0, f'CREATE of {name} is done')
        for how in (u32(0), v4.creating()):
            try:
                v4.open(v4.walk('')[0], name, 3, how)
                status = 0
            except nfs3.NfsError as error:
                status = error.status
            same(status, nfs4.IS_SYMLINK, f'OPEN of {name}')
    same(os.listdir(world.path('dir')), [], 'names behind the links')


@case()
def listing_fills(args):
    world = World(args, unfilled)
    client = world.client
    directory = world.fh('dir')
    same(client.getattr(directory).mtime, 10**18 + 5, 'mtime before')
    entries = list(client.listing(directory))
    same(len(entries), 20, 'entries')
    same({(a.size > 0, a.mtime, a.ctime) for _, _, a, _ in entries}, {(True, MTIME, CTIME)},
         'attributes')
    same([r.op for r in world.fake.requests()], [FILL], 'requests')
    list(client.listing(directory))
    same([r.op for r in world.fake.requests()], [FILL], 'requests after another listing')


@case()
def a_listing_that_fails(args):
    """Whatever the retriever answers, clients get what a listing can fail with."""
    world = World(args, unfilled)
    client, directory = world.client, world.fh('dir')
    told = {1: 1, 2: nfs3.NOENT, 13: ACCES, 20: 20, 22: 22}       # EPERM, ENOENT, EACCES, ...
    passing = {11, 12, 23, 24, 37, 71, 104, 125}                # they are asked again
    for error in sorted(set(range(1, 134)) - passing):
        world.fake.on[FILL] = lambda r: -error
        same(nfs3.status_of(list, client.listing(directory)), told.get(error, nfs3.IO),
             f'status for {error}')
    world.fake.on.clear()
    same(len(list(client.listing(directory))), 20, 'entries afterwards')


@case()
def names_change_in_filled_directories_only(args):
    """Everything that makes or takes a name waits for the directory."""
    def fill(world):
        for n in range(8):
            unfilled(world, f'dir{n}', 2)
        world.normal('normal')
    world = World(args, fill)
    client, fake = world.client, world.fake
    root, dirs = client.root, [world.fh(f'dir{n}') for n in range(8)]
    file = world.fh('normal')
    changes = [
        lambda d: client.create(d, b'new'), lambda d: client.mkdir(d, b'new'),
        lambda d: client.symlink(d, b'new', b'x'), lambda d: client.link(file, d, b'new'),
        lambda d: client.rename(root, b'normal', d, b'new'), lambda d: client.remove(d, b'file0'),
        lambda d: client.rename(d, b'file0', d, b'new'),
    ]
    for n, change in enumerate(changes):
        fake.forget()
        change(dirs[n])
        filled = [r.path for r in fake.requests(FILL)]
        same(filled, [world.path(f'dir{n}')], f'fills for change {n}')
        expect({'file1'} <= set(os.listdir(world.path(f'dir{n}'))), f'names after change {n}')
    status, _ = client.once(nfs3.RMDIR, opaque(root) + opaque(b'dir7'))
    same(status, nfs3.NOTEMPTY, 'RMDIR of a directory that only looks empty')
    status, _ = client.once(nfs3.RENAME, opaque(root) + opaque(b'dir1') + opaque(root) +
                            opaque(b'dir7'))
    expect(status in (nfs3.NOTEMPTY, nfs3.EXIST), f'RENAME over a full directory: {status}')


@case()
def replaced_directory_is_filled_first(args):
    def fill(world):
        unfilled(world, 'target', 2)
        os.mkdir(world.path('source'))
    world = World(args, fill)
    client = world.client
    status, _ = client.once(nfs3.RENAME, opaque(client.root) + opaque(b'source') +
                            opaque(client.root) + opaque(b'target'))
    expect(status in (nfs3.NOTEMPTY, nfs3.EXIST), f'RENAME: {status}')
    same([r.path for r in world.fake.requests(FILL)], [world.path('target')], 'fills')


@case()
def placing_an_unfinished_object(args):
    """It gets a name in a bracket that tells the directory, or is not told when it is normal."""
    def fill(world):
        world.file('stub')
        world.normal('whole')
        os.mkdir(world.path('dir'))
    world = World(args, fill)
    client, fake = world.client, world.fake
    directory = world.fh('dir')
    stub = world.fh('stub')
    seen = []

    def begin(request):
        seen.append(os.path.exists(world.path('dir/link')))
        st = os.stat(world.path('dir'))
        f.set_record(world.path('dir'), FILLED, 0, st.st_mtime_ns, st.st_ctime_ns)
        return fake.do_begin(request)
    fake.on[BEGIN] = begin
    client.link(stub, directory, b'link')
    client.rename(client.root, b'stub', directory, b'moved')
    client.rename(client.root, b'whole', directory, b'whole')
    begins = fake.requests(BEGIN)
    same([(r.change, r.dir) for r in begins], [(PLACE, world.path('dir'))] * 2, 'brackets')
    same(seen[0], False, 'linked before the bracket was open')
    same([bool(r.flags & CHANGED) for r in fake.requests(END)], [True, True], 'ends')
    same(client.read_all(world.fh('dir/moved')), TEXT, 'content')


@case()
def a_hung_retriever_holds_no_name(args):
    """Neither before a name is made (then there is a DELAY and no name) nor after."""
    def fill(world):
        world.file('stub')
        world.file('linked')
        os.mkdir(world.path('dir'))
        os.link(world.path('linked'), world.path('dir/linked'))
    world = World(args, fill, hold_ms=1500)
    client, fake = world.client, world.fake
    directory, stub = world.fh('dir'), world.fh('stub')
    ends = (nfs3.RENAME, opaque(client.root) + opaque(b'stub') + opaque(directory) +
            opaque(b'moved')), (nfs3.LINK, opaque(stub) + opaque(directory) + opaque(b'link'))
    remove = nfs3.REMOVE, opaque(client.root) + opaque(b'linked')
    fake.on[BEGIN] = lambda r: HOLD
    for call in ends + (remove,):
        same(client.once(*call)[0], nfs3.JUKEBOX, 'status without a begin')
    same(sorted(os.listdir(world.path('dir'))), ['linked'], 'names without a begin')
    del fake.on[BEGIN]
    held = []
    fake.on[END] = lambda r: held.append(r) or HOLD
    for call in reversed((remove,) + ends):         # renamed after it was linked
        same(client.once(*call)[0], 0, 'status without an end')
    same(sorted(os.listdir(world.path('dir'))), ['link', 'linked', 'moved'], 'names')
    same([bool(r.flags & CHANGED) for r in held], [True] * 3, 'ends')
    del fake.on[END]
    for request in held:
        fake.reply(request, 0)
    same(client.read_all(world.fh('dir/moved')), TEXT, 'content')


@case()
def i4_a_stub_that_a_local_program_moves_into_a_normal_directory(args):
    """Nobody is told of that, and the directory stays normal."""
    def fill(world):
        os.makedirs(world.path('a/b'))
        world.normal('a/b/normal')
        world.file('stub')
        world.file('known')
        unfilled(world, 'unfilled', 3)
    world = World(args, fill)
    client, deep = world.client, world.fh('a/b')
    same(client.read_all(world.fh('a/b/normal')), b'normal', 'content')
    client.getattr(deep)
    known = world.fh('known')
    for name in ('stub', 'known', 'unfilled'):
        os.rename(world.path(name), world.path(f'a/b/{name}'))
    same(client.read_all(world.fh('a/b/stub')), TEXT, 'content')
    same(client.read_all(known), TEXT, 'content of what was known to be a stub')
    same(len(list(client.listing(world.fh('a/b/unfilled')))), 3, 'names of the directory')
    same(len(world.fake.requests(RANGE)), 2, 'fetches')


@case()
def what_comes_into_a_normal_directory_is_looked_at(args):
    """When something unfinished moves in, and above it too."""
    def fill(world):
        os.makedirs(world.path('a/b'))
        world.normal('a/b/normal')
        world.file('stub')
    world = World(args, fill)
    client, fake = world.client, world.fake
    deep = world.fh('a/b')
    list(client.listing(deep))

    def begin(request):
        for path in (world.path('a'), world.path('a/b')):
            st = os.stat(path)
            f.set_record(path, FILLED, 0, st.st_mtime_ns, st.st_ctime_ns)
        return fake.do_begin(request)
    fake.on[BEGIN] = begin
    world.fh('stub')
    client.rename(client.root, b'stub', deep, b'moved')
    # A name of the same stub that the server has no cached entry for, made behind its back.
    os.link(world.path('a/b/moved'), world.path('a/b/other'))
    world.file('a/b/second', b'second')
    same(client.read_all(world.fh('a/b/second')), b'second', 'content of a new stub in it')
    same(client.read_all(world.fh('a/b/other')), TEXT, 'content')


@case()
def a_directory_that_is_not_normal_any_more_is_moved(args):
    """Its move is a placement: what the server found before something was placed in it is over."""
    def fill(world):
        os.makedirs(world.path('a/b'))
        os.mkdir(world.path('c'))
        world.file('stub')
    world = World(args, fill)
    client, fake = world.client, world.fake
    inner, target = world.fh('a/b'), world.fh('c')
    list(client.listing(inner))
    list(client.listing(target))
    world.fh('stub')

    def begin(request):
        for path in (world.path('a'), world.path('a/b')):
            if os.path.exists(path):
                f.set_record(path, FILLED, 0, MTIME, CTIME)
        return fake.do_begin(request)
    fake.on[BEGIN] = begin
    client.rename(client.root, b'stub', inner, b'moved')
    client.rename(world.fh('a'), b'b', target, b'b')
    same([(r.path, r.dir) for r in fake.requests(BEGIN)],
         [(world.path('stub'), world.path('a/b')), (world.path('a/b'), world.path('c'))], 'brackets')


@case()
def directories_are_held_while_names_change(args):
    """What is placed in stays unfinished, what is moved stays what it is, without the retriever."""
    def fill(world):
        os.mkdir(world.path('to'))
        world.file('stub')
        world.fake.directory(world.path('dir'), state=FILLED)
    world = World(args, fill)
    client, fake = world.client, world.fake
    target, seen = world.fh('to'), []

    def look(request):
        seen.append((f.is_held(world.path('to'), fcntl.LOCK_EX), f.is_held(world.path('to'), fcntl.LOCK_SH),
                     f.is_held(request.path, fcntl.LOCK_SH) if os.path.isdir(request.path) else None))
        return 0
    fake.on[BEGIN] = look
    client.rename(client.root, b'stub', target, b'stub')
    client.rename(client.root, b'dir', target, b'dir')
    same(seen, [(True, False, None), (True, False, True)], 'holds')
    same([f.is_held(world.path(name), fcntl.LOCK_EX) for name in ('to', 'to/dir')], [False, False],
         'holds afterwards')


@case()
def a_normal_directory_is_not_moved_while_it_is_marked(args):
    def fill(world):
        os.makedirs(world.path('a/b'))
        os.mkdir(world.path('to'))
    world = World(args, fill, hold_ms=1500)
    client, target, above = world.client, world.fh('to'), world.fh('a')
    fd = os.open(world.path('a/b'), os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(fd, fcntl.LOCK_SH)
    rename = opaque(above) + opaque(b'b') + opaque(target) + opaque(b'b')
    same(client.once(nfs3.RENAME, rename)[0], nfs3.JUKEBOX, 'while it is held')
    same(os.listdir(world.path('a')), ['b'], 'names')
    os.close(fd)
    same(client.once(nfs3.RENAME, rename)[0], 0, 'after it')
    same(os.listdir(world.path('to')), ['b'], 'names')


@case()
def names_that_others_gave_away(args):
    """What another server has just put behind a name counts, not what MDCACHE has by it for a second."""
    def fill(world):
        world.normal('name')
        world.file('stub')
        os.mkdir(world.path('to'))
        os.mkdir(world.path('empty'))
        unfilled(world, 'full', 2)
    world = World(args, fill)
    client = world.client
    to = world.fh('to')
    world.fh('name')
    os.rename(world.path('stub'), world.path('name'))
    client.rename(client.root, b'name', to, b'moved')
    same([(r.change, r.dir) for r in world.fake.requests(BEGIN)], [(PLACE, world.path('to'))],
         'brackets')
    list(client.listing(world.fh('empty')))
    os.rmdir(world.path('empty'))
    os.rename(world.path('full'), world.path('empty'))
    same(nfs3.status_of(client.rmdir, client.root, b'empty'), nfs3.NOTEMPTY, 'RMDIR')
    same(sorted(os.listdir(world.path('empty'))), ['file0', 'file1'], 'names')


@case()
def a_name_that_is_given_away_meanwhile(args):
    """While the bracket of what had the name is opened: what has it then is moved in one of its own."""
    def fill(world):
        world.file('one')
        world.file('other', b'other')
        os.mkdir(world.path('to'))
    world = World(args, fill)
    fake = world.fake
    other = os.stat(world.path('other')).st_ino

    def give_away(request):
        if os.path.exists(world.path('other')):
            os.rename(world.path('other'), world.path('one'))
        return 0
    fake.on[BEGIN] = give_away
    world.client.rename(world.client.root, b'one', world.fh('to'), b'moved')
    same([bool(r.flags & CHANGED) for r in fake.requests(END)], [False, True], 'changed')
    same([r.inode == other for r in fake.requests(BEGIN)], [False, True], 'what was moved')


if __name__ == '__main__':
    sys.exit(main())
