#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of attributes and names in brackets: what the retriever is told, and what it does to them."""
import contextlib
import fcntl
import os
import sys
from unittest import mock

from door import ROOT, World
import fake as f
import sandbox
import smb2
import smbd
import smbfiles
from fake import ATTRIBUTES, BEGIN, CANCEL, CHANGED, END, FILLED, HOLD, PLACE
from harness import case, expect, main, same
from sandbox import BASE
from smbfiles import Files, Refused, nttime

WRITTEN = nttime(1400000000)


def begin(args, **kw):
    """A world with stubs, one of two names, an unfilled directory, and a normal one."""
    def fill(world):
        for name in ('from', 'from/dir'):
            world.fake.directory(world.path(name), state=FILLED)
        for name in ('from/file', 'from/linked', 'from/victim'):
            world.file(name)
        os.link(world.path('from/linked'), world.path('from/other'))
        world.fake.directory(world.path('from/unfilled'),
                             [('inner', lambda path: world.fake.file(path, b'inner'))])
        for name in ('normal', 'from/whole'):
            os.mkdir(world.path(name))
        world.normal('from/plain')
        for base, directories, _ in os.walk(ROOT):
            for name in directories:
                if name != '.migrate':
                    os.chmod(f'{base}/{name}', 0o777)
        for name in ('file', 'linked', 'victim', 'plain'):
            os.chown(world.path('from/' + name), 1000, 1000)
    world = World(args, fill, **kw)
    return world, Files(world.session())


def brackets(world):
    """[(change, what, changed)] in the order in which they began; they are never nested."""
    found, inside = [], {}
    for request in world.fake.requests():
        if request.op == BEGIN:
            expect(request.inode not in inside.values(), f'nested: {request}')
            inside[request.id] = request.inode
            found.append([request.change, os.path.relpath(request.path, ROOT), None, request])
        elif request.op == END:
            del inside[request.ref]
            next(b for b in found if b[3].id == request.ref)[2] = bool(request.flags & CHANGED)
    same(inside, {}, 'brackets that are open')
    return [tuple(b[:3]) for b in found]


def refused(status, function, *args, **kw):
    try:
        function(*args, **kw)
    except Refused as error:
        same(error.name, status, 'status')
        return
    raise AssertionError(f'{function.__name__}{args}: not refused')


def setters(files, path):
    """Everything that a client can set of a file."""
    yield 'times', lambda: files.set_basic(path, written=WRITTEN)
    yield 'attributes', lambda: files.set_basic(path, attributes=smb2.A_HIDDEN)
    yield 'the time of creation', lambda: files.set_basic(path, created=WRITTEN)
    yield 'ACL', lambda: files.set_security(path, files.security(path))
    yield 'EA', lambda: files.set_eas(path, [(b'a', b'b')])
    yield 'no EA', lambda: files.set_eas(path, [(b'a', b'')])
    yield 'a stream', lambda: files.write(path + ':stream', b'x')
    yield 'no stream', lambda: files.unlink(path + ':stream')


@case()
def i7_setters_are_in_brackets(args):
    """Each in one or several, one after the other, though hooks are called from within hooks."""
    world, files = begin(args)
    for what, setter in setters(files, 'from/file'):
        world.fake.forget()
        setter()
        found = brackets(world)
        expect(found, f'{what}: no bracket')
        same(set(found), {(ATTRIBUTES, 'from/file', True)}, what)
        if what == 'times':
            same(files.times('from/file').written, WRITTEN, 'written')


def without_memory(args):
    """A world whose module finds none, from where it is told on; and how to tell it."""
    preloaded, control = BASE + '/nomemory.so', BASE + '/nomemory'
    sandbox.sh('cc', '-D_GNU_SOURCE', '-Wall', '-Wextra', '-Werror', '-O2', '-shared', '-fPIC', '-o',
               preloaded, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'nomemory.c'))
    with open(control, 'wb') as file:
        file.write(bytes(4))
    with mock.patch.dict(os.environ, LD_PRELOAD=preloaded, NOMEMORY=control):
        world, files = begin(args)

    def fail_at(n):
        """How many calls were left until the last one that was to fail."""
        with open(control, 'r+b') as file:
            left = int.from_bytes(file.read(4), sys.byteorder)
            file.seek(0)
            file.write(n.to_bytes(4, sys.byteorder))
        return left
    return world, files, fail_at


def ended(world):
    """How many brackets were granted, when all have ended."""
    granted = len(world.fake.requests(BEGIN))
    world.fake.wait(END, granted)
    return len(brackets(world))


@case()
def memory_short_in_a_bracket(args):
    """What the retriever has granted ends: else nothing could be written to that file for ever."""
    world, files, fail_at = without_memory(args)
    if smbd.SANITIZED:
        print('not with a sanitizer, which has a calloc() of its own')
        return
    changes = {'times': lambda file, n: file.set(smbfiles.BASIC, smbfiles.basic(written=WRITTEN)),
               'data': lambda file, n: file.write(1000 * n, b'x')}
    for what, change in changes.items():
        failed = 0
        for n in range(1, 50):
            with files.open('from/file') as file:
                world.fake.forget()
                fail_at(n)
                with contextlib.suppress(Refused):
                    change(file, n)
                if fail_at(0):
                    break
                failed += ended(world)
        else:
            raise AssertionError(f'{what}: there is always something that fails')
        expect(failed, f'{what}: no bracket was granted when memory was short')


@case()
def normal_files_have_no_brackets(args):
    world, files = begin(args)
    files.times('from/plain')
    world.fake.forget()
    for _, setter in setters(files, 'from/plain'):
        setter()
    files.rename('from/plain', 'normal/plain')
    files.link('normal/plain', 'from/plain')
    files.unlink('from/plain')
    same(brackets(world), [], 'brackets')


@case()
def retriever_lost_in_a_bracket(args):
    """What was set is set again, because a fill may have undone it; a name is made once."""
    world, files = begin(args)

    def lose(request):
        del world.fake.on[END]
        world.fake.stop()
        # what a fill that did not know could have done
        os.utime(world.path('from/file'), ns=(0, 0))
        world.fake.start()
        return HOLD
    world.fake.on[END] = lose
    files.set_basic('from/file', written=WRITTEN)
    same(files.times('from/file').written, WRITTEN, 'written')
    changes = [(r.op, r.change) for r in world.fake.requests() if r.op in (BEGIN, END)]
    expect(changes.count((BEGIN, ATTRIBUTES)) >= 2, f'not begun again: {changes}')
    world.fake.forget()
    world.fake.on[END] = lambda request: HOLD if lose_again(world) else 0
    files.rename('from/victim', 'normal/victim')
    same(sorted(os.listdir(world.path('normal'))), ['victim'], 'names')
    places = [r for r in world.fake.requests(BEGIN) if r.change == PLACE]
    same(len(places), 2, 'placings')


@case()
def attributes_are_made_and_removed_once(args):
    """What succeeded is not answered as if a stream had been there, or gone, before."""
    world, files = begin(args)
    files.set_eas('from/file', [(b'ea', b'x')])
    for change in (lambda: files.write('from/file:stream', b'x', smb2.NEW),
                   lambda: files.unlink('from/file:stream'),
                   lambda: files.set_eas('from/file', [(b'ea', b'')])):
        world.fake.forget()
        world.fake.on[END] = lambda request: HOLD if lose_again(world) else 0
        change()
        begun = world.fake.requests(BEGIN)
        expect(len(begun) >= 2, f'not begun again: {begun}')
    same(files.eas('from/file'), {}, 'EAs in the end')


def lose_again(world):
    del world.fake.on[END]
    world.fake.stop()
    world.fake.start()
    return True


@case()
def nothing_is_changed_without_a_bracket(args):
    """The retriever hangs: the request fails in time.  What it grants too late is ended."""
    world, files = begin(args, hold=3)
    names = sorted(os.listdir(world.path('from')))
    before = files.times('from/file').values()
    held = []

    def hold(request):
        world.fake.do_begin(request)
        held.append(request)
        return HOLD
    world.fake.on[BEGIN] = hold
    refused('IO_TIMEOUT', files.set_basic, 'from/file', written=WRITTEN)
    refused('IO_TIMEOUT', files.rename, 'from/file', 'normal/file')
    refused('IO_TIMEOUT', files.link, 'from/file', 'normal/file')
    same(files.times('from/file').values(), before, 'file')
    same(sorted(os.listdir(world.path('from'))), names, 'names')
    same(os.listdir(world.path('normal')), [], 'names where it should have gone')
    expect(len(held) >= 3, f'{len(held)} brackets asked for')
    del world.fake.on[BEGIN]
    world.fake.forget()
    cancelled = world.fake.requests(CANCEL)
    for request in held:
        world.fake.reply(request)
    if not cancelled:
        ends = world.fake.wait(END, len(held))
        same([end.flags & CHANGED for end in ends], [0] * len(held), 'ends')
    files.rename('from/file', 'normal/file')


@case()
def i5_placings(args):
    """What is not normal gets a name in a bracket; the directory is held, one that moves alone."""
    world, files = begin(args)
    seen = []

    def look(request):
        if request.change == PLACE:
            seen.append((os.path.relpath(request.path, ROOT), os.path.relpath(request.dir, ROOT),
                         f.is_held(request.dir, fcntl.LOCK_EX), f.is_held(request.dir, fcntl.LOCK_SH),
                         os.path.isdir(request.path) and f.is_held(request.path, fcntl.LOCK_SH)))
        return world.fake.do_begin(request)
    world.fake.on[BEGIN] = look
    files.rename('from/file', 'normal/file')
    files.link('from/linked', 'normal/linked')
    files.rename('from/dir', 'normal/dir')
    files.rename('from/unfilled', 'normal/unfilled')
    files.rename('from/whole', 'normal/whole')
    same(seen, [('from/file', 'normal', True, False, False),
                ('from/linked', 'normal', True, False, False),
                ('from/dir', 'normal', True, False, True),
                ('from/unfilled', 'normal', True, False, True)], 'placings')
    for path in ('normal', 'normal/dir', 'normal/unfilled', 'normal/whole'):
        expect(not f.is_held(world.path(path), fcntl.LOCK_EX), f'{path} is held')
    same(sorted(os.listdir(world.path('normal'))),
         ['dir', 'file', 'linked', 'unfilled', 'whole'], 'names')


@contextlib.contextmanager
def holding(path):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    yield
    os.close(fd)


@case()
def held_by_somebody_else(args):
    """The retriever finishes the directory, or another door moves it."""
    world, files = begin(args, hold=3)
    with holding(world.path('normal')):
        refused('IO_TIMEOUT', files.rename, 'from/file', 'normal/file')
        files.rename('from/plain', 'normal/plain')      # needs no hold
    with holding(world.path('from/whole')):
        refused('IO_TIMEOUT', files.rename, 'from/whole', 'normal/whole')
    files.rename('from/whole', 'normal/whole')
    files.rename('from/file', 'normal/file')
    same(sorted(os.listdir(world.path('normal'))), ['file', 'plain', 'whole'], 'names')


@case()
def not_now_is_asked_again(args):
    """Somebody holds a directory above: the bracket is refused, and granted later."""
    world, files = begin(args)
    left = [3]

    def busy(request):
        left[0] -= 1
        return -11 if left[0] >= 0 else world.fake.do_begin(request)
    world.fake.on[BEGIN] = busy
    files.rename('from/file', 'normal/file')
    same(os.listdir(world.path('normal')), ['file'], 'names')
    same([r.change for r in world.fake.requests(BEGIN)][:4], [PLACE] * 4, 'brackets asked for')


@case()
def removals(args):
    """Other names of a stub show a new ctime: a change of attributes.  A last one is just removed."""
    world, files = begin(args)
    files.unlink('from/file')
    same(brackets(world), [], 'brackets of a last name')
    files.unlink('from/other')
    same(brackets(world), [(ATTRIBUTES, 'from/other', True)], 'brackets of a name of two')
    world.fake.forget()
    os.link(world.path('from/linked'), world.path('from/again'))
    files.rename('from/plain', 'from/again', replace=True)
    same([(change, changed) for change, _, changed in brackets(world)], [(ATTRIBUTES, True)],
         'brackets of what is replaced and has another name')
    world.fake.forget()
    files.rename('from/again', 'from/victim', replace=True)
    same(brackets(world), [], 'brackets of what is replaced and gone')


@case()
def i6_where_cases_differ(args):
    """A name that is looked for in every case brings all names; here it does not."""
    unfilled_directory(args, **{'case sensitive': 'yes'})


@case()
def i6_nothing_is_named_in_an_unfilled_directory(args):
    unfilled_directory(args)


def unfilled_directory(args, **settings):
    """Its fill comes first, and when it cannot be had nothing is changed."""
    world, files = begin(args, hold=3, settings=settings)
    path = world.path('from/unfilled')
    world.fake.on[f.FILL] = lambda request: HOLD
    refused('IO_TIMEOUT', files.mkdir, 'from/unfilled/new')
    refused('IO_TIMEOUT', files.rename, 'from/plain', 'from/unfilled/new')
    refused('IO_TIMEOUT', files.link, 'from/plain', 'from/unfilled/new')
    refused('IO_TIMEOUT', files.rmdir, 'from/unfilled')
    refused('IO_TIMEOUT', files.unlink, 'from/unfilled/inner')
    refused('IO_TIMEOUT', files.rename, 'from/unfilled/inner', 'from/taken')
    same(sorted(os.listdir(path)), ['inner'], 'names')      # it was asked for by name
    del world.fake.on[f.FILL]
    files.rename('from/unfilled/inner', 'from/taken')
    files.mkdir('from/unfilled/new')
    same(os.listdir(path), ['new'], 'names')


@case()
def i11_who_removes_waits_before_the_open(args):
    """The directory is filled before the file is open and locked; others are served meanwhile, and
    if it takes too long the open goes on without."""
    world, files = begin(args, hold=4)
    session, name = files.session, 'from\\unfilled\\inner'
    world.fake.on[f.FILL] = lambda request: HOLD
    mid, = session.start(smb2.create(name, access=smb2.DELETE))
    request, = world.fake.wait(f.FILL)
    same(files.times('from/plain').size, 6, 'another file')
    same(set(session.connection.replies), set(), 'answered by now')
    reply = session.connection.wait(mid)        # it is not to be had in time
    same(smb2.name_of(reply.status), 'SUCCESS', 'open')
    session.ask(smb2.close(reply.body[64:80]))
    world.fake.forget()
    mid, = session.start(smb2.create(name, access=smb2.DELETE))
    request, = world.fake.wait(f.FILL)
    world.fake.do_fill(request)
    world.fake.reply(request)
    del world.fake.on[f.FILL]
    reply = session.connection.wait(mid)
    world.fake.forget()
    session.ask(smb2.set_info(reply.body[64:80], smb2.INFO_FILE, smbfiles.DISPOSITION, b'\1'))
    session.ask(smb2.close(reply.body[64:80]))
    same(os.listdir(world.path('from/unfilled')), [], 'names')
    same(world.fake.requests(f.FILL), [], 'fills')


@case()
def offline_says_that_data_is_missing(args):
    """A record may be left when it is not: what a client wrote is not durable yet."""
    world, files = begin(args)
    expect(files.times('from/file').offline, 'a stub is not offline')
    f.set_record(world.path('from/file'), f.PARTIAL, 1 << 16, 0, 0, missing=[])
    expect(not files.times('from/file').offline, 'nothing is missing, and it is offline')


@case()
def settings_that_show_fills(args):
    for settings, warned in (({}, False), ({'kernel_change_notify': 'yes'}, True)):
        world = World(args, **settings)
        world.session()
        with open(f'{sandbox.LOGS}/server.log') as file:
            same('set `kernel change notify = no`' in file.read(), warned, 'a warning')
        world.server.stop()
        world.fake.stop()
        sandbox.sh('umount', ROOT)


@case()
def a_name_that_is_given_away_meanwhile(args):
    """While the bracket of what had the name is opened: what has it then is not moved."""
    world, files = begin(args)

    def give_away(request):
        os.rename(world.path('from/victim'), world.path('from/file'))
        return 0
    world.fake.on[BEGIN] = give_away
    refused('IO_TIMEOUT', files.rename, 'from/file', 'normal/moved')
    same(brackets(world)[0][0], PLACE, 'bracket')
    same([bool(r.flags & CHANGED) for r in world.fake.requests(END)], [False], 'changed')
    same(os.listdir(world.path('normal')), [], 'names')


if __name__ == '__main__':
    sys.exit(main())
