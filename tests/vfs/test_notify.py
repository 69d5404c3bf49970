#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a client is told without asking: of changes in a directory that it watches, and that it may
no longer keep a file to itself.  Fills are not told, what other clients do is, as on a plain share."""
import collections
import itertools
import os
import struct
import sys

from door import (MTIME, ROOT, SHARE, TEXT, World, fid_of, opened, status_is, subdirectory,
                  unfilled)
import fake as f
import sandbox
import smb2
import smbd
from fake import FILL, HOLD, RANGE
from harness import case, expect, main, same
from sandbox import BASE
from smbfiles import Files

PLAIN = BASE + '/plain'
ADDED, REMOVED, MODIFIED, OLD_NAME, NEW_NAME = range(1, 6)
FILE_NAMES, ATTRIBUTES, SIZE, LAST_WRITE = 1, 4, 8, 16
R, H, W = 1, 2, 4
MARKS = itertools.count()
Range = collections.namedtuple('Range', 'inode path')


# ---- directories ---------------------------------------------------------------------------------

class Watch:
    """A directory that a client of its own watches."""

    def __init__(self, server, share, path='', what=0xfff, tree=True, marks=''):
        self.session = server.session(share=share)
        self.fid = opened(self.session, path.replace('/', '\\'), access=smb2.READ_DATA,
                          options=smb2.DIRECTORY_FILE)
        self.request = smb2.change_notify(self.fid, what, smb2.WATCH_TREE if tree else 0)
        self.marks = marks
        self.mid, = self.session.start(self.request)

    def told(self, files):
        """[(action, name)] since the last time; another client's files make a mark behind it.  How
        often one after the other the same is told is a matter of time."""
        mark = f'mark{next(MARKS)}'
        files.open(self.marks + mark, disposition=smb2.NEW).close()
        events = []
        while (ADDED, mark) not in events:
            reply = status_is(self.session.connection.wait(self.mid), smb2.SUCCESS, 'a notice')
            self.mid, = self.session.start(self.request)
            for data in smb2.entries(smb2.output(reply)):
                action, length = struct.unpack_from('<II', data, 4)
                event = action, data[12:12 + length].decode('utf-16-le')
                if not events or events[-1] != event:
                    events.append(event)
        return [event for event in events if 'mark' not in event[1]]


def tree(world):
    for n in range(8):
        world.file(f'file{n}', os.path.basename(world.path(f'file{n}')).encode() * 1000)
    unfilled(world, 'dir')
    unfilled(world, 'other')
    world.file('held')
    subdirectory(world, world.path('slow'), [('a', lambda path: world.fake.file(path, b'a'))])


def plain_tree():
    """The same, all of it here."""
    def whole(path, content):
        with open(path, 'wb') as out:
            out.write(content)
        os.chmod(path, 0o666)
        os.utime(path, ns=(MTIME, MTIME))

    sandbox.volume(PLAIN, '400M')
    os.chmod(PLAIN, 0o777)
    for name in ('dir', 'other', 'slow'):
        os.mkdir(f'{PLAIN}/{name}')
        os.chmod(f'{PLAIN}/{name}', 0o777)
    for n in range(8):
        whole(f'{PLAIN}/file{n}', f'file{n}'.encode() * 1000)
    for path in (f'{name}/file{n}' for name in ('dir', 'other') for n in range(20)):
        whole(f'{PLAIN}/{path}', b'content of ' + os.path.basename(path).encode())
    whole(PLAIN + '/held', TEXT)


def beside_a_plain_share(args, **kw):
    world = World(args, tree, start=False, **kw)
    plain_tree()
    world.server.configure({**world.server.shares, 'plain': (PLAIN, {
        'vfs objects': smbd.STACK.replace('migrate ', '')})})
    world.server.start()
    return world


def use(files, name):
    """What makes fills and is no change."""
    same(len(files.list(name)), 20, 'names')
    same(files.read(f'{name}/file3'), b'content of file3', 'content')
    files.read('file7')


def change(files):
    """One of each, of files and directories that are not here yet."""
    files.write('made', b'made')
    with files.open('file0', access=smb2.WRITE_DATA) as file:
        file.write(100, b'written')
    with files.open('file1', access=smb2.WRITE_DATA) as file:
        file.set(20, struct.pack('<Q', 7))
    files.set_basic('file2', attributes=smb2.A_HIDDEN)
    files.set_basic('file2', written=132223104000000000)
    files.rename('file3', 'renamed')
    files.unlink('file4')
    files.link('file5', 'linked')
    files.write('file5:stream', b'of it')
    files.write('file6', b'overwritten')
    files.mkdir('new')
    files.rename('dir', 'new/dir')
    files.write('new/dir/made', b'')
    files.rename('new/dir/file0', 'new/dir/renamed')
    files.unlink('new/dir/file1')
    files.rename('other/file0', 'file0', replace=True)
    files.set_basic('new/dir', attributes=smb2.A_HIDDEN | smb2.A_DIRECTORY)


def arrive(world, path):
    """What is missing of a file: nobody asked for it."""
    inode = os.stat(path).st_ino
    world.fake.do_range(Range(inode, path))


def finish(world):
    """As the retriever does it."""
    fake = world.fake
    for directory, _, _ in os.walk(ROOT):           # what is filled is walked, too
        inode = os.stat(directory).st_ino
        fake.make_entries(directory, [name for name, _ in fake.entries.get(inode, [])])
    for directory, _, files in os.walk(ROOT, topdown=False):
        paths = [os.path.join(directory, name) for name in files] + [directory]
        for path in filter(lambda path: not f.is_normal(path), paths):
            if path == directory:
                os.removexattr(path, f.XATTR)
            else:
                arrive(world, path)
    os.rmdir(ROOT + '/.migrate')


@case()
def fills_are_not_told(args):
    world = beside_a_plain_share(args)
    for share in (SHARE, 'plain'):
        files = Files(world.session(share=share))
        watches = [Watch(world.server, share),
                   Watch(world.server, share, 'dir', tree=False, marks='dir/'),
                   Watch(world.server, share, 'dir', ATTRIBUTES | SIZE | LAST_WRITE | FILE_NAMES,
                         marks='dir/')]
        use(files, 'dir')
        use(files, 'other')
        for watch, path in zip(watches, ('', 'dir', 'dir')):
            same(watch.told(files), [], f'told of {share}/{path}')
    expect(world.fake.requests(FILL) and world.fake.requests(RANGE), 'nothing was filled')
    expect(f.is_normal(world.path('dir/file3')), 'a file that was read has a record')


@case()
def changes_are_told_during_a_fill(args):
    """Of directories and files that are not here, while a directory and a file wait for the old
    server; and after the end to who watches since then."""
    world = beside_a_plain_share(args)
    held = []

    def slow(request):
        if request.path.endswith(('/slow', '/held')):
            held.append(request)
            return HOLD
        return world.fake.usual(request)
    world.fake.on[FILL] = world.fake.on[RANGE] = slow

    told = {}
    waiting = world.session()
    watches = {share: Watch(world.server, share) for share in (SHARE, 'plain')}
    mids = waiting.start(smb2.create('slow', access=smb2.READ_DATA, options=smb2.DIRECTORY_FILE))
    fid = opened(waiting, 'held', access=smb2.READ_DATA)
    mids += waiting.start(smb2.read(fid, 0, 1000))
    world.fake.wait(FILL)
    world.fake.wait(RANGE)
    for share, watch in watches.items():
        files = Files(world.session(share=share))
        same(watch.told(files), [], f'told of nothing, {share}')
        change(files)
        told[share] = watch.told(files)
    same(told[SHARE], told['plain'], 'told')
    for event in ((ADDED, 'made'), (MODIFIED, 'file0'), (MODIFIED, 'file1'), (MODIFIED, 'file2'),
                  (OLD_NAME, 'file3'), (NEW_NAME, 'renamed'), (REMOVED, 'file4'),
                  (ADDED, 'new\\dir\\made'), (OLD_NAME, 'new\\dir\\file0'),
                  (NEW_NAME, 'new\\dir\\renamed'), (REMOVED, 'new\\dir\\file1')):
        expect(event in told[SHARE], f'{event} is not told')
    waiting.ask(smb2.echo())
    same(waiting.connection.replies, {}, 'what has to wait')

    world.fake.on.clear()
    for request in held:
        world.fake.reply(request, world.fake.usual(request))
    for mid in mids:
        status_is(waiting.connection.wait(mid), smb2.SUCCESS, 'what had to wait')
    finish(world)
    for share, watch in watches.items():
        files = Files(world.session(share=share))
        same(watch.told(files), [], f'told of the end, {share}')
        files.write('late', b'late')
        files.rename('file7', 'seven')
        files.unlink('other/file5')
        told[share] = watch.told(files)
    same(told[SHARE], told['plain'], 'told after the end')
    expect((REMOVED, 'other\\file5') in told[SHARE], 'a deletion after the end is not told')


# ---- leases --------------------------------------------------------------------------------------

class Keeper:
    """A client that keeps a file to itself, and gives back what is asked for if it may."""

    def __init__(self, server, name, share=SHARE, lease=smb2.lease, state=R | H | W):
        self.session, self.key = server.session(share=share), os.urandom(16)
        self.session.connection.on_break = self.broken
        self.breaks, self.gives_back = [], True
        reply = self.session.ask(smb2.create(name, access=smb2.READ_DATA, oplock=smb2.OPLOCK_LEASE,
                                             blobs=[lease(self.key, state)]))
        status_is(reply, smb2.SUCCESS, f'open {name} with a lease')
        self.fid = fid_of(reply)
        at, length = struct.unpack_from('<II', reply.body, 80)
        self.granted = 0
        if length:
            blob = smb2.read_contexts(reply.buffer(at, length))[b'RqLs']
            self.granted, = struct.unpack_from('<I', blob, 16)

    def broken(self, _connection, body):
        flags, key, old, new = struct.unpack_from('<I16sII', body, 4)
        same(key, self.key, 'key of what is broken')
        self.breaks.append((old, new))
        if flags & 1 and self.gives_back:
            self.give_back()

    def give_back(self):
        """As much as was asked for last."""
        self.session.start(smb2.acknowledge_lease(self.key, self.breaks[-1][1]))

    def took(self):
        """[(from, to)] since the last time, when all that was sent is here."""
        self.session.ask(smb2.echo())
        breaks, self.breaks = self.breaks, []
        return breaks

    def wait_broken(self):
        while not self.breaks:
            expect(self.session.connection.pump(120), 'the lease is not broken')


def end(keeper, session, mid):
    """The reply to what waits for the keeper."""
    session.connection.peers.append(keeper.session.connection)
    return session.connection.wait(mid)


def stubs(world):
    world.file('stub')
    unfilled(world)


@case()
def a_fill_breaks_no_lease(args):
    """Neither the keeper's own nor one that comes from elsewhere; another client's open does, as on a
    plain share."""
    world = beside_a_plain_share(args)
    took = {}
    for share in (SHARE, 'plain'):
        keeper = Keeper(world.server, 'file0', share)
        same(keeper.granted, R | H | W, f'granted, {share}')
        reply = keeper.session.ask(smb2.read(keeper.fid, 0, 65536))
        same(smb2.output(reply), b'file0' * 1000, 'content')
        same(keeper.took(), [], f'a fill took, {share}')
        waits = Keeper(world.server, 'file1', share)
        if share == SHARE:
            arrive(world, world.path('file1'))
        same(waits.took(), [], f'a fill that was not asked for took, {share}')
        other = world.session(share=share)
        mid, = other.start(smb2.create('file0', access=smb2.READ_DATA))
        status_is(end(keeper, other, mid), smb2.SUCCESS, 'another open')
        took[share] = keeper.took()
    same(took[SHARE], [(R | H | W, R | H)], 'another open took')
    same(took['plain'], took[SHARE], 'on the plain share')
    expect(f.is_normal(world.path('file0')) and f.is_normal(world.path('file1')),
           'nothing was filled')


@case()
def a_lease_breaks_during_a_fill(args):
    """Nobody waits for the old server: a read of the keeper's does, the other's open and write do
    not."""
    world = World(args, stubs)
    world.fake.on[RANGE] = lambda request: HOLD
    keeper, other = Keeper(world.server, 'stub'), world.session()
    same(keeper.granted, R | H | W, 'granted')
    late, = keeper.session.start(smb2.read(keeper.fid, 0, 16))
    world.fake.wait(RANGE)
    keeper.gives_back = False
    mid, = other.start(smb2.create('stub', access=smb2.WRITE_DATA))
    keeper.wait_broken()
    same(other.connection.replies, {}, 'the open does not wait')
    keeper.gives_back = True
    keeper.give_back()
    fid = fid_of(status_is(end(keeper, other, mid), smb2.SUCCESS, 'another open'))
    same(keeper.took(), [(R | H | W, R | H)], 'another open took')
    mid, = other.start(smb2.write(fid, 0, bytes(4096)))
    status_is(end(keeper, other, mid), smb2.SUCCESS, 'a write')
    keeper.wait_broken()
    same(keeper.took(), [(R | H, 0)], 'a write took')
    expect(late in keeper.session.connection.pending, 'the read does not wait')
    world.fake.on.clear()
    for request in world.fake.requests(RANGE):
        world.fake.reply(request, world.fake.do_range(request))
    reply = keeper.session.connection.wait(late)
    same(smb2.output(status_is(reply, smb2.SUCCESS, 'read')), bytes(16), 'content')
    same(world.content('stub')[:8192], bytes(4096) + TEXT[4096:8192], 'content here')


@case()
def an_open_waits_for_names_and_then_for_a_lease(args):
    """The host and the module defer the same request, one after the other."""
    world = World(args, stubs)
    world.fake.on[FILL] = lambda request: HOLD
    keeper, other = Keeper(world.server, 'dir\\file3'), world.session()
    same(keeper.granted, R | H | W, 'granted')
    keeper.gives_back = False
    mid, = other.start(smb2.create('dir\\file3', access=smb2.DELETE | smb2.READ_DATA))
    world.fake.wait(FILL)
    status_is(other.ask(smb2.echo()), smb2.SUCCESS, 'other requests')
    same(keeper.took(), [], 'an open that waits for names took')
    request, = world.fake.requests(FILL)
    world.fake.on.clear()
    world.fake.reply(request, world.fake.do_fill(request))
    keeper.wait_broken()
    status_is(other.ask(smb2.echo()), smb2.SUCCESS, 'other requests')
    same(other.connection.replies, {}, 'the open does not wait')
    keeper.give_back()
    fid = fid_of(status_is(end(keeper, other, mid), smb2.SUCCESS, 'another open'))
    same(keeper.took(), [(R | H | W, R | H)], 'another open took')
    same(smb2.output(other.ask(smb2.read(fid, 0, 100))), b'content of file3', 'content')
    same(len(world.fake.requests(FILL)), 1, 'fills')


@case()
def leases_of_directories(args):
    """Of releases that have them, where they are not switched off: of one that is filled; taken by a
    change, not by fills."""
    has_them = sandbox.sh('smbd', '--version').split()[1] >= '4.22'
    world = World(args, unfilled, **({'smb3_directory_leases': 'yes'} if has_them else {}))
    keeper = Keeper(world.server, 'dir', lease=smb2.lease_v2, state=R | H)
    same(keeper.granted, R | H if has_them else 0, 'granted')
    same(len(os.listdir(world.path('dir'))), 20, 'names here')
    files = Files(world.session())
    files.read('dir/file3')
    arrive(world, world.path('dir/file4'))
    same(keeper.took(), [], 'a fill took')
    keeper.session.connection.peers.append(files.session.connection)
    files.session.connection.peers.append(keeper.session.connection)
    files.open('dir/made', disposition=smb2.NEW).close()
    if has_them:
        keeper.wait_broken()
    same(keeper.took(), [(R | H, 0)] if has_them else [], 'a new file took')


if __name__ == '__main__':
    sys.exit(main())
