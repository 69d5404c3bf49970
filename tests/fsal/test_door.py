#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The packaged ganesha.nfsd with FSAL MIGRATE, and a retriever that does what the case says
(fake.py): what the door asks for, what it answers meanwhile, and what it leaves alone."""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import fake as f                                                        # noqa: E402
import nfs3                                                             # noqa: E402
import nfs4                                                             # noqa: E402
import sandbox                                                          # noqa: E402
import servers                                                          # noqa: E402
from fake import (ATTRIBUTES, BEGIN, CHANGED, DURABLE, END, FILL, FILLED, HOLD, NAME, PLACE,  # noqa: E402
                  PUNCH, RANGE, SYNC, TRUNCATE, UNFILLED, WRITE, Fake)
from harness import case, expect, main, same                            # noqa: E402
from sandbox import BASE, wait_for                             # noqa: E402
from servers import Ganesha, plugins_with                               # noqa: E402
from xdr import opaque, u32, u64                                        # noqa: E402

ROOT, SOCKET = BASE + '/new', '/run/quickmigrate/test.sock'
LAYER = f'Name = MIGRATE; Volume = "test"; Socket = "{SOCKET}"; FSAL {{ Name = VFS; }}'
ACCES = 13
MTIME, CTIME = 10**18 + 123456789, 10**18 + 987654321
TEXT = b'0123456789abcdef' * 4096


def core_settings():
    """Ganesha 6 wants a capability that a container does not have."""
    version = sandbox.sh('ganesha.nfsd', '-v')
    return 'Allow_Set_Io_Flusher_Fail = true;' if ' V6' in version or ' 6.' in version else ''


class World:
    """A volume with a fake retriever and a server; fill(world) makes what is in it."""

    def __init__(self, args, fill=None, hold_ms=500, path=ROOT, fs='ext4', fsal=LAYER, **kw):
        sandbox.volume(ROOT, '400M', fs)
        self.fake = Fake(SOCKET, hold_ms)
        f.set_record(ROOT, FILLED, 0, MTIME, CTIME)
        os.mkdir(ROOT + '/.migrate', 0o700)
        if fill:
            fill(self)
        self.fake.start()
        module = sandbox.sh('find', args.module or args.build, '-name', 'libfsalmigrate.so')
        self.server = Ganesha('server', path, fsal, plugins=plugins_with(module.split()[0]),
                              core=core_settings(), **kw).start()
        if fsal == LAYER:
            self.fake.wait_connected()
        self.client = self.server.client()

    def path(self, name):
        return f'{ROOT}/{name}'

    def file(self, name, content=TEXT, **kw):
        self.fake.file(self.path(name), content, **kw)

    def normal(self, name, content=b'normal'):
        with open(self.path(name), 'wb') as out:
            out.write(content)

    def fh(self, name):
        return self.client.walk(name)[0]

    def content(self, name):
        with open(self.path(name), 'rb') as file:
            return file.read()


def timed(call):
    start = time.monotonic()
    result = call()
    return result, time.monotonic() - start


def read_status(client, fh, offset=0, count=16):
    return client.once(nfs3.READ, client.read_args(fh, offset, count))[0]


def kinds(requests):
    return [r.change for r in requests]


# ---- what is here already ----------------------------------------------------------------------

def normal_tree(world):
    os.mkdir(world.path('dir'))
    for n in range(50):
        world.normal(f'dir/file{n}', b'%d' % n * 100)


@case()
def everything_works_on_a_finished_volume(args):
    """No record anywhere, no retriever."""
    def fill(world):
        normal_tree(world)
        os.removexattr(ROOT, f.XATTR)
        os.rmdir(ROOT + '/.migrate')
        world.fake.finished = True
    world = World(args, fill)
    world.fake.stop()
    client = world.client
    directory = world.fh('dir')
    same(len(list(client.listing(directory))), 50, 'entries')
    same(client.read_all(world.fh('dir/file7')), b'7' * 100, 'content')
    made = client.create(directory, b'made', mode=0o640)
    client.write(made, 0, b'hello', nfs3.FILE_SYNC)
    client.rename(directory, b'made', client.root, b'moved')
    client.link(made, directory, b'again')
    client.symlink(client.root, b'symlink', b'moved')
    client.mkdir(client.root, b'newdir')
    client.rmdir(client.root, b'newdir')
    client.setattr(made, size=3, mode=0o600)
    same(client.read_all(made), b'hel', 'content')
    same(os.stat(world.path('moved')).st_nlink, 2, 'links')
    client.remove(client.root, b'moved')
    same(world.content('dir/again'), b'hel', 'content on disk')
    v4 = nfs4.Client('127.0.0.1', 1)
    same(v4.read_all(v4.walk('dir/file9')[0]), b'9' * 100, 'content over v4')
    same(world.fake.requests(), [], 'requests')


@case()
def handles_are_those_of_plain_vfs(args):
    """Byte by byte, and across a restart without the layer."""
    def fill(world):
        normal_tree(world)
        world.file('stub')
    world = World(args, fill)
    names = ['dir', 'dir/file3', 'stub']
    with_layer = [world.fh(n) for n in names] + [world.client.root]
    v4 = nfs4.Client('127.0.0.1', 0)
    with_layer4 = [v4.walk(n)[0] for n in names]
    world.server.stop()
    world.server.configure('Name = VFS;')
    world.server.start()
    client = world.client = world.server.client()
    same([world.fh(n) for n in names] + [client.root], with_layer, 'handles')
    v4 = nfs4.Client('127.0.0.1', 0)
    same([v4.walk(n)[0] for n in names], with_layer4, 'handles of v4')
    same(client.read_all(with_layer[1]), b'3' * 100, 'content by the old handle')


def calls_of_the_layer(world, work, reads):
    """The server's system calls during work() with which the layer looks at objects."""
    trace, log = BASE + '/trace', sandbox.LOGS + '/strace.log'
    tracer = sandbox.Process('strace', ['strace', '-f', '-p', world.server.process.pid, '-o', trace,
                                        '-e', 'trace=open_by_handle_at,preadv'])
    wait_for('strace attaches', lambda: 'attached' in open(log).read(), process=tracer)
    work()
    wait_for('strace writes', lambda: open(trace).read().count('preadv') >= reads)
    tracer.stop(signal.SIGINT)
    with open(trace) as lines:
        return [line for line in lines if 'O_NOATIME' in line]


@case()
def normal_objects_cost_no_system_call(args):
    """None of ours, once it is known that they are normal: not for a file, not for what is below
    a normal directory."""
    def fill(world):
        normal_tree(world)
        world.normal('file')
    world = World(args, fill)
    client = world.client
    directory, file = world.fh('dir'), world.fh('file')
    client.read_all(file)
    list(client.listing(directory))

    def work():
        for _ in range(5):
            client.read_all(file)
            client.getattr(file)
            client.write(file, 0, b'x')
            for n in range(50):
                client.read_all(world.fh(f'dir/file{n}'))
    same(calls_of_the_layer(world, work, 255), [], 'system calls')


@case()
def the_end_is_noticed(args):
    """When the root is normal, and the retriever gone for good: then nothing is looked at, not even
    what nobody has touched yet."""
    def fill(world):
        normal_tree(world)
        world.file('stub')
    world = World(args, fill)
    client = world.client
    same(client.read_all(world.fh('stub')), TEXT, 'content')
    os.removexattr(ROOT, f.XATTR)
    os.rmdir(ROOT + '/.migrate')
    world.fake.stop()
    wait_for('the server notices', lambda: 'everything is here' in open(world.server.process.log).read())

    def work():
        for n in range(50):
            client.read_all(world.fh(f'dir/file{n}'))
    same(calls_of_the_layer(world, work, 50), [], 'system calls')


@case()
def not_attached_yet(args):
    """The export was made of an empty directory, which gets its record later."""
    def fill(world):
        os.removexattr(ROOT, f.XATTR)
        os.rmdir(ROOT + '/.migrate')
        world.fake.finished = True          # so says a retriever of a normal root
    world = World(args, fill)
    client, fake = world.client, world.fake
    same(list(client.listing(client.root)), [], 'entries')
    os.mkdir(ROOT + '/.migrate', 0o700)
    fake.directory(ROOT, [('stub', lambda path: fake.file(path, TEXT))])
    lookup = opaque(client.root) + opaque(b'stub')
    wait_for('the server notices', lambda: client.once(nfs3.LOOKUP, lookup)[0] == 0, 10)
    same(client.read_all(world.fh('stub')), TEXT, 'content')
    same([(r.op, r.text) for r in fake.requests()][0], (NAME, b'stub'), 'request')
    same(client.once(nfs3.LOOKUP, opaque(client.root) + opaque(b'.migrate'))[0], nfs3.NOENT,
         'LOOKUP of the private directory')


@case()
def private_directory_is_hidden(args):
    def fill(world):
        os.mkdir(world.path('dir'))
        os.mkdir(world.path('dir/.migrate'))
    world = World(args, fill)
    client = world.client
    name = opaque(b'.migrate')
    same([n for n, _, _, _ in client.listing(client.root)], [b'dir'], 'names in the root')
    same(client.once(nfs3.LOOKUP, opaque(client.root) + name)[0], nfs3.NOENT, 'LOOKUP')
    same(client.once(nfs3.MKDIR, opaque(client.root) + name + nfs3.sattr())[0], ACCES, 'MKDIR')
    same(client.once(nfs3.CREATE, opaque(client.root) + name + u32(0) + nfs3.sattr())[0], ACCES,
         'CREATE')
    same(client.once(nfs3.SYMLINK, opaque(client.root) + name + nfs3.sattr() + opaque(b'x'))[0],
         ACCES, 'SYMLINK')
    same(client.once(nfs3.RENAME, opaque(client.root) + opaque(b'dir') + opaque(client.root) +
                     name)[0], ACCES, 'RENAME')
    below = world.fh('dir')
    same([n for n, _, _, _ in client.listing(below)], [b'.migrate'], 'names elsewhere')
    client.lookup(below, b'.migrate')
    expect(os.path.isdir(ROOT + '/.migrate'), 'it is gone')


@case()
def private_directory_of_the_volumes_root_only(args):
    """An export below the root shows a directory of that name."""
    def fill(world):
        world.fake.directory(world.path('below'), state=FILLED)
        os.mkdir(world.path('below/.migrate'))
    world = World(args, fill, path=ROOT + '/below')
    same([n for n, _, _, _ in world.client.listing(world.client.root)], [b'.migrate'], 'names')


# ---- names ---------------------------------------------------------------------------------------

def unfilled(world, name='dir', entries=20, **kw):
    def make(path):
        world.fake.file(path, b'content of ' + os.path.basename(path).encode())
    world.fake.directory(world.path(name), [(f'file{n}', make) for n in range(entries)], **kw)


@case()
def lookup_asks_for_one_name(args):
    world = World(args, unfilled)
    client = world.client
    directory = world.fh('dir')
    fh, attr = client.lookup(directory, b'file3')
    same([(r.op, r.text) for r in world.fake.requests()], [(NAME, b'file3')], 'requests')
    same((attr.size, attr.mtime, attr.ctime), (16, MTIME, CTIME), 'attributes')
    same(client.once(nfs3.LOOKUP, opaque(directory) + opaque(b'nothing'))[0], nfs3.NOENT, 'no name')
    same(os.listdir(world.path('dir')), ['file3'], 'names on disk')
    same(client.read_all(fh), b'content of file3', 'content')


@case()
def open_by_name_asks_for_one_name(args):
    """NFSv4's OPEN, which looks the name up below by itself."""
    world = World(args, unfilled)
    v4 = nfs4.Client('127.0.0.1', 0)
    directory, _ = v4.walk('dir')
    fh, stateid = v4.open(directory, b'file5')
    same([(r.op, r.text) for r in world.fake.requests()], [(NAME, b'file5')], 'requests')
    same(v4.read_all(fh, stateid), b'content of file5', 'content')
    v4.release(fh, stateid)


@case()
def listing_fills(args):
    world = World(args, unfilled)
    client = world.client
    directory = world.fh('dir')
    same(client.getattr(directory).mtime, 10**18 + 5, 'mtime before')
    entries = list(client.listing(directory))
    same(len(entries), 20, 'entries')
    same({(a.size > 0, a.mtime, a.ctime) for _, _, a, _ in entries}, {(True, MTIME, CTIME)},
         'attributes')
    same([r.op for r in world.fake.requests()], [FILL], 'requests')
    list(client.listing(directory))
    same([r.op for r in world.fake.requests()], [FILL], 'requests after another listing')


@case()
def names_change_in_filled_directories_only(args):
    """Everything that makes or takes a name waits for the directory."""
    def fill(world):
        for n in range(8):
            unfilled(world, f'dir{n}', 2)
        world.normal('normal')
    world = World(args, fill)
    client, fake = world.client, world.fake
    root, dirs = client.root, [world.fh(f'dir{n}') for n in range(8)]
    file = world.fh('normal')
    changes = [
        lambda d: client.create(d, b'new'), lambda d: client.mkdir(d, b'new'),
        lambda d: client.symlink(d, b'new', b'x'), lambda d: client.link(file, d, b'new'),
        lambda d: client.rename(root, b'normal', d, b'new'), lambda d: client.remove(d, b'file0'),
        lambda d: client.rename(d, b'file0', d, b'new'),
    ]
    for n, change in enumerate(changes):
        fake.forget()
        change(dirs[n])
        filled = [r.path for r in fake.requests(FILL)]
        same(filled, [world.path(f'dir{n}')], f'fills for change {n}')
        expect({'file1'} <= set(os.listdir(world.path(f'dir{n}'))), f'names after change {n}')
    status, _ = client.once(nfs3.RMDIR, opaque(root) + opaque(b'dir7'))
    same(status, nfs3.NOTEMPTY, 'RMDIR of a directory that only looks empty')
    status, _ = client.once(nfs3.RENAME, opaque(root) + opaque(b'dir1') + opaque(root) +
                            opaque(b'dir7'))
    expect(status in (nfs3.NOTEMPTY, nfs3.EXIST), f'RENAME over a full directory: {status}')


@case()
def replaced_directory_is_filled_first(args):
    def fill(world):
        unfilled(world, 'target', 2)
        os.mkdir(world.path('source'))
    world = World(args, fill)
    client = world.client
    status, _ = client.once(nfs3.RENAME, opaque(client.root) + opaque(b'source') +
                            opaque(client.root) + opaque(b'target'))
    expect(status in (nfs3.NOTEMPTY, nfs3.EXIST), f'RENAME: {status}')
    same([r.path for r in world.fake.requests(FILL)], [world.path('target')], 'fills')


@case()
def placing_an_unfinished_object(args):
    """It gets a name in a bracket that tells the directory, or is not told when it is normal."""
    def fill(world):
        world.file('stub')
        world.normal('whole')
        os.mkdir(world.path('dir'))
    world = World(args, fill)
    client, fake = world.client, world.fake
    directory = world.fh('dir')
    stub = world.fh('stub')
    seen = []
    fake.on[BEGIN] = lambda r: seen.append(os.path.exists(world.path('dir/link'))) or 0
    client.link(stub, directory, b'link')
    client.rename(client.root, b'stub', directory, b'moved')
    client.rename(client.root, b'whole', directory, b'whole')
    begins = fake.requests(BEGIN)
    same([(r.change, r.dir) for r in begins], [(PLACE, world.path('dir'))] * 2, 'brackets')
    same(seen[0], False, 'linked before the bracket was open')
    same([bool(r.flags & CHANGED) for r in fake.requests(END)], [True, True], 'ends')
    same(client.read_all(world.fh('dir/moved')), TEXT, 'content')


@case()
def a_directory_is_looked_at_again_after_a_placement(args):
    """It was normal, so that what was in it needed no look; that is over when something unfinished
    moves in, above it too."""
    def fill(world):
        os.makedirs(world.path('a/b'))
        world.normal('a/b/normal')
        world.file('stub')
    world = World(args, fill)
    client, fake = world.client, world.fake
    deep = world.fh('a/b')
    list(client.listing(deep))

    def begin(request):
        for path in (world.path('a'), world.path('a/b')):
            st = os.stat(path)
            f.set_record(path, FILLED, 0, st.st_mtime_ns, st.st_ctime_ns)
        return fake.do_place(request)
    fake.on[BEGIN] = begin
    world.fh('stub')
    client.rename(client.root, b'stub', deep, b'moved')
    # A name of the same stub that the server has no cached entry for, made behind its back.
    os.link(world.path('a/b/moved'), world.path('a/b/other'))
    world.file('a/b/second', b'second')
    same(client.read_all(world.fh('a/b/second')), b'second', 'content of a new stub in it')
    same(client.read_all(world.fh('a/b/other')), TEXT, 'content')


@case()
def a_directory_that_is_not_normal_any_more_is_moved(args):
    """Its move is a placement: what the server found before something was placed in it is over."""
    def fill(world):
        os.makedirs(world.path('a/b'))
        os.mkdir(world.path('c'))
        world.file('stub')
    world = World(args, fill)
    client, fake = world.client, world.fake
    inner, target = world.fh('a/b'), world.fh('c')
    list(client.listing(inner))
    list(client.listing(target))
    world.fh('stub')

    def begin(request):
        for path in (world.path('a'), world.path('a/b')):
            if os.path.exists(path):
                f.set_record(path, FILLED, 0, MTIME, CTIME)
        return fake.do_place(request)
    fake.on[BEGIN] = begin
    client.rename(client.root, b'stub', inner, b'moved')
    client.rename(world.fh('a'), b'b', target, b'b')
    same([(r.path, r.dir) for r in fake.requests(BEGIN)],
         [(world.path('stub'), world.path('a/b')), (world.path('a/b'), world.path('c'))], 'brackets')


# ---- attributes ----------------------------------------------------------------------------------

@case()
def times_and_space_are_the_records(args):
    """In every way attributes reach a client, before, during and after the fill."""
    world = World(args, lambda w: w.file('stub'))
    client, fake = world.client, world.fake
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


def answers_at_once(world, fh):
    other = world.server.client()
    for _ in range(3):
        same(other.once(nfs3.GETATTR, opaque(fh))[0], 0, 'GETATTR')
        same(other.once(nfs3.ACCESS, opaque(fh) + u32(1))[0], 0, 'ACCESS')
        other.lookup(other.root, os.path.basename(world.held))


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
    world = World(args, unfilled, hold_ms=300)
    client, fake = world.client, world.fake
    directory = world.fh('dir')
    world.held = 'dir'
    fake.on[FILL] = fake.on[NAME] = lambda r: HOLD
    readdir = opaque(directory) + u64(0) + bytes(8) + u32(4096)
    pending = client.start(nfs3.READDIR, readdir)
    fake.wait(FILL)
    answers_at_once(world, directory)
    same(pending.result(20).u32(), nfs3.JUKEBOX, 'status of the listing')
    _, seconds = timed(lambda: client.once(nfs3.READDIR, readdir))
    expect(seconds < 0.25, f'another listing was answered after {seconds:.3f} s')
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


# ---- reads -----------------------------------------------------------------------------------------

@case()
def jukebox_at_the_hold_time(args):
    """While the work goes on, which the retry finds done."""
    def fill(world):
        world.file('stub')
        world.file('stub2')
        unfilled(world)
        unfilled(world, 'dir2')
    world = World(args, fill, hold_ms=400)
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
        expect(0.35 < seconds < 5, f'{proc} was answered after {seconds:.3f} s')
    fake.wait(f.CANCEL)                         # the begin's
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
    same(len(world.fake.requests(RANGE)), 1, 'requests: a read joins the one under way')
    world.fake.on.clear()
    held, = world.fake.requests(RANGE)
    world.fake.reply(held, world.fake.do_range(held))
    v4 = nfs4.Client('127.0.0.1', 2)
    same(v4.read_all(v4.walk('stub')[0]), TEXT, 'content')


@case()
def waits_for_one_directory_do_not_add_up(args):
    """MDCACHE holds the directory's lock over a lookup: many that come at once are all answered
    about a hold time later."""
    world = World(args, unfilled, hold_ms=500)
    client, fake = world.client, world.fake
    directory = world.fh('dir')
    fake.on[NAME] = lambda r: HOLD
    start = time.monotonic()
    pending = [client.start(nfs3.LOOKUP, opaque(directory) + opaque(b'file%d' % n))
               for n in range(20)]
    statuses = [p.result(30).u32() for p in pending]
    seconds = time.monotonic() - start
    same(statuses, [nfs3.JUKEBOX] * 20, 'statuses')
    expect(seconds < 20 * 0.5 / 2, f'20 lookups took {seconds:.1f} s')
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
    world = World(args, fill, hold_ms=20000)
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
    same({p.result(30).u32() for p in waiting}, {0}, 'statuses of those that waited')


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
        reply = p.result(60)
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
def errors_are_told(args):
    def fill(world):
        for n in range(4):
            world.file(f'stub{n}')
        world.file('damaged')
        value = bytearray(os.getxattr(world.path('damaged'), f.XATTR))
        value[-1] ^= 1
        os.setxattr(world.path('damaged'), f.XATTR, bytes(value))
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
    wait_for('descriptors are closed', lambda: descriptors() <= before + 5, 10)


# ---- writes ----------------------------------------------------------------------------------------

@case()
def writes_are_bracketed(args):
    world = World(args, lambda w: w.file('stub'))
    client, fake = world.client, world.fake
    stub = world.fh('stub')
    seen = []

    def begin(request):
        seen.append(world.content('stub')[100:103])
        return fake.do_begin(request)
    fake.on[BEGIN] = begin
    client.write(stub, 100, b'abc')
    begun, = fake.requests(BEGIN)
    ended, = fake.requests(END)
    same((begun.change, begun.offset, begun.length), (WRITE, 100, 3), 'begin')
    same((ended.ref, ended.flags, ended.offset, ended.length), (begun.id, CHANGED, 100, 3), 'end')
    same(seen, [bytes(3)], 'bytes at begin')
    same(client.read(stub, 100, 3)[0], b'abc', 'content')
    same(fake.requests(RANGE), [], 'fetches for what was written')
    same(client.read_all(stub), TEXT[:100] + b'abc' + TEXT[103:], 'content')


@case()
def stable_writes_end_durable(args):
    world = World(args, lambda w: w.file('stub'))
    client, fake = world.client, world.fake
    stub = world.fh('stub')
    client.write(stub, 0, b'a', nfs3.UNSTABLE)
    client.write(stub, 1, b'b', nfs3.DATA_SYNC)
    client.write(stub, 2, b'c', nfs3.FILE_SYNC)
    same([r.flags for r in fake.requests(END)], [CHANGED, CHANGED | DURABLE, CHANGED | DURABLE],
         'flags of the ends')
    same(fake.requests(SYNC), [], 'syncs')
    client.commit(stub)
    same([r.path for r in fake.requests(SYNC)], [world.path('stub')], 'syncs after COMMIT')


@case()
def brackets_are_made_again(args):
    """The retriever is killed between begin and the answer of end."""
    def fill(world):
        world.file('stub')
        os.mkdir(world.path('dir'))
    world = World(args, fill, hold_ms=20000)
    client, fake = world.client, world.fake
    stub, directory = world.fh('stub'), world.fh('dir')

    def die(request):
        del fake.on[END]
        fake.stop()
        fake.start()
        return HOLD
    changes = [
        (WRITE, lambda: client.write(stub, 5, b'abc', nfs3.FILE_SYNC)),
        (ATTRIBUTES, lambda: client.setattr(stub, mode=0o600)),
        (TRUNCATE, lambda: client.setattr(stub, size=1000)),
        (PLACE, lambda: client.rename(client.root, b'stub', directory, b'moved')),
        (PLACE, lambda: client.link(stub, client.root, b'linked')),
    ]
    for kind, change in changes:
        fake.forget()
        fake.on[END] = die
        change()
        same(kinds(fake.requests(BEGIN)), [kind, kind], f'brackets of kind {kind}')
        same([r.flags & CHANGED for r in fake.requests(END)], [CHANGED] * 2, 'ends')
        same(client.jukebox, 0, 'delays')
    same(client.read_all(stub), TEXT[:5] + b'abc' + TEXT[8:1000], 'content')
    same((os.stat(world.path('dir/moved')).st_mode & 0o777,
          os.stat(world.path('linked')).st_nlink), (0o600, 2), 'mode and links')


@case()
def begin_that_comes_too_late_is_ended(args):
    """It was answered DELAY: the bracket is closed without a change."""
    world = World(args, lambda w: w.file('stub'), hold_ms=100)
    client, fake = world.client, world.fake
    stub = world.fh('stub')
    fake.on[BEGIN] = lambda r: HOLD
    changes = [(nfs3.WRITE, opaque(stub) + u64(0) + u32(3) + u32(0) + opaque(b'abc')),
               (nfs3.SETATTR, opaque(stub) + nfs3.sattr(size=0) + u32(0))]
    for proc, body in changes:
        same(client.once(proc, body)[0], nfs3.JUKEBOX, 'status')
    for held in fake.wait(BEGIN, 2):
        fake.reply(held)
    for ended in fake.wait(END, 2):
        same(ended.flags & CHANGED, 0, 'flags')
    same(world.content('stub'), bytes(len(TEXT)), 'bytes')


@case()
def truncating_open_is_bracketed(args):
    """By name and by handle, over v3 and v4; the stub is whole until the bracket is open."""
    def fill(world):
        for n in range(4):
            world.file(f'stub{n}')
    world = World(args, fill)
    client, fake = world.client, world.fake

    def create(name):                   # of a file that the server does not know yet
        client.create(client.root, name, size=0)

    def create_known(name):
        world.fh(name)
        client.create(client.root, name, size=0)

    v4 = nfs4.Client('127.0.0.1', 1)

    def open4(name):                    # OPEN, UNCHECKED, with size 0
        v4.call(u32(nfs4.PUTFH) + opaque(v4.root),
                u32(nfs4.OPEN) + u32(0) + u32(2) + u32(0) + v4.clientid + opaque(b'o') + u32(1) +
                u32(0) + u32(1) + u32(1 << 4) + opaque(u64(0)) + u32(0) + opaque(name.encode()))

    def open4_known(name):
        v4.walk(name)
        open4(name)
    for n, how in enumerate((create, create_known, open4, open4_known)):
        fake.forget()
        how(f'stub{n}')
        begun, = fake.requests(BEGIN)
        same((begun.change, begun.offset, begun.size), (TRUNCATE, 0, len(TEXT)),
             f'{how.__name__}: bracket, size at begin')
        same(os.stat(world.path(f'stub{n}')).st_size, 0, f'{how.__name__}: size')
        same(fake.requests(RANGE), [], f'{how.__name__}: fetches')


@case()
def unlinked_and_open(args):
    """A stub that was removed is read to its end by whoever has it open."""
    world = World(args, lambda w: w.file('stub'))
    client, fake = world.client, world.fake
    v4 = nfs4.Client('127.0.0.1', 1)
    fh, stateid = v4.open(v4.root, b'stub')
    free = os.statvfs(ROOT).f_ffree
    client.remove(client.root, b'stub')
    same(fake.requests(), [], 'requests for REMOVE')
    same(v4.read(fh, 0, 100, stateid)[0], TEXT[:100], 'content')
    same(v4.read_all(fh, stateid), TEXT, 'content')
    expect(fake.requests(RANGE)[0].path.endswith('(deleted)'), 'what was asked for')
    v4.release(fh, stateid)
    wait_for('its space is free', lambda: os.statvfs(ROOT).f_ffree == free + 1)


@case()
def unlinked_while_a_read_waits(args):
    """Nobody has it open but the server, for that read."""
    world = World(args, lambda w: w.file('stub'), hold_ms=20000)
    client, fake = world.client, world.fake
    stub = world.fh('stub')
    fake.on[RANGE] = lambda r: HOLD
    pending = client.start(nfs3.READ, client.read_args(stub, 0, 100))
    held, = fake.wait(RANGE)
    world.server.client().remove(client.root, b'stub')
    fake.reply(held, 0)                 # of bytes that are holes: there is no file to put them in
    reply = pending.result(20)
    same(reply.u32(), 0, 'status')
    same(client.read_reply(reply)[0], bytes(100), 'content')


@case()
def seek_sees_missing_ranges_as_data(args):
    """NFSv4.2's SEEK, ALLOCATE and DEALLOCATE."""
    def fill(world):
        world.file('stub', bytes(1 << 20))
        stub = world.fake.files[os.stat(world.path('stub')).st_ino]
        stub.missing = [(65536, 131072)]
        world.fake.store(world.path('stub'), stub)
    world = World(args, fill)
    v4 = nfs4.Client('127.0.0.1', 2)
    fh, stateid = v4.open(v4.root, b'stub', 3)

    def seek(offset, what):
        r = v4.call(u32(nfs4.PUTFH) + opaque(fh), u32(69) + stateid + u64(offset) + u32(what))
        r.at += 16
        return r.u32(), r.u64()
    same(seek(0, 0), (0, 65536), 'data from 0')
    same(seek(70000, 0), (0, 70000), 'data from inside')
    same(seek(0, 1), (0, 0), 'hole from 0')
    same(seek(65536, 1), (0, 131072), 'hole from the missing range')
    same(seek(131072, 0)[0], 1, 'end of file after it')
    fake = world.fake
    v4.call(u32(nfs4.PUTFH) + opaque(fh), u32(62) + stateid + u64(65536) + u64(4096))
    v4.call(u32(nfs4.PUTFH) + opaque(fh), u32(59) + stateid + u64(0) + u64(4096))
    same([(r.change, r.offset, r.length) for r in fake.requests(BEGIN)],
         [(PUNCH, 65536, 4096), (ATTRIBUTES, 0, 4096)], 'brackets')


# ---- exports --------------------------------------------------------------------------------------

SECOND = f'''
EXPORT {{{{
	Export_Id = 78;
	Path = "{ROOT}/dir";
	Pseudo = "/second";
	FSAL {{{{ {LAYER.replace('{', '{{').replace('}', '}}')} }}}}
}}}}
MIGRATE {{{{
	Max_Waiters = 20;
	Workers = 2;
}}}}
'''


@case()
def two_exports_of_one_volume(args):
    """They share what the server knows of an object; then the configuration is read again."""
    servers.GANESHA += SECOND
    world = World(args, unfilled)
    client, fake = world.client, world.fake
    second = nfs3.Client('127.0.0.1', ROOT + '/dir', 2049, 20048)
    same(len(list(second.listing(second.root))), 20, 'entries')
    fh, _ = second.lookup(second.root, b'file1')
    same(second.read_all(fh), b'content of file1', 'content')
    second.write(second.lookup(second.root, b'file2')[0], 0, b'CON')
    same(client.read_all(world.fh('dir/file2')), b'CONtent of file2', 'content by the other export')
    same(len(fake.peers), 1, 'connections to the retriever')
    log = world.server.process.log
    world.server.process.send_signal(signal.SIGHUP)
    wait_for('the configuration is read again', lambda: 'Reread' in open(log).read())
    same(client.read_all(world.fh('dir/file3')), b'content of file3', 'content after that')
    same(second.read_all(second.lookup(second.root, b'file4')[0]), b'content of file4', 'content')
    same(world.server.process.stop(), 0, 'exit status')


@case()
def wrong_settings_are_told(args):
    """One line each that says what to do; the export is refused."""
    cases = {
        'Name = MIGRATE; FSAL { Name = VFS; }': 'Volume',
        'Name = MIGRATE; Volume = "x"; FSAL { Name = MEM; }': 'stacked over VFS only',
    }
    for block, wanted in cases.items():
        child = os.fork()
        if child == 0:
            os._exit(sandbox.private(lambda: refused(args, block, wanted)))
        same(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0, wanted)


def refused(args, block, wanted):
    try:
        world = World(args, fsal=block)
    except nfs3.NfsError:
        with open(sandbox.LOGS + '/server.log') as lines:
            return 0 if any(wanted in line for line in lines) else 1
    world.server.stop()
    return 2                                # it is served


# ---- the end of the server ----------------------------------------------------------------------

@case()
def stops_with_requests_parked(args):
    """Reads, writes and waiting lookups: it ends in order and does not crash."""
    def fill(world):
        for n in range(20):
            world.file(f'stub{n}')
            unfilled(world, f'dir{n}', 1)
    world = World(args, fill, hold_ms=3000)
    client, fake = world.client, world.fake
    stubs = [world.fh(f'stub{n}') for n in range(20)]
    dirs = [world.fh(f'dir{n}') for n in range(20)]
    for op in (RANGE, BEGIN, FILL, NAME):
        fake.on[op] = lambda r: HOLD
    for stub, directory in zip(stubs, dirs):
        client.start(nfs3.READ, client.read_args(stub, 0, 10))
        client.start(nfs3.WRITE, opaque(stub) + u64(0) + u32(3) + u32(0) + opaque(b'abc'))
        client.start(nfs3.LOOKUP, opaque(directory) + opaque(b'file0'))
    fake.wait(RANGE, 20), fake.wait(BEGIN, 20), fake.wait(NAME, 20)
    same(world.server.process.stop(seconds=60), 0, 'exit status')


@case()
def client_leaves_with_requests_parked(args):
    def fill(world):
        for n in range(50):
            world.file(f'stub{n}')
    world = World(args, fill, hold_ms=1000)
    fake = world.fake
    handles = [world.fh(f'stub{n}') for n in range(50)]
    fake.on[RANGE] = lambda r: HOLD
    leaving = world.server.client()
    for h in handles:
        leaving.start(nfs3.READ, leaving.read_args(h, 0, 10))
    fake.wait(RANGE, 50)
    leaving.close()
    fake.on.clear()
    for held in fake.requests(RANGE):
        fake.reply(held, fake.do_range(held))
    for h in handles:
        same(world.client.read_all(h), TEXT, 'content')


def on_file_system(args, fs):
    """The kernel's handles differ in length and type."""
    def fill(world):
        world.file('stub')
        unfilled(world)
    world = World(args, fill, fs=fs)
    client = world.client
    same(len(list(client.listing(world.fh('dir')))), 20, 'entries')
    stub = world.fh('stub')
    client.write(stub, 0, b'abc', nfs3.FILE_SYNC)
    same(client.read_all(stub), b'abc' + TEXT[3:], 'content')
    same(client.read_all(world.fh('dir/file1')), b'content of file1', 'content')


@case()
def on_xfs(args):
    on_file_system(args, 'xfs')


@case()
def on_btrfs(args):
    on_file_system(args, 'btrfs')


if __name__ == '__main__':
    sys.exit(main())
