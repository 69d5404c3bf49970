#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server with the door: what is whole costs nothing, exports, file systems, the end."""
import os
import signal
import sys
import threading

from door import CTIME, LAYER, MTIME, ROOT, SOCKET, TEXT, World, read_status, unfilled
import fake as f
import nfs3
import nfs4
import sandbox
import servers
from fake import BEGIN, END, FILL, HOLD, NAME, RANGE
from harness import case, expect, main, same
from sandbox import BASE, wait_for
from xdr import opaque, u32, u64


def normal_tree(world):
    os.mkdir(world.path('dir'))
    for n in range(50):
        world.normal(f'dir/file{n}', b'%d' % n * 100)


PAST = f'EXPORT {{ Export_Id = 80; Path = "{ROOT}/dir"; Pseudo = "/past"; Access_Type = RW; FSAL {{ Name = VFS; }} }}'


@case()
def everything_works_on_a_finished_volume(args):
    """No record anywhere, no retriever; an export beside it needs no layer."""
    def fill(world):
        normal_tree(world)
        os.removexattr(ROOT, f.XATTR)
        os.rmdir(ROOT + '/.migrate')
        world.fake.finished = True
    world = World(args, fill, blocks=PAST)
    world.fake.stop()
    for _ in range(2):
        past = nfs3.Client(world.server.address, f'{ROOT}/dir')
        same(past.read_all(past.walk('file7')[0]), b'7' * 100, 'of an export without the layer')
        expect('clients would read zeros' not in world.log(), 'it was refused')
        world.server.restart()      # without the retriever
    client = world.client = world.server.client()
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
    same(client.read_all(with_layer[1]), b'3' * 100, 'content by the takeover handle')


def calls_of_the_layer(world, work, reads):
    """The server's system calls during work() with which the layer looks at objects, but for the
    root, in which it looks for .migrate when the root's attributes expire."""
    trace, log = BASE + '/trace', sandbox.LOGS + '/strace.log'
    tracer = sandbox.Process('strace', ['strace', '-f', '-p', world.server.process.pid, '-o', trace,
                                        '-e', 'trace=open_by_handle_at,preadv'])
    wait_for('strace attaches', lambda: 'attached' in open(log).read(), process=tracer)
    work()
    wait_for('strace writes', lambda: open(trace).read().count('preadv') >= reads)
    tracer.stop(signal.SIGINT)
    root = '"' + ''.join(f'\\x{byte:02x}' for byte in os.stat(ROOT).st_ino.to_bytes(4, 'little'))
    with open(trace) as lines:
        return [line for line in lines if 'O_NOATIME' in line and root not in line]


@case()
def normal_objects_cost_no_system_call(args):
    """None of ours, once it is known that they are normal."""
    def fill(world):
        normal_tree(world)
        world.normal('file')
    world = World(args, fill)
    client = world.client
    directory, file = world.fh('dir'), world.fh('file')
    client.read_all(file)
    list(client.listing(directory))
    for n in range(50):
        client.read_all(world.fh(f'dir/file{n}'))

    def work():
        for _ in range(5):
            client.read_all(file)
            client.getattr(file)
            client.write(file, 0, b'x')
            for n in range(50):
                client.read_all(world.fh(f'dir/file{n}'))
            client.getattr(directory)
    same(calls_of_the_layer(world, work, 255), [], 'system calls')


def log_of(world):
    with open(world.server.process.log) as log:
        return log.read()


@case()
def i4_a_file_whose_record_is_gone(args):
    """An ext4 that has given up shows attributes as the disk has them, which may be none."""
    def fill(world):
        for name in ('stub', 'known'):
            world.file(name)
        unfilled(world)
    world = World(args, fill, fs='ext4')
    client = world.client
    stub, known, directory = (world.fh(name) for name in ('stub', 'known', 'dir'))
    same(client.read_all(known), TEXT, 'content')
    for name in ('stub', 'dir'):
        os.removexattr(world.path(name), f.XATTR)
    sandbox.find_error(ROOT, abort=True)
    same(read_status(client, stub), nfs3.IO, 'status of a read')
    same(client.once(nfs3.READDIR, opaque(directory) + u64(0) + bytes(8) + u32(4096))[0], nfs3.IO,
         'status of a listing')
    same(client.read_all(known), TEXT, 'content of what is known to be whole')
    wait_for('the server notices', lambda: 'found errors in itself' in log_of(world))
    same(client.read_all(known), TEXT, 'content of what is known to be whole')


@case()
def i4_a_file_that_is_a_stub_again(args):
    """On an ext4 that has given up a record that was dropped may be there again, and a hole below
    it."""
    world = World(args, lambda w: w.file('stub'), fs='ext4')
    client, fake, path = world.client, world.fake, world.path('stub')
    fh = world.fh('stub')
    record = os.getxattr(path, f.XATTR)
    same(client.read_all(fh), TEXT, 'content')
    expect(f.is_normal(path), 'it is not normal')
    sandbox.find_error(ROOT)
    wait_for('the server notices', lambda: 'found errors in itself' in log_of(world))
    same(client.read_all(fh), TEXT, 'content of what is whole still')
    client.write(fh, 0, TEXT[:4096])
    os.setxattr(path, f.XATTR, record)
    os.truncate(path, 0)
    os.truncate(path, len(TEXT))
    fake.on[RANGE] = fake.on[BEGIN] = lambda r: -5
    same(read_status(client, fh), nfs3.IO, 'status of a read')
    write = opaque(fh) + u64(0) + u32(1) + u32(nfs3.FILE_SYNC) + opaque(b'x')
    same(client.once(nfs3.WRITE, write)[0], nfs3.IO, 'status of a write')


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
    wait_for('the server notices', lambda: 'everything is here' in log_of(world))

    def work():
        for n in range(50):
            client.read_all(world.fh(f'dir/file{n}'))
    same(calls_of_the_layer(world, work, 50), [], 'system calls')


@case()
def nothing_is_looked_at_after_the_end(args):
    """Neither what comes by its handle after a restart."""
    def fill(world):
        normal_tree(world)
        os.removexattr(ROOT, f.XATTR)
        os.rmdir(ROOT + '/.migrate')
        world.fake.finished = True
    world = World(args, fill)
    handles = [world.fh(f'dir/file{n}') for n in range(50)]
    world.server.stop()
    said = log_of(world).count('everything is here')
    world.server.start()
    wait_for('the server notices', lambda: log_of(world).count('everything is here') > said)
    client = world.client = world.server.client()

    def work():
        for n, handle in enumerate(handles):
            same(client.read_all(handle), b'%d' % n * 100, 'content')
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
    wait_for('the server notices', lambda: client.once(nfs3.LOOKUP, lookup)[0] == 0)
    same(client.read_all(world.fh('stub')), TEXT, 'content')
    same([(r.op, r.text) for r in fake.requests()][0], (NAME, b'stub'), 'request')
    same(client.once(nfs3.LOOKUP, opaque(client.root) + opaque(b'.migrate'))[0], nfs3.NOENT,
         'LOOKUP of the private directory')


@case()
def export_above_the_root(args):
    """No record is at the export's root, which proves nothing: the volume is further below."""
    def fill(world):
        os.mkdir(world.path('volume'))
        world.file('volume/stub')
        f.set_record(world.path('volume'), f.FILLED, 0, MTIME, CTIME)
        os.removexattr(ROOT, f.XATTR)
        os.rmdir(ROOT + '/.migrate')
    world = World(args, fill)
    same(world.client.read_all(world.fh('volume/stub')), TEXT, 'content')


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
    def fill(world):
        unfilled(world)
        os.mkdir(SOCKET + '.doors')     # it cannot register
    servers.GANESHA += SECOND
    world = World(args, fill)
    client, fake = world.client, world.fake
    same(world.log().count(f'cannot register in {SOCKET}.doors (Is a directory)'), 1, 'in the log')
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
def stops_while_the_retriever_talks(args):
    """A request that is answered when the host works on none any more keeps its export, but not the module:
    no thread of that may be left."""
    world = World(args, lambda w: [w.file('stub'), w.file('other')], hold_ms=20000)
    client, fake = world.client, world.fake
    same(read_status(client, world.fh('other')), 0, 'status of a read')
    answered, = fake.requests(RANGE)
    fake.on[RANGE] = lambda r: HOLD
    client.start(nfs3.READ, client.read_args(world.fh('stub'), 0, 10))
    fake.wait(RANGE, 2)
    ended = threading.Event()

    def talk():                         # an answer again and again, so that a thread is always at it
        while not ended.is_set():
            fake.send(answered.peer, RANGE, answered.id, 0)
    talking = threading.Thread(target=talk, daemon=True)
    talking.start()
    status = world.server.process.stop(seconds=60)
    ended.set()
    talking.join()
    same(status, 0, 'exit status')


@case()
def stops_while_a_bracket_is_ending(args):
    """The retriever hangs: what was written is answered with a delay, and the server ends at once,
    without freeing what a request still uses."""
    world = World(args, lambda w: w.file('stub'), hold_ms=3000)
    client, fake = world.client, world.fake
    fake.on[END] = lambda r: HOLD
    client.start(nfs3.WRITE, opaque(world.fh('stub')) + u64(0) + u32(3) + u32(0) +
                           opaque(b'abc'))
    fake.wait(END)
    status = world.server.process.stop(seconds=60)
    with open(world.server.process.log, encoding='utf-8', errors='replace') as file:
        log = file.read()
    # Ganesha 6 ends its exports while the request that was just answered still has one, and then
    # aborts at a mutex that it has destroyed before.
    if status != -6 or '(&fsal_fd_mutex)' not in log:
        same(status, 0, 'exit status')
    expect('left behind' not in log, 'requests were left behind')


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
