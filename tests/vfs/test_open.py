#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Opening, looking up and listing what is not here yet."""
import os
import struct
import sys

from door import (CTIME, MTIME, ROOT, SHARE, SOCKET, World, content, fid_of, listing, open_status,
                  opened, status_is, subdirectory, unfilled)
import fake as f
import sandbox
import smb2
import smbd
from fake import DUMMY, FILL, FILLED, HOLD, NAME
from harness import case, expect, main, same
from sandbox import wait_for

END_OF_FILE = 20
DENIED, CANCELLED, REMOTEIO, EAGAIN = 0xC0000022, 0xC0000120, -121, -11
LIST = dict(access=smb2.READ_DATA, options=smb2.DIRECTORY_FILE)
FILES = sorted(f'file{n}' for n in range(20))


def asked(world, *ops):
    return [(r.op, r.text) for r in world.fake.requests() if r.op in (ops or (NAME, FILL))]


def nested(world, top='a'):
    """a/b/c/file, all unfilled."""
    def file(path):
        world.fake.file(path, b'deep', mode=0o666)

    def c(path):
        subdirectory(world, path, [('file', file)])

    def b(path):
        subdirectory(world, path, [('c', c)])
    subdirectory(world, world.path(top), [('b', b)])


# ---- what is found -------------------------------------------------------------------------------

@case()
def lists_an_unfilled_directory(args):
    world = World(args, unfilled)
    session = world.session()
    same(listing(session, 'dir'), FILES, 'names')
    same(asked(world), [(FILL, b'')], 'requests')
    same(content(session, 'dir\\file7'), b'content of file7', 'content')
    same(listing(session, 'dir'), FILES, 'names again')
    same(asked(world), [(FILL, b'')], 'requests in the end')


@case()
def opens_a_file_by_one_name(args):
    world = World(args, unfilled)
    session = world.session()
    same(content(session, 'dir\\file3'), b'content of file3', 'content')
    same(asked(world), [(NAME, b'file3')], 'requests')
    same(os.listdir(world.path('dir')), ['file3'], 'names on disk')
    same(content(session, 'dir\\file3'), b'content of file3', 'content again')
    same(asked(world), [(NAME, b'file3')], 'a name that is here is not asked for')


@case()
def every_level_is_asked_for_one_name(args):
    world = World(args, nested)
    same(content(world.session(), 'a\\b\\c\\file'), b'deep', 'content')
    same(asked(world), [(NAME, b'b'), (NAME, b'c'), (NAME, b'file')], 'requests')


@case()
def one_handle_for_many_directories(args):
    """smbd walks with two handles, so that what is known of one directory is not of the third."""
    def fill(world):
        os.makedirs(world.path('n/m'))
        nested(world, 'n/m/a')
    world = World(args, fill)
    same(content(world.session(), 'n\\m\\a\\b\\c\\file'), b'deep', 'content')
    same(asked(world), [(NAME, b'b'), (NAME, b'c'), (NAME, b'file')], 'requests')


@case()
def what_is_not_there(args):
    """No name in any case: that takes all names."""
    world = World(args, unfilled)
    session = world.session()
    same(open_status(session, 'dir\\none'), 'OBJECT_NAME_NOT_FOUND', 'open')
    same(asked(world), [(NAME, b'none'), (FILL, b'')], 'requests')
    world.fake.forget()
    same(open_status(session, 'dir\\none'), 'OBJECT_NAME_NOT_FOUND', 'open again')
    same(open_status(session, 'dir\\none\\none'), 'OBJECT_PATH_NOT_FOUND', 'open below')
    same(asked(world), [], 'requests of a filled directory')


@case()
def another_case(args):
    world = World(args, nested)
    same(content(world.session(), 'A\\B\\C\\FILE'), b'deep', 'content')
    same([op for op, _ in asked(world)].count(FILL), 3, 'fills')


@case()
def times_in_listings(args):
    """The record's, while a fill changes the inode's (I8)."""
    def fill(world):
        for name in ('stub', 'dir'):
            if name == 'stub':
                world.file(name, mtime=MTIME, ctime=CTIME)
            else:
                world.fake.directory(world.path(name), mtime=MTIME, ctime=CTIME)
            os.utime(world.path(name), ns=(MTIME, MTIME + 10**12))
    # The host takes what readdir says beside the name only with this.
    session = World(args, fill, settings={'smbd async dosmode': 'yes'}).session()
    fid = opened(session, '', **LIST)
    reply = session.ask(smb2.query_directory(fid, 37))      # FileIdBothDirectoryInformation
    found = {}
    for entry in smb2.entries(smb2.output(reply)):
        written, = struct.unpack_from('<Q', entry, 24)
        length, = struct.unpack_from('<I', entry, 60)
        found[entry[104:104 + length].decode('utf-16-le')] = written
    for name in ('stub', 'dir'):
        same(found[name], MTIME // 100 + 116444736000000000, f'when {name} was written')


@case()
def times_are_not_rounded(args):
    """To seconds, as the host does where it finds no parts of them in the times of the root."""
    def fill(world):
        world.file('stub', mtime=MTIME, ctime=CTIME)
        f.set_record(ROOT, FILLED, 0, 10**18, 10**18)
        os.utime(ROOT, ns=(10**18, 10**18))
    session = World(args, fill).session()
    fid = opened(session, 'stub')
    reply = session.ask(smb2.query_info(fid, smb2.INFO_FILE, 4))    # FileBasicInformation
    written, = struct.unpack_from('<Q', smb2.output(reply), 16)
    same(written, MTIME // 100 + 116444736000000000, 'when it was written')


@case()
def case_sensitive(args):
    world = World(args, unfilled, settings={'case sensitive': 'yes'})
    session = world.session()
    same(open_status(session, 'dir\\FILE3'), 'OBJECT_NAME_NOT_FOUND', 'open')
    same(open_status(session, 'dir\\file3'), 'SUCCESS', 'open')
    same(asked(world), [(NAME, b'FILE3'), (NAME, b'file3')], 'requests')


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
def dummies_are_never_shown(args):
    def fill(world):
        unfilled(world)
        for name in ('file3', 'file4'):
            with open(world.path(f'dir/{name}'), 'wb'):
                os.chmod(world.path(f'dir/{name}'), 0)
            f.set_record(world.path(f'dir/{name}'), DUMMY)
    world = World(args, fill)
    session = world.session()
    world.fake.on[NAME] = lambda request: HOLD if request.text == b'file4' else exchange(world,
                                                                                        request)
    same(content(session, 'dir\\file3'), b'content of file3', 'content')
    same(asked(world), [(NAME, b'file3')], 'requests')
    mid, = session.start(smb2.create('dir\\file4'))
    held, = [r for r in world.fake.wait(NAME, 2) if r.text == b'file4']
    exchange(world, held)
    world.fake.reply(held)
    reply = session.connection.wait(mid)
    same(struct.unpack_from('<Q', reply.body, 48)[0], 16, 'size')


def exchange(world, request):
    name = request.text.decode()
    path = world.path(f'dir/{name}')
    if os.path.exists(path):
        os.unlink(path)
    world.fake.make_entries(world.path('dir'), [name])
    return 0


# ---- symbolic links ---------------------------------------------------------------------------

@case()
def links_lead_to_what_is_not_here(args):
    def fill(world):
        nested(world)
        os.symlink('a/b/c/file', world.path('to-file'))
        os.symlink('a/b', world.path('to-dir'))
        os.symlink(ROOT + '/to-dir/c', world.path('absolute'))
        os.symlink('loop', world.path('loop'))
        os.symlink('/etc/passwd', world.path('out'))
    world = World(args, fill)
    session = world.session()
    same(content(session, 'to-file'), b'deep', 'the file')
    same(asked(world), [(NAME, b'b'), (NAME, b'c'), (NAME, b'file')], 'requests')
    same(content(session, 'to-dir\\c\\file'), b'deep', 'below a directory')
    same(content(session, 'absolute\\file'), b'deep', 'below another')
    expect(open_status(session, 'loop') != 'SUCCESS', 'a loop is opened')
    expect(open_status(session, 'out') != 'SUCCESS', 'what is outside is opened')


@case()
def links_are_listed(args):
    """With what they lead to."""
    def fill(world):
        unfilled(world)
        for n in range(20):
            os.symlink(f'dir/file{n}', world.path(f'link{n}'))
    world = World(args, fill, hold=2)
    same(len(listing(world.session(), '', 'link*')), 20, 'links')


@case()
def links_of_a_stalled_server(args):
    """Not each of them costs the hold time."""
    def fill(world):
        unfilled(world)
        for n in range(100):
            os.symlink(f'dir/file{n % 20}', world.path(f'link{n}'))
    world = World(args, fill, hold=2)
    session = world.session(timeout=30)         # 200 s, if each was waited for
    world.fake.on[NAME] = lambda request: HOLD
    listing(session)
    world.fake.wait(NAME, 100)


# ---- the private directory --------------------------------------------------------------------

@case()
def dummies_on_the_way(args):
    """Each is a file, whatever it stands for."""
    def fill(world):
        nested(world)
        with open(world.path('a/b'), 'wb'):
            os.chmod(world.path('a/b'), 0)
        f.set_record(world.path('a/b'), DUMMY)
    world = World(args, fill)

    def name(request):
        if request.text == b'b':
            os.unlink(world.path('a/b'))
        return world.fake.do_name(request)
    world.fake.on[NAME] = name
    same(open_status(world.session(), 'a\\b\\none'), 'OBJECT_NAME_NOT_FOUND', 'what is not there')
    same(asked(world)[0], (NAME, b'b'), 'the first request')


@case()
def private_directory_is_hidden(args):
    def fill(world):
        os.makedirs(world.path('.migrate/links'))
        os.makedirs(world.path('dir/.migrate'))
        os.chmod(world.path('.migrate'), 0o777)
        os.symlink('.migrate', world.path('link'))
    world = World(args, fill)
    for user in ('root', 'alice'):
        session = world.session(user=user)
        same(listing(session), ['dir'], 'names in the root')
        for name in ('.migrate', '.MIGRATE', '.migrate\\links', '.Migrate\\links', 'link',
                     'link\\links'):
            expect(open_status(session, name) in ('OBJECT_NAME_NOT_FOUND', 'OBJECT_PATH_NOT_FOUND'),
                   f'{user} opens {name}: {open_status(session, name)}')
        for options in (smb2.DIRECTORY_FILE, smb2.NON_DIRECTORY):
            same(open_status(session, '.migrate', disposition=smb2.NEW, options=options),
                 'ACCESS_DENIED', f'{user} makes it')
            same(open_status(session, '.migrate', disposition=smb2.OPEN_IF, options=options),
                 'ACCESS_DENIED', f'{user} opens or makes it')
        same(listing(session, 'dir'), ['.migrate'], 'names elsewhere')
        same(open_status(session, 'dir\\.migrate'), 'SUCCESS', 'open elsewhere')


# ---- waiting ----------------------------------------------------------------------------------

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
    world = World(args, fill, hold=1)
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
    same(open_status(session, 'dir\\file1', disposition=smb2.OPEN_IF), 'IO_DEVICE_ERROR', 'a new one')
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
    world = World(args, unfilled, hold=2)
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


# ---- durable handles ----------------------------------------------------------------------------

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


# ---- shares -----------------------------------------------------------------------------------

@case()
def share_below_the_root(args):
    def fill(world):
        unfilled(world, 'below')
        os.mkdir(world.path('below/.migrate'))
    world = World(args, fill, path=ROOT + '/below')
    session = world.session()
    same(listing(session), sorted(FILES + ['.migrate']), 'names')
    same(content(session, 'file3'), b'content of file3', 'content')


@case()
def share_that_is_not_here_yet(args):
    """Its directory is one of the names of an unfilled one."""
    world = World(args, nested, path=ROOT + '/a/b/c')
    same(content(world.session(), 'file'), b'deep', 'content')
    same(asked(world), [(NAME, b'b'), (NAME, b'c'), (NAME, b'file')], 'requests')


@case()
def share_above_the_root(args):
    world = World(args, nested, path=os.path.dirname(ROOT))
    session = world.session()
    same(content(session, 'new\\a\\b\\c\\file'), b'deep', 'content')
    same(listing(session, 'new'), ['a'], 'names')


@case()
def finished_volume(args):
    """Without a record in the root nothing is looked at."""
    def fill(world):
        os.removexattr(ROOT, f.XATTR)
        os.rmdir(ROOT + '/.migrate')
        world.fake.finished = True
        unfilled(world)
    world = World(args, fill)
    same(listing(world.session(), 'dir'), [], 'names')
    same(asked(world), [], 'requests')
    world.server.configure({SHARE: (ROOT, smbd.layer('test', SOCKET, 'io_uring migrate'))})
    world.server.restart()
    same(listing(world.session(), 'dir'), [], 'names, whatever the order of modules')


@case()
def retriever_away(args):
    """No retriever at the time of the connection: normal files are served."""
    def fill(world):
        unfilled(world)
        world.normal('normal')
    world = World(args, fill, hold=1)
    world.fake.stop()
    session = world.session()
    with open(f'{sandbox.LOGS}/server.log') as file:
        expect('the retriever of volume test does not answer' in file.read(), 'nothing in the log')
    same(content(session, 'normal'), b'normal', 'content')
    same(open_status(session, 'dir\\file3'), 'IO_TIMEOUT', 'a name')
    world.fake.start()
    same(content(session, 'dir\\file3'), b'content of file3', 'content')


def refused(world, stack, **settings):
    """What the log says of a refusal."""
    world.server.configure({SHARE: (ROOT, {**smbd.layer('test', SOCKET, stack), **settings})})
    world.server.restart()
    log = f'{sandbox.LOGS}/{world.server.name}.log'
    with open(log) as file:
        before = len(file.read())
    out = world.server.smbclient('ls', may_fail=True)
    expect('tree connect failed' in out, f'{stack} {settings}: not refused: {out}')
    with open(log) as file:
        lines = [line.strip() for line in file.read()[before:].splitlines() if 'migrate: [' in line]
    same(len(lines), 1, f'lines in the log for {stack} {settings}: {lines}')
    return lines[0]


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


@case()
def stacking(args):
    world = World(args, unfilled)
    for stack, wanted in (
            ('io_uring migrate', 'put migrate before io_uring in `vfs objects`'),
            ('streams_xattr btrfs migrate acl_xattr', 'put migrate before btrfs in'),
            ('migrate catia', 'put catia before migrate in'),
            ('migrate fruit streams_xattr', 'put fruit before migrate in'),
            ('migrate recycle', 'put recycle before migrate in'),
            ('migrate crossrename', 'remove crossrename from'),
            ('migrate streams_depot', 'remove streams_depot from')):
        line = refused(world, stack)
        expect(wanted in line, f'{stack}: {line}')
    for settings, wanted in (
            ({'migrate:volume': ''}, '`migrate:volume` is missing'),
            ({'migrate:hold': '0'}, '`migrate:hold` is a number of seconds from 1 to 3600'),
            ({'wide links': 'yes', 'follow symlinks': 'yes'}, 'set `wide links = no`')):
        if 'wide links' in settings:
            world.server.configure(allow_insecure_wide_links='yes')
        line = refused(world, 'migrate', **settings)
        expect(wanted in line, f'{settings}: {line}')
    for stack in ('migrate io_uring', 'fruit migrate streams_xattr', 'full_audit catia streams_xattr acl_xattr migrate'):
        world.server.configure({SHARE: (ROOT, smbd.layer('test', SOCKET, stack))})
        world.server.restart()
        same(listing(world.session(), 'dir'), FILES, f'names with {stack}')


@case()
def damaged_root(args):
    world = World(args, unfilled)
    os.setxattr(ROOT, f.XATTR, b'nonsense')
    out = world.server.smbclient('ls', may_fail=True)
    expect('tree connect failed' in out, f'not refused: {out}')
    with open(f'{sandbox.LOGS}/server.log') as file:
        expect('is damaged: see migratectl verify test' in file.read(), 'nothing in the log')


if __name__ == '__main__':
    sys.exit(main())
