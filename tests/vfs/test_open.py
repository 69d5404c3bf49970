#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Opens that wait for what is not here yet."""
import os
import struct
import sys

from door import (FILES, LIST, TEXT, World, asked, content, fid_of, listing, nested, open_status,
                  opened, status_is, unfilled)
import fake as f
import sandbox
import smb2
from fake import FILL, HOLD, NAME
from harness import case, main, same
from sandbox import wait_for

END_OF_FILE = 20
DENIED, CANCELLED, GONE = 0xC0000022, 0xC0000120, 0xC0000034
REMOTEIO, EAGAIN = -121, -11
PERSISTENT_HANDLES, PERSISTENT = 0x10, 2            # a capability, a flag


# ---- who waits --------------------------------------------------------------------------------

@case()
def a_new_file_waits_for_all_names(args):
    """I6"""
    world = World(args, unfilled, settings={'case sensitive': 'yes'})
    session = world.session()
    world.fake.on[FILL] = lambda request: HOLD
    mid, = session.start(smb2.create('dir\\new', disposition=smb2.NEW))
    request, = world.fake.wait(FILL)
    status_is(session.ask(smb2.echo()), smb2.SUCCESS, 'ECHO')
    world.fake.do_fill(request)
    world.fake.reply(request)
    session.ask(smb2.close(fid_of(status_is(session.connection.wait(mid), smb2.SUCCESS, 'new'))))
    same(asked(world, FILL), [(FILL, b'')], 'requests')
    same(sorted(os.listdir(world.path('dir'))), sorted(FILES + ['new']), 'names on disk')
    same(open_status(session, 'dir\\file1', disposition=smb2.NEW), 'OBJECT_NAME_COLLISION', 'NEW')


@case()
def attributes_do_not_fill(args):
    """Who opens a directory for its attributes alone does not wait."""
    world = World(args, unfilled)
    session = world.session()
    world.fake.on[FILL] = lambda request: HOLD
    fid = opened(session, 'dir', access=smb2.READ_ATTRIBUTES)
    reply = session.ask(smb2.query_info(fid, smb2.INFO_FILE, 4))
    status_is(reply, smb2.SUCCESS, 'basic information')
    same(asked(world), [], 'requests')


@case()
def others_are_served_meanwhile(args):
    def fill(world):
        unfilled(world)
        world.normal('normal')
    world = World(args, fill)
    session = world.session()
    world.fake.on[FILL] = lambda request: HOLD
    first, = session.start(smb2.create('dir', **LIST))
    second, = session.start(smb2.create('dir', **LIST))
    compound = session.start(smb2.create('dir', **LIST), smb2.query_directory(smb2.ANY, 12),
                             smb2.close(smb2.ANY))
    requests = world.fake.wait(FILL, 3)
    same(content(session, 'normal'), b'normal', 'another file')
    status_is(session.ask(smb2.echo()), smb2.SUCCESS, 'ECHO')
    same(set(session.connection.replies), set(), 'answered by now')
    world.fake.do_fill(requests[0])
    for request in requests:
        world.fake.reply(request)
    for mid in (first, second):
        fid = fid_of(status_is(session.connection.wait(mid), smb2.SUCCESS, 'open'))
        reply = status_is(session.ask(smb2.query_directory(fid, 12)), smb2.SUCCESS, 'list')
        same(smb2.output(reply).count('file'.encode('utf-16-le')), 20, 'names')
    replies = [session.connection.wait(mid) for mid in compound]
    same([r.status for r in replies], [0, 0, 0], 'statuses of the compound')
    same(smb2.output(replies[1]).count('file'.encode('utf-16-le')), 20, 'names in the compound')


@case()
def hold_time(args):
    """What takes longer fails with a time-out, and is there later."""
    def fill(world):
        nested(world)
        unfilled(world)
    world = World(args, fill, hold=3)
    session = world.session()
    world.fake.on[FILL] = world.fake.on[NAME] = lambda request: HOLD
    status_is(session.ask(smb2.create('dir', **LIST)), smb2.IO_TIMEOUT, 'the directory')
    status_is(session.ask(smb2.create('dir\\file1')), smb2.IO_TIMEOUT, 'a file')
    # smbd itself would say that there is no such path.
    status_is(session.ask(smb2.create('a\\b\\c')), DENIED, 'a directory on the way')
    same(open_status(session, 'A', access=smb2.READ_ATTRIBUTES), 'SUCCESS', 'what is here')
    world.fake.on.clear()
    same(listing(session, 'dir'), FILES, 'names')
    same(content(session, 'a\\b\\c\\file'), b'deep', 'content')


@case()
def errors_are_not_absence(args):
    def fill(world):
        nested(world)
        unfilled(world)
    world = World(args, fill)
    session = world.session()
    world.fake.on[FILL] = world.fake.on[NAME] = lambda request: REMOTEIO
    same(open_status(session, 'dir', **LIST), 'IO_DEVICE_ERROR', 'the directory')
    same(open_status(session, 'dir\\file1'), 'IO_DEVICE_ERROR', 'a file')
    same(open_status(session, 'a\\b\\c'), 'ACCESS_DENIED', 'a directory on the way')
    # No name in this case: all of them decide.
    world.fake.on[NAME] = lambda request: -2
    same(open_status(session, 'dir\\file1', disposition=smb2.OPEN_IF), 'IO_DEVICE_ERROR',
         'a new one')
    same(open_status(session, 'a\\b\\c'), 'ACCESS_DENIED', 'a directory on the way')
    world.fake.on.clear()
    same(content(session, 'dir\\file1'), b'content of file1', 'content')


@case()
def not_yet_is_asked_again(args):
    world = World(args, unfilled)
    session = world.session()

    def later(op, usual):
        def answer(request):
            count = sum(r.op == op for r in world.fake.requests())
            return usual(request) if count >= 2 else EAGAIN
        return answer
    world.fake.on[NAME] = later(NAME, world.fake.do_name)
    world.fake.on[FILL] = later(FILL, world.fake.do_fill)
    same(content(session, 'dir\\file3'), b'content of file3', 'content')
    same(listing(session, 'dir'), FILES, 'names')
    same([op for op, _ in asked(world)], [NAME] * 3 + [FILL] * 3, 'requests')


# ---- what comes between -----------------------------------------------------------------------

@case()
def retriever_killed(args):
    """Its successor is asked again, by what waits and by what is deferred."""
    world = World(args, unfilled)
    first, second = world.session(), world.session()
    world.fake.on[FILL] = world.fake.on[NAME] = lambda request: HOLD
    listed, = first.start(smb2.create('dir', **LIST))
    found, = second.start(smb2.create('dir\\file3'))
    world.fake.wait(FILL)
    world.fake.wait(NAME)
    world.fake.stop()
    world.fake.on.clear()
    world.fake.start()
    status_is(first.connection.wait(listed), smb2.SUCCESS, 'the directory')
    status_is(second.connection.wait(found), smb2.SUCCESS, 'the file')


@case()
def cancelled(args):
    world = World(args, unfilled, hold=60)
    session = world.session()
    world.fake.on[FILL] = lambda request: HOLD
    mid, = session.start(smb2.create('dir', **LIST))
    world.fake.wait(FILL)
    wait_for('the open is pending', lambda: (session.connection.pump(0.1),
                                             mid in session.connection.pending)[1])
    session.connection.cancel(mid, session.number)
    status_is(session.connection.wait(mid), CANCELLED, 'the open')
    world.fake.wait(f.CANCEL)
    world.fake.reply(world.fake.requests(FILL)[0])      # too late
    world.fake.on.clear()
    same(listing(session, 'dir'), FILES, 'names')


@case()
def connection_dropped(args):
    """While an open is deferred, and while a lookup waits."""
    world = World(args, unfilled, hold=3)
    before = len(world.server.processes())
    world.fake.on[FILL] = world.fake.on[NAME] = lambda request: HOLD
    first, second = world.session(), world.session()
    first.start(smb2.create('dir', **LIST))
    second.start(smb2.create('dir\\file3'))
    world.fake.wait(FILL)
    request, = world.fake.wait(NAME)
    first.connection.close()
    second.connection.close()
    world.fake.wait(f.CANCEL)
    world.fake.reply(request, -2)
    wait_for('their processes end', lambda: len(world.server.processes()) <= before)
    world.fake.on.clear()
    same(listing(world.session(), 'dir'), FILES, 'names')


@case()
def disconnected_meanwhile(args):
    """The share goes while an open is deferred, and while one pauses before it asks again."""
    world = World(args, unfilled, hold=4)
    for answer in (HOLD, EAGAIN):
        session = world.session()
        world.fake.forget()
        world.fake.on[FILL] = lambda request, answer=answer: answer
        session.start(smb2.create('dir', **LIST))
        world.fake.wait(FILL)
        reply = session.ask((smb2.TREE_DISCONNECT, struct.pack('<HH', 4, 0), 1))
        status_is(reply, smb2.SUCCESS, 'TREE_DISCONNECT')
        status_is(session.connection.wait(session.connection.send([smb2.echo()])[0]), smb2.SUCCESS,
                  'ECHO')
    session.connection.close()
    world.fake.on.clear()
    same(listing(world.session(), 'dir'), FILES, 'names')


# ---- what is opened ---------------------------------------------------------------------------

@case()
def durable_handles_of_whole_files_only(args):
    def fill(world):
        world.file('stub')
        world.normal('normal')
    world = World(args, fill, settings={'kernel oplocks': 'no', 'kernel share modes': 'no',
                                        'posix locking': 'no', 'durable handles': 'yes'})
    session = world.session()
    blob = smb2.context(b'DHnQ', bytes(16))
    for name, wanted in (('normal', True), ('stub', False)):
        reply = session.ask(smb2.create(name, oplock=smb2.OPLOCK_BATCH, blobs=[blob]))
        status_is(reply, smb2.SUCCESS, name)
        at, length = struct.unpack_from('<II', reply.body, 80)
        given = b'DHnQ' in smb2.read_contexts(reply.buffer(at, length))
        same(given, wanted, f'{name} is durable')


@case()
def persistent_handles_of_what_is_whole(args):
    """Of releases that have them, where they are switched on: who comes back to a file or a
    directory is let in, and what had none is not left open for nobody."""
    def fill(world):
        world.file('stub')
        world.normal('normal')
        unfilled(world, 'unfilled')
        os.mkdir(world.path('empty'))
        os.chmod(world.path('empty'), 0o777)
    has_them = sandbox.sh('smbd', '--version').split()[1] >= '4.25'
    world = World(args, fill, settings={'kernel oplocks': 'no', 'kernel share modes': 'no',
                                        'posix locking': 'no', 'durable handles': 'yes',
                                        **({'continuous availability': 'yes'} if has_them else {})},
                  **({'persistent_handles': 'yes'} if has_them else {}))
    session = world.session(capabilities=PERSISTENT_HANDLES)
    fids, names = {}, {'normal': has_them, 'empty': has_them, 'stub': False, 'unfilled': False}
    for name, wanted in names.items():
        guid = name.ljust(16).encode()
        asked_for = smb2.context(b'DH2Q', struct.pack('<IIQ16s', 0, PERSISTENT, 0, guid))
        reply = session.ask(smb2.create(name, access=smb2.READ_DATA, share=0, blobs=[asked_for]))
        fids[name] = fid_of(status_is(reply, smb2.SUCCESS, name))
        at, length = struct.unpack_from('<II', reply.body, 80)
        given = smb2.read_contexts(reply.buffer(at, length)).get(b'DH2Q', bytes(8))
        same(struct.unpack('<II', given)[1], PERSISTENT if wanted else 0, f'{name} is persistent')
    session.connection.close()
    session = world.session(capabilities=PERSISTENT_HANDLES)
    for name, wanted in names.items():
        guid = name.ljust(16).encode()
        back = smb2.context(b'DH2C', fids[name] + struct.pack('<16sI', guid, PERSISTENT))
        reply = session.ask(smb2.create(name, blobs=[back]))
        status_is(reply, smb2.SUCCESS if wanted else GONE, f'{name} again')
        if wanted:
            session.ask(smb2.close(fid_of(reply)))
        wait_for(f'{name} is closed',
                 lambda name=name: open_status(session, name, share=0) == 'SUCCESS')
    same(content(session, 'stub'), TEXT, 'content')


@case()
def a_directory_without_a_descriptor(args):
    """Who may not list it but has it open sets its size.  That reopens it, in vain, after which the
    host goes by the name."""
    def fill(world):
        world.fake.directory(world.path('dir'), [])
        os.chmod(world.path('dir'), 0o000)
    world = World(args, fill, settings={'acl_xattr:ignore system acls': 'yes'})
    session = world.session(user='alice')
    fid = fid_of(session.ask(smb2.create('dir', smb2.MAXIMUM, options=smb2.DIRECTORY_FILE)))
    for size in (10000, 20000, 30000):
        reply = session.ask(smb2.set_info(fid, smb2.INFO_FILE, END_OF_FILE,
                                          struct.pack('<Q', size)))
        status_is(reply, DENIED, f'size {size}')


if __name__ == '__main__':
    sys.exit(main())
