#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connecting to a share, and where that is refused."""
import os
import sys

from door import (FILES, ROOT, SHARE, SOCKET, World, asked, content, listing, nested, open_status,
                  unfilled)
import fake as f
import sandbox
import smbd
from fake import DUMMY, NAME
from harness import case, expect, main, same
from sandbox import BASE, wait_for


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
def share_that_is_a_dummy(args):
    def fill(world):
        unfilled(world, 'a')
        with open(world.path('a/b'), 'wb'):
            os.chmod(world.path('a/b'), 0)
        f.set_record(world.path('a/b'), DUMMY)
    world = World(args, fill, path=ROOT + '/a/b')

    def name(request):
        if request.text == b'b':
            os.unlink(world.path('a/b'))
            unfilled(world, 'a/b')
        return world.fake.do_name(request)
    world.fake.on[NAME] = name
    same(content(world.session(), 'file3'), b'content of file3', 'content')
    same(asked(world)[0], (NAME, b'b'), 'the first request')


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
    world.server.configure({SHARE: (ROOT, smbd.layer('test', SOCKET, 'io_uring migrate')),
                            'other': (ROOT, {'vfs objects': 'acl_xattr'})})
    world.server.restart()
    same(listing(world.session(), 'dir'), [], 'names, whatever the order of modules')


@case()
def retriever_away(args):
    """No retriever at the time of the connection: normal files are served."""
    def fill(world):
        unfilled(world)
        world.normal('normal')
    world = World(args, fill, hold=3)
    world.fake.stop()
    session = world.session()
    with open(f'{sandbox.LOGS}/server.log') as file:
        expect('the retriever of volume test does not answer' in file.read(), 'nothing in the log')
    same(content(session, 'normal'), b'normal', 'content')
    same(open_status(session, 'dir\\file3'), 'IO_TIMEOUT', 'a name')
    world.fake.start()
    wait_for('the retriever is found', lambda: open_status(session, 'dir\\file3') == 'SUCCESS')
    same(content(session, 'dir\\file3'), b'content of file3', 'content')


@case()
def damaged_root(args):
    world = World(args, unfilled)
    os.setxattr(ROOT, f.XATTR, b'nonsense')
    out = world.server.smbclient('ls', may_fail=True)
    expect('tree connect failed' in out, f'not refused: {out}')
    with open(f'{sandbox.LOGS}/server.log') as file:
        expect('is damaged: see migratectl verify test' in file.read(), 'nothing in the log')


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
def share_past_the_layer(args):
    """Another share without migrate, that shows the volume: whatever its path leads through; not what is on
    another server, which is not asked."""
    world = World(args, unfilled)
    dead, link, plain = f'{BASE}/dead', f'{BASE}/link', {'vfs objects': 'acl_xattr'}
    layer = (ROOT, smbd.layer('test', SOCKET))
    os.makedirs(dead, exist_ok=True)
    os.symlink(ROOT, link)
    world.server.stop()
    fuse = os.open('/dev/fuse', os.O_RDWR)      # whose program does not answer
    sandbox.sh('mount', '-i', '-t', 'fuse', '-o', f'fd={fuse},rootmode=40000,user_id=0,group_id=0', 'dead', dead,
               pass_fds=[fuse])
    for path, past in ((f'{dead}/share', False), (f'{BASE}/nowhere', False), (f'{BASE}/%m', False),
                       (f'{ROOT}/not/here', True), (f'{ROOT}/%H', True), (f'{link}/dir', True)):
        world.server.configure({SHARE: layer, 'other': (path, plain)})
        world.server.restart()
        out = world.server.smbclient('ls', may_fail=True)
        same('tree connect failed' in out, past, f'{path}: {out}')
        same(os.path.exists(SOCKET + '.doors'), not past, f'{path}: it has registered')
        if not past:
            os.unlink(SOCKET + '.doors')
    os.mkdir(SOCKET + '.doors')
    world.server.configure({SHARE: layer})
    world.server.restart()
    same(listing(world.session(), 'dir'), FILES, 'names, without a registration')
    with open(f'{sandbox.LOGS}/server.log') as file:
        same(file.read().count(f'cannot register in {SOCKET}.doors (Is a directory)'), 1, 'in the log')


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
    for stack in ('migrate io_uring', 'fruit migrate streams_xattr',
                  'full_audit catia streams_xattr acl_xattr migrate'):
        world.server.configure({SHARE: (ROOT, smbd.layer('test', SOCKET, stack))})
        world.server.restart()
        same(listing(world.session(), 'dir'), FILES, f'names with {stack}')


@case()
def descriptors_decide(args):
    """Where the modes allow more than the descriptors, a share that does not read them is refused."""
    world = World(args, unfilled)
    stacks = {'migrate streams_xattr': 'put acl_xattr into `vfs objects`',
              'migrate streams_xattr acl_tdb': 'remove acl_tdb from',
              'acl_tdb migrate acl_xattr': 'remove acl_tdb from',
              'migrate acl_xattr nfs4acl_xattr': 'remove nfs4acl_xattr from',
              'migrate acl_xattr posix_eadb': 'remove posix_eadb from'}
    served = ('migrate streams_xattr', 'migrate streams_xattr acl_tdb')
    for stack in served:
        world.server.configure({SHARE: (ROOT, smbd.layer('test', SOCKET, stack))})
        world.server.restart()
        same(listing(world.session(), 'dir'), FILES, f'names with {stack}')
    world.fake.descriptors = True
    for stack, wanted in stacks.items():
        line = refused(world, stack)
        expect(wanted in line, f'{stack}: {line}')
    line = refused(world, smbd.STACK, **{'acl_xattr:security_acl_name': 'user.NTACL'})
    expect('remove `acl_xattr:security_acl_name`' in line, line)
    world.server.configure({SHARE: (ROOT, smbd.layer('test', SOCKET))})
    world.server.restart()
    same(listing(world.session(), 'dir'), FILES, 'names with acl_xattr')

    world.fake.stop()                   # then it is the directory that tells
    for stack in served:
        world.server.configure({SHARE: (ROOT, smbd.layer('test', SOCKET, stack))})
        world.server.restart()
        same(listing(world.session(), 'dir'), FILES, f'names with {stack}')
    os.setxattr(ROOT, 'security.NTACL', b'whatever')
    for stack in served:
        world.server.configure({SHARE: (ROOT, smbd.layer('test', SOCKET, stack))})
        world.server.restart()
        out = world.server.smbclient('ls', may_fail=True)
        expect('tree connect failed' in out, f'{stack}: not refused: {out}')


if __name__ == '__main__':
    sys.exit(main())
