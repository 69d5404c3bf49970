#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The old server is slow, silent, gone or back: clients are told JUKEBOX or DELAY, find the work
done when they ask again, and what is here already is as fast as ever (I11)."""
import json
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import nfs4                                                             # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, no_differences, same            # noqa: E402
from liar import Liar, Node, record                                     # noqa: E402
from sandbox import volume, wait_for                                    # noqa: E402
from servers import NEW, OLD, Migration, Stalled, stack                        # noqa: E402
from xdr import opaque, u32, u64                                        # noqa: E402

FILES = 400


def fill(root):
    for n in range(FILES):
        with open(f'{root}/file{n}', 'wb') as file:
            file.write(b'%6d' % n * 3000)
    for n in range(40):
        os.mkdir(f'{root}/dir{n}')
        with open(f'{root}/dir{n}/file', 'wb') as file:
            file.write(b'x')


def begin(args, **settings):
    old, migration = stack(args.build, fill, **settings)
    migration.attach()
    migration.start_server()
    client = migration.server.client()
    handles = {name: handle for name, _, _, handle in client.listing(client.root)}
    return old, migration, client, handles


def answered(call):
    start = time.monotonic()
    result = call()
    return result, time.monotonic() - start


@case(short=True)
def jukebox(args):
    """NFSv3, at the hold time and not later; then the retry finds it done."""
    old, migration, client, handles = begin(args, hold_ms=2000)
    calls = {
        'READ': (nfs3.READ, client.read_args(handles[b'file1'], 0, 100)),
        'LOOKUP': (nfs3.LOOKUP, opaque(handles[b'dir1']) + opaque(b'file')),
        'READDIRPLUS': (nfs3.READDIRPLUS, opaque(handles[b'dir2']) + u64(0) + bytes(8) +
                        u32(4096) + u32(8192)),
    }
    with Stalled(old):
        for name, (procedure, body) in calls.items():
            (status, _), seconds = answered(lambda: client.once(procedure, body))
            same(status, nfs3.JUKEBOX, f'status of {name}')
            expect(1.9 <= seconds <= 60, f'{name} was answered after {seconds:.2f} s')
    for name, (procedure, body) in calls.items():
        client.call(procedure, body, name)
    expect(client.read(handles[b'file1'], 0, 6)[0] == b'     1', 'content after the stall')


@case()
def delay(args):
    """NFSv4."""
    old, migration, _, _ = begin(args, hold_ms=2000)
    client = nfs4.Client('127.0.0.1', 1)
    fh, _ = client.walk('file7')
    directory, _ = client.walk('dir7')
    with Stalled(old):
        for op in (u32(nfs4.PUTFH) + opaque(fh), u32(nfs4.READ) + bytes(16) + u64(0) + u32(10)), (
                u32(nfs4.PUTFH) + opaque(directory), u32(nfs4.LOOKUP) + opaque(b'file')):
            (status, _), seconds = answered(lambda: client.once(*op))
            same(status, nfs4.DELAY, f'status (operation {op[1][3]})')
            expect(1.9 <= seconds <= 60, f'answered after {seconds:.2f} s')
    same(client.read(fh, 0, 6)[0], b'     7', 'content after the stall')
    same(client.read(client.walk('file', directory)[0], 0, 6)[0], b'x', 'content after the stall')


class Offline(Node):
    """On tape: what is in it comes when somebody has put the tape in."""
    there = False

    def send(self, connection, xid, procedure, reply):
        if procedure in (nfs3.READ, nfs3.READDIR, nfs3.READDIRPLUS) and not Offline.there:
            reply = record(xid, u32(nfs3.JUKEBOX) + u32(0))
        super().send(connection, xid, procedure, reply)


@case()
def a_tenth_is_on_tape(args):
    """It holds up nobody else, in the background or for clients, and is listed; then it comes."""
    def kind(n, **what):
        return (Offline if n % 10 == 0 else Node)(**what)

    directories = {f'd{d}': kind(d, **{f'f{n}': kind(n, size=20000 + n) for n in range(30)})
                   for d in range(20)}
    asked = {f'a{n}': Offline(size=100000) for n in range(300)}
    good = {f'g{n}': Node(size=100000) for n in range(3)}
    volume(NEW, '1G')
    migration = Migration(args.build, Liar(Node(**directories, asked=Node(**asked, **good))).url,
                          hold_ms=50)
    migration.start_retriever()
    migration.attach()
    migration.start_server()
    client = migration.server.client()
    handles = {name: handle for name, _, _, handle in client.listing(client.walk('asked')[0])}
    for name in asked:
        same(client.once(nfs3.READ, client.read_args(handles[name.encode()], 0, 10))[0],
             nfs3.JUKEBOX, 'status of what is on tape')
    took = []
    for name, node in good.items():
        data, seconds = answered(lambda name=name: client.read(handles[name.encode()], 0, 100000)[0])
        same(data, node.data, 'what is not')
        took.append(seconds)
    expect(min(took) < 5, f'they were read after {took} s')
    wait_for('nobody waits', lambda: migration.status()['put_off'] == 0)
    same(migration.start_crawler().wait(300), 2, 'exit status of the crawler')
    offline = ([f'd{d}' for d in (0, 10)] + [f'asked/{name}' for name in asked] +
               [f'd{d}/f{n}' for d in range(20) if d % 10 for n in range(0, 30, 10)])
    listed = migration.errors()
    same(sorted(listed), sorted(offline), 'what is listed')
    expect(all('keeps saying "later"' in reason for reason in listed.values()), listed)
    lines = migration.ctl('errors').splitlines()
    same([line for line in lines
          if '/new/' in line and not re.search(r' \(since \d{4}-\S+ \S+\) \[QM1301\]$', line)], [],
         'lines that do not say since when')
    same(int(migration.status()['files_whole']), 18 * 27 + len(good), 'files that are whole')
    Offline.there = True
    same(client.read(handles[b'a7'], 0, 100000)[0], asked['a7'].data, 'what has come')
    same(migration.start_crawler().wait(300), 0, 'exit status of the crawler')
    same(migration.errors(), {}, 'what is listed')
    for d, directory in directories.items():
        for f, node in directory.children.items():
            with open(f'{NEW}/{d}/{f.decode()}', 'rb') as file:
                same(file.read(), node.data, f'{d}/{f.decode()}')


def slowest(client, fh, times=30):
    """The longest of some READs and GETATTRs of a normal file."""
    worst = 0
    for _ in range(times):
        worst = max(worst, answered(lambda: client.read(fh, 0, 1000))[1],
                    answered(lambda: client.getattr(fh))[1])
    return worst


def steps(migration, name):
    """What was done for a request so far."""
    lines = migration.ctl('trace', '--json', '--id', name).splitlines()
    return [json.loads(line) for line in lines]


@case()
def a_read_is_followed(args):
    """One that hangs is in the status, with what it waits for; by its id the call to the old server
    is found that it waits for, and what became of it."""
    old, migration, client, handles = begin(args, hold_ms=60000)

    def hanging():
        status = json.loads(migration.ctl('status', '--json', '--verbose'))
        return [r for r in status['requests'] if r['operation'] == 'range']

    with Stalled(old):
        future = client.start(nfs3.READ, client.read_args(handles[b'file1'], 0, 100))
        wait_for('the read hangs', lambda: hanging() and hanging()[0]['milliseconds'] >= 100)
        request, = hanging()
        same((request['offset'], request['length'], request['waits_for'], request['path']),
             (0, 100, 'the old server', NEW + '/file1'), 'the request')
        expect(request['peer'].startswith('door '), request['peer'])
        name = f"{request['peer']}:{request['id']}"
        text = migration.ctl('status', '--verbose')
        expect(re.search(rf'\d s +{name}  range 0\+100 of {NEW}/file1, waits for the old server\n',
                         text), text)
        before = steps(migration, name)
        same([s['step'] for s in before if s['operation'] in ('range', 'read')],
             ['received', 'submitted', 'sent'], 'steps before the answer')
        calls = [s['number'] for s in before if s['step'] == 'sent']
    same(future.result(120).u32(), 0, 'status')
    after = steps(migration, name)
    same(after[:len(before)], before, 'what was there is still there')
    same([s['step'] for s in after if s['operation'] in ('range', 'read')],
         ['received', 'submitted', 'sent', 'reply', 'answered', 'written', 'replied'], 'steps')
    same({s['number'] for s in after if s['step'] == 'reply'}, set(calls), 'xids of the replies')
    same({s['result'] for s in after}, {0}, 'results')
    text = migration.ctl('trace', '--id', name)
    expect(re.search(rf'(?m)^\d+-\S+ \S+ \+0\.000000  {name}  received range 0\+100$', text), text)
    expect(re.search(rf'(?m)  {name}  reply read \d+\+\d+ \(call {calls[0]}\)$', text), text)


@case()
def parked_reads_disturb_nobody(args):
    """400 of them, on a server with 200 threads: who had to wait for one would wait for a minute."""
    old, migration, client, handles = begin(args, hold_ms=60000)
    normal = client.create(client.root, b'normal', mode=0o644)
    client.write(normal, 0, b'n' * 1000, nfs3.FILE_SYNC)
    other = migration.server.client()
    calm = slowest(other, normal)
    parked = migration.server.client(timeout=120)
    with Stalled(old):
        futures = [parked.start(nfs3.READ, parked.read_args(handles[b'file%d' % n], 0, 100))
                   for n in range(FILES)]
        busy = max(slowest(other, normal) for _ in range(5))
        undone = sum(not f.done() for f in futures)
        v4 = nfs4.Client('127.0.0.1', 2)
        v4_busy = answered(lambda: v4.read(v4.walk('normal')[0], 0, 10))[1]
    print(f'slowest call: {calm * 1000:.1f} ms, with {undone} parked {busy * 1000:.1f} ms; '
          f'v4 session, walk and read {v4_busy * 1000:.1f} ms')
    same(undone, FILES, 'reads that are parked')
    expect(busy < 5, f'a call took {busy:.2f} s beside parked reads')
    expect(v4_busy < 5, f'a v4 read took {v4_busy:.2f} s beside parked reads')
    for n, future in enumerate(futures):
        reply = future.result(120)
        same(reply.u32(), 0, f'status of the parked read of file{n}')
        same(client.read_reply(reply)[0][:6], b'%6d' % n, f'file{n}')


@case()
def waiting_lookups_disturb_nobody(args):
    """Names in unfilled directories, more of them than the server has threads.  Ganesha's own lock
    on each directory holds the threads of all who wait for it, so one hold time may pass, once."""
    old, migration, client, handles = begin(args, hold_ms=3000)
    normal = client.create(client.root, b'normal', mode=0o644)
    client.write(normal, 0, b'n' * 1000, nfs3.FILE_SYNC)
    other = migration.server.client()
    with Stalled(old):
        clients = [migration.server.client(timeout=120) for _ in range(4)]
        futures = [clients[n % 4].start(nfs3.LOOKUP, opaque(handles[b'dir%d' % (n % 40)]) +
                                        opaque(b'file')) for n in range(400)]
        busy = slowest(other, normal, 100)
        expect(busy < 5.5, f'a call took {busy:.2f} s beside waiting lookups')
        for future in futures:
            same(future.result(120).u32(), nfs3.JUKEBOX, 'status of a lookup')
    for n in range(40):
        client.walk(b'file', handles[b'dir%d' % n])


@case()
def old_server_restarts(args):
    """It is killed in the middle of the migration, twice, and comes back."""
    old, migration, client, handles = begin(args, bandwidth='3M')
    crawler = migration.start_crawler()
    for n in range(2):
        client.read(handles[b'file%d' % (300 + n)], 0, 10)
        old.stop(signal.SIGKILL)
        status, _ = client.once(nfs3.READ, client.read_args(handles[b'file%d' % (310 + n)], 0, 10))
        expect(status in (0, nfs3.JUKEBOX), f'status {status} without an old server')
        old.start()
        same(client.read(handles[b'file%d' % (310 + n)], 0, 6)[0], b'%6d' % (310 + n), 'content')
    migration.ctl('throttle', argument='0')
    same(crawler.wait(300), 0, 'exit status of the crawler')
    no_differences(tree.compare(OLD, NEW))


@case()
def connections_are_reset(args):
    """The proxy cuts all of them in mid-transfer, again and again."""
    def wide(root):
        tree.make(root, 1500, args.seed, 8 << 20)

    old, migration = stack(args.build, wide, proxied=True)
    migration.attach()
    crawler = migration.start_crawler()
    for n in range(8):
        old.proxy.reset()
        reads = args.random.randrange(5, 200)
        wait_for('the crawler goes on after a reset', lambda: old.proxy.counted().get('READ', 0) >= reads
                 or crawler.poll() is not None)
        if crawler.poll() is not None:
            break
        old.proxy.drop()
    expect(n > 1, 'too few resets met the migration')
    same(crawler.wait(300), 0, 'exit status of the crawler')
    no_differences(tree.compare(OLD, NEW))


@case(short=True)
def without_a_retriever(args):
    """JUKEBOX until it is there; what is normal goes on."""
    old, migration, client, handles = begin(args)
    normal = client.create(client.root, b'normal', mode=0o644)
    migration.retriever.stop(signal.SIGKILL)
    status, _ = client.once(nfs3.READ, client.read_args(handles[b'file5'], 0, 10))
    same(status, nfs3.JUKEBOX, 'status without a retriever')
    client.write(normal, 0, b'still', nfs3.FILE_SYNC)
    same(client.read(normal, 0, 10)[0], b'still', 'a normal file without a retriever')
    migration.start_retriever()
    same(client.read(handles[b'file5'], 0, 6)[0], b'     5', 'content with a retriever again')


@case()
def demand_before_background(args):
    """A client's read does not queue behind the crawler's, however slow that is made."""
    old, migration, client, handles = begin(args, bandwidth='20K')
    crawler = migration.start_crawler()
    worst = 0
    for n in range(100, 160):
        worst = max(worst, answered(lambda: client.read(handles[b'file%d' % n], 0, 10))[1])
    expect(crawler.poll() is None, 'the crawler was done too early: nothing was tested')
    expect(worst < 5, f'a read took {worst:.2f} s beside a throttled crawler')
    crawler.stop()


if __name__ == '__main__':
    sys.exit(main())
