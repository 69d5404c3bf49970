#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Attributes and reads through the door, and who waits for what."""
import os
import sys
import time
from concurrent import futures

from door import CTIME, MTIME, TEXT, World, kinds, read_status, timed, unfilled
import fake as f
import nfs3
import nfs4
import sandbox
from fake import ATTRIBUTES, BEGIN, END, FILL, HOLD, NAME, RANGE, TRUNCATE
from harness import case, expect, main, same
from sandbox import wait_for
from xdr import opaque, u32, u64


@case()
def times_and_space_are_the_records(args):
    """In every way attributes reach a client, before, during and after the fill."""
    world = World(args, lambda w: w.file('stub'))
    client = world.client
    v4 = nfs4.Client('127.0.0.1', 1)

    def check(what):
        fh, attr = client.lookup(client.root, b'stub')
        listed = next(a for n, _, a, _ in client.listing(client.root) if n == b'stub')
        for how, a in (('LOOKUP', attr), ('GETATTR', client.getattr(fh)), ('READDIRPLUS', listed)):
            same((a.mtime, a.ctime, a.size), (MTIME, CTIME, len(TEXT)), f'{what}: {how}')
            expect(a.used >= len(TEXT), f'{what}: {how}: {a.used} bytes used')
        _, a = v4.walk('stub')
        same((a.mtime, a.ctime, a.change, a.size), (MTIME, CTIME, CTIME, len(TEXT)), f'{what}: v4')
    check('before')
    with open(world.path('stub'), 'r+b') as out:        # as a fill does
        out.write(TEXT[:100])
    world.server.restart()
    client = world.client = world.server.client()
    v4 = nfs4.Client('127.0.0.1', 1)
    check('during')
    same(client.read_all(world.fh('stub')), TEXT, 'content')
    same(client.getattr(world.fh('stub')).mtime, MTIME, 'mtime after')
    expect(f.is_normal(world.path('stub')), 'it is not normal')


@case()
def a_fill_that_ends_under_a_lookup(args):
    """Attributes that were read while it moved them are not shown, though there is no record any
    more."""
    def fill(world):
        world.file('stub')
        with open(world.path('stub'), 'r+b') as out:        # moves its mtime
            out.write(TEXT)
    world = World(args, fill)
    # FSAL VFS has read the attributes when it asks for the handle of the name.
    with futures.ThreadPoolExecutor() as pool, sandbox.stopped_after(
            world.server.process.pid, 'name_to_handle_at', 'stub', 1,
            lambda: pool.submit(world.client.lookup, world.client.root, b'stub')) as result:
        os.utime(world.path('stub'), ns=(MTIME, MTIME))
        os.removexattr(world.path('stub'), f.XATTR)
    same(result.result()[1].mtime, MTIME, 'mtime')


def answers_at_once(world, fh):
    other = world.server.client()
    for _ in range(3):
        same(other.once(nfs3.GETATTR, opaque(fh))[0], 0, 'GETATTR')
        same(other.once(nfs3.ACCESS, opaque(fh) + u32(1))[0], 0, 'ACCESS')
        other.lookup(other.root, os.path.basename(world.held))


@case()
def i4_zeros_are_read_again(args):
    """When what is here is durable: they may be a hole in place of what the disk did not take."""
    world = World(args, lambda w: w.file('stub'))
    client, fake = world.client, world.fake
    answers = [-5, 0]
    fake.on[RANGE] = lambda r: 0 if not r.flags else answers.pop(0) or fake.do_range(r)
    same(read_status(client, world.fh('stub')), nfs3.IO, 'status')
    same(client.read(world.fh('stub'), 0, 4096)[0], TEXT[:4096], 'content')
    same([r.flags for r in fake.requests(RANGE)], 2 * [0, f.MAKE_DURABLE], 'requests')


@case()
def getattr_never_waits_for_data(args):
    """Nor does a lookup of the file."""
    world = World(args, lambda w: w.file('stub'), hold_ms=20000)
    client, fake = world.client, world.fake
    stub = world.fh('stub')
    world.held = 'stub'
    fake.on[RANGE] = fake.on[BEGIN] = lambda r: HOLD
    pending = [client.start(nfs3.READ, client.read_args(stub, 0, 10)),
               client.start(nfs3.WRITE, opaque(stub) + u64(0) + u32(3) + u32(0) + opaque(b'abc'))]
    fake.wait(RANGE), fake.wait(BEGIN)
    answers_at_once(world, stub)
    same([p.done() for p in pending], [False, False], 'answers to what waits')


@case()
def getattr_never_says_delay(args):
    """Of a directory that is being filled.  MDCACHE lets nobody near it while a listing waits, but
    that is over after the hold time."""
    world = World(args, unfilled, hold_ms=3000)
    client, fake = world.client, world.fake
    directory = world.fh('dir')
    world.held = 'dir'
    fake.on[FILL] = fake.on[NAME] = lambda r: HOLD
    readdir = opaque(directory) + u64(0) + bytes(8) + u32(4096)
    pending = client.start(nfs3.READDIR, readdir)
    fake.wait(FILL)
    answers_at_once(world, directory)
    same(pending.result(120).u32(), nfs3.JUKEBOX, 'status of the listing')
    expect(any(timed(lambda: client.once(nfs3.READDIR, readdir))[1] < 2.5 for _ in range(10)),
           'other listings waited as long again')
    answers_at_once(world, directory)
    same(len(fake.requests(FILL)), 1, 'fills')


@case()
def changes_of_attributes_are_bracketed(args):
    def fill(world):
        world.file('stub')
        unfilled(world)
        world.normal('normal')
    world = World(args, fill)
    client, fake = world.client, world.fake
    stub = world.fh('stub')
    client.setattr(stub, mode=0o600)
    client.setattr(stub, mtime=10**18, atime=10**18)
    client.setattr(world.fh('dir'), mode=0o700)
    client.setattr(world.fh('normal'), mode=0o600, size=3)
    same(kinds(fake.requests(BEGIN)), [ATTRIBUTES] * 3, 'brackets')
    same(client.getattr(stub).mtime, 10**18, 'mtime')
    fake.forget()
    client.setattr(stub, size=10)
    begun, = fake.requests(BEGIN)
    same((begun.change, begun.offset, begun.size), (TRUNCATE, 10, len(TEXT)), 'bracket, size at begin')
    same(client.read_all(stub), TEXT[:10], 'content')


@case()
def jukebox_at_the_hold_time(args):
    """While the work goes on, which the retry finds done."""
    def fill(world):
        world.file('stub')
        world.file('stub2')
        unfilled(world)
        unfilled(world, 'dir2')
    world = World(args, fill, hold_ms=1500)
    client, fake = world.client, world.fake
    stub, directory, dir2 = world.fh('stub'), world.fh('dir'), world.fh('dir2')
    held = {}

    def hold(request):
        held[request.op] = request
        return HOLD
    for op in (RANGE, NAME, FILL, BEGIN):
        fake.on[op] = hold
    calls = [(RANGE, nfs3.READ, client.read_args(stub, 0, 10)),
             (NAME, nfs3.LOOKUP, opaque(directory) + opaque(b'file1')),
             (FILL, nfs3.READDIR, opaque(dir2) + u64(0) + bytes(8) + u32(4096)),
             (BEGIN, nfs3.WRITE,
              opaque(world.fh('stub2')) + u64(0) + u32(3) + u32(0) + opaque(b'abc'))]
    for op, proc, body in calls:
        (status, _), seconds = timed(lambda: client.once(proc, body))
        same(status, nfs3.JUKEBOX, f'status of {proc}')
        expect(1.4 < seconds < 60, f'{proc} was answered after {seconds:.3f} s')
    wait_for('the last of them is cancelled',
             lambda: held[BEGIN].id in [r.ref for r in fake.requests(f.CANCEL)])
    fake.on.clear()
    for op, act in ((RANGE, fake.do_range), (NAME, fake.do_name), (FILL, fake.do_fill)):
        request = held[op]._replace(fd=None)
        fake.reply(request, act(request))
    fake.forget()
    for op, proc, body in calls:
        client.call(proc, body, op)
    same([r.op for r in fake.requests()], [BEGIN, END], 'requests of the retries')


@case()
def delay_over_v4(args):
    world = World(args, lambda w: w.file('stub'), hold_ms=300)
    world.fake.on[RANGE] = lambda r: HOLD
    for minor in (0, 1, 2):
        v4 = nfs4.Client('127.0.0.1', minor)
        fh, stateid = v4.open(v4.root, b'stub')
        read = u32(nfs4.READ) + stateid + u64(0) + u32(10)
        status, _ = v4.once(u32(nfs4.PUTFH) + opaque(fh), read)
        same(status, nfs4.DELAY, f'status of minor version {minor}')
        v4.release(fh, stateid)
    same(len(world.fake.requests(RANGE)), 3, 'requests')
    cancelled = [r.ref for r in world.fake.wait(f.CANCEL, 3)]
    same(cancelled, [r.id for r in world.fake.requests(RANGE)], 'requests that were cancelled')
    world.fake.on.clear()
    v4 = nfs4.Client('127.0.0.1', 2)
    same(v4.read_all(v4.walk('stub')[0]), TEXT, 'content')


@case()
def waits_for_one_directory_do_not_add_up(args):
    """MDCACHE holds the directory's lock over a lookup: many that come at once are all answered
    about a hold time later."""
    world = World(args, unfilled, hold_ms=2000)
    client, fake = world.client, world.fake
    directory = world.fh('dir')
    fake.on[NAME] = lambda r: HOLD
    start = time.monotonic()
    pending = [client.start(nfs3.LOOKUP, opaque(directory) + opaque(b'file%d' % n))
               for n in range(20)]
    statuses = [p.result(120).u32() for p in pending]
    seconds = time.monotonic() - start
    same(statuses, [nfs3.JUKEBOX] * 20, 'statuses')
    expect(seconds < 20 * 2 * 3 / 4, f'20 lookups took {seconds:.1f} s')
    same(len(fake.wait(NAME, 20)), 20, 'names asked for')
    for held in fake.requests(NAME):
        fake.reply(held, fake.do_name(held))
    fake.forget()
    for n in range(20):
        client.lookup(directory, b'file%d' % n)
    same(fake.requests(), [], 'requests of the retries')


@case()
def threads_that_wait_are_limited(args):
    """More lookups than the server has threads leave it alive."""
    def fill(world):
        for n in range(300):
            unfilled(world, f'dir{n}', 1)
        world.normal('normal')
    world = World(args, fill, hold_ms=60000)
    client, fake = world.client, world.fake
    handles = [world.fh(f'dir{n}') for n in range(300)]
    fake.on[FILL] = lambda r: HOLD
    pending = [client.start(nfs3.READDIR, opaque(h) + u64(0) + bytes(8) + u32(4096))
               for h in handles]
    other = world.server.client()
    same(other.read_all(other.walk('normal')[0]), b'normal', 'content')
    wait_for('most are told to come back', lambda: sum(p.done() for p in pending) >= 250)
    waiting = [p for p in pending if not p.done()]
    expect(len(waiting) <= 50, f'{len(waiting)} threads wait')
    expect(waiting, 'nobody waits')
    same({p.result().u32() for p in pending if p.done()}, {nfs3.JUKEBOX}, 'statuses')
    for held in fake.wait(FILL, 300):
        fake.reply(held, fake.do_fill(held))
    same({p.result(120).u32() for p in waiting}, {0}, 'statuses of those that waited')


@case()
def parked_reads_disturb_nobody(args):
    """400 of them, of a server with 200 threads, and one more for a normal file."""
    def fill(world):
        for n in range(400):
            world.file(f'stub{n}', b'%5d' % n)
        world.normal('normal')
    world = World(args, fill, hold_ms=60000)
    client, fake = world.client, world.fake
    handles = [world.fh(f'stub{n}') for n in range(400)]
    normal = world.fh('normal')
    fake.on[RANGE] = lambda r: HOLD
    pending = [client.start(nfs3.READ, client.read_args(h, 0, 5)) for h in handles]
    fake.wait(RANGE, 400)
    other = world.server.client()
    for _ in range(50):
        same(other.read_all(normal), b'normal', 'content')
        other.getattr(normal)
    v4 = nfs4.Client('127.0.0.1', 1)
    same(v4.read_all(v4.walk('normal')[0]), b'normal', 'content over v4')
    same(sum(p.done() for p in pending), 0, 'answers')
    for held in fake.requests(RANGE):
        fake.reply(held, fake.do_range(held))
    for n, p in enumerate(pending):
        reply = p.result(120)
        same(reply.u32(), 0, 'status')
        same(client.read_reply(reply)[0], b'%5d' % n, 'content')


@case()
def present_ranges_are_read_at_once(args):
    """And only what is missing is asked for."""
    def fill(world):
        world.file('stub')
        stub = world.fake.files[os.stat(world.path('stub')).st_ino]
        with open(world.path('stub'), 'r+b') as out:
            out.write(TEXT[:8192])
        stub.missing = [(8192, len(TEXT))]
        world.fake.store(world.path('stub'), stub)
    world = World(args, fill)
    client, fake = world.client, world.fake
    stub = world.fh('stub')
    same(client.read(stub, 100, 8092)[0], TEXT[100:8192], 'content')
    same(fake.requests(), [], 'requests')
    same(client.read(stub, 8191, 2)[0], TEXT[8191:8193], 'content')
    asked, = fake.requests(RANGE)
    same((asked.offset, asked.length), (8191, 2), 'range')


@case()
def a_file_that_grows_under_a_read(args):
    """The old server's is longer now, and the record that says so came after the look."""
    def fill(world):
        world.file('stub')
    world = World(args, fill)
    client, fake = world.client, world.fake
    stub, size = world.fh('stub'), len(TEXT)
    more = b'more' * 250

    def grow(request):
        fake.on.clear()
        fake.replace(world.path('stub'), TEXT + more)
        return 0
    fake.on[RANGE] = grow
    same(client.read(stub, size - 10, 500)[0], TEXT[-10:] + more[:490], 'content')
    same(len(fake.requests(RANGE)), 2, 'requests')


@case()
def a_file_that_is_replaced_under_a_read(args):
    """What the look said, or the reply to the fetch, is true of the old version only; where the
    file was short meanwhile, there are holes now."""
    def partial(world, name):
        with open(world.path(name), 'r+b') as out:
            out.write(TEXT[:8192])
        world.fake.replace(world.path(name), TEXT, [(8192, len(TEXT))])

    def fill(world):
        for name in ('stub', 'partial1', 'partial2', 'sparse'):
            world.file(name)
            if name != 'stub':
                partial(world, name)
    world = World(args, fill)
    client, fake, new = world.client, world.fake, TEXT[::-1]
    stub = world.fh('stub')

    def replace(name):
        fake.replace(world.path(name), b'short')
        fake.replace(world.path(name), new)

    def fetch(request):
        fake.on.clear()
        replace('stub')
        return 0
    fake.on[RANGE] = fetch
    same(client.read(stub, 0, 4096)[0], new[:4096], 'content of one that was fetched')
    same(client.read_all(stub), new, 'all of it')

    def meanwhile(name, nth, call, *args):
        """What a call returns after whose nth look the file is replaced."""
        with futures.ThreadPoolExecutor() as pool, sandbox.stopped_after(
                world.server.process.pid, 'name_to_handle_at', world.path(name), nth,
                lambda: pool.submit(call, *args)) as result:
            replace(name)
        return result.result()
    for nth in (1, 2):
        fh = world.fh(f'partial{nth}')
        data = meanwhile(f'partial{nth}', nth, client.read, fh, 0, 4096)[0]
        expect(data in (TEXT[:4096], new[:4096]),
               f'content of one that was here, another file after look {nth}: {data[:40]}...')
    v4 = nfs4.Client('127.0.0.1', 2)
    sparse, state = v4.open(v4.root, b'sparse')
    for nth in (1, 2):
        partial(world, 'sparse')
        same(meanwhile('sparse', nth, v4.seek, sparse, state, 4096, nfs4.DATA), (False, 4096),
             f'data of one that was here, another file after look {nth}')


@case()
def errors_are_told(args):
    def fill(world):
        for n in range(4):
            world.file(f'stub{n}')
        world.file('damaged')
        f.damage(world.path('damaged'))
    world = World(args, fill)
    client, fake = world.client, world.fake
    for n, error in enumerate((121, 116, 74, 28)):      # EREMOTEIO, ESTALE, EBADMSG, ENOSPC
        fake.on[RANGE] = lambda r: -error
        same(read_status(client, world.fh(f'stub{n}')), 28 if error == 28 else nfs3.IO,
             f'status for {error}')
    fake.on.clear()
    same(client.read_all(world.fh('stub1')), TEXT, 'content afterwards')
    damaged = world.fh('damaged')
    same(read_status(client, damaged), nfs3.IO, 'status for a damaged record')
    expect(client.getattr(damaged).used >= len(TEXT), 'it looks like a hole')
    write = opaque(damaged) + u64(0) + u32(1) + u32(0) + opaque(b'x')
    same(client.once(nfs3.WRITE, write)[0], nfs3.IO, 'status of WRITE')


@case()
def what_nobody_waits_for_costs_nothing(args):
    """An old server that is away: each client's request is answered in time, and what it held is given
    back; beyond the budget the answer comes at once.  Normal files notice nothing."""
    def fill(world):
        for n in range(100):
            world.file(f'stub{n}')
            unfilled(world, f'dir{n}', 1)
        world.normal('normal')
    world = World(args, fill, hold_ms=300, blocks='MIGRATE { Max_Requests = 64; }')
    client, fake = world.client, world.fake
    stubs = [world.fh(f'stub{n}') for n in range(100)]
    dirs = [world.fh(f'dir{n}') for n in range(100)]
    normal = world.fh('normal')
    for op in (RANGE, NAME, FILL, BEGIN):
        fake.on[op] = lambda r: HOLD

    def descriptors():
        return len(os.listdir(f'/proc/{world.server.process.pid}/fd'))

    def ask(handles, proc, args_of):
        pending = [client.start(proc, args_of(h)) for h in handles]
        same({p.result(120).u32() for p in pending}, {nfs3.JUKEBOX}, 'statuses')
    before = descriptors()
    for _ in range(3):
        for n in range(0, 100, 20):
            ask(stubs[n:n + 20], nfs3.READ, lambda h: client.read_args(h, 0, 10))
    wait_for('what reads held is given back', lambda: descriptors() <= before + 2)
    same(len(fake.requests(RANGE)), 300, 'fetches')
    for _ in range(2):
        ask(dirs, nfs3.READDIR, lambda h: opaque(h) + u64(0) + bytes(8) + u32(4096))
        ask(dirs, nfs3.LOOKUP, lambda h: opaque(h) + opaque(b'file0'))
    wait_for('what listings held is given back', lambda: descriptors() <= before + 16 + 2)
    with futures.ThreadPoolExecutor(1) as executor:
        many = executor.submit(ask, stubs, nfs3.READ, lambda h: client.read_args(h, 0, 10))
        fake.wait(RANGE, 340)
        other = world.server.client()
        same(other.read_all(normal), b'normal', 'content')
        many.result()
    expect(len(fake.requests(RANGE)) <= 300 + 64, 'more requests than the budget')


@case()
def retriever_away(args):
    """Unfinished objects are delayed, everything else works; then it comes back."""
    def fill(world):
        world.file('stub')
        unfilled(world)
        os.mkdir(world.path('whole'))
        world.normal('whole/normal')
    world = World(args, fill, hold_ms=300)
    client, fake = world.client, world.fake
    stub, directory = world.fh('stub'), world.fh('dir')
    fake.stop()
    calls = [(nfs3.READ, client.read_args(stub, 0, 10)),
             (nfs3.WRITE, opaque(stub) + u64(0) + u32(3) + u32(0) + opaque(b'abc')),
             (nfs3.SETATTR, opaque(stub) + nfs3.sattr(mode=0o600) + u32(0)),
             (nfs3.LOOKUP, opaque(directory) + opaque(b'file1')),
             (nfs3.MKDIR, opaque(directory) + opaque(b'new') + nfs3.sattr())]
    for proc, body in calls:
        same(client.once(proc, body)[0], nfs3.JUKEBOX, f'status of {proc}')
    same(client.getattr(stub).mtime, MTIME, 'mtime')
    whole = world.fh('whole')
    same(client.read_all(client.lookup(whole, b'normal')[0]), b'normal', 'content')
    client.write(client.create(whole, b'made'), 0, b'x', nfs3.FILE_SYNC)
    fake.start()
    fake.wait_connected()
    for proc, body in calls:
        client.call(proc, body)
    same(client.read(stub, 0, 10)[0], b'abc' + TEXT[3:10], 'content')


@case()
def descriptors_do_not_pile_up(args):
    """Whoever asks again and again while nothing can be had costs nothing more each time."""
    def fill(world):
        world.file('stub')
        unfilled(world)
    world = World(args, fill, hold_ms=20)
    client, fake = world.client, world.fake
    stub, directory = world.fh('stub'), world.fh('dir')
    fake.stop()

    def descriptors():
        return len(os.listdir(f'/proc/{world.server.process.pid}/fd'))

    def ask():
        for _ in range(20):
            same(read_status(client, stub), nfs3.JUKEBOX, 'READ')
            client.once(nfs3.WRITE, opaque(stub) + u64(0) + u32(3) + u32(0) + opaque(b'abc'))
            client.once(nfs3.SETATTR, opaque(stub) + nfs3.sattr(mode=0o600) + u32(0))
            client.once(nfs3.LOOKUP, opaque(directory) + opaque(b'file1'))
            client.once(nfs3.READDIR, opaque(directory) + u64(0) + bytes(8) + u32(4096))
    ask()
    before = descriptors()
    ask()
    ask()
    wait_for('descriptors are closed', lambda: descriptors() <= before + 5)


if __name__ == '__main__':
    sys.exit(main())
