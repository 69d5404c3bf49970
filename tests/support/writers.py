# SPDX-License-Identifier: GPL-3.0-or-later
"""Clients that write while a volume moves (cluster.py)."""
import contextlib
import select
import threading
import time

import nfs3
import smb2
import smbd
from harness import expect, same
from nfs4 import GRACE
from nfs4state import TO_THE_END, WRITE_LT, Holder, Owner
from sandbox import Failure, wait_for
from xdr import RpcError

SLOT, WRITE = 1 << 14, 5000
USED = 10                       # files at a time: the others are the crawler's to bring


class Writer(threading.Thread):
    """A client that writes here and there, each time until it is told that it is durable, and reads what
    must be there.  files: what they hold, by their names; they are its own.  longest: how long one operation
    took.  pause: seconds after each write."""

    protocol = None

    def __init__(self, address, files, chance, pause=0):
        super().__init__(daemon=True)
        self.address, self.files, self.chance, self.pause = address, files, chance, pause
        self.slots, self.used = [], []
        self.done, self.connections, self.client, self.failed, self.ends = 0, 0, None, None, threading.Event()
        self.written, self.longest = set(), 0

    def until_it_is_done(self, operation, *args):
        began = time.monotonic()
        try:
            return self.again(operation, *args)
        finally:
            self.longest = max(self.longest, time.monotonic() - began)

    def again(self, operation, *args):
        while True:
            with contextlib.suppress(RpcError, smb2.Smb2Error, OSError):
                if not self.client:
                    self.client = self.connect()
                    self.connections += 1
                return operation(*args)
            if self.client:
                self.close()
            self.client = None

    def run(self):
        try:
            while not self.ends.is_set():
                self.write_one()
        except BaseException as error:
            self.failed = error

    def write_one(self):
        if not self.slots:
            self.used = self.chance.sample(list(self.files), USED)
            self.slots = [(name, at) for name in self.used for at in range(0, len(self.files[name]), SLOT)]
            self.chance.shuffle(self.slots)
        name, at = self.slots.pop()
        offset, data = at + self.chance.randrange(SLOT - WRITE), self.chance.randbytes(WRITE)
        self.until_it_is_done(self.write, name, offset, data)
        self.files[name][offset:offset + WRITE] = data
        self.written.add(name)
        name = self.chance.choice(self.used)
        at = self.chance.randrange(len(self.files[name]) - SLOT)
        got = self.until_it_is_done(self.read, name, at, SLOT)
        expect(got == self.files[name][at:at + SLOT], f'{name} at {at} is as it was written')
        self.done += 1
        self.ends.wait(self.pause)

    def goes_on(self, what):
        """Waits until some more is written."""
        wanted = self.done + 20
        wait_for(what + ', and the client writes', lambda: self.failed or self.done >= wanted)
        if self.failed:
            raise self.failed

    def waited(self):
        """How long an operation took since this was asked last, by what asks."""
        longest, self.longest = self.longest, 0
        return {self.protocol: longest}

    def end(self):
        self.ends.set()
        self.join()
        if self.failed:
            raise self.failed


class Nfs3Writer(Writer):
    """root: the export's path."""

    protocol = 'NFSv3'

    def __init__(self, root, *args):
        super().__init__(*args)
        self.root = root

    def connect(self):
        return nfs3.Client(self.address, self.root, port=2049, mount_port=20048, timeout=3, patience=120)

    def close(self):
        self.client.close()

    def write(self, name, offset, data):
        fh, _ = self.client.lookup(self.client.root, name)
        self.client.write(fh, offset, data, nfs3.FILE_SYNC)

    def read(self, name, offset, count):
        fh, _ = self.client.lookup(self.client.root, name)
        return self.client.read(fh, offset, count)[0]


class SmbWriter(Writer):
    """Keeps its files open, and opens them again on a new connection."""

    protocol = 'SMB'

    def connect(self):
        connection = smb2.Connection(self.address, timeout=5)
        status, session = connection.session('alice', smbd.PASSWORD, smbd.SHARE)
        if status:
            raise Failure(f'a session: {smb2.name_of(status)}')
        self.opened = {}
        return session

    def close(self):
        self.client.connection.close()

    def ask(self, request):
        """Again while the server says that it takes too long."""
        while True:
            reply = self.client.ask(request)
            if not reply.failed:
                return reply
            if reply.status != smb2.IO_TIMEOUT:
                raise Failure(f'command {request[0]}: {smb2.name_of(reply.status)}')

    def handle(self, name):
        if name not in self.opened:
            self.opened[name] = self.ask(
                smb2.create(name, smb2.READ_DATA | smb2.WRITE_DATA)).body[64:80]
        return self.opened[name]

    def write(self, name, offset, data):
        self.ask(smb2.write(self.handle(name), offset, data))
        self.ask(smb2.flush(self.handle(name)))

    def read(self, name, offset, count):
        return smb2.output(self.ask(smb2.read(self.handle(name), offset, count)))


class Nfs4Writer(Writer):
    """Keeps its files open, and a lock on each; when a server does not know them any more it reclaims
    both, which must be allowed."""

    protocol = 'NFSv4'

    def __init__(self, *args):
        super().__init__(*args)
        self.owner = self.chance.randbytes(16), self.chance.randbytes(8)
        self.opened, self.reclaimed, self.scope = {}, 0, None

    def connect(self):
        client = Holder(self.address, 1, timeout=3, patience=120, owner=self.owner, reclaims=True)
        opener, locker = Owner('opener'), Owner('locker')
        self.scope = self.scope or client.scope
        same(client.scope, self.scope, 'the scope of a server, without which Linux would reclaim nothing')
        if not self.opened:
            client.reclaim_complete()
            self.opened = {name: self.begin(client, opener, locker, name) for name in self.files}
        elif any(client.read_as(held.handle, held.stateid, 0, 1)[0] for held in self.opened.values()):
            self.opened = {name: self.lock(client, opener, locker, client.reclaim(opener, held.handle), True)
                           for name, held in self.opened.items()}
            client.reclaim_complete()
            self.reclaimed += 1
        return client

    def begin(self, client, opener, locker, name):
        while True:             # until an earlier time of grace is over
            opened = client.open_as(opener, client.root, name)
            if opened.status != GRACE:
                return self.lock(client, opener, locker, opened, False)
            select.select([], [], [], 0.05)

    @staticmethod
    def lock(client, opener, locker, opened, reclaim):
        same(opened.status, 0, 'the status of an open')
        held = client.lock(opened, opener, locker, WRITE_LT, 0, TO_THE_END, reclaim=reclaim)
        same(held.status, 0, 'the status of a lock')
        return opened

    def close(self):
        self.client.close()

    def write(self, name, offset, data):
        held = self.opened[name]
        same(self.client.write_as(held.handle, held.stateid, offset, data), 0, 'the status of a write')

    def read(self, name, offset, count):
        held = self.opened[name]
        status, data = self.client.read_as(held.handle, held.stateid, offset, count)
        same(status, 0, 'the status of a read')
        return data
