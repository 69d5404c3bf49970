#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Old servers' handles at the door: what they lead to, what the replies show, and what is refused."""
import os
import random
import sys
import time

from door import LAYER, ROOT, World, all_refused
import nfs3
import old_handles
import sandbox
from harness import case, expect, main, same
from sandbox import BASE, Failure, Host, wait_for
from xdr import opaque, u32, u64

FILE = BASE + '/old-handles'
TAKEOVER = LAYER.replace('FSAL {', f'Takeover = "{FILE}"; FSAL {{', 1)
# as knfsd makes them, and as long as they can be
OLD_ROOT = bytes.fromhex('01000600fabe1c016b694f408abfd68778d70d03')
OLD_DIR = bytes.fromhex('01000601fabe1c016b694f408abfd68778d70d030b000000513c2f8f')
OLD_LONG = bytes(range(64))
ROOT_ID, DIR_ID, LONG_ID = 128, 2**63 + 5, 3
BADHANDLE = 10001                       # of a server without takeover handles


def lines():
    return [old_handles.line(OLD_ROOT, ROOT, ROOT_ID),
            old_handles.line(OLD_DIR, ROOT + '/dir', DIR_ID, path='dir'),
            old_handles.line(OLD_LONG, ROOT + '/dir/below', LONG_ID, path='dir/below')]


def fill(world):
    os.makedirs(world.path('dir/below'))
    for n in range(20):
        world.normal(f'dir/file{n}')
    world.normal('file')
    old_handles.write(FILE, *lines())


def make(args, **kw):
    world = World(args, kw.pop('fill', fill), fsal=TAKEOVER, **kw)
    world.fake.wait_connected()
    return world


def status(client, handle):
    return client.once(nfs3.GETATTR, opaque(handle))[0]


def attributes(reply, wcc=False):
    return (nfs3.skip_wcc if wcc else nfs3.post_attr)(reply).fileid


def unfit(client, proc, args, number, wcc=False):
    """What the reply of a call that is not for directories, or finds nothing, says of its first object,
    where it says anything.  (Ganesha 9 commits a directory.)"""
    state, reply = client.once(proc, args)
    expect(state or proc == nfs3.COMMIT, f'procedure {proc} succeeded')
    found = (nfs3.skip_wcc if wcc else nfs3.post_attr)(reply)
    expect(not found or found.fileid == number, f'procedure {proc}: {found}')
    return found is not None


@case()
def each_reply_shows_the_old_number(args):
    client = make(args).client
    for handle, number in ((OLD_ROOT, ROOT_ID), (OLD_DIR, DIR_ID), (OLD_LONG, LONG_ID)):
        same(client.getattr(handle).fileid, number, 'GETATTR')
        for proc in (nfs3.FSSTAT, nfs3.FSINFO, nfs3.PATHCONF):
            same(attributes(client.call(proc, opaque(handle))), number, f'procedure {proc}')
        same(attributes(client.call(nfs3.ACCESS, opaque(handle) + u32(63))), number, 'ACCESS')
        same(attributes(client.call(nfs3.SETATTR, opaque(handle) + nfs3.sattr(mode=0o711) + u32(0)),
                        True), number, 'SETATTR')
        for proc, more in ((nfs3.READDIR, b''), (nfs3.READDIRPLUS, u32(65536))):
            reply = client.call(proc, opaque(handle) + u64(0) + bytes(8) + u32(65536) + more)
            same(attributes(reply), number, f'procedure {proc}')
        # what cannot be done returns them, too
        shown = [unfit(client, proc, opaque(handle) + rest, number, wcc) for proc, rest, wcc in (
            (nfs3.READ, u64(0) + u32(1), False), (nfs3.READLINK, b'', False),
            (nfs3.LOOKUP, opaque(b'absent'), False),
            (nfs3.WRITE, u64(0) + u32(1) + u32(0) + opaque(b'x'), True),
            (nfs3.REMOVE, opaque(b'absent'), True), (nfs3.RMDIR, opaque(b'absent'), True),
            (nfs3.COMMIT, u64(0) + u32(0), True))]
        expect(sum(shown) >= 4, f'attributes of failing calls: {shown}')
        attributes_of_what_makes_names(client, handle, number)


def attributes_of_what_makes_names(client, handle, number):
    name = lambda text: opaque(handle) + opaque(text)           # noqa: E731
    for proc, args in ((nfs3.CREATE, name(b'c') + u32(0) + nfs3.sattr(mode=0o600)),
                       (nfs3.MKDIR, name(b'd') + nfs3.sattr(mode=0o700)),
                       (nfs3.SYMLINK, name(b's') + nfs3.sattr() + opaque(b'c')),
                       (nfs3.MKNOD, name(b'p') + u32(nfs3.FIFO) + nfs3.sattr(mode=0o600))):
        reply = client.call(proc, args)
        made = reply.opaque() if reply.u32() else None
        nfs3.post_attr(reply)
        same(attributes(reply, True), number, f'procedure {proc}')
        expect(made and client.getattr(made).fileid != number, 'what was made')
    reply = client.call(nfs3.RENAME, name(b'c') + name(b'e'))
    same((attributes(reply, True), attributes(reply, True)), (number, number), 'RENAME')
    file = client.lookup(handle, b'e')[0]
    reply = client.call(nfs3.LINK, opaque(file) + name(b'l'))
    same((attributes(reply), attributes(reply, True)), (client.getattr(file).fileid, number), 'LINK')
    for gone in (b'e', b'l', b's', b'p'):
        same(attributes(client.call(nfs3.REMOVE, name(gone)), True), number, 'REMOVE')
    same(attributes(client.call(nfs3.RMDIR, name(b'd')), True), number, 'RMDIR')


@case()
def what_is_below_is_found_by_name(args):
    """With the host's own handles and the numbers of what is here, as who mounts anew sees it."""
    client = make(args).client
    directory, attr = client.lookup(OLD_ROOT, 'dir')
    same((directory, attr), client.lookup(client.root, 'dir'), 'a directory below the root')
    same(attr.fileid, os.stat(ROOT + '/dir').st_ino, 'its number')
    same(sorted(client.listing(OLD_DIR)), sorted(client.listing(directory)), 'its names')
    for plus in (False, True):
        for page in (400, 1500):            # several of them
            same(sorted(n[0] for n in client.listing(OLD_DIR, plus, page)),
                 sorted(map(os.fsencode, os.listdir(ROOT + '/dir'))), f'its names by {page} bytes, {plus}')
    same(client.read_all(client.lookup(OLD_DIR, 'file7')[0]), b'normal', 'a file')
    same(client.getattr(client.root).fileid, os.stat(ROOT).st_ino, 'the number of the root')
    client.rename(OLD_DIR, 'file7', OLD_ROOT, 'moved')
    same(client.read_all(client.walk('moved')[0]), b'normal', 'what was moved')
    client.rename(client.root, 'moved', OLD_LONG, 'again')
    same(os.listdir(ROOT + '/dir/below'), ['again'], 'what was moved again')


@case()
def the_file_system_may_be_the_old_one(args):
    """As `migratectl takeover` prints it."""
    client = make(args, export=f'Filesystem_Id = {2**64 - 2}.0;').client
    for handle in (OLD_ROOT, OLD_DIR, client.root, client.walk('dir/file1')[0]):
        same(client.getattr(handle).fsid, 2**64 - 2, 'fsid')


@case()
def a_directory_may_be_moved(args):
    """Its handle is of the inode, as any other."""
    world = make(args)
    world.client.rename(world.client.root, 'dir', world.client.root, 'elsewhere')
    same(world.client.getattr(OLD_DIR).fileid, DIR_ID, 'moved')
    world.server.restart()
    client = world.server.client()
    same(client.getattr(OLD_DIR).fileid, DIR_ID, 'after a restart')
    same(client.read_all(client.lookup(OLD_DIR, 'file3')[0]), b'normal', 'a file')


@case()
def others_are_refused(args):
    """Those that are nearly right, of every length, and those that claim to be ours."""
    client = make(args).client
    refused = lambda handle: status(client, handle) == nfs3.STALE        # noqa: E731
    for old in (OLD_ROOT, OLD_DIR, OLD_LONG):
        for length in range(1, len(old)):
            expect(refused(old[:length]), f'{length} bytes of {old.hex()} are taken')
        if len(old) < 64:
            expect(refused(old + b'\0'), 'one byte more is taken')
        for bit in range(8 * len(old)):
            wrong = bytearray(old)
            wrong[bit // 8] ^= 1 << bit % 8
            expect(refused(bytes(wrong)), f'bit {bit} of {old.hex()} does not matter')
    flagged = bytearray(client.root)
    flagged[1] |= 0x20
    same(client.getattr(bytes(flagged)).fileid, os.stat(ROOT).st_ino, 'who claims to be ours')
    chance = random.Random(args.seed)
    for _ in range(3000):
        handle = chance.randbytes(chance.randrange(65))
        if chance.random() < 0.5:
            handle = (client.root[:chance.randrange(len(client.root))] + handle)[:64]
        try:
            status(client, handle)
        except OSError:                     # of no length at all, say
            client = nfs3.Client('127.0.0.1', ROOT, port=2049, mount_port=20048)
    same(client.getattr(OLD_ROOT).fileid, ROOT_ID, 'afterwards')


@case()
def access_rules_hold(args):
    """Of the export, for takeover handles as for all others."""
    stranger = Host('stranger')
    world = make(args, export='Access_Type = NONE; CLIENT { Clients = 127.0.0.1; Access_Type = RO; '
                              'Squash = All_Squash; Anonymous_Uid = 4711; }', path=ROOT)
    os.chmod(ROOT + '/dir', 0o700)
    client = world.client
    same(client.getattr(OLD_ROOT).fileid, ROOT_ID, 'who may')
    same(nfs3.status_of(client.create, OLD_ROOT, 'new'), 30, 'a write of who may only read')
    same(nfs3.status_of(client.lookup, OLD_DIR, 'file1'), 13, 'root, who is nobody there')
    all_refused(stranger, client.root, OLD_ROOT, OLD_DIR)


@case()
def the_file_may_come_later_and_go(args):
    def later(world):
        fill(world)
        os.unlink(FILE)
    world = make(args, fill=later)
    client = world.client
    same(status(client, OLD_ROOT), BADHANDLE, 'before')
    old_handles.write(FILE, *lines()[:1])
    wait_for('it is taken', lambda: status(client, OLD_ROOT) == 0)
    same(status(client, OLD_DIR), nfs3.STALE, 'what is not in it')
    old_handles.write(FILE, *lines()[1:])
    wait_for('the next is taken', lambda: status(client, OLD_DIR) == 0)
    same(status(client, OLD_ROOT), nfs3.STALE, 'what is not in it any more')
    with open(FILE, 'w') as out:
        out.write(old_handles.FIRST + 'nonsense\n')
    wait_for('it is told', lambda: 'cannot be used' in world.log())
    same(status(client, OLD_DIR), 0, 'with a file that makes no sense')
    os.unlink(FILE)
    wait_for('it is gone', lambda: status(client, OLD_DIR) == nfs3.STALE)


@case()
def nonsense_is_refused_at_the_start(args):
    def wrong(world):
        fill(world)
        with open(FILE, 'a') as out:
            out.write('nonsense\n')
    try:
        World(args, wrong, fsal=TAKEOVER)
    except (Failure, nfs3.NfsError):
        with open(f'{sandbox.LOGS}/server.log') as log:
            expect(f'{FILE} cannot be used' in log.read(), 'the message')
    else:
        raise Failure('the export is served')


@case()
def another_object_keeps_its_handle(args):
    """An old server that gives out what is a handle of something else here does not get it."""
    world = make(args)
    own = world.fh('dir')
    old_handles.write(FILE, old_handles.line(own, ROOT, ROOT_ID), *lines()[1:2])
    wait_for('it is told', lambda: 'another directory here has that handle' in world.log())
    wait_for('the other is taken', lambda: status(world.client, OLD_ROOT) == nfs3.STALE)
    same(world.client.getattr(own).fileid, os.stat(ROOT + '/dir').st_ino, 'the object')


@case()
def clients_are_counted(args):
    world = make(args)
    for _ in range(5):
        world.client.getattr(OLD_ROOT)
    world.client.getattr(world.client.root)
    world.server.stop()
    day = time.strftime('%Y-%m-%d', time.gmtime())
    with open(FILE + '.clients') as counts:
        same(counts.read(), f'{day} 127.0.0.1 5\n', 'after a stop')
    with open(FILE + '.clients', 'w') as counts:
        counts.write(f'2001-01-01 ::1 7\n{day} 127.0.0.1 5\nnonsense\n{day} fe80::1 2\n')
    world.server.start()
    world.server.client().getattr(OLD_ROOT)
    world.server.stop()
    with open(FILE + '.clients') as counts:
        same(counts.read(), f'{day} 127.0.0.1 6\n{day} fe80::1 2\n', 'in the end')


if __name__ == '__main__':
    sys.exit(main())
