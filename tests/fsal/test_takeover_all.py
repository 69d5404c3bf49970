#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every object of the old server by its takeover handle and number, for clients that had it mounted."""
import errno
import os
import random
import sys
import threading

from door import LAYER, ROOT, World, all_refused
from fake import CONTROL, HOLD
import nfs3
import nlm4
import old_handles
from harness import case, expect, main, same
from sandbox import BASE, Host, wait_for
from xdr import Rpc, opaque, u32, u64

FILE = BASE + '/old-handles'
TAKEOVER = LAYER.replace('FSAL {', f'Takeover = "{FILE}"; FSAL {{', 1)
NEW_BIT = 1 << 63
NFSACL = 100227
BADHANDLE = 10001                       # of a server without takeover handles
NAMES = ['', 'dir', 'dir/below', 'file', 'link', *(f'dir/file{n}' for n in range(20))]


def old_of(name):
    """As knfsd makes them."""
    return bytes.fromhex('01000681fabe1c016b694f408abfd687') + name.encode().ljust(16, b'.')


def number_of(name):
    return NAMES.index(name) + 100


class Taken(World):
    """Clients know `NAMES`."""

    def __init__(self, args, known=NAMES, complete=True, **kw):
        super().__init__(args, lambda world: self.fill(known, complete), fsal=TAKEOVER, **kw)
        self.fake.wait_connected()
        self.old = {name: old_of(name) for name in NAMES}

    def fill(self, known, complete):
        os.makedirs(self.path('dir/below'))
        for n in range(20):
            self.normal(f'dir/file{n}', f'{n}'.encode())
        self.normal('file')
        os.symlink('file', self.path('link'))
        self.index = old_handles.Index(FILE + '.all')
        for name in known:
            self.index.add(old_of(name), self.path(name), number_of(name))
        self.index.head(complete)
        old_handles.write(FILE, old_handles.line(old_of(''), ROOT, number_of('')))


def get_acl(rpc, handle):
    return rpc.call(NFSACL, 3, 1, opaque(handle) + u32(1))


def status(client, handle):
    return client.once(nfs3.GETATTR, opaque(handle))[0]


@case()
def everything_goes_by_its_old_handle(args):
    world = Taken(args)
    client = world.client
    for name, old in world.old.items():
        same(client.getattr(old).fileid, number_of(name), f'the number of {name}')
        if not name:
            continue
        above = world.old[os.path.dirname(name)]
        found, attr = client.lookup(above, os.path.basename(name))
        same((found, attr.fileid), (old, number_of(name)), f'what is found of {name}')
    for n in range(20):
        same(client.read_all(world.old[f'dir/file{n}']), f'{n}'.encode(), 'a file')
    same(client.readlink(world.old['link']), b'file', 'a link')
    parent, attr = client.lookup(world.old['dir/below'], '..')
    same((parent, attr.fileid), (world.old['dir'], number_of('dir')), 'what is above')


@case()
def listings_have_old_numbers_and_handles(args):
    world = Taken(args)
    client = world.client
    for top in ('', 'dir', 'dir/below'):
        names = [name for name in NAMES if name and os.path.dirname(name) == top]
        wanted = sorted((os.path.basename(name).encode(), number_of(name)) for name in names)
        for plus in (False, True):
            for count in (1 << 16, 1500):
                found = list(client.listing(world.old[top], plus, count))
                same(sorted((name, number) for name, number, _, _ in found), wanted,
                     f'names in {top}, {plus}, {count}')
                for name, number, attr, handle in found if plus else ():
                    same(attr.fileid, number, f'the attributes of {name}')
                    same(handle, old_of(os.path.join(top, name.decode())), f'the handle of {name}')


@case()
def who_mounts_anew_sees_what_is_here(args):
    client = Taken(args).client
    for name in NAMES:
        handle, attr = client.walk(name) if name else (client.root, client.getattr(client.root))
        same(attr.fileid, os.lstat(f'{ROOT}/{name}').st_ino, f'the number of {name}')
        expect(handle != old_of(name) and not handle[1] & 0x20, f'the handle of {name}: {handle.hex()}')
    for name, number, attr, handle in client.listing(client.walk('dir')[0]):
        same(number, os.stat(f'{ROOT}/dir/{name.decode()}').st_ino, f'the number of {name}')
        same((attr.fileid, handle), (number, client.walk('dir/' + name.decode())[0]), f'{name}')


@case()
def what_is_new_never_has_an_old_number(args):
    world = Taken(args)
    client, root = world.client, world.old['']
    for make, more in ((client.create, ()), (client.mkdir, ()), (client.symlink, ('file',))):
        name = make.__name__
        make(root, name, *more)
        handle, attr = client.lookup(root, name)
        same(attr.fileid, os.lstat(world.path(name)).st_ino ^ NEW_BIT, f'its number: {name}')
        expect(handle[1] & 0x20, 'its handle')
        same(client.getattr(handle).fileid, attr.fileid, 'its number by that handle')
        same([(number, found) for text, number, _, found in client.listing(root)
              if text == name.encode()], [(attr.fileid, handle)], 'in a listing')
        same(client.walk(name)[0][:1] + client.walk(name)[0][2:], handle[:1] + handle[2:], 'the host')
    made = client.lookup(root, 'mkdir')[0]
    client.rename(world.old['dir'], 'file3', made, 'moved')
    found, attr = client.lookup(made, 'moved')
    same((found, attr.fileid), (world.old['dir/file3'], number_of('dir/file3')), 'what was moved')
    client.link(world.old['dir/file4'], made, 'linked')
    same(client.lookup(made, 'linked')[0], world.old['dir/file4'], 'what was linked')
    client.write(world.old['dir/file4'], 0, b'written', 2)
    same(client.read_all(client.walk('mkdir/linked')[0]), b'written', 'by its own handle')


@case()
def attributes_beside_are_old_ones(args):
    """Of directories after a change, and of what several handles name."""
    world = Taken(args)
    client, top, low = world.client, world.old[''], world.old['dir']

    def wcc(reply):
        return nfs3.skip_wcc(reply).fileid
    reply = client.call(nfs3.RENAME, opaque(low) + opaque(b'file1') + opaque(top) + opaque(b'up'))
    same((wcc(reply), wcc(reply)), (number_of('dir'), number_of('')), 'RENAME')
    reply = client.call(nfs3.LINK, opaque(old_of('file')) + opaque(low) + opaque(b'hard'))
    same((nfs3.post_attr(reply).fileid, wcc(reply)), (number_of('file'), number_of('dir')), 'LINK')
    reply = client.call(nfs3.REMOVE, opaque(low) + opaque(b'hard'))
    same(wcc(reply), number_of('dir'), 'REMOVE')


@case()
def what_is_removed_is_stale(args):
    """And leaves neither its handle nor its name to who gets its inode."""
    world = Taken(args)
    client = world.client
    for n in range(20):
        client.remove(world.old['dir'], f'file{n}')
    for n in range(20):
        same(status(client, world.old[f'dir/file{n}']), nfs3.STALE, 'by its takeover handle')
        client.create(world.old['dir'], f'file{n}')
        handle = client.lookup(world.old['dir'], f'file{n}')[0]
        expect(handle != world.old[f'dir/file{n}'], 'another file has the takeover handle')


@case()
def what_is_not_known_yet_waits(args):
    world = Taken(args, known=NAMES[:3], complete=False)
    client = world.client
    client.patience = 0
    same(status(client, world.old['file']), nfs3.JUKEBOX, 'a handle that may come')
    found, attr = client.lookup(world.old[''], 'file')
    expect(found != world.old['file'] and attr.fileid & NEW_BIT, 'its name')
    args = opaque(world.old['dir']) + opaque(b'file1') + opaque(old_of('dir/unknown')) + opaque(b'x')
    same(client.once(nfs3.RENAME, args)[0], nfs3.JUKEBOX, 'a directory that may come')
    world.index.add(world.old['file'], world.path('file'), number_of('file'))
    same(client.getattr(world.old['file']).fileid, number_of('file'), 'when it has come')
    same(status(client, world.old['link']), nfs3.JUKEBOX, 'another one')
    world.index.head(complete=True)
    same(status(client, world.old['link']), nfs3.STALE, 'when all have come')


@case()
def what_has_no_name_yet_waits(args):
    """Nobody writes to what may be given up; who finds its name goes on with the takeover handle."""
    world = Taken(args, known=NAMES[:3], complete=False)
    client = world.client
    client.patience = 0
    made = world.index.add(world.old['file'], world.path('file'), number_of('file'), named=False)
    found, attr = client.lookup(world.old[''], 'file')
    same((found, attr.fileid), (world.old['file'], number_of('file')), 'what is found')
    same(status(client, found), nfs3.JUKEBOX, 'what has no name yet')
    world.index.name(made)
    same(client.read_all(found), b'normal', 'when it has')


@case()
def acls_by_old_handles(args):
    """NFSACL: what comes beside one; the ACL itself is the host's."""
    world = Taken(args, core='Enable_NFSACL = true;')
    rpc = Rpc('127.0.0.1', world.server.port)
    reply = get_acl(rpc, world.old['file'])
    same(reply.u32(), 0, 'the status')
    same(nfs3.post_attr(reply).fileid, number_of('file'), 'the number beside an ACL')
    same(get_acl(rpc, old_of('dir/unknown')).u32(), nfs3.STALE, 'an unknown handle')


@case()
def directories_are_asked_for(args):
    """By the retriever, which finds them by what they are in."""
    world = Taken(args, known=[''], complete=False, nlm=True, hold_ms=1000)
    client, other = world.client, world.server.client()
    client.patience = other.patience = 0
    answers = {'file': -errno.ENOTDIR, 'link': -errno.ESTALE, 'dir/file1': -errno.EBUSY,
               'dir/below': HOLD}

    def find(request):
        verb, handle = request.text.rstrip(b'\0').decode().split()
        same(verb, 'directory', 'what is asked')
        name = next(name for name in NAMES if old_of(name) == bytes.fromhex(handle))
        if name == 'dir':
            world.index.add(old_of(name), world.path(name), number_of(name))
        return answers.get(name, 0)
    world.fake.on[CONTROL] = find
    same(client.getattr(world.old['dir']).fileid, number_of('dir'), 'one that is found')
    asked = len(world.fake.requests(CONTROL))
    same((asked, status(client, world.old['dir'])), (1, 0), 'is not asked for again')
    same(status(client, world.old['file']), nfs3.JUKEBOX, 'a file may come')
    same(status(client, world.old['dir/file1']), nfs3.JUKEBOX, 'who cannot be asked for now')
    same(status(client, world.old['link']), nfs3.STALE, 'what the old server does not have')
    same(nlm4.Client('127.0.0.1', 'one').lock(world.old['link'], 1, True, 0, 1), 7, 'its lock')
    held = threading.Thread(target=lambda: answers.setdefault(
        'held', status(other, world.old['dir/below'])))
    held.start()
    world.fake.wait(CONTROL, 6)
    same(status(client, world.old['dir']), 0, 'meanwhile')
    held.join()
    same(answers['held'], nfs3.JUKEBOX, 'what takes too long')
    world.index.head(complete=True)
    same(status(client, world.old['dir/file1']), nfs3.STALE, 'when all have come')
    same(len(world.fake.requests(CONTROL)), 6, 'nobody is asked then')


@case()
def not_all_wait_at_once(args):
    """Threads are left for those who have nothing to do with it."""
    world = Taken(args, known=[''], complete=False)
    world.fake.on[CONTROL] = lambda request: HOLD
    clients = [world.server.client() for _ in range(40)]
    ended, threads = [], []
    for number, client in enumerate(clients):
        client.patience = 0
        threads.append(threading.Thread(target=lambda client=client, number=number: ended.append(
            status(client, old_of(f'unknown{number}')))))
        threads[-1].start()
    held = world.fake.wait(CONTROL, 32)
    wait_for('the others are told to try again', lambda: len(ended) == 8)
    same(len(world.fake.requests(CONTROL)), 32, 'asked')
    same(status(world.client, world.old['']), 0, 'somebody else')
    for request in held:
        world.fake.reply(request, -errno.EBUSY)
    for thread in threads:
        thread.join()
    same(set(ended), {nfs3.JUKEBOX}, 'all of them')


@case()
def a_file_that_comes_soon_is_waited_for(args):
    world = Taken(args, known=[''], complete=False)
    world.fake.on[CONTROL] = lambda request: -errno.ENOTDIR
    world.client.patience, answers = 0, []
    waiting = threading.Thread(target=lambda: answers.append(status(world.client, world.old['file'])))
    waiting.start()
    world.fake.wait(CONTROL)
    world.index.add(old_of('link'), world.path('link'), number_of('link'))
    same(answers, [], 'while others come')
    world.index.add(old_of('file'), world.path('file'), number_of('file'))
    waiting.join(10)                        # the hold time is twice that
    same(answers, [0], 'when it has come')


@case()
def any_number_of_exports_have_them(args):
    def file(n):
        return f'{FILE}.{n}'

    def fill(world):
        for n in range(20):
            os.mkdir(world.path(f'more{n}'))
            world.normal(f'more{n}/file')
            old_handles.Index(file(n) + '.all').add(old_of(f'file{n}'), world.path(f'more{n}/file'),
                                                    1000 + n)
            old_handles.write(file(n), old_handles.line(old_of(f'more{n}'), world.path(f'more{n}'), n))
    exports = (f'EXPORT {{ Export_Id = {100 + n}; Path = "{ROOT}/more{n}"; Pseudo = "/more{n}"; '
               f'FSAL {{ {TAKEOVER.replace(FILE, file(n))} }} }}' for n in range(20))
    world = World(args, fill, fsal=TAKEOVER, blocks=' '.join(exports))
    for n in range(20):
        same(world.client.getattr(old_of(f'file{n}')).fileid, 1000 + n, f'one of export {100 + n}')


@case()
def long_handles_are_looked_up(args):
    """What does not fit in a listing is not in it."""
    world = Taken(args, known=['', 'dir'])
    client, long = world.client, bytes(range(64))
    world.index.add(long, world.path('dir/file5'), 4711)
    entries = {name: (number, handle) for name, number, _, handle in client.listing(world.old['dir'])}
    same(entries[b'file5'], (4711, None), 'in the listing')
    expect(entries[b'file6'][1], 'another one')
    same(client.lookup(world.old['dir'], 'file5')[0], long, 'by its name')
    same(client.read_all(long), b'5', 'by its handle')


@case()
def a_listing_that_cannot_go_on_fails(args):
    """Rather than that names be missing: this retriever knows nothing of the old server's."""
    world = Taken(args)
    client = world.client
    for proc, more in ((nfs3.READDIR, b''), (nfs3.READDIRPLUS, u32(65536))):
        for cookie in (1, 2, 3, 5, 2**32, 2**63 - 1, 2**63 + 5, 2**64 - 1):
            rest = u64(cookie) + bytes(8) + u32(65536) + more
            same(client.once(proc, opaque(world.old['dir']) + rest)[0], 5, f'the old cookie {cookie}')
        expect(client.once(proc, opaque(client.root) + rest)[0] != 5, 'one of a client of ours')
        own = client.walk('dir')[0]
        flagged = bytes([own[0], own[1] | 0x30]) + own[2:]
        state, reply = client.once(proc, opaque(flagged) + u64(0) + bytes(8) + u32(65536) + more)
        same(state, 0, 'who claims to go on')


@case()
def cookies_must_not_be_verified(args):
    world = World(args, lambda world: None, fsal=TAKEOVER, export='UseCookieVerifier = true;')
    old_handles.Index(FILE + '.all')
    old_handles.write(FILE, old_handles.line(old_of(''), ROOT, 7))
    wait_for('it is told', lambda: 'UseCookieVerifier = false' in world.log())
    same(world.client.getattr(old_of('')).fileid, 7, 'what is mounted goes on')


@case()
def others_are_refused(args):
    """Nearly right ones, those of no sense, and those that claim to be ours."""
    world = Taken(args)
    client, chance = world.client, random.Random(args.seed)
    for old in (world.old['file'], world.old['dir']):
        for length in range(1, len(old)):
            same(status(client, old[:length]), nfs3.STALE, f'{length} bytes')
        for bit in range(8 * len(old)):
            wrong = bytearray(old)
            wrong[bit // 8] ^= 1 << bit % 8
            same(status(client, bytes(wrong)), nfs3.STALE, f'bit {bit} of {old.hex()}')
    own = client.walk('file')[0]
    flagged = bytes([own[0], own[1] | 0x20]) + own[2:]
    same(client.getattr(flagged).fileid, number_of('file'), 'who claims to have old ones')
    for bit in range(8 * len(own)):             # the inode, its generation, the export ...
        wrong = bytearray(flagged)
        wrong[bit // 8] ^= 1 << bit % 8
        state, reply = client.once(nfs3.GETATTR, opaque(bytes(wrong)))
        expect(state or nfs3.read_attr(reply).type, f'bit {bit} of {own.hex()}')
    for _ in range(2000):
        handle = chance.randbytes(chance.randrange(1, 65))
        start = chance.choice((b'', flagged[:chance.randrange(len(flagged))], old[:chance.randrange(32)]))
        status(client, (start + handle)[:64])
    same(client.getattr(world.old['file']).fileid, number_of('file'), 'afterwards')


@case()
def access_rules_hold(args):
    """Of the export, for takeover handles as for all others; who may not come in learns nothing."""
    stranger = Host('stranger')
    world = Taken(args, known=NAMES[:4], complete=False, path=ROOT,
                  export='Access_Type = NONE; CLIENT { Clients = 127.0.0.1; Access_Type = RO; '
                         'Squash = All_Squash; Anonymous_Uid = 4711; }')
    world.fake.on[CONTROL] = lambda request: -errno.ENOTDIR
    os.chmod(world.path('dir'), 0o700)
    client, old = world.client, world.old
    same(client.getattr(old['file']).fileid, number_of('file'), 'who may')
    same(nfs3.status_of(client.write, old['file'], 0, b'x'), 30, 'a write of who may only read')
    same(nfs3.status_of(client.lookup, old['dir'], 'file1'), 13, 'root, who is nobody there')
    all_refused(stranger, client.root, old[''], old['dir'], old['file'])


@case()
def an_export_below_has_none_but_its_own(args):
    """The export of the root alone answers for all takeover handles."""
    world = World(args, lambda world: Taken.fill(world, NAMES, False), fsal=TAKEOVER, path=ROOT + '/dir')
    world.client.patience = 0
    for name in NAMES:
        same(status(world.client, old_of(name)), BADHANDLE, name)


@case()
def locks_are_taken_by_old_handles(args):
    """And are those of the object by whichever handle."""
    world = Taken(args, known=NAMES[:4], complete=False, nlm=True)
    old, own = world.old['file'], world.client.walk('file')[0]
    one, two = (nlm4.Client('127.0.0.1', name) for name in ('one', 'two'))
    same(one.lock(old, 1, True, 0, 10), nlm4.OK, 'a lock by the takeover handle')
    same(two.test(own, 2, True, 0, 10)[0], nlm4.DENIED, "who asks by the host's")
    same(two.lock(old, 2, True, 5, 10), nlm4.DENIED, 'another one')
    same(one.unlock(old, 1, 0, 10), nlm4.OK, 'is given back')
    same(two.lock(own, 2, True, 5, 10), nlm4.OK, 'then')
    same(one.test(old, 1, True, 5, 10), (nlm4.DENIED, (1, 5, 10)), 'what is in the way')
    same(one.share(old, 1, 0, 1), nlm4.OK, 'a share')
    same(one.unshare(old, 1, 0, 1), nlm4.OK, 'is given back')
    same(one.lock(world.old['link'], 1, True, 0, 1), nlm4.IN_GRACE, 'one that may come')
    world.index.head(complete=True)
    same(one.lock(world.old['link'], 1, True, 0, 1), 7, 'one that is stale')


@case()
def it_ends(args):
    world = Taken(args)
    same(status(world.client, world.old['file']), 0, 'before')
    os.unlink(FILE)
    os.unlink(FILE + '.all')
    wait_for('they are forgotten', lambda: status(world.client, world.old['file']) == nfs3.STALE)
    same(status(world.client, world.old['']), nfs3.STALE, 'the root')


if __name__ == '__main__':
    sys.exit(main())
