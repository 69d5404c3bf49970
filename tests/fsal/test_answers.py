#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The door answers every request (I11), whatever the retriever does: errors, silence, answers that
come late or twice, connections that end, and new retrievers."""
import errno
import random
import sys
import threading

from door import TEXT, World, unfilled
import nfs3
from fake import BEGIN, END, FILL, HOLD, NAME, RANGE, SYNC
from harness import case, expect, main, same
from xdr import opaque, u32, u64

STUBS, CLIENTS = 8, 4


def setattr_args(fh, **new):
    return nfs3.SETATTR, opaque(fh) + nfs3.sattr(**new) + u32(0)


def write_args(fh, offset, data, stable=nfs3.UNSTABLE):
    return nfs3.WRITE, (opaque(fh) + u64(offset) + u32(len(data)) + u32(stable) + opaque(data))


def read_args(fh, offset):
    return nfs3.READ, nfs3.Client.read_args(fh, offset, 10)


def commit_args(fh):
    return nfs3.COMMIT, opaque(fh) + u64(0) + u32(0)


def status_of(client, request):
    """NoReply if there is no answer."""
    return client.once(*request)[0]


@case()
def every_error_of_the_retriever_is_answered(args):
    """Ganesha does not answer NFSv3 where a file system's error means that it is to try again."""
    def fill(world):
        world.file('stub')
        unfilled(world)
    world = World(args, fill, hold_ms=100)
    client, fake = world.client, world.fake
    stub, directory = world.fh('stub'), world.fh('dir')
    requests = [
        (BEGIN, setattr_args(stub, size=1000)), (BEGIN, setattr_args(stub, mode=0o600)),
        (BEGIN, setattr_args(stub, mtime=10**18)), (BEGIN, write_args(stub, 0, b'x')),
        (END, setattr_args(stub, mode=0o600)), (END, write_args(stub, 0, b'x')),
        (RANGE, read_args(stub, 5000)), (SYNC, commit_args(stub)),
        (NAME, (nfs3.LOOKUP, opaque(directory) + opaque(b'file1'))),
        (FILL, (nfs3.READDIR, opaque(directory) + u64(0) + bytes(8) + u32(4096))),
    ]
    for number in sorted(errno.errorcode):
        for op, request in requests:
            fake.on = {op: lambda _: -number}
            status = status_of(client, request)
            expect(status, f'{errno.errorcode[number]} of request {op}: status 0')
    fake.on = {}
    same(client.read(stub, 5000, 10)[0], TEXT[5000:5010], 'content')


class Unreliable:
    """Lets a fake retriever do what it should not, at random."""

    def __init__(self, fake, seed):
        self.fake, self.random = fake, random.Random(seed)
        self.lock = threading.RLock()
        self.held = []                  # requests that are answered after others
        self.did = set()
        for op in (BEGIN, END, RANGE, SYNC):
            fake.on[op] = self.handle

    def handle(self, request):
        with self.lock:
            held, self.held = self.held, []
            for old in held:
                self.fake.reply(old, self.fake.usual(old) if old.op == RANGE else 0)
            what = self.random.choice([self.fake.usual] * 6 + [
                self.silence, self.later, self.twice, self.error, self.end, self.go])
            self.did.add((request.op, what.__name__))
            return what(request)

    @staticmethod
    def silence(_):
        return HOLD

    def later(self, request):
        self.held.append(request)
        return HOLD

    def twice(self, request):
        status = self.fake.usual(request)
        self.fake.reply(request, status)
        return status

    def error(self, _):
        return -self.random.choice((errno.EREMOTEIO, errno.EAGAIN, errno.ENOLCK, errno.EBADF,
                                    errno.ENOMEM, errno.ECONNRESET, errno.ECANCELED))

    def end(self, request):
        self.go(request)
        self.come()
        return HOLD

    def go(self, _):
        self.held = []
        if self.fake.listener:
            self.fake.stop()
        return HOLD

    def come(self):
        with self.lock:
            if not self.fake.listener:
                self.fake.start()

    def reform(self):
        with self.lock:
            self.fake.on = {}
        self.come()


def change_at_random(client, handles, rng, count):
    """Raises if there is no answer."""
    for _ in range(count):
        fh = rng.choice(handles)
        status_of(client, rng.choice((
            setattr_args(fh, size=rng.randrange(1, len(TEXT))), setattr_args(fh, mode=0o600),
            setattr_args(fh, size=5000, mode=0o640, mtime=10**18),
            write_args(fh, rng.randrange(len(TEXT)), b'x' * 100, rng.choice((0, 2))),
            read_args(fh, rng.randrange(len(TEXT))), commit_args(fh))))
        yield


@case()
def an_unreliable_retriever(args):
    """Brackets, fetches and syncs of several clients at once."""
    def fill(world):
        for n in range(STUBS):
            world.file(f'stub{n}')
    world = World(args, fill, hold_ms=50)
    handles = [world.fh(f'stub{n}') for n in range(STUBS)]
    unreliable = Unreliable(world.fake, args.seed)
    failures = []

    def run(seed):
        client = world.server.client()
        try:
            for _ in change_at_random(client, handles, random.Random(seed),
                                      4000 if args.long else 150):
                unreliable.come()
        except Exception as error:      # the thread's, to be raised where it is seen
            failures.append(error)
    threads = [threading.Thread(target=run, args=(args.seed * CLIENTS + n,))
               for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    expect(len(unreliable.did) > 10, f'it did no more than {unreliable.did}')
    unreliable.reform()
    for fh in handles:
        world.client.setattr(fh, mode=0o644)
        world.client.setattr(fh, size=7)
        same(len(world.client.read_all(fh)), 7, 'bytes after it')


if __name__ == '__main__':
    sys.exit(main())
