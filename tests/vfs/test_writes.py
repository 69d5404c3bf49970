#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of unfinished files' data through smbd."""
import os
import struct
import sys

from data import (ALLOCATION_INFORMATION, begins, brackets, close, filled, hold_begins, ok, partial,
                  patched, read, set_size, write, zero)
from door import SHARE, TEXT, World, opened, status_is
import sandbox
import smb2
import smbd
from fake import (ATTRIBUTES, BEGIN, CANCEL, CHANGED, END, HOLD, PUNCH, RANGE, SYNC, TRUNCATE,
                  WRITE)
from harness import case, expect, main, same
from sandbox import wait_for

SIZE = len(TEXT)
NEW = b'new bytes' * 1000


def a_stub(world):
    world.file('stub')


@case()
def writes_across_missing_ranges(args):
    """Nothing is fetched, and what was not written comes later."""
    def fill(world):
        partial(world, 'stub', TEXT, (8192, 16384))
    world = World(args, fill)
    s, fake = world.session(), world.fake
    fid, model = opened(s, 'stub'), TEXT
    for offset in (4000, 16000, SIZE - 100, SIZE + 5000):
        write(s, fid, offset, NEW)
        model = patched(model, offset, NEW)
    same(brackets(fake), [(WRITE, at, len(NEW)) for at in (4000, 16000, SIZE - 100, SIZE + 5000)],
         'brackets')
    same(fake.requests(RANGE), [], 'fetches')
    same(filled(world, 'stub'), model, 'what it will be')
    same(read(s, fid, 0, 1 << 20), model, 'content')


def synchronous_writes(args, **settings):
    def fill(world):
        for n in range(2):
            world.file(f'stub{n}')
    world = World(args, fill, server_signing='disabled', aio_write_size='0', **settings)
    s, fake = world.session(), world.fake
    fid = opened(s, 'stub0')
    write(s, fid, 5000, NEW)
    write(s, fid, SIZE - 10, NEW * 50)
    model = patched(patched(TEXT, 5000, NEW), SIZE - 10, NEW * 50)
    same({kind for kind, _, _ in brackets(fake)}, {WRITE}, 'brackets')
    same(filled(world, 'stub0'), model, 'what it will be')
    same(read(s, fid, 0, 1 << 20), model, 'content')
    # One that cannot be made leaves the connection in order.
    fake.on[BEGIN] = lambda r: -28
    status_is(s.ask(smb2.write(opened(s, 'stub1'), 0, NEW * 300)), 0xC000007F, 'status')
    fake.on.clear()
    same(read(s, opened(s, 'stub1'), 0, 1 << 20), TEXT, 'content of the other')


@case()
def settings_that_ask_for_synchronous_writes(args):
    synchronous_writes(args)


@case()
def writes_by_receivefile(args):
    synchronous_writes(args, min_receivefile_size='4096')


def appends(args, **settings):
    """By SMB3's POSIX extensions, which releases have from 4.22 on: what is written goes to the end,
    once, whatever becomes of the retriever."""
    world = World(args, a_stub, settings={'guest ok': 'yes'}, map_to_guest='bad user',
                  smb3_unix_extensions='yes', **settings)
    s, fake, end = world.session(user='stranger', dialect=smb2.SMB311), world.fake, 2**64 - 1
    fid = opened(s, 'stub', access=smb2.APPEND | smb2.READ_ATTRIBUTES, disposition=smb2.OPEN_IF,
                 blobs=[smb2.context(smb2.POSIX, struct.pack('<I', 0o666))])
    if sandbox.sh('smbd', '--version').split()[1] < '4.22':
        status_is(s.ask(smb2.write(fid, end, NEW)), 0xC000000D, 'status')
        same(brackets(fake), [], 'brackets')
        return
    write(s, fid, end, NEW)

    def changed():                      # of its data
        return [(r.offset, r.length) for r in fake.requests(END) if r.length]
    same(changed(), [(SIZE, len(NEW))], 'what was changed')
    same(brackets(fake), [(WRITE, SIZE, len(NEW))], 'brackets')
    fake.on[END] = lambda r: HOLD
    mid, = s.start(smb2.write(fid, end, NEW))
    wait_for('it is to end', lambda: len(changed()) == 2)
    fake.stop()
    fake.on.clear()
    fake.start()
    ok(s.connection.wait(mid), 'WRITE')
    same(changed(), [(SIZE, len(NEW))] + [(SIZE + len(NEW), len(NEW))] * 2, 'what was changed')
    same(fake.requests(RANGE), [], 'fetches')
    same(filled(world, 'stub'), TEXT + NEW * 2, 'what it will be')


@case()
def appends_to_a_stub(args):
    appends(args)


@case()
def synchronous_appends_to_a_stub(args):
    appends(args, aio_write_size='0')


@case()
def appends_by_receivefile(args):
    appends(args, aio_write_size='0', server_signing='disabled', min_receivefile_size='4096')


@case()
def the_answer_waits_for_the_end(args):
    world = World(args, a_stub)
    s, fake = world.session(), world.fake
    fid = opened(s, 'stub')
    fake.on[END] = lambda r: HOLD
    mid, = s.start(smb2.write(fid, 0, NEW))
    ended, = fake.wait(END)
    same(s.ask(smb2.echo()).status, 0, 'ECHO')
    expect(mid not in s.connection.replies, 'it was answered')
    fake.on.clear()
    fake.reply(ended, fake.do_end(ended))
    ok(s.connection.wait(mid), 'WRITE')


@case()
def the_retriever_is_killed_in_a_write(args):
    """Before it knows of the write; a fill of its successor overwrites half of it."""
    world = World(args, a_stub, hold=60)
    s, fake = world.session(), world.fake
    fid = opened(s, 'stub')
    fake.on[END] = lambda r: HOLD
    mid, = s.start(smb2.write(fid, 1000, NEW))
    fake.wait(END)
    same(world.content('stub')[1000:1000 + len(NEW)], NEW, 'what is in the file')
    fake.stop()
    with open(world.path('stub'), 'r+b') as out:
        out.write(TEXT[:5000])
    fake.on.clear()
    fake.start()
    ok(s.connection.wait(mid), 'WRITE')
    same(len(begins(fake)), 2, 'brackets')
    same(filled(world, 'stub'), patched(TEXT, 1000, NEW), 'what it will be')
    # And before it was begun
    held = hold_begins(fake)
    mid, = s.start(smb2.write(fid, 0, NEW))
    wait_for('it is to begin', lambda: held)
    fake.stop()
    fake.on.clear()
    fake.start()
    ok(s.connection.wait(mid), 'WRITE')
    same(filled(world, 'stub'), patched(patched(TEXT, 1000, NEW), 0, NEW), 'what it will be')


@case()
def a_late_begin_fails_that_write(args):
    """Nothing was written, and the bracket is ended if it is opened after all."""
    world = World(args, a_stub, hold=3)
    s, fake = world.session(), world.fake
    fid = opened(s, 'stub')
    held = hold_begins(fake)
    status_is(s.ask(smb2.write(fid, 0, NEW)), smb2.IO_TIMEOUT, 'status')
    begun, = held
    fake.wait(CANCEL)
    ends = len(fake.requests(END))
    fake.on.clear()
    fake.reply(begun, fake.do_begin(begun))
    ended = fake.wait(END, ends + 1)[-1]
    same((ended.ref, ended.flags & CHANGED), (begun.id, 0), 'END')
    same(world.content('stub'), bytes(SIZE), 'what is in the file')
    write(s, fid, 0, NEW)
    same(read(s, fid, 0, 1 << 20), patched(TEXT, 0, NEW), 'content')


@case()
def a_truncation_does_not_wait_for_its_own_writes(args):
    """Whose brackets open while it waits itself, for the last of them to be closed."""
    world = World(args, a_stub, hold=60)
    s, fake = world.session(), world.fake
    fid, held = opened(s, 'stub'), hold_begins(fake)
    mids = [s.start(smb2.write(fid, 9000 * n, NEW))[0] for n in range(3)]
    wait_for('three are to begin', lambda: len(held) == 3)
    mid, = s.start(smb2.set_info(fid, smb2.INFO_FILE, 20, struct.pack('<Q', 20000)))
    wait_for('four are to begin', lambda: len(held) == 4)
    truncation = held.pop()
    same(truncation.change, TRUNCATE, 'the fourth')
    for request in held:
        fake.reply(request, fake.do_begin(request))
    wait_for('the writes end', lambda: len(brackets(fake)) == 3)
    fake.reply(truncation, fake.do_begin(truncation))
    for number in (*mids, mid):
        ok(s.connection.wait(number), 'answer')
    same(read(s, fid, 0, 1 << 20), (NEW * 3)[:20000], 'content')


@case()
def users_stay_apart(args):
    """One's write is made while smbd acts for another, on the same connection, who waits."""
    def fill(world):
        for name, user in (('stub', 'alice'), ('bobs', 'bob')):
            world.file(name, mode=0o600)
            os.chown(world.path(name), *smbd.USERS[user][:2])
    world = World(args, fill, hold=60)
    alice, fake = world.session(), world.fake
    status, bob = alice.connection.session('bob', smbd.PASSWORD, SHARE)
    same(status, 0, "bob's session")
    fid, bobs = opened(alice, 'stub'), opened(bob, 'bobs')
    held = hold_begins(fake)
    # More than smbd has room for, were users not given back.
    mids = [alice.start(smb2.write(fid, 1000 + n, NEW))[0] for n in range(12)]
    wait_for('writes are to begin', lambda: len(held) == 12)
    mid, = bob.start(smb2.set_info(bobs, smb2.INFO_FILE, 20, struct.pack('<Q', 20000)))
    wait_for('a truncation is to begin', lambda: len(held) == 13)
    truncation = held.pop()
    for request in held:
        fake.reply(request, fake.do_begin(request))
    wait_for('the writes end', lambda: len(brackets(fake)) == 12)
    fake.on.clear()
    fake.reply(truncation, fake.do_begin(truncation))
    ok(bob.connection.wait(mid), 'SET_INFO')
    model = TEXT
    for n, mid in enumerate(mids):
        ok(alice.connection.wait(mid), 'WRITE')
        model = patched(model, 1000 + n, NEW)
    for session, name, wanted in ((alice, 'stub', model), (bob, 'bobs', TEXT[:20000])):
        same(filled(world, name), wanted, f'what {name} will be')
        close(session, opened(session, name + '-new', disposition=smb2.NEW))
        same(os.stat(world.path(name + '-new')).st_uid, os.stat(world.path(name)).st_uid, 'owner')
    status_is(alice.ask(smb2.create('bobs', access=smb2.READ_DATA)), 0xC0000022, "bob's file")
    status_is(bob.ask(smb2.create('stub', access=smb2.READ_DATA)), 0xC0000022, "alice's file")


@case()
def what_follows_a_write_is_its_users(args):
    """smbd sets ATTRIBUTE_ARCHIVE after the answer of a write that had to wait, while another user
    was served."""
    def fill(world):
        world.file('stub', mode=0o600)
        os.chown(world.path('stub'), *smbd.USERS['alice'][:2])
    world = World(args, fill, hold=60)
    alice, fake = world.session(), world.fake
    status, bob = alice.connection.session('bob', smbd.PASSWORD, SHARE)
    same(status, 0, "bob's session")
    fid = opened(alice, 'stub')
    fake.on[END] = lambda r: HOLD
    mid, = alice.start(smb2.write(fid, 1000, NEW))
    ended, = fake.wait(END)
    close(bob, opened(bob, 'new', disposition=smb2.NEW))
    fake.on.clear()
    fake.reply(ended, fake.do_end(ended))
    ok(alice.connection.wait(mid), 'WRITE')
    reply = ok(alice.ask(smb2.query_info(fid, smb2.INFO_FILE, 4)), 'QUERY_INFO')
    attributes, = struct.unpack_from('<I', smb2.output(reply), 32)
    same(attributes & smb2.A_ARCHIVE, smb2.A_ARCHIVE, 'the attribute')


@case()
def the_client_leaves(args):
    """In the middle of writes: before they are begun, and before they are ended."""
    world = World(args, a_stub, hold=2)
    fake, model = world.fake, TEXT
    before = len(world.server.processes())
    for op in (BEGIN, END):
        s = world.session()
        fid = opened(s, 'stub')
        fake.forget()
        fake.on[op] = lambda r: HOLD
        for n in range(3):
            s.start(smb2.write(fid, 20000 * n, NEW))
        held = fake.wait(op, 3)
        s.connection.close()
        wait_for('its smbd ends', lambda: len(world.server.processes()) <= before)
        fake.on.clear()
        for request in held:
            # What the door does not wait for any more is ended when its connection is lost.
            if op == BEGIN:
                fake.reply(request, 0)
            else:
                fake.do_end(request)
                model = patched(model, fake.requests(BEGIN)[held.index(request)].offset, NEW)
        same(filled(world, 'stub'), model, f'what it will be after {op}')
    s = world.session()
    same(read(s, opened(s, 'stub'), 0, 1 << 20), model, 'content')


@case()
def flushes_reach_the_record(args):
    """And stable writes; a flush that cannot be had is an error."""
    world = World(args, a_stub, hold=3)
    s, fake = world.session(), world.fake
    fid = opened(s, 'stub')
    write(s, fid, 0, NEW)
    same(fake.requests(SYNC), [], 'flushes of a plain write')
    ok(s.ask(smb2.flush(fid)), 'FLUSH')
    same(len(fake.requests(SYNC)), 1, 'flushes')
    write(s, fid, 0, NEW, flags=1)
    same(len(fake.requests(SYNC)), 2, 'flushes of a stable write')
    for error, status in ((5, 0xC0000185), (28, 0xC000007F)):
        fake.on[SYNC] = lambda r: -error
        status_is(s.ask(smb2.flush(fid)), status, f'FLUSH with error {error}')
        status_is(s.ask(smb2.write(fid, 0, NEW, 1)), status, f'stable write with error {error}')
    fake.on[SYNC] = lambda r: HOLD
    status_is(s.ask(smb2.flush(fid)), smb2.IO_TIMEOUT, 'FLUSH that takes too long')
    fake.on.clear()
    same(read(s, fid, 0, 1 << 20), patched(TEXT, 0, NEW), 'content')
    fake.forget()
    ok(s.ask(smb2.flush(fid)), 'FLUSH of a normal file')
    same(fake.requests(), [], 'requests')


@case()
def sizes_change_in_brackets(args):
    """Set, and by opening."""
    def fill(world):
        for name in ('stub', 'overwritten', 'superseded', 'shrunk'):
            world.file(name)
    world = World(args, fill)
    s, fake = world.session(), world.fake
    fid = opened(s, 'stub')
    for size in (30000, 50000):
        ok(set_size(s, fid, size), 'SET_INFO')
    same(brackets(fake), [(TRUNCATE, 30000, 0), (TRUNCATE, 50000, 0)], 'brackets')
    model = TEXT[:30000] + bytes(20000)
    same(filled(world, 'stub'), model, 'what it will be')
    same(read(s, fid, 0, 1 << 20), model, 'content')
    for name, how in (('overwritten', smb2.OVERWRITE), ('superseded', smb2.SUPERSEDE)):
        fake.forget()
        fid = opened(s, name, disposition=how)
        expect((TRUNCATE, 0, 0) in brackets(fake), f'no bracket: {brackets(fake)}')
        write(s, fid, 10, b'x')
        same(read(s, fid), bytes(10) + b'x', f'content of {name}')
        same(fake.requests(RANGE), [], 'fetches')
        close(s, fid)
    fid = opened(s, 'shrunk')
    ok(set_size(s, fid, 1000, ALLOCATION_INFORMATION), 'SET_INFO')
    same(read(s, fid), TEXT[:1000], 'content')


@case()
def a_killed_retriever_and_a_truncation(args):
    world = World(args, a_stub, hold=60)
    s, fake = world.session(), world.fake
    fid = opened(s, 'stub')
    fake.on[END] = lambda r: HOLD
    mid, = s.start(smb2.set_info(fid, smb2.INFO_FILE, 20, struct.pack('<Q', 1000)))
    fake.wait(END)
    fake.stop()
    fake.on.clear()
    fake.start()
    ok(s.connection.wait(mid), 'SET_INFO')
    same(len(begins(fake)), 2, 'brackets')
    same(read(s, fid), TEXT[:1000], 'content')


@case()
def zeros_are_the_clients(args):
    world = World(args, a_stub)
    s, fake = world.session(), world.fake
    fid, model = opened(s, 'stub'), TEXT
    for start, end in ((5000, 5010), (12288, 20480), (60000, 100000)):
        ok(zero(s, fid, start, end), 'ZERO_DATA')
        model = model[:start] + bytes(min(end, SIZE) - start) + model[min(end, SIZE):]
    same([kind for kind, _, _ in brackets(fake)], [PUNCH] * 3, 'brackets')
    same(fake.requests(RANGE), [], 'fetches')
    same(filled(world, 'stub'), model, 'what it will be')
    same(read(s, fid, 0, 1 << 20), model, 'content')


@case()
def space_is_allocated(args):
    """Where vfs_default calls its own module stack in the middle of a truncation."""
    world = World(args, a_stub, hold=60, settings={'strict allocate': 'yes'})
    s, fake = world.session(), world.fake
    fid, model, nested = opened(s, 'stub'), TEXT, []

    def begin(request):
        nested.extend(request.change for _ in fake.brackets)
        return fake.do_begin(request)
    fake.on[BEGIN] = begin
    ok(set_size(s, fid, SIZE, ALLOCATION_INFORMATION), 'SET_INFO')
    ok(set_size(s, fid, 200000, ALLOCATION_INFORMATION), 'SET_INFO')
    ok(set_size(s, fid, 100000), 'SET_INFO')
    write(s, fid, 150000, NEW)
    ok(zero(s, fid, 1000, 9000), 'ZERO_DATA')
    model = patched(TEXT, 150000, NEW)
    model = model[:1000] + bytes(8000) + model[9000:]
    same(nested, [], 'brackets in brackets, which would wait for each other')
    expect({kind for kind, _, _ in brackets(fake)} <= {ATTRIBUTES, TRUNCATE, WRITE, PUNCH},
           'brackets')
    same(filled(world, 'stub'), model, 'what it will be')
    same(read(s, fid, 0, 1 << 20), model, 'content')


@case()
def a_full_disk(args):
    """What could not be written is what it was."""
    content = os.urandom(1 << 20)

    def fill(world):
        world.file('stub', content)
        with open(world.path('ballast'), 'wb') as out:
            st = os.statvfs(world.path(''))
            os.posix_fallocate(out.fileno(), 0, st.f_bavail * st.f_frsize - (512 << 10))
    world = World(args, fill)
    s, fake = world.session(), world.fake
    fid = opened(s, 'stub')
    status_is(s.ask(smb2.write(fid, 0, b'x' * (1 << 20))), 0xC000007F, 'status')
    os.unlink(world.path('ballast'))
    same(filled(world, 'stub'), content, 'what it will be')
    same(read(s, fid, 0, 1 << 20), content, 'content')


@case()
def a_normal_file_needs_no_brackets(args):
    def fill(world):
        world.normal('normal', TEXT)
    world = World(args, fill)
    s, fake = world.session(), world.fake
    fid = opened(s, 'normal')
    write(s, fid, 100, NEW, flags=1)
    ok(zero(s, fid, 0, 50), 'ZERO_DATA')
    ok(set_size(s, fid, 20000), 'SET_INFO')
    ok(s.ask(smb2.flush(fid)), 'FLUSH')
    same(fake.requests(), [], 'requests')
    same(read(s, fid), (bytes(50) + patched(TEXT, 100, NEW)[50:])[:20000], 'content')


if __name__ == '__main__':
    sys.exit(main())
