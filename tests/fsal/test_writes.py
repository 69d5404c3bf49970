#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes and other changes through the door: brackets, and what is durable."""
import os
import stat
import sys

from door import ROOT, TEXT, World, kinds, timed
import nfs3
import nfs4
from fake import ATTRIBUTES, BEGIN, CHANGED, DURABLE, END, HOLD, PLACE, PUNCH, RANGE, SYNC, TRUNCATE, WRITE
from harness import case, expect, main, same
from sandbox import failing, wait_for
from xdr import opaque, u32, u64

PERM, NOTSUPP, NOXATTR = 1, 10004, 10095


@case()
def writes_are_bracketed(args):
    world = World(args, lambda w: w.file('stub'))
    client, fake = world.client, world.fake
    stub = world.fh('stub')
    seen = []

    def begin(request):
        seen.append(world.content('stub')[100:103])
        return fake.do_begin(request)
    fake.on[BEGIN] = begin
    client.write(stub, 100, b'abc')
    begun, = fake.requests(BEGIN)
    ended, = fake.requests(END)
    same((begun.change, begun.offset, begun.length), (WRITE, 100, 3), 'begin')
    same((ended.ref, ended.flags, ended.offset, ended.length), (begun.id, CHANGED, 100, 3), 'end')
    same(seen, [bytes(3)], 'bytes at begin')
    same(client.read(stub, 100, 3)[0], b'abc', 'content')
    same(fake.requests(RANGE), [], 'fetches for what was written')
    same(client.read_all(stub), TEXT[:100] + b'abc' + TEXT[103:], 'content')


@case()
def stable_writes_end_durable(args):
    world = World(args, lambda w: w.file('stub'))
    client, fake = world.client, world.fake
    stub = world.fh('stub')
    client.write(stub, 0, b'a', nfs3.UNSTABLE)
    client.write(stub, 1, b'b', nfs3.DATA_SYNC)
    client.write(stub, 2, b'c', nfs3.FILE_SYNC)
    same([r.flags for r in fake.requests(END)], [CHANGED, CHANGED | DURABLE, CHANGED | DURABLE],
         'flags of the ends')
    same(fake.requests(SYNC), [], 'syncs')
    client.commit(stub)
    same([r.path for r in fake.requests(SYNC)], [world.path('stub')], 'syncs after COMMIT')


@case()
def writes_whose_flush_fails(args):
    """They were to be durable, so they have failed.  From 5 on VFS calls that success."""
    def fill(world):
        world.file('stub')
        world.normal('whole')
    world = World(args, fill)
    client = world.client
    for name in ('stub', 'whole'):
        fh = world.fh(name)
        with failing(world.server.process.pid, 'fsync', 'EIO'):
            for stable in (nfs3.DATA_SYNC, nfs3.FILE_SYNC):
                write = opaque(fh) + u64(0) + u32(1) + u32(stable) + opaque(b'x')
                same(client.once(nfs3.WRITE, write)[0], nfs3.IO, f'{name}: status')
            client.write(fh, 0, b'y', nfs3.UNSTABLE)
        client.write(fh, 0, b'z', nfs3.FILE_SYNC)
    same(world.content('whole'), b'zormal', 'content')


@case()
def brackets_are_made_again(args):
    """The retriever is killed between begin and the answer of end."""
    def fill(world):
        world.file('stub')
        os.mkdir(world.path('dir'))
    world = World(args, fill, hold_ms=20000)
    client, fake = world.client, world.fake
    stub, directory = world.fh('stub'), world.fh('dir')

    def die(request):
        del fake.on[END]
        fake.stop()
        fake.start()
        return HOLD
    changes = [
        (WRITE, lambda: client.write(stub, 5, b'abc', nfs3.FILE_SYNC)),
        (ATTRIBUTES, lambda: client.setattr(stub, mode=0o600)),
        (TRUNCATE, lambda: client.setattr(stub, size=1000)),
        (PLACE, lambda: client.rename(client.root, b'stub', directory, b'moved')),
        (PLACE, lambda: client.link(stub, client.root, b'linked')),
    ]
    for kind, change in changes:
        fake.forget()
        fake.on[END] = die
        change()
        same(kinds(fake.requests(BEGIN)), [kind, kind], f'brackets of kind {kind}')
        same([r.flags & CHANGED for r in fake.requests(END)], [CHANGED] * 2, 'ends')
        same(client.jukebox, 0, 'delays')
    same(client.read_all(stub), TEXT[:5] + b'abc' + TEXT[8:1000], 'content')
    same((os.stat(world.path('dir/moved')).st_mode & 0o777,
          os.stat(world.path('linked')).st_nlink), (0o600, 2), 'mode and links')


@case()
def attributes_are_made_and_removed_once(args):
    """The retriever is killed between begin and the answer of end: what succeeded is not answered as
    if it had been there, or gone, before; also where it then hangs."""
    def fill(world):
        world.file('stub')
        world.normal('normal')
    world = World(args, fill, hold_ms=2000)
    fake, v4 = world.fake, nfs4.Client('127.0.0.1', 2)
    stub = v4.walk('stub')[0]
    try:
        v4.setxattr(v4.walk('normal')[0], 'one', b'1')
    except nfs3.NfsError as error:
        same(error.status, NOTSUPP, 'status')      # FSAL VFS has them since Ganesha 9
        return

    def die(request):
        del fake.on[END]
        fake.stop()
        fake.start()
        return HOLD

    def hang(request):
        fake.do_end(request)
        return HOLD
    for ending, brackets in ((die, 2), (hang, 1)):
        for change in (lambda: v4.setxattr(stub, 'one', b'1', 1),
                       lambda: v4.removexattr(stub, 'one')):
            fake.forget()
            fake.on[END] = ending
            change()
            same(kinds(fake.requests(BEGIN)), [ATTRIBUTES] * brackets, 'brackets')
    fake.on.clear()
    same(v4.listxattrs(stub), [], 'attributes in the end')


@case()
def attributes_of_what_has_none(args):
    """FSAL VFS would open them, and a fifo would never be open."""
    kinds_of = {'fifo': stat.S_IFIFO, 'socket': stat.S_IFSOCK, 'device': stat.S_IFCHR}

    def fill(world):
        for name, kind in kinds_of.items():
            os.mknod(world.path(name), kind | 0o644, os.makedev(1, 3))
        os.symlink('target', world.path('link'))
    World(args, fill)
    v4 = nfs4.Client('127.0.0.1', 2)
    for name in [*kinds_of, 'link']:
        fh = v4.walk(name)[0]
        for what, wanted in ((lambda: v4.listxattrs(fh), []), (lambda: v4.getxattr(fh, 'one'), NOXATTR),
                             (lambda: v4.setxattr(fh, 'one', b'1'), PERM),
                             (lambda: v4.removexattr(fh, 'one'), PERM)):
            try:
                got = what()
            except nfs3.NfsError as error:
                got = error.status
            expect(got in (wanted, NOTSUPP), f'{name}: {got}, not {wanted}')   # VFS has them since Ganesha 9


@case()
def a_write_whose_bracket_does_not_end(args):
    """The retriever hangs: after ten seconds the client is told to come back, and the end is late."""
    world = World(args, lambda w: w.file('stub'), hold_ms=300)
    client, fake = world.client, world.fake
    stub = world.fh('stub')
    fake.on[END] = lambda r: HOLD
    write = opaque(stub) + u64(5) + u32(3) + u32(0) + opaque(b'abc')
    (status, _), seconds = timed(lambda: client.once(nfs3.WRITE, write))
    same(status, nfs3.JUKEBOX, 'status')
    expect(9 < seconds < 60, f'it took {seconds:.1f} s')
    fake.on.clear()
    late, = fake.requests(END)
    fake.reply(late, fake.do_end(late))
    client.write(stub, 5, b'abc', nfs3.FILE_SYNC)
    same(client.read_all(stub), TEXT[:5] + b'abc' + TEXT[8:], 'content')


@case()
def begin_that_comes_too_late_is_ended(args):
    """It was answered DELAY: the bracket is closed without a change."""
    world = World(args, lambda w: w.file('stub'), hold_ms=100)
    client, fake = world.client, world.fake
    stub = world.fh('stub')
    fake.on[BEGIN] = lambda r: HOLD
    changes = [(nfs3.WRITE, opaque(stub) + u64(0) + u32(3) + u32(0) + opaque(b'abc')),
               (nfs3.SETATTR, opaque(stub) + nfs3.sattr(size=0) + u32(0))]
    for proc, body in changes:
        same(client.once(proc, body)[0], nfs3.JUKEBOX, 'status')
    for held in fake.wait(BEGIN, 2):
        fake.reply(held)
    for ended in fake.wait(END, 2):
        same(ended.flags & CHANGED, 0, 'flags')
    same(world.content('stub'), bytes(len(TEXT)), 'bytes')


@case()
def truncating_open_is_bracketed(args):
    """By name and by handle, over v3 and v4; the stub is whole until the bracket is open."""
    def fill(world):
        for n in range(4):
            world.file(f'stub{n}')
    world = World(args, fill)
    client, fake = world.client, world.fake

    def create(name):                   # of a file that the server does not know yet
        client.create(client.root, name, size=0)

    def create_known(name):
        world.fh(name)
        client.create(client.root, name, size=0)

    v4 = nfs4.Client('127.0.0.1', 1)

    def open4(name):                    # OPEN, UNCHECKED, with size 0
        v4.call(u32(nfs4.PUTFH) + opaque(v4.root),
                u32(nfs4.OPEN) + u32(0) + u32(2) + u32(0) + v4.clientid + opaque(b'o') + u32(1) +
                u32(0) + u32(1) + u32(1 << 4) + opaque(u64(0)) + u32(0) + opaque(name.encode()))

    def open4_known(name):
        v4.walk(name)
        open4(name)
    for n, how in enumerate((create, create_known, open4, open4_known)):
        fake.forget()
        how(f'stub{n}')
        begun, = fake.requests(BEGIN)
        same((begun.change, begun.offset, begun.size), (TRUNCATE, 0, len(TEXT)),
             f'{how.__name__}: bracket, size at begin')
        same(os.stat(world.path(f'stub{n}')).st_size, 0, f'{how.__name__}: size')
        same(fake.requests(RANGE), [], f'{how.__name__}: fetches')


@case()
def unlinked_and_open(args):
    """A stub that was removed is read to its end by whoever has it open."""
    world = World(args, lambda w: w.file('stub'), fs='ext4')    # which counts inodes that are free
    client, fake = world.client, world.fake
    v4 = nfs4.Client('127.0.0.1', 1)
    fh, stateid = v4.open(v4.root, b'stub')
    free = os.statvfs(ROOT).f_ffree
    client.remove(client.root, b'stub')
    same(fake.requests(), [], 'requests for REMOVE')
    same(v4.read(fh, 0, 100, stateid)[0], TEXT[:100], 'content')
    same(v4.read_all(fh, stateid), TEXT, 'content')
    expect(fake.requests(RANGE)[0].path.endswith('(deleted)'), 'what was asked for')
    v4.release(fh, stateid)
    wait_for('its space is free', lambda: os.statvfs(ROOT).f_ffree == free + 1)


@case()
def unlinked_while_a_read_waits(args):
    """Nobody has it open but the server, for that read."""
    world = World(args, lambda w: w.file('stub'), hold_ms=20000)
    client, fake = world.client, world.fake
    stub = world.fh('stub')
    files = []

    def hold(request):
        files.append(os.dup(request.fd))
        return HOLD

    fake.on[RANGE] = hold
    pending = client.start(nfs3.READ, client.read_args(stub, 0, 100))
    held, = fake.wait(RANGE)
    world.server.client().remove(client.root, b'stub')
    with open(f'/proc/self/fd/{files[0]}', 'r+b') as file:
        file.write(TEXT)
    os.removexattr(files[0], 'security.migrate')
    os.close(files[0])
    fake.reply(held, 0)
    reply = pending.result(120)
    same(reply.u32(), 0, 'status')
    same(client.read_reply(reply)[0], TEXT[:100], 'content')


@case()
def seek_sees_missing_ranges_as_data(args):
    """NFSv4.2's SEEK, ALLOCATE and DEALLOCATE."""
    def fill(world):
        world.file('stub', bytes(1 << 20))
        stub = world.fake.files[os.stat(world.path('stub')).st_ino]
        stub.missing = [(65536, 131072)]
        world.fake.store(world.path('stub'), stub)
    world = World(args, fill)
    v4 = nfs4.Client('127.0.0.1', 2)
    fh, stateid = v4.open(v4.root, b'stub', 3)

    def seek(offset, what):
        r = v4.call(u32(nfs4.PUTFH) + opaque(fh), u32(69) + stateid + u64(offset) + u32(what))
        r.at += 16
        return r.u32(), r.u64()
    same(seek(0, 0), (0, 65536), 'data from 0')
    same(seek(70000, 0), (0, 70000), 'data from inside')
    same(seek(0, 1), (0, 0), 'hole from 0')
    same(seek(65536, 1), (0, 131072), 'hole from the missing range')
    same(seek(131072, 0)[0], 1, 'end of file after it')
    fake = world.fake
    v4.call(u32(nfs4.PUTFH) + opaque(fh), u32(62) + stateid + u64(65536) + u64(4096))
    v4.call(u32(nfs4.PUTFH) + opaque(fh), u32(59) + stateid + u64(0) + u64(4096))
    same([(r.change, r.offset, r.length) for r in fake.requests(BEGIN)],
         [(PUNCH, 65536, 4096), (ATTRIBUTES, 0, 4096)], 'brackets')


if __name__ == '__main__':
    sys.exit(main())
