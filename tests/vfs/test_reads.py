#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads of unfinished files through smbd."""
import calendar
import os
import struct
import sys

from data import allocated, bytes_of, close, ok, partial, read, stub, zero
from door import ROOT, SHARE, SOCKET, TEXT, World, fid_of, opened, status_is
import fake as f
import sandbox
import smb2
import smbd
from fake import CANCEL, HOLD, RANGE
from harness import case, expect, main, same
from sandbox import wait_for

SYNCHRONOUS = {'aio read size': 0, 'aio write size': 0}     # for what is whole


def a_stub(world):
    world.file('stub')


def answers_at_once(world, session):
    """Requests of a client that waits for something else."""
    same(session.ask(smb2.echo()).status, 0, 'ECHO')
    fid = opened(session, 'normal', access=smb2.READ_DATA | smb2.READ_ATTRIBUTES)
    same(read(session, fid), b'normal', 'content of a normal file')
    ok(session.ask(smb2.query_info(fid, smb2.INFO_FILE, 18)), 'QUERY_INFO')
    close(session, fid)


@case()
def missing_ranges_are_fetched(args):
    """As far as they are read; and present ones are read at once."""
    def fill(world):
        partial(world, 'stub', TEXT, (0, 8192))
    world = World(args, fill)
    s, fake = world.session(), world.fake
    fid = opened(s, 'stub')
    same(read(s, fid, 100, 8092), TEXT[100:8192], 'what is here')
    same(fake.requests(), [], 'requests')
    same(read(s, fid, 8191, 2), TEXT[8191:8193], 'what is missing')
    asked, = fake.requests(RANGE)
    same((asked.offset, asked.length), (8191, 2), 'range')
    same(read(s, fid, 0, len(TEXT) + 10), TEXT, 'all of it')
    same(read(s, fid, len(TEXT), 10), b'', 'the end')
    close(s, fid)
    expect(f.is_normal(world.path('stub')), 'it has a record')


@case()
def i4_a_file_whose_record_is_gone(args):
    """An ext4 that has given up shows attributes as the disk has them, which may be none."""
    def fill(world):
        for name in ('stub', 'known'):
            world.file(name)
    world = World(args, fill, fs='ext4')
    s = world.session()
    known, stub = (opened(s, name) for name in ('known', 'stub'))
    same(read(s, known), TEXT, 'content')
    os.removexattr(world.path('stub'), f.XATTR)
    sandbox.find_error(ROOT, abort=True)
    same(smb2.name_of(s.ask(smb2.read(stub, 0, 4096)).status), 'IO_DEVICE_ERROR', 'a read')
    same(read(s, known), TEXT, 'content of what is known to be whole')
    for session in (s, world.session()):        # another process
        reply = session.ask(smb2.create('stub', access=smb2.READ_DATA))
        if not reply.status:
            reply = session.ask(smb2.read(fid_of(reply), 0, 4096))
        same(smb2.name_of(reply.status), 'IO_DEVICE_ERROR', 'an open, or a read')


@case()
def i4_zeros_are_read_again(args):
    """When what is here is durable: they may be a hole in place of what the disk did not take."""
    world = World(args, a_stub)
    s, fake = world.session(), world.fake
    answers = [-5, 0]
    fake.on[RANGE] = lambda r: 0 if not r.flags else answers.pop(0) or fake.do_range(r)
    fid = opened(s, 'stub')
    status_is(s.ask(smb2.read(fid, 0, 4096)), 0xC0000185, 'status')     # IO_DEVICE_ERROR
    same(read(s, fid, 0, len(TEXT)), TEXT, 'content')
    same([r.flags for r in fake.requests(RANGE)], 2 * [0, f.MAKE_DURABLE], 'requests')


@case()
def a_normal_file_is_looked_at_once(args):
    """And nothing is asked for."""
    def fill(world):
        world.normal('normal', TEXT)
    world = World(args, fill)
    s, fake = world.session(), world.fake
    fid = opened(s, 'normal')
    same(read(s, fid), TEXT, 'content')
    # What cannot be is not seen: a normal file is normal for ever (I1).
    f.set_record(world.path('normal'), f.PARTIAL, len(TEXT))
    same(read(s, fid), TEXT, 'content')
    same(fake.requests(), [], 'requests')


@case()
def other_requests_go_on(args):
    """Of the same client, while many reads wait; they are answered in the order of their data."""
    def fill(world):
        a_stub(world)
        world.file('other')
        world.normal('normal')
    world = World(args, fill, hold=60)
    s, fake = world.session(), world.fake
    fids = [opened(s, name) for name in ('stub', 'other')]
    fake.on[RANGE] = lambda r: HOLD
    mids = [s.start(smb2.read(fid, 4096 * n, 4096))[0] for n in range(8) for fid in fids]
    asked = fake.wait(RANGE, 16)
    answers_at_once(world, s)
    same([m for m in mids if m in s.connection.replies], [], 'answers')
    close_mid, = s.start(smb2.close(fids[0]))       # waits for the reads
    answers_at_once(world, s)
    expect(close_mid not in s.connection.replies, 'CLOSE was answered')
    fake.on.clear()
    for request in reversed(asked):
        fake.reply(request, fake.do_range(request))
    for n, mid in enumerate(mids):
        at = 4096 * (n // 2)
        same(bytes_of(s.connection.wait(mid), 'read'), TEXT[at:at + 4096], f'content at {at}')
    ok(s.connection.wait(close_mid), 'CLOSE')
    ok(s.ask(smb2.close(fids[1])), 'CLOSE')


@case()
def a_share_that_may_not_be_searched_any_more(args):
    """What was opened before is read nevertheless, when smbd has been in another share meanwhile."""
    world = World(args, a_stub)
    s, fake = world.session(), world.fake
    fid = opened(s, 'stub')
    fake.on[RANGE] = lambda r: HOLD
    mid, = s.start(smb2.read(fid, 0, len(TEXT)))
    asked, = fake.wait(RANGE, 1)
    status, other = s.connection.session('alice', smbd.PASSWORD, 'IPC$')
    same(status, 0, 'the other share')
    opened(other, 'srvsvc')
    os.chmod(ROOT, 0o700)
    fake.reply(asked, fake.do_range(asked))
    same(bytes_of(s.connection.wait(mid), 'read'), TEXT, 'content')


@case()
def a_late_fetch_fails_that_read(args):
    """With a time-out; the connection lives, the work goes on."""
    def fill(world):
        a_stub(world)
        world.normal('normal')
    world = World(args, fill, hold=3)
    s, fake = world.session(), world.fake
    fid = opened(s, 'stub')
    fake.on[RANGE] = lambda r: HOLD
    status_is(s.ask(smb2.read(fid, 0, 4096)), smb2.IO_TIMEOUT, 'status')
    asked, = fake.wait(RANGE)
    fake.wait(CANCEL)
    status_is(s.compound(smb2.create('stub'), smb2.read(smb2.ANY, 0, 4096),
                         smb2.close(smb2.ANY))[1], smb2.IO_TIMEOUT, 'status in a compound')
    answers_at_once(world, s)
    fake.on.clear()
    fake.reply(asked, fake.do_range(asked))
    fake.forget()
    same(read(s, fid, 0, 4096), TEXT[:4096], 'content')
    same(fake.requests(RANGE), [], 'requests')


@case()
def a_compound_waits(args):
    world = World(args, a_stub)
    s, fake = world.session(), world.fake
    create, part, _ = s.compound(smb2.create('stub'), smb2.read(smb2.ANY, 5, 70000),
                                 smb2.close(smb2.ANY))
    ok(create, 'CREATE')
    same(smb2.output(ok(part, 'READ')), TEXT[5:], 'content')
    same(len(fake.requests(RANGE)), 1, 'requests')


@case()
def settings_that_ask_for_synchronous_reads(args):
    """A failed fetch costs no more than the read, with sendfile too."""
    def fill(world):
        a_stub(world)
        world.normal('normal', TEXT)
    world = World(args, fill, hold=3, settings={**SYNCHRONOUS, 'use sendfile': 'yes'},
                  server_signing='disabled')
    s, fake = world.session(), world.fake
    fid, normal = opened(s, 'stub'), opened(s, 'normal')
    fake.on[RANGE] = lambda r: HOLD
    mid, = s.start(smb2.read(fid, 0, 4096))
    fake.wait(RANGE)
    same(read(s, normal), TEXT, 'content of a normal file')
    status_is(s.connection.wait(mid), smb2.IO_TIMEOUT, 'status')
    fake.on[RANGE] = lambda r: -121                         # EREMOTEIO
    status_is(s.ask(smb2.read(fid, 0, 4096)), 0xC0000185, 'status')     # IO_DEVICE_ERROR
    fake.on.clear()
    same(read(s, fid), TEXT, 'content')
    same(read(s, fid), TEXT, 'content, once more')


@case()
def a_file_that_grows_under_a_read(args):
    """The old server's is longer now, and the record that says so came after the look."""
    world = World(args, a_stub)
    s, fake = world.session(), world.fake
    fid, size = opened(s, 'stub'), len(TEXT)
    more = b'more' * 250

    def grow(request):
        fake.on.clear()
        fake.replace(world.path('stub'), TEXT + more)
        return 0
    fake.on[RANGE] = grow
    same(read(s, fid, size - 10, 500), TEXT[-10:] + more[:490], 'content')
    same(len(fake.requests(RANGE)), 2, 'requests')


@case()
def a_file_that_is_replaced_under_a_read(args):
    """What the look said, or the reply to the fetch, is true of the old version only; where the
    file was short meanwhile, there are holes now."""
    def fill(world):
        a_stub(world)
        partial(world, 'partial', TEXT, (0, 8192))
        partial(world, 'sparse', TEXT, (0, 8192))
    world = World(args, fill)
    s, fake, new = world.session(), world.fake, TEXT[::-1]
    fids = {name: opened(s, name) for name in ('stub', 'partial', 'sparse')}
    ok(s.ask(smb2.ioctl(fids['sparse'], smb2.FSCTL_SET_SPARSE)), 'SET_SPARSE')

    def replace(name):
        fake.replace(world.path(name), b'short')
        fake.replace(world.path(name), new)

    def fetch(request):
        fake.on.clear()
        replace('stub')
        return 0
    fake.on[RANGE] = fetch
    same(read(s, fids['stub'], 0, 4096), new[:4096], 'content of one that was fetched')
    same(read(s, opened(s, 'stub')), new, 'all of it')

    def meanwhile(name, request, nth=1):
        """The reply to a request after whose nth look the file is replaced."""
        with sandbox.stopped_after(world.server.serving(s), 'name_to_handle_at', world.path(name), nth,
                                   lambda: s.start(request)) as mids:
            replace(name)
        return s.connection.wait(mids[0])
    same(bytes_of(meanwhile('partial', smb2.read(fids['partial'], 0, 4096)), 'read'), new[:4096],
         'content of one that was here')
    for nth in (1, 2, 3):
        fake.replace(world.path('sparse'), TEXT, [(8192, len(TEXT))])
        with open(world.path('sparse'), 'r+b') as out:
            out.write(TEXT[:8192])
        ranges = meanwhile('sparse', smb2.ioctl(fids['sparse'], smb2.FSCTL_ALLOCATED_RANGES,
                                                struct.pack('<QQ', 0, 1 << 20)), nth)
        same(smb2.output(ok(ranges, 'allocated ranges')), struct.pack('<QQ', 0, len(new)),
             f'allocated ranges, another file after look {nth}')


@case()
def errors_are_told(args):
    def fill(world):
        for n in range(4):
            world.file(f'stub{n}')
        world.file('damaged')
        f.damage(world.path('damaged'))
    world = World(args, fill)
    s, fake = world.session(), world.fake
    for n, error in enumerate((121, 116, 74, 28)):      # EREMOTEIO, ESTALE, EBADMSG, ENOSPC
        fake.on[RANGE] = lambda r: -error
        status_is(s.ask(smb2.read(opened(s, f'stub{n}'), 0, 10)),
                  0xC000007F if error == 28 else 0xC0000185, f'status for {error}')
    fake.on.clear()
    same(read(s, opened(s, 'stub1')), TEXT, 'content afterwards')
    reply = s.ask(smb2.create('damaged'))
    if not reply.status:
        reply = s.ask(smb2.read(fid_of(reply), 0, 10))
    status_is(reply, 0xC0000185, 'status of a damaged one')


@case()
def the_retriever_comes_back(args):
    """While a read waits."""
    def fill(world):
        a_stub(world)
        world.normal('normal')
    world = World(args, fill, hold=60)
    s, fake = world.session(), world.fake
    fid = opened(s, 'stub')
    fake.on[RANGE] = lambda r: HOLD
    mid, = s.start(smb2.read(fid, 0, 4096))
    fake.wait(RANGE)
    fake.stop()
    answers_at_once(world, s)
    fake.on.clear()
    fake.start()
    same(bytes_of(s.connection.wait(mid), 'read'), TEXT[:4096], 'content')


@case()
def the_client_leaves(args):
    """Its process ends, and cleanly."""
    world = World(args, a_stub, hold=5)
    s, fake = world.session(), world.fake
    before = len(world.server.processes())
    fid = opened(s, 'stub')
    fake.on[RANGE] = lambda r: HOLD
    for n in range(5):
        s.start(smb2.read(fid, 4096 * n, 4096))
    asked = fake.wait(RANGE, 5)
    s.connection.close()
    wait_for('its smbd ends', lambda: len(world.server.processes()) < before)
    fake.on.clear()
    for request in asked:
        fake.reply(request, 0)
    s = world.session()
    same(read(s, opened(s, 'stub')), TEXT, 'content for the next one')


@case()
def unlinked_and_open(args):
    """It is read to its end; and one that is to be deleted on close."""
    def fill(world):
        a_stub(world)
        world.file('doomed')
    world = World(args, fill)
    s = world.session()
    fid = opened(s, 'stub')
    os.unlink(world.path('stub'))
    same(read(s, fid), TEXT, 'content')
    close(s, fid)
    doomed = opened(s, 'doomed', access=smb2.READ_DATA | smb2.DELETE,
                    options=smb2.DELETE_ON_CLOSE)
    same(read(s, doomed), TEXT, 'content')
    close(s, doomed)
    expect(not os.path.exists(world.path('doomed')), 'it is still there')


@case()
def streams_are_here(args):
    """Alternate data streams are no part of what is missing."""
    def fill(world):
        a_stub(world)
        os.setxattr(world.path('stub'), 'user.DosStream.note:$DATA', b'a note\0')
    world = World(args, fill)
    s, fake = world.session(), world.fake
    fid = opened(s, 'stub:note')
    same(read(s, fid), b'a note', 'content')
    same(fake.requests(RANGE), [], 'requests')
    same(read(s, opened(s, 'stub')), TEXT, 'content of the file')


@case()
def missing_ranges_are_allocated(args):
    """And holes are holes, whoever made them."""
    content = TEXT[:40960] + bytes(24576)

    def fill(world):
        partial(world, 'stub', content, (0, 8192))
    world = World(args, fill)
    s = world.session()
    # A hole of the old server's, which was fetched
    old = stub(world, 'stub')
    old.missing = f.without(old.missing, 40960, 65536)
    world.fake.store(world.path('stub'), old)
    fid = opened(s, 'stub')
    same(allocated(s, fid, 0, 1 << 20), [(0, 65536)], 'ranges of one that is not sparse')
    ok(s.ask(smb2.ioctl(fid, smb2.FSCTL_SET_SPARSE)), 'SET_SPARSE')
    same(allocated(s, fid, 0, 1 << 20), [(0, 40960)], 'ranges')
    same(allocated(s, fid, 10000, 100), [(10000, 10100)], 'ranges inside')
    same(allocated(s, fid, 50000, 100), [], 'ranges in the hole')
    ok(zero(s, fid, 16384, 24576), 'ZERO_DATA')
    same(allocated(s, fid, 0, 1 << 20), [(0, 16384), (24576, 40960)], 'ranges with a new hole')
    wanted = content[:16384] + bytes(8192) + content[24576:]
    same(read(s, fid), wanted, 'content')
    same(allocated(s, fid, 0, 1 << 20), [(0, 16384), (24576, 40960)], 'ranges in the end')


@case()
def a_snapshot_shows_no_holes(args):
    """What is missing in it cannot be filled there."""
    snapshot = '@GMT-2020.01.02-03.04.05'

    def fill(world):
        partial(world, 'stub', TEXT, (0, 8192))
        os.mkdir(ROOT + '/.snapshots')
        sandbox.sh('btrfs', 'subvolume', 'snapshot', '-r', ROOT, f'{ROOT}/.snapshots/{snapshot}')
    world = World(args, fill, fs='btrfs', stack='migrate shadow_copy2 streams_xattr acl_xattr',
                  settings={'shadow:snapdir': '.snapshots', 'shadow:basedir': ROOT})
    s, fake = world.session(), world.fake
    seconds = calendar.timegm((2020, 1, 2, 3, 4, 5)) + 11644473600
    then = smb2.context(b'TWrp', struct.pack('<Q', seconds * 10**7))
    reply = s.ask(smb2.create('stub', access=smb2.READ_DATA, blobs=[then]))
    if not reply.status:
        reply = s.ask(smb2.read(fid_of(reply), 0, 65536))
    status_is(reply, 0xC0000185, 'status of a stub')
    same(fake.requests(RANGE), [], 'requests')
    same(read(s, opened(s, 'stub', access=smb2.READ_DATA)), TEXT, 'content now')
    world.server.configure({SHARE: (ROOT + '/.snapshots/' + snapshot, smbd.layer('test', SOCKET))})
    world.server.restart()
    output = world.server.smbclient('get stub -', may_fail=True)
    expect('NT_STATUS' in output and '0123' not in output, f'a snapshot as a share: {output}')


@case()
def reads_do_not_pile_up(args):
    """Whoever asks again and again while nothing can be had costs nothing more each time."""
    world = World(args, a_stub, hold=3)
    s, fake = world.session(), world.fake
    child = world.server.serving(s)
    fid = opened(s, 'stub')
    fake.on[RANGE] = lambda r: HOLD

    def ask():
        for mid in [s.start(smb2.read(fid, 512 * n, 512))[0] for n in range(50)]:
            status_is(s.connection.wait(mid), smb2.IO_TIMEOUT, 'status')
    ask()
    before = len(os.listdir(f'/proc/{child}/fd'))
    ask()
    # Cancelled requests are given back when the retriever says so.
    for held in fake.requests(RANGE):
        fake.reply(held, -125)
    wait_for('descriptors are closed', lambda: len(os.listdir(f'/proc/{child}/fd')) <= before)


if __name__ == '__main__':
    sys.exit(main())
