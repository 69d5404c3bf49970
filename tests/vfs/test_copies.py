#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Server-side copies of and to unfinished files through smbd."""
import os
import struct
import sys

from data import (brackets, close, copy_chunks, filled, hold_begins, ok, read, resume_key, set_size,
                  stub)
from door import ROOT, TEXT, World, opened, status_is
import smb2
from fake import BEGIN, END, HOLD, RANGE, SYNC, WRITE
from harness import case, expect, main, same
from sandbox import BASE, wait_for

SIZE = len(TEXT)
MIB = 1 << 20
LARGE = b'%08x' * (20 * MIB // 8) % tuple(range(20 * MIB // 8))
IO_ERROR, NOT_FOUND, LOCK_CONFLICT = 0xC0000185, 0xC0000034, 0xC0000054


def fresh(session, name, size=None):
    """A new file's id."""
    fid = opened(session, name, disposition=smb2.OVERWRITE_IF)
    if size:
        ok(set_size(session, fid, size), 'SET_INFO')
    return fid


def copied(reply, total, what):
    ok(reply, what)
    same(struct.unpack('<III', smb2.output(reply))[2], total, f'{what}: bytes written')


def two_stubs(world):
    world.file('stub')
    world.file('other', TEXT[::-1])


@case()
def a_stub_is_copied(args):
    """In one and in several chunks, and not in whole."""
    world = World(args, two_stubs)
    s, fake = world.session(), world.fake
    source, target = opened(s, 'stub'), fresh(s, 'copy')
    _, key = resume_key(s, source)
    copied(copy_chunks(s, key, target, (0, 0, SIZE)), SIZE, 'COPYCHUNK')
    same(read(s, target), TEXT, 'copy')
    copied(copy_chunks(s, key, target, (100, SIZE, 1000), (5, SIZE + 2000, 500),
                       code=smb2.FSCTL_COPYCHUNK), 1500, 'COPYCHUNK')
    same(read(s, target, 0, MIB), TEXT + TEXT[100:1100] + bytes(1000) + TEXT[5:505], 'copy')
    same(len(fake.requests(RANGE)), 1, 'fetches')


@case()
def a_large_stub_is_copied_piece_by_piece(args):
    """Only what is copied is fetched."""
    def fill(world):
        world.file('stub', LARGE)
    world = World(args, fill)
    s, fake = world.session(), world.fake
    source, target = opened(s, 'stub'), fresh(s, 'copy')

    def part(request):                  # and nothing else
        old = stub(world, 'stub')
        with open(request.path, 'r+b') as out:
            os.pwrite(out.fileno(), LARGE[request.offset:request.offset + request.length],
                      request.offset)
        old.missing = [(a, b) for a, b in [(0, request.offset),
                                           (request.offset + request.length, len(LARGE))] if a < b]
        fake.store(request.path, old)
        return 0
    fake.on[RANGE] = part
    _, key = resume_key(s, source)
    same(fake.requests(RANGE), [], 'fetches for a key')
    copied(copy_chunks(s, key, target, (7 * MIB + 10, 0, MIB)), MIB, 'COPYCHUNK')
    asked, = fake.requests(RANGE)
    same((asked.offset, asked.length), (7 * MIB + 10, MIB), 'range')
    same(read(s, target, 0, 2 * MIB), LARGE[7 * MIB + 10:8 * MIB + 10], 'copy')
    # Once it is whole its key goes on being good.
    fake.on.clear()
    same(read(s, source, 0, 100), LARGE[:100], 'content')
    copied(copy_chunks(s, key, target, *[(n * MIB, n * MIB, MIB) for n in range(3)]), 3 * MIB,
           'COPYCHUNK')
    same(read(s, target, 0, 4 * MIB), LARGE[:3 * MIB], 'copy')


@case()
def a_copy_to_a_stub(args):
    """From a normal file and from another stub: in brackets, and nothing more is fetched."""
    def fill(world):
        two_stubs(world)
        world.file('third')
        world.normal('normal', LARGE[:100000])
    world = World(args, fill)
    s, fake = world.session(), world.fake
    _, key = resume_key(s, opened(s, 'normal'))
    target = opened(s, 'stub')
    copied(copy_chunks(s, key, target, (10, 20000, 30000), (0, SIZE - 50, 100)), 30100, 'COPYCHUNK')
    model = TEXT[:20000] + LARGE[10:30010] + TEXT[50000:SIZE - 50] + LARGE[:100]
    same(brackets(fake), [(WRITE, 20000, 30000), (WRITE, SIZE - 50, 100)], 'brackets')
    same(fake.requests(RANGE), [], 'fetches')
    same(filled(world, 'stub'), model, 'what it will be')
    same(read(s, target, 0, MIB), model, 'content')
    _, key = resume_key(s, opened(s, 'other'))
    target = opened(s, 'third')
    copied(copy_chunks(s, key, target, (0, 1000, 5000)), 5000, 'COPYCHUNK')
    model = TEXT[:1000] + TEXT[::-1][:5000] + TEXT[6000:]
    same(filled(world, 'third'), model, 'what it will be')
    same(read(s, target), model, 'content')


@case()
def a_copy_within_a_stub(args):
    def fill(world):
        world.file('stub', LARGE)
    world = World(args, fill)
    s = world.session()
    fid = opened(s, 'stub')
    _, key = resume_key(s, fid)
    copied(copy_chunks(s, key, fid, (100, 5000, 8000)), 8000, 'COPYCHUNK')
    model = LARGE[:5000] + LARGE[100:8100] + LARGE[13000:]
    same(read(s, fid, 0, 65536), model[:65536], 'content')


@case()
def other_requests_go_on(args):
    """While a copy waits for the old server; what is late fails."""
    def fill(world):
        world.file('stub', LARGE)
        world.file('small')
        world.normal('normal')
    world = World(args, fill, hold=3)
    s, fake = world.session(), world.fake
    source, target = opened(s, 'stub'), fresh(s, 'copy', 1000)
    _, key = resume_key(s, source)
    fake.on[RANGE] = lambda r: HOLD
    data = key + struct.pack('<IIQQII', 1, 0, 0, 0, MIB, 0)
    mid, = s.start(smb2.ioctl(target, smb2.FSCTL_COPYCHUNK_WRITE, data))
    fake.wait(RANGE)
    same(read(s, opened(s, 'normal')), b'normal', 'content of a normal file')
    expect(mid not in s.connection.replies, 'it was answered')
    status_is(s.connection.wait(mid), smb2.IO_TIMEOUT, 'COPYCHUNK')
    mid, = s.start(smb2.ioctl(opened(s, 'small'), smb2.FSCTL_RESUME_KEY))
    fake.wait(RANGE, 2)
    same(read(s, opened(s, 'normal')), b'normal', 'content of a normal file')
    status_is(s.connection.wait(mid), smb2.IO_TIMEOUT, 'REQUEST_RESUME_KEY')
    same(read(s, target), bytes(1000), 'target')
    fake.on.clear()
    copied(copy_chunks(s, key, target, (0, 0, MIB)), MIB, 'COPYCHUNK')
    same(read(s, target, 0, 2 * MIB), LARGE[:MIB], 'copy')


@case()
def errors_are_told(args):
    def fill(world):
        world.file('stub', LARGE)
        world.file('small')
        world.file('target')
    world = World(args, fill)
    s, fake = world.session(), world.fake
    source, target = opened(s, 'stub'), fresh(s, 'copy', 1000)
    fake.on[RANGE] = lambda r: -121                     # EREMOTEIO
    status_is(resume_key(s, opened(s, 'small'))[0], IO_ERROR, 'REQUEST_RESUME_KEY')
    _, key = resume_key(s, source)
    status_is(copy_chunks(s, key, target, (0, 0, MIB)), IO_ERROR, 'COPYCHUNK')
    same(read(s, target), bytes(1000), 'target')
    fake.on.clear()
    status_is(copy_chunks(s, key, target, (len(LARGE) - 5, 0, 10)), 0xC000001F, 'beyond the end')
    status_is(copy_chunks(s, key, target, (1 << 63, 0, 10)), 0xC000000D, 'a negative offset')
    status_is(copy_chunks(s, b'\x55' * 24, target, (0, 0, 10)), NOT_FOUND, 'an unknown key')
    status_is(copy_chunks(s, b'\x55' * 24, opened(s, 'target'), (0, 0, 10)), NOT_FOUND,
              'an unknown key, to a stub')
    status_is(copy_chunks(s, key, opened(s, 'target', access=smb2.READ_DATA), (0, 0, 10)),
              0xC0000022, 'a target that is not to be written')
    fake.on[BEGIN] = lambda r: -28
    status_is(copy_chunks(s, key, opened(s, 'target'), (0, 0, 10)), 0xC000007F, 'a full disk')
    fake.on.clear()
    other = world.server.session('bob')
    status_is(copy_chunks(other, key, opened(other, 'copy'), (0, 0, 10)), NOT_FOUND,
              "another one's key")
    other = world.session()
    fid = opened(other, 'stub')
    ok(other.ask(smb2.lock(fid, [(0, 100, smb2.LOCK_EXCLUSIVE | smb2.LOCK_NOW)])), 'LOCK')
    status_is(copy_chunks(s, key, target, (0, 0, MIB)), LOCK_CONFLICT, 'a locked range')
    close(s, source)
    status_is(copy_chunks(s, key, target, (0, 0, MIB)), NOT_FOUND, 'the key of a closed file')


def tree_connect(session, name):
    """Of the same user on the same connection."""
    path, connection = f'\\\\server\\{name}'.encode('utf-16-le'), session.connection
    body = struct.pack('<HHHH', 9, 0, 72, len(path)) + path
    mid, = connection.send([(smb2.TREE_CONNECT, body, 1)], session.number)
    return connection.wait(mid)


def another_share(session, name):
    reply = ok(tree_connect(session, name), f'connect to {name}')
    return smb2.Session(session.connection, session.number, struct.unpack_from('<I', reply.pdu, 36)[0])


@case()
def a_share_without_the_module(args):
    """Gets a small file, which is whole then, and of a large one an error, no holes; and copies
    from it to a stub are made in brackets.  One that shows the volume itself can only come
    later."""
    def fill(world):
        two_stubs(world)
        world.file('large', LARGE)
        os.mkdir(BASE + '/plain', 0o777)
        os.chmod(BASE + '/plain', 0o777)
        with open(BASE + '/plain/file', 'wb') as out:
            out.write(LARGE[:50000])
    world = World(args, fill, start=False)
    world.server.configure({**world.server.shares, 'plain': BASE + '/plain'})
    world.server.start()
    s, fake = world.session(), world.fake
    plain = another_share(s, 'plain')
    target = fresh(plain, 'copy')
    _, key = resume_key(s, opened(s, 'large'))
    status_is(copy_chunks(plain, key, target, (0, 0, SIZE)), NOT_FOUND, 'COPYCHUNK of a large one')
    same(read(plain, target), b'', 'target')
    # What was fetched is whole when its record is gone.
    def fetch(request):
        with open(request.path, 'r+b') as out:
            out.write(TEXT)
        return 0
    fake.on[RANGE], fake.on[SYNC] = fetch, fake.do_range
    _, key = resume_key(s, opened(s, 'stub'))
    fake.on.clear()
    copied(copy_chunks(plain, key, target, (0, 0, SIZE)), SIZE, 'COPYCHUNK')
    same(read(plain, target), TEXT, 'copy')
    _, key = resume_key(plain, opened(plain, 'file'))
    target = opened(s, 'other')
    fake.forget()
    copied(copy_chunks(s, key, target, (10, 20, 30000)), 30000, 'COPYCHUNK')
    same(brackets(fake), [(WRITE, 20, 30000)], 'brackets')
    model = TEXT[::-1][:20] + LARGE[10:30010] + TEXT[::-1][30020:]
    same(read(s, target), model, 'content')
    # It shows holes, but they are not spread by us.
    world.server.configure({**world.server.shares, 'mistake': ROOT})
    world.server.reload()
    wait_for('the share is there', lambda: not tree_connect(s, 'mistake').status)
    mistake = another_share(s, 'mistake')
    _, key = resume_key(mistake, opened(mistake, 'large', access=smb2.READ_DATA))
    for name in ('other', 'fresh'):
        target = opened(s, name, disposition=smb2.OPEN_IF)
        status_is(copy_chunks(s, key, target, (MIB, 0, 1000)), 0xC00000BB, f'COPYCHUNK to {name}')


@case()
def the_retriever_is_killed_in_a_copy(args):
    world = World(args, two_stubs, hold=60)
    s, fake = world.session(), world.fake
    _, key = resume_key(s, opened(s, 'stub'))
    fid = opened(s, 'other')
    fake.on[END] = lambda r: HOLD
    data = key + struct.pack('<IIQQII', 1, 0, 0, 1000, 3000, 0)
    mid, = s.start(smb2.ioctl(fid, smb2.FSCTL_COPYCHUNK_WRITE, data))
    fake.wait(END)
    fake.stop()
    fake.on.clear()
    fake.start()
    copied(s.connection.wait(mid), 3000, 'COPYCHUNK')
    model = TEXT[::-1][:1000] + TEXT[:3000] + TEXT[::-1][4000:]
    same(filled(world, 'other'), model, 'what it will be')
    same(read(s, fid), model, 'content')


@case()
def the_client_leaves(args):
    """In the middle of a copy."""
    def fill(world):
        world.file('stub', LARGE)
        world.file('target')
    world = World(args, fill, hold=5)
    fake = world.fake
    before = len(world.server.processes())
    for op in (RANGE, BEGIN):
        s = world.session()
        _, key = resume_key(s, opened(s, 'stub'))
        fid = opened(s, 'target')
        fake.forget()
        if op == RANGE:
            fake.on[RANGE] = lambda r: HOLD
        else:
            held = hold_begins(fake)
        data = key + struct.pack('<IIQQII', 1, 0, 0, 1000, 3000, 0)
        s.start(smb2.ioctl(fid, smb2.FSCTL_COPYCHUNK_WRITE, data))
        fake.wait(RANGE)
        if op == BEGIN:
            wait_for('it is to begin', lambda: held)
        s.connection.close()
        wait_for('its smbd ends', lambda: len(world.server.processes()) <= before)
        fake.on.clear()
    same(filled(world, 'target'), TEXT, 'what it will be')
    s = world.session()
    same(read(s, opened(s, 'target')), TEXT, 'content')


@case()
def clones(args):
    """FSCTL_DUPLICATE_EXTENTS_TO_FILE, which btrfs has: of a stub and to one it is a copy."""
    def fill(world):
        two_stubs(world)
        world.normal('normal', LARGE[:131072])
    world = World(args, fill, fs='btrfs', stack='migrate streams_xattr acl_xattr btrfs')
    s, fake = world.session(), world.fake

    def clone(source, target, from_offset, to_offset, length):
        return s.ask(smb2.ioctl(target, smb2.FSCTL_DUP_EXTENTS,
                                source + struct.pack('<QQQ', from_offset, to_offset, length)))
    target = fresh(s, 'copy', 131072)
    ok(clone(opened(s, 'normal'), target, 0, 65536, 65536), 'of a normal file')
    model = bytes(65536) + LARGE[:65536]
    same(read(s, target, 0, MIB), model, 'copy')
    ok(clone(opened(s, 'stub'), target, 4096, 8192, 12288), 'of a stub')
    model = model[:8192] + TEXT[4096:16384] + model[20480:]
    same(read(s, target, 0, MIB), model, 'copy')
    target = opened(s, 'other')
    ok(clone(opened(s, 'normal'), target, 0, 4096, 8192), 'to a stub')
    same(brackets(fake), [(WRITE, 4096, 8192)], 'brackets')
    model = TEXT[::-1][:4096] + LARGE[:8192] + TEXT[::-1][12288:]
    same(filled(world, 'other'), model, 'what it will be')
    same(read(s, target, 0, MIB), model, 'content')


if __name__ == '__main__':
    sys.exit(main())
