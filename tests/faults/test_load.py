#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many at once: clients with the crawler at full speed, connections to the retriever's socket, peers
that never read, peers that send anything but frames.  What the retriever holds is bounded, and the
others are served."""
import asyncio
import collections
import errno
import multiprocessing
import os
import random
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import tree                                                             # noqa: E402
from crowd import NO_CACHE, Witness                                     # noqa: E402
from fake import HEADER                                                 # noqa: E402
from harness import case, expect, main, no_differences, same            # noqa: E402
from peer import (BEGIN, CANCEL, CONTROL, CONTROLLER, CRAWLER, DOOR, END, FILL, HELLO,  # noqa: E402
                  NAME, Peer, RANGE, SYNC)
from sandbox import wait_for                                            # noqa: E402
from servers import NEW, OLD, VOLUME, Stalled, release, stack           # noqa: E402
from usage import MIB, Usage, sample                                            # noqa: E402
from xdr import Reader, auth_sys, opaque, u32, u64                      # noqa: E402

BLOCK = 4096


def block(number, at):
    return b'%09d:%05d\n' % (number, at) * 256


def size_of(number):
    return BLOCK * (1 + number % 40)


def fill(root, files):
    os.chmod(root, 0o777)
    for n in range(files):
        if n % 200 == 0:
            os.mkdir(f'{root}/dir{n // 200:04}')
        with open(f'{root}/dir{n // 200:04}/{n}', 'wb') as file:
            file.write(b''.join(block(n, at) for at in range(1 + n % 40)))


# ---- clients ----------------------------------------------------------------------------------

class Client(asyncio.Protocol):
    """One connection with some calls under way: LOOKUP, GETATTR and READ of random files."""

    def __init__(self, crowd, rng, calls):
        self.crowd, self.rng, self.calls = crowd, rng, calls
        self.xid = rng.randrange(1 << 31)
        self.waiting, self.received = {}, bytearray()

    def connection_made(self, transport):
        self.transport = transport
        for _ in range(self.calls):
            self.ask()

    def ask(self):
        if time.monotonic() > self.crowd.end:
            if not self.waiting:
                self.transport.close()
            return
        number = self.rng.randrange(len(self.crowd.files))
        self.lookup(number)

    def call(self, procedure, args, then):
        self.xid = self.xid + 1 & 0xffffffff
        message = (struct.pack('>6I', self.xid, 0, 2, nfs3.NFS, 3, procedure) + CRED + u32(0) +
                   u32(0) + args)
        self.waiting[self.xid] = time.monotonic(), then
        self.transport.write(u32(len(message) | 1 << 31) + message)

    def lookup(self, number):
        directory, name = self.crowd.files[number]

        def found(status, r):
            if status:
                return self.failed(status, 'LOOKUP', number)
            self.read(number, r.opaque())
        self.call(nfs3.LOOKUP, opaque(directory) + opaque(name), found)

    def read(self, number, handle):
        at = self.rng.randrange(1 + number % 40)

        def got(status, r):
            if status:
                return self.failed(status, 'READ', number)
            data, _ = nfs3.Client.read_reply(r)
            if data != block(number, at):
                self.crowd.wrong.append((number, at, bytes(data[:20])))
            self.crowd.count['read'] += 1
            self.crowd.reads.value += 1
            self.ask()
        self.call(nfs3.READ, opaque(handle) + u64(at * BLOCK) + u32(BLOCK), got)

    def failed(self, status, what, number):
        if status == nfs3.JUKEBOX:
            self.crowd.count['delayed'] += 1
            asyncio.get_running_loop().call_later(0.2, self.ask)
        else:
            self.crowd.errors[f'{what}: {status}'] += 1
            self.ask()

    def data_received(self, data):
        self.received += data
        while len(self.received) >= 4:
            length = int.from_bytes(self.received[:4], 'big') & 0x7fffffff
            if len(self.received) < 4 + length:
                return
            reply = Reader(self.received[4:4 + length])
            del self.received[:4 + length]
            begun, then = self.waiting.pop(reply.u32())
            self.crowd.took.append(time.monotonic() - begun)
            reply.at = 24
            then(reply.u32(), reply)

    def connection_lost(self, error):
        self.crowd.left -= 1
        if self.waiting:
            self.crowd.errors[f'connection lost: {error}'] += 1
        if not self.crowd.left:
            self.crowd.over.set_result(None)


CRED = auth_sys()


class Crowd:
    """Clients in one process: run() returns (counts, errors, wrong, times of calls)."""

    def __init__(self, address, files, clients, calls, seconds, seed):
        self.address, self.files = address, files
        self.clients, self.calls, self.seconds, self.seed = clients, calls, seconds, seed
        self.count, self.errors = collections.Counter(), collections.Counter()
        self.wrong, self.took = [], []
        self.reads = multiprocessing.get_context('fork').RawValue('Q')      # so far

    async def all(self):
        loop = asyncio.get_running_loop()
        self.over, self.left = loop.create_future(), self.clients
        self.end = time.monotonic() + self.seconds
        for n in range(self.clients):
            rng = random.Random(self.seed * 10000 + n)
            await loop.create_connection(lambda rng=rng: Client(self, rng, self.calls),
                                         *self.address)
        await asyncio.wait_for(self.over, self.seconds + 180)

    def run(self, pipe):
        asyncio.run(self.all())
        pipe.send((self.count, self.errors, self.wrong[:20], sorted(self.took)))

    def start(self):
        here, there = multiprocessing.get_context('fork').Pipe()
        multiprocessing.get_context('fork').Process(target=self.run, args=(there,),
                                                    daemon=True).start()
        there.close()
        return here


@case()
def clients(args):
    """With some calls each under way, from the first moment on and until after the end."""
    count = args.clients or (500 if args.long else 50)
    seconds = args.seconds or (600 if args.long else 6)
    files = min(100000, int(seconds * 600))
    old, migration = stack(args.build, lambda root: fill(root, files), mkfs=('-N', '400000'))
    migration.attach()
    # 5 does not answer all calls then, whatever the FSAL
    server = migration.start_server(blocks=NO_CACHE if release() != 5 else '')
    client = server.client()
    normal = client.create(client.root, b'normal', mode=0o644)
    client.write(normal, 0, b'n' * 1000, nfs3.FILE_SYNC)
    witness = Witness(server.client, 'normal')
    directories = [client.walk(f'dir{n:04}')[0] for n in range((files + 199) // 200)]
    named = [(directories[n // 200], b'%d' % n) for n in range(files)]
    threading.Event().wait(1)           # what is quiet is measured, too
    witness.phase('load')
    crowd = Crowd((server.address, server.port), named, count, 4, seconds, args.seed)
    with Usage(lambda: crowd.reads.value, retriever=migration.retriever.pid,
               ganesha=server.process.pid) as usage:
        pipe = crowd.start()
        crawler = migration.start_crawler()
        answers, errors, wrong, took = pipe.recv()
        status = crawler.wait(1200)
    witness.finish()
    print(f'faults load seed={args.seed} clients={count} seconds={seconds} calls={len(took)} '
          f'reads={answers["read"]} delayed={answers["delayed"]} {usage.figures()} '
          f'call_p50_ms={took[len(took) // 2] * 1000:.1f} '
          f'call_p99_ms={took[len(took) * 99 // 100] * 1000:.1f} '
          f'call_max_ms={took[-1] * 1000:.0f} {witness.figures("load")}')
    same(wrong, [], 'what was wrong')
    same(dict(errors), {}, 'errors')
    same(witness.failures[:3], [], 'what failed of a normal file')
    expect(answers['read'] > count, f'{answers["read"]} reads')
    same(status, 0, 'status of the crawler')
    os.unlink(NEW + '/normal')
    no_differences(tree.compare(OLD, NEW, any_mtime=lambda st: st.st_ino == os.stat(OLD).st_ino))
    # Ganesha closes files that it has read once a second
    usage.bounded(6000 + 4 * count, 256 * MIB, slack=6000, memory_slack=64 * MIB)


# ---- peers ------------------------------------------------------------------------------------

class World:
    """Stubs to ask for, and one peer that is to be served meanwhile."""

    def __init__(self, args, files=2000):
        self.args = args
        self.old, self.migration = stack(args.build, lambda root: fill(root, files), hold_ms=200)
        self.migration.attach()
        self.socket = self.migration.socket
        filler, root = self.peer(), os.open(NEW, os.O_RDONLY | os.O_DIRECTORY)
        for n in range((files + 199) // 200):
            number = filler.send(NAME, fds=(root,), text=b'dir%04d' % n)
            self.replied(filler, number)
            number = filler.object(FILL, f'{NEW}/dir{n:04}')
            self.replied(filler, number)
        filler.close()
        self.files = [f'{NEW}/dir{n // 200:04}/{n}' for n in range(files)]
        self.served = 0

    @staticmethod
    def replied(peer, number):
        while (got := peer.receive())[1] != number:
            pass
        same(got[2], 0, 'status of a request')

    def peer(self, role=DOOR, **kw):
        return Peer(self.socket, role, **kw)

    def usage(self):
        return Usage(lambda: self.served, 0.1, retriever=self.migration.retriever.pid)

    def serve(self, peer):
        """A range for one that keeps to the protocol; how long it took.  The first times it is one
        of a stub."""
        begun = time.monotonic()
        number = peer.object(RANGE, self.files[self.served % 200], length=BLOCK)
        self.replied(peer, number)
        self.served += 1
        return time.monotonic() - begun

    def finish(self, what, usage, slowest, extra, descriptors=300, memory=64 * MIB, slack=200):
        print(f'faults load case={what} seed={self.args.seed} {usage.figures()} '
              f'slowest_ms={slowest * 1000:.0f} served={self.served} {extra}')
        expect(slowest < 60, f'a peer waited for {slowest:.1f} s')
        same(self.migration.retriever.poll(), None, 'the end of the retriever')
        usage.bounded(descriptors, memory, slack=slack)     # of the files that are served
        self.migration.crawl()
        no_differences(tree.compare(OLD, NEW))


@case()
def connections(args):
    """A thousand, most of them idle."""
    count = args.connections
    world = World(args)
    peer, slowest, others = world.peer(), 0, []
    with world.usage() as usage:
        for n in range(count):
            others.append(world.peer(hello=n % 10 != 0))
            slowest = max(slowest, world.serve(peer))
        for n in range(count):
            other = args.random.choice(others)
            if other.number:
                slowest = max(slowest, world.serve(other))
        held = sample(world.migration.retriever.pid).descriptors
        for other in others:
            other.close()
        wait_for('the connections are forgotten', lambda: sample(
            world.migration.retriever.pid).descriptors < held - count * 9 // 10)
    world.finish('connections', usage, slowest, f'connections={count}', count + 300)


@case(short=True)
def never_read(args):
    """Peers that ask and never read an answer; one that is ended for that comes back."""
    world = World(args)
    peer, slowest = world.peer(), 0

    def connect():
        other = world.peer(CONTROLLER)
        other.sock.settimeout(0.1)              # for what it sends from now on
        return other
    mute = [connect() for _ in range(4)]
    asked = ended = 0
    end = time.monotonic() + (args.seconds or (60 if args.long else 6))
    with world.usage() as usage:
        while time.monotonic() < end:
            for n, other in enumerate(mute):
                try:
                    for _ in range(50):
                        other.send(CONTROL, text=b'status')
                        asked += 1
                except TimeoutError:                    # nobody reads what it sends
                    pass
                except OSError:
                    other.close()
                    mute[n] = connect()
                    ended += 1
            slowest = max(slowest, world.serve(peer))
    world.finish('never_read', usage, slowest, f'asked={asked} ended={ended}')


@case(short=True)
def gone_while_waiting(args):
    """Peers that ask for what cannot be had, and go away."""
    world = World(args)
    peer, slowest, asked = world.peer(), 0, 0
    rounds = 40 * (10 if args.long else 1)
    for n in range(10):
        world.serve(peer)                               # what is whole
    with Stalled(world.old), world.usage() as usage:
        for n in range(rounds):
            other = world.peer()
            for _ in range(50):
                other.object(RANGE, world.files[100 + asked % 1500], length=BLOCK)
                asked += 1
            other.object(FILL, NEW)
            other.close()
            begun = time.monotonic()
            number = peer.object(RANGE, world.files[n % 10], length=BLOCK)
            world.replied(peer, number)
            slowest = max(slowest, time.monotonic() - begun)
            world.served += 1
            # until it has been heard
            same(Peer(world.socket, CONTROLLER).ask(CONTROL, text=b'status')[0], 0, 'status')
    # What the old server was asked for is still taken (retriever/socket/requests.h): as much as it may
    # be asked at once, whenever that was.  Of a leak it would be 1,500 files.
    world.finish('gone_while_waiting', usage, slowest, f'asked={asked}', 700, slack=700)


def nonsense(rng):
    """A frame that is wrong in one way or in all, and how many descriptors go with it."""
    kind = rng.randrange(9)
    op = rng.choice((HELLO, RANGE, NAME, FILL, BEGIN, END, SYNC, CANCEL, CONTROL, 11, 12, 99, 0x8002))
    text = rng.randbytes(rng.choice((0, 1, 255, 4000)))
    number = rng.getrandbits(64)
    fields = [b'QMG1', 2, op, number, 0, rng.getrandbits(32), rng.getrandbits(64),
              rng.getrandbits(64), rng.getrandbits(64), rng.getrandbits(32), len(text), 0]
    if kind == 0:
        return rng.randbytes(rng.choice((1, 63, 64, 65, 1000, 65536))), 0
    if kind == 1:
        fields[0] = b'QMG2'
    if kind == 2:
        fields[1] = rng.choice((0, 2, 65535))
    if kind == 3:
        fields[10] = rng.choice((len(text) + 1, 1 << 31, (1 << 32) - 1))
    if kind == 4:
        fields[11] = 1
    data = HEADER.pack(*fields) + text
    if kind == 5:
        data = data[:rng.randrange(1, len(data))]
    if kind == 6:
        data += bytes(65536)
    return data, rng.choice((0, 0, 1, 2, 3, 50)) if kind in (7, 8) else 0


@case()
def garbage(args):
    """Frames of all kinds, with descriptors of all kinds."""
    world = World(args)
    peer, slowest, sent = world.peer(), 0, 0
    rng = args.random
    things = [os.open(path, os.O_RDONLY | os.O_NONBLOCK) for path in (
        '/dev/null', '/', NEW, OLD, world.files[0], world.files[1], '/proc/self/status')]
    things += [os.memfd_create('x'), *os.pipe()]
    things.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).detach())
    end = time.monotonic() + (args.seconds or (120 if args.long else 5))
    with world.usage() as usage:
        while time.monotonic() < end:
            other = world.peer(timeout=2, hello=rng.random() < 0.8)
            try:
                for _ in range(rng.randrange(1, 20)):
                    data, count = nonsense(rng)
                    other.raw(data, [rng.choice(things) for _ in range(count)])
                    sent += 1
            except OSError:             # it was turned away
                pass
            other.close()
            slowest = max(slowest, world.serve(peer))
    world.finish('garbage', usage, slowest, f'sent={sent}')


@case()
def unprintable(args):
    """What is said of a peer is one line of text, whatever it says."""
    world = World(args)
    other = world.peer(hello=False)
    status, _ = other.ask(HELLO, length=1, text=b'a\x1b[2J\nb\xff\xc3\xbc')
    same(status, -errno.EINVAL, 'status')
    with open(world.migration.retriever.log, 'rb') as log:
        said = [line for line in log.read().splitlines() if b'asked for volume' in line]
    same(said, ['migrate-retriever: a peer asked for volume `a\\033[2J\\012b\\377ü`; '
                f'this is `{VOLUME}`'.encode()], 'what is logged')


def options(parser):
    parser.add_argument('--seconds', type=float, help='how long')
    parser.add_argument('--clients', type=int, help='of NFS (50, --long: 500)')
    parser.add_argument('--connections', type=int, default=1000, help="to the retriever's socket")


if __name__ == '__main__':
    sys.exit(main(options))
