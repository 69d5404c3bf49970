#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Locks, share reservations and opens of unfinished files.  Every story is told twice, to the
migrating volume and to a plain copy of the old tree on FSAL VFS: the statuses are the same."""
import hashlib
import os
import queue
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import nfs4                                                             # noqa: E402
import nlm4                                                             # noqa: E402
import servers                                                          # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from nfs4state import (BOTH, BYPASS, DENIED, NONSENSE, READ_ACCESS,     # noqa: E402
                       READ_LT, TO_THE_END, WRITE_ACCESS, WRITE_LT, WRITEW_LT, Holder,
                       Owner, attributes)
from sandbox import BASE, Host, sh, volume, wait_for     # noqa: E402
from servers import NEW, Ganesha, Stalled, stack, start_rpcbind         # noqa: E402
from xdr import opaque, u32, u64                                        # noqa: E402

PLAIN = BASE + '/plain'
SIZE = 4 << 20
GRACE = 30                              # seconds, in which all is reclaimed on both servers
STATES = ('stub', 'partial', 'written', 'normal', 'renamed')


class Side:
    """One of the two servers, and what a story says of it."""

    def __init__(self, server, root):
        self.server, self.root = server, root
        self.told = []
        self.connect()

    def connect(self):
        self.v3 = self.server.client()

    @property
    def migrating(self):
        return self.root == NEW

    def holder(self, minor, **kw):
        return Holder(self.server.address, minor, **kw)

    def say(self, *what):
        self.told.append(what)

    def has_record(self, path):
        return os.fsencode(f'{self.root}/{path}') in tree.records(f'{self.root}')

    def prepare(self, name, state):
        """Brings a file into a state; its path."""
        path = name
        fh, _ = self.v3.walk(name)
        if state == 'partial':
            self.v3.read(fh, SIZE // 2, 1000)
        elif state == 'written':
            self.v3.write(fh, 50000, b'written here')
        elif state == 'normal':
            self.v3.read_all(fh)
            wait_for(f'{name} is normal', lambda: not self.has_record(name))
        elif state == 'renamed':
            path = 'dir/renamed ' + name
            self.v3.rename(self.v3.root, name, self.v3.walk('dir')[0], 'renamed ' + name)
        if self.migrating:
            same(self.has_record(path), state != 'normal', f'{path} has a record')
        return path


def digest(data):
    return data and hashlib.sha256(data).hexdigest()


def fill(names, seed):
    def make(root):
        os.mkdir(root + '/dir')
        for n, name in enumerate(names):
            with open(f'{root}/{name}', 'wb') as file:
                file.write(hashlib.shake_128(b'%d %d' % (seed, n)).digest(SIZE))
            os.utime(f'{root}/{name}', ns=(10**18, 10**18 + n))
        os.utime(root + '/dir', ns=(10**18, 10**18))
    return make


def begin(args, names, lazy=False, **server):
    """(old server, migration, sides).  lazy: nothing is listed before, and names are dummies."""
    make = fill(names, args.seed)
    volume(PLAIN, '1G')
    make(PLAIN)
    old, migration = stack(args.build, make, '1G',
                           stub_attributes='lazy' if lazy else 'eager')
    migration.attach()
    migration.start_server(**server)
    plain = Ganesha('plain', PLAIN, host=Host('plain'), **server).start()
    sides = Side(migration.server, NEW), Side(plain, PLAIN)
    for side in () if lazy else sides:
        list(side.v3.listing(side.v3.root))
    return old, migration, sides


def both(sides, story, *args):
    """Tells a story to both sides."""
    for side in sides:
        side.told = []
        story(side, *args)
    for got, wanted in zip(sides[0].told, sides[1].told):
        same(got, wanted, f'{story.__name__} {args}')
    same(len(sides[0].told), len(sides[1].told), f'length of {story.__name__}')


def in_all_states(args, story, minors=(0, 1), states=STATES, prepare=None, **server):
    names = [f'{state} v4.{minor}' for minor in minors for state in states]
    _, migration, sides = begin(args, names, **server)
    if prepare:
        prepare(sides)
    for minor in minors:
        for state in states:
            both(sides, story, f'{state} v4.{minor}', state, minor)
    migration.crawl()
    for side in sides:
        side.told = [(name, digest(side.v3.read_all(side.v3.walk(name)[0]))) for name in
                     (f'dir/renamed {n}' if n.startswith('renamed') else n for n in names)]
    same(sides[0].told, sides[1].told, 'contents at the end')


def v3_status(side, procedure, body):
    """What a v3 client is told in the end: a few JUKEBOX are patience, more are an answer."""
    for _ in range(3):
        status, _ = side.v3.once(procedure, body)
        if status != nfs3.JUKEBOX:
            break
    return status


# ---- stories -----------------------------------------------------------------------------------

def share_story(side, name, state, minor):
    path = side.prepare(name, state)
    a, b = side.holder(minor), side.holder(minor)
    directory, last = a.walk(os.path.dirname(path))[0], os.path.basename(path)
    one, two = Owner('one'), Owner('two')
    denying = a.open_as(one, directory, last, READ_ACCESS, deny=WRITE_ACCESS)
    side.say('deny write', denying.status)
    for access in READ_ACCESS, WRITE_ACCESS, BOTH:
        got = b.open_as(two, directory, last, access)
        side.say('open', access, got.status, got.delegation)
        if got.status == 0:
            side.say('close', b.close_state(two, got.handle, got.stateid))
    fh, fh3 = denying.handle, side.v3.walk(path)[0]
    if servers.release() != 5:          # where no request for the file is answered after a refused one
        side.say('v3 write', v3_status(side, nfs3.WRITE, opaque(fh3) + u64(0) + u32(3) + u32(2) +
                                       opaque(b'abc')))
        side.say('v3 read', v3_status(side, nfs3.READ, side.v3.read_args(fh3, 0, 10)))
        side.say('v3 truncate', v3_status(side, nfs3.SETATTR, opaque(fh3) + nfs3.sattr(size=100) +
                                          u32(0)))
    side.say('deny by another', b.open_as(two, directory, last, READ_ACCESS,
                                          deny=READ_ACCESS).status)
    side.say('wider', a.open_as(one, directory, last, BOTH, deny=BOTH).status)
    if minor:
        side.say('downgrade to more', a.downgrade(one, fh, denying.stateid, BOTH, BOTH)[0])
    side.say('close', a.close_state(one, fh, denying.stateid))
    side.say('deny all', a.open_as(one, directory, last, BOTH, deny=BOTH).status)
    side.say('open', b.open_as(two, directory, last, READ_ACCESS).status)
    # the client starts anew, and what it had is gone
    a.close()
    a = side.holder(minor, owner=(a.owner, b'another!'))
    got = b.open_as(two, directory, last, BOTH)
    side.say('open at last', got.status)
    side.say('write', b.write_as(fh, got.stateid, 5, b'by two'))
    side.say('read', *map(digest_of, b.whole(fh, got.stateid)))
    a.close(), b.close()


def lock_story(side, name, state, minor):
    path = side.prepare(name, state)
    a, b = side.holder(minor), side.holder(minor)
    directory, last = a.walk(os.path.dirname(path))[0], os.path.basename(path)
    opener, other = Owner('opener'), Owner('other')
    x, y, z = Owner('x'), Owner('y'), Owner('z')
    mine = a.open_as(opener, directory, last, BOTH)
    theirs = b.open_as(other, directory, last, BOTH)
    side.say('opens', mine.status, theirs.status)
    fh = mine.handle
    held = a.lock(mine, opener, x, WRITE_LT, 100, 100)
    side.say('lock', held.status)
    # two owners of one client, two clients
    for owner, kind, offset, length in ((y, READ_LT, 0, 101), (y, READ_LT, 0, 100),
                                        (x, WRITE_LT, 0, 1000), (y, WRITE_LT, 199, 1),
                                        (y, WRITE_LT, 200, TO_THE_END),
                                        (y, READ_LT, SIZE + 5, 10), (y, READ_LT, 0, 0),
                                        (y, READ_LT, 1 << 63, 10)):
        side.say('test', owner.name, a.test(fh, owner, kind, offset, length))
        side.say('test by the other', b.test(fh, owner, kind, offset, length))
    refused = b.lock(theirs, other, z, READ_LT, 150, 10)
    side.say('conflict', refused.status, refused.conflict)
    side.say('blocking', b.lock(theirs, other, z, WRITEW_LT, 150, 10).status)
    # upgrade, downgrade, in part
    shared = a.lock(mine, opener, x, READ_LT, 120, 20, held.stateid)
    side.say('downgrade', shared.status)
    got = b.lock(theirs, other, z, READ_LT, 125, 10)
    side.say('share it', got.status)
    side.say('upgrade', a.lock(mine, opener, x, WRITE_LT, 120, 20, shared.stateid)[::2])
    status, stateid = a.unlock(fh, x, shared.stateid, 0, 130)
    side.say('unlock in part', status)
    for offset in 90, 110, 130, 139, 140, 150, 199, 200:
        side.say('what is left', offset, b.test(fh, z, WRITE_LT, offset, 1))
    end = a.lock(mine, opener, x, WRITE_LT, SIZE - 1, TO_THE_END, stateid)
    side.say('to the end', end.status)
    side.say('beyond it', b.test(fh, z, WRITE_LT, SIZE << 10, 1))
    # data under locks
    side.say('read', a.read_as(fh, end.stateid, SIZE - 10, 100)[0])
    side.say('read by the other', b.read_as(fh, theirs.stateid, SIZE - 10, 100)[0])
    side.say('write', a.write_as(fh, end.stateid, SIZE // 3, b'x' * 5000))
    # without the access for it
    reader = Owner('reader')
    weak = b.open_as(reader, directory, last, READ_ACCESS)
    side.say('write lock on a read open', b.lock(weak, reader, Owner('w'), WRITE_LT, 5, 5).status)
    side.say('read lock on a read open', b.lock(weak, reader, Owner('v'), READ_LT, 5, 5).status)
    side.say('close with locks', a.close_state(opener, fh, mine.stateid))
    if minor == 0:
        status, stateid = a.unlock(fh, x, end.stateid, 0, TO_THE_END)
        side.say('unlock all', status)
        side.say('close', a.close_state(opener, fh, mine.stateid))
    side.say('test at last', b.test(fh, z, WRITE_LT, 0, 100))
    side.say('test at last', b.test(fh, z, WRITE_LT, SIZE, 100))
    side.say('data', *map(digest_of, b.whole(fh, theirs.stateid)))
    a.close(), b.close()


def stateid_story(side, name, state, minor):
    """Which stateid may do what; O_TRUNC and creation over it; unlinked and still open."""
    path = side.prepare(name, state)
    a = side.holder(minor)
    directory, last = a.walk(os.path.dirname(path))[0], os.path.basename(path)
    reader, writer = Owner('reader'), Owner('writer')
    r = a.open_as(reader, directory, last, READ_ACCESS)
    w = a.open_as(writer, directory, last, WRITE_ACCESS)
    fh = r.handle
    names = {'anonymous': nfs4.ANONYMOUS, 'bypass': BYPASS, 'reader': r.stateid,
             'writer': w.stateid, 'nonsense': NONSENSE}
    for who, stateid in names.items():
        side.say(who, 'reads', *map(digest_of, a.read_as(fh, stateid, 1000, 5000)))
        side.say(who, 'writes', a.write_as(fh, stateid, 2000, who.encode()))
        side.say(who, 'resizes', a.resize(fh, stateid, SIZE - len(who)))
    side.say('size', a.getattr(fh).size)
    if minor:                   # with minor version 0 Ganesha loses count of the owner then
        side.say('downgrade to what it never had',
                 a.downgrade(writer, fh, w.stateid, READ_ACCESS)[0])
    both_ = a.open_as(writer, directory, last, BOTH)
    side.say('upgrade', both_.status)
    side.say('read', *map(digest_of, a.read_as(fh, both_.stateid, SIZE - 5000, 10000)))
    status, stateid = a.downgrade(writer, fh, both_.stateid, WRITE_ACCESS)
    side.say('downgrade', status)
    side.say('read', *map(digest_of, a.read_as(fh, stateid, 0, 10)))
    side.say('closed', a.close_state(writer, fh, stateid))
    side.say('write', a.write_as(fh, stateid, 0, b'x'))
    side.v3.remove(side.v3.walk(os.path.dirname(path))[0], last)
    side.say('data of the unlinked', *map(digest_of, a.whole(fh, r.stateid)))
    side.say('lock of the unlinked', a.lock(r, reader, Owner('l'), READ_LT, 0, 10).status)
    side.say('close of the unlinked', a.close_state(reader, fh, r.stateid))
    again = a.open_as(writer, directory, last, BOTH, create=attributes(mode=0o600))
    side.say('created', again.status)
    side.say('write', a.write_as(again.handle, again.stateid, 0, b'new'))
    over = a.open_as(writer, directory, last, BOTH, create=attributes(size=0))
    side.say('emptied', over.status, a.getattr(over.handle).size)
    a.close()


def digest_of(value):
    return digest(value) if isinstance(value, bytes) else value


def truncating_open_story(side, name, state, minor):
    """OPEN with size 0 by one who is locked out, and by one who is not."""
    path = side.prepare(name, state)
    a, b = side.holder(minor), side.holder(minor)
    directory, last = a.walk(os.path.dirname(path))[0], os.path.basename(path)
    one, two, x = Owner('one'), Owner('two'), Owner('x')
    denying = a.open_as(one, directory, last, BOTH, deny=WRITE_ACCESS)
    fh = denying.handle
    held = a.lock(denying, one, x, WRITE_LT, 0, TO_THE_END)
    side.say('lock', held.status)
    side.say('emptied', b.open_as(two, directory, last, BOTH, create=attributes(size=0)).status)
    side.say('size', b.getattr(fh).size)
    side.say('unlock', a.unlock(fh, x, held.stateid, 0, TO_THE_END)[0])
    side.say('close', a.close_state(one, fh, denying.stateid))
    got = b.open_as(two, directory, last, BOTH, create=attributes(size=0))
    side.say('emptied', got.status, b.getattr(fh).size)
    side.say('write', b.write_as(fh, got.stateid, 10, b'two'))
    side.say('data', a.read_as(fh, nfs4.ANONYMOUS, 0, 100))
    a.close(), b.close()


def nlm_story(side, name, state, minor):
    """Locks of v3 against those of v3 and v4; SHARE; a lock that is waited for."""
    path = side.prepare(name, state)
    fh, _ = side.v3.walk(path)
    a = call_from(side)
    b = nlm4.Client(side.server.address, '127.0.0.1')
    side.say('lock', a.lock(fh, 1, True, 100, 100))
    for owner, exclusive, offset, length in ((2, False, 0, 100), (2, False, 150, 1),
                                             (1, True, 0, 300), (2, True, 200, 0),
                                             (2, True, 50, 0)):
        side.say('test', a.test(fh, owner, exclusive, offset, length))
        side.say('lock', owner, b.lock(fh, owner, exclusive, offset, length))
        side.say('unlock', owner, b.unlock(fh, owner, offset, length))
    v4, opener, owner = side.holder(minor), Owner('opener'), Owner('v4')
    directory, last = v4.walk(os.path.dirname(path))[0], os.path.basename(path)
    fh4, _ = v4.walk(path)
    opened = v4.open_as(opener, directory, last, BOTH)
    side.say('v4 conflict', v4.lock(opened, opener, owner, READ_LT, 150, 10).status)
    held = v4.lock(opened, opener, owner, WRITE_LT, 1000, 10)
    side.say('v4 lock', held.status)
    side.say('against v4', a.lock(fh, 1, False, 1005, 1), a.test(fh, 1, False, 1005, 1)[0])
    side.say('downgrade', a.lock(fh, 1, False, 100, 100))
    side.say('shared', b.lock(fh, 2, False, 100, 100), b.unlock(fh, 2, 100, 100))
    side.say('upgrade', a.lock(fh, 1, True, 100, 100))
    side.say('waits', a.lock(fh, 1, True, 1000, 10, block=True))
    side.say('v4 unlock', v4.unlock(fh4, owner, held.stateid, 1000, 10)[0])
    cookie, *granted = side.callbacks.granted.get(timeout=120)
    side.say('granted', granted)
    a.accept(cookie)
    side.say('v4 conflict', v4.test(fh4, owner, READ_LT, 1005, 1)[0])
    side.say('unlock', a.unlock(fh, 1, 0, 0))
    side.say('v4 test', v4.test(fh4, owner, READ_LT, 0, TO_THE_END))
    side.say('cancel', b.cancel(fh, 2, True, 0, 10))
    # One SHARE: Ganesha frees its owner and keeps its state, which is then found by whoever's owner
    # is put to the same address, or by nobody.
    side.say('close', v4.close_state(opener, fh4, opened.stateid))
    side.say('share', a.share(fh, 1, mode=2, access=1))
    side.say('v4 open', v4.open_as(opener, directory, last, WRITE_ACCESS).status)
    side.say('v4 open to read', v4.open_as(opener, directory, last, READ_ACCESS).status)
    side.say('data', digest(side.v3.read_all(fh)))
    for client in a, b, v4:
        client.close()


# ---- cases -------------------------------------------------------------------------------------

@case()
def share_reservations(args):
    in_all_states(args, share_story)


@case(short=True)
def byte_ranges(args):
    in_all_states(args, lock_story)


@case()
def dummies(args):
    """Opened by name in a directory of which only names are here."""
    in_all_states(args, share_story, states=('stub', 'partial', 'renamed'), lazy=True)


@case()
def truncating_opens(args):
    in_all_states(args, truncating_open_story)


@case()
def stateids(args):
    names = [f'{state} v4.{minor}' for minor in (0, 1) for state in STATES]
    _, migration, sides = begin(args, names)
    for name in names:
        both(sides, stateid_story, name, name.split()[0], int(name[-1]))
    migration.crawl()
    same(tree.records(NEW), [], 'objects with a record')


def with_callers(sides):
    """A host for each side from which a v3 client asks for locks, and where it is called back."""
    with open('/proc/sys/net/ipv4/ip_forward', 'w') as forward:
        forward.write('1')
    for side in sides:
        side.caller = Host('caller')
        for host in filter(None, (side.caller, side.server.host)):
            sh(*host.prefix, 'ip', 'route', 'replace', '10.77.0.0/16', 'via', host.peer)
        start_rpcbind(f'rpcbind-{side.caller.address}', side.caller)
        side.callbacks = nlm4.Callbacks(side.caller)


def call_from(side):
    """A lock client of v3 on the caller's host: the server calls it back from the address that it
    called."""
    made = queue.Queue()
    address = side.server.address if side.server.host else side.caller.peer
    side.caller.thread(lambda: made.put(nlm4.Client(address, side.caller.address)))
    return made.get(timeout=120)


@case()
def locks_of_v3(args):
    in_all_states(args, nlm_story, (0,), prepare=with_callers, nlm=True)


@case()
def while_a_fill_is_under_way(args):
    """No operation on a lock waits for the old server, and none is answered DELAY, which Ganesha
    would turn into "denied"."""
    names = ['one', 'two']
    old, _, sides = begin(args, names, nlm=True)
    side = sides[0]
    with Stalled(old):
        for minor, name in enumerate(names):
            a, b = side.holder(minor), side.holder(minor)
            opener, other, x, y = (Owner(n) for n in ('opener', 'other', 'x', 'y'))
            mine = a.open_as(opener, a.root, name, BOTH)
            theirs = b.open_as(other, b.root, name, BOTH)
            same((mine.status, theirs.status), (0, 0), 'OPEN')
            fh3, _ = side.v3.walk(name)
            read = side.v3.start(nfs3.READ, side.v3.read_args(fh3, 0, 100))
            status, _ = a.once(u32(nfs4.PUTFH) + opaque(mine.handle), u32(nfs4.READ) +
                               mine.stateid + u64(0) + u32(100))
            same(status, nfs4.DELAY, 'READ')
            held = a.lock(mine, opener, x, WRITE_LT, 0, 100)
            same(held.status, 0, 'LOCK')
            same(b.lock(theirs, other, y, READ_LT, 50, 10)[::2], (DENIED, (0, 100, WRITE_LT, b'x')),
                 'LOCK of what is locked')
            same(b.test(mine.handle, y, READ_LT, 50, 10)[0], DENIED, 'LOCKT')
            v3 = nlm4.Client(side.server.address, '127.0.0.1')
            same(v3.lock(fh3, 1, True, 50, 10), nlm4.DENIED, 'NLM LOCK of what is locked')
            same(v3.lock(fh3, 1, True, 100, 10), nlm4.OK, 'NLM LOCK')
            same(v3.test(fh3, 2, True, 105, 1), (nlm4.DENIED, (1, 100, 10)), 'NLM TEST')
            same(v3.unlock(fh3, 1, 100, 10), nlm4.OK, 'NLM UNLOCK')
            same(v3.share(fh3, 1, mode=0, access=1), nlm4.OK, 'SHARE')
            same(v3.unshare(fh3, 1, mode=0, access=1), nlm4.OK, 'UNSHARE')
            same(a.unlock(mine.handle, x, held.stateid, 0, 100)[0], 0, 'LOCKU')
            same(b.test(mine.handle, y, READ_LT, 50, 10)[0], 0, 'LOCKT')
            same(a.close_state(opener, mine.handle, mine.stateid), 0, 'CLOSE')
            same(read.result(120).u32(), nfs3.JUKEBOX, 'READ of v3')
            same(a.delays + b.delays, 0, 'DELAYs')
            expect(side.has_record(name), f'{name} has no record')
    for name in names:
        with open(f'{PLAIN}/{name}', 'rb') as file:
            same(digest(side.v3.read_all(side.v3.walk(name)[0])), digest(file.read()), 'content')


@case()
def no_delegations(args):
    """Not even to who wants one, where the server would give them."""
    for block, setting in ('NFSv4 {{', 'Delegations = true;'), ('EXPORT_DEFAULTS {{',
                                                                'Delegations = RW;'):
        expect(block in servers.GANESHA, block)
        servers.GANESHA = servers.GANESHA.replace(block, f'{block}\n\t{setting}')
    _, _, sides = begin(args, ['file'])
    for side in sides:
        for minor in 0, 1, 2:
            holder = side.holder(minor)
            for want in (0, 0x100, 0x200, 0x300) if minor else (0,):
                for access in READ_ACCESS, BOTH:
                    got = holder.open_as(Owner(f'{want} {access}'), holder.root, 'file',
                                         access | want)
                    same(got.status, 0, f'OPEN {access} {want:x}')
                    expect(got.delegation in (0, 3), f'a delegation of kind {got.delegation}')


class Reclaimer:
    """A client with opens and locks on one side, and what it does before and after the server
    died."""

    def __init__(self, side, minor, paths):
        self.side, self.minor, self.paths = side, minor, paths
        self.opener, self.locker = Owner('opener'), Owner('locker')
        self.client = side.holder(minor)
        self.opens = {}
        for path in paths:
            directory = self.client.walk(os.path.dirname(path))[0]
            opened = self.client.open_as(self.opener, directory, os.path.basename(path), BOTH,
                                         deny=WRITE_ACCESS)
            held = self.client.lock(opened, self.opener, self.locker, WRITE_LT, 1000, 1000)
            side.say('before', path, opened.status, held.status)
            self.opens[path] = opened

    def again(self):
        side, old = self.side, self.client
        # numbers of owners begin anew, and so do the owners
        self.opener, self.locker = Owner('opener'), Owner('locker')
        self.client = client = side.holder(self.minor, owner=(old.owner, old.verifier),
                                           reclaims=True, patience=1)
        stranger = side.holder(self.minor, reclaims=True, patience=1)
        self.reclaimed = {}
        for path, before in self.opens.items():
            fh = before.handle
            side.say('old stateid', client.read_as(fh, before.stateid, 0, 10)[0])
            side.say('open in grace', client.open_as(
                Owner('new'), client.root, 'other', READ_ACCESS).status)
            side.say('reclaim by a stranger', stranger.reclaim(Owner('s'), fh).status)
            opened = client.reclaim(self.opener, fh, BOTH, deny=WRITE_ACCESS)
            side.say('reclaim', path, opened.status)
            side.say('new lock in grace', client.lock(opened, self.opener, Owner('newlock'),
                                                      WRITE_LT, 5000, 10).status)
            held = client.lock(opened, self.opener, self.locker, WRITE_LT, 1000, 1000, reclaim=True)
            side.say('reclaim of a lock', path, held.status)
            side.say('write', client.write_as(fh, opened.stateid, 1500, b'reclaimed'))
            side.say('read', digest(client.read_as(fh, opened.stateid, SIZE // 2, 100000)[1]))
            self.reclaimed[path] = opened, held
        if self.minor:
            client.reclaim_complete()

    def after(self):
        other = self.side.holder(self.minor)
        for path, (opened, held) in self.reclaimed.items():
            fh = opened.handle
            self.side.say('late reclaim', self.client.reclaim(Owner('late'), fh).status)
            directory = other.walk(os.path.dirname(path))[0]
            self.side.say('denied', other.open_as(Owner('z'), directory, os.path.basename(path),
                                                  WRITE_ACCESS).status)
            self.side.say('locked', other.test(fh, Owner('y'), READ_LT, 1500, 1))
            self.side.say('whole', *map(digest_of, self.client.whole(fh, opened.stateid)))
            self.side.say('unlock', self.client.unlock(fh, self.locker, held.stateid, 0,
                                                       TO_THE_END)[0])
            self.side.say('free', other.test(fh, Owner('y'), READ_LT, 1500, 1))
            self.side.say('close', self.client.close_state(self.opener, fh, opened.stateid))


@case(short=True)
def reclaimed_after_a_crash(args):
    """The server is killed and starts again: opens, reservations and locks of v4 and locks of v3
    are reclaimed in its time of grace, and I/O goes on with what is left of a stub."""
    names = [f'{state} v4.{minor}' for minor in (0, 1) for state in (*STATES, 'finished')]
    _, migration, sides = begin(args, [*names, 'other', 'v3'], nlm=True)
    for side in sides:
        side.told, side.reclaimers = [], []
        for minor in 0, 1:
            paths = [side.prepare(name, name.split()[0]) for name in names
                     if name.endswith(str(minor))]
            side.reclaimers.append(Reclaimer(side, minor, paths))
        side.fh3, _ = side.v3.walk('v3')
        locker = nlm4.Client(side.server.address, '127.0.0.1')
        side.say('v3 lock', locker.lock(side.fh3, 1, True, 100, 100))
        finishing = [name for name in names if name.startswith('finished')]
        for name in finishing:
            side.v3.read_all(side.v3.walk(name)[0])
        side.server.process.stop(signal.SIGKILL)
        side.server.set(grace=GRACE)
    for name in finishing:
        wait_for(f'{name} is normal', lambda n=name: not sides[0].has_record(n))
    for side in sides:
        side.server.start()
    for side in sides:
        side.connect()
        side.locker = locker = nlm4.Client(side.server.address, '127.0.0.1')
        side.say('v3 lock in grace', locker.lock(side.fh3, 2, True, 300, 10))
        side.say('v3 reclaim', locker.lock(side.fh3, 1, True, 100, 100, reclaim=True))
        side.say('v3 read', digest(side.v3.read(side.fh3, 0, 1000)[0]))
        for reclaimer in side.reclaimers:
            reclaimer.again()
    for side in sides:
        wait_for('grace is over', lambda: side.locker.lock(side.fh3, 2, True, 300, 10) !=
                 nlm4.IN_GRACE)
        side.say('v3 conflict', side.locker.lock(side.fh3, 2, True, 150, 10))
        side.say('v3 late reclaim', side.locker.lock(side.fh3, 2, True, 500, 10, reclaim=True))
        for reclaimer in side.reclaimers:
            reclaimer.after()
    for got, wanted in zip(sides[0].told, sides[1].told):
        same(got, wanted, 'reclaiming')
    same(len(sides[0].told), len(sides[1].told), 'length of the story')
    migration.crawl()


if __name__ == '__main__':
    sys.exit(main())
