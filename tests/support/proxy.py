# SPDX-License-Identifier: GPL-3.0-or-later
"""A proxy in front of an old NFSv3 server that counts its calls and makes it slow, silent, busy or
cut off.  Runs in threads of the test, on the old server's host."""
import collections
import queue
import socket
import struct
import threading
import time

import nfs3
from xdr import Reader, u32

PROCEDURES = ('NULL GETATTR SETATTR LOOKUP ACCESS READLINK READ WRITE CREATE MKDIR SYMLINK MKNOD '
              'REMOVE RMDIR RENAME LINK READDIR READDIRPLUS FSSTAT FSINFO PATHCONF COMMIT').split()


def read_record(sock):
    """One RPC record with its marks, or None at the end."""
    out, last = bytearray(), False
    while not last:
        head = exactly(sock, 4)
        if head is None:
            return None
        length, = struct.unpack('>I', head)
        last = bool(length >> 31)
        body = exactly(sock, length & 0x7fffffff)
        if body is None:
            return None
        out += head + body
    return out


def exactly(sock, n):
    buffer = bytearray(n)
    view = memoryview(buffer)
    while view:
        got = sock.recv_into(view)
        if not got:
            return None
        view = view[got:]
    return buffer


class Proxy:
    """In front of the NFS service of server (servers.Ganesha with port and announced)."""

    def __init__(self, server):
        self.lock = threading.Lock()
        self.calls = collections.Counter()      # by procedure, of NFS alone
        self.bytes_read = 0                     # in the data that READ asked for
        self.reads = []                         # (offset, count) of each READ
        self.read_of = collections.Counter()    # READs by (handle, offset)
        self.busy_left = collections.Counter()
        self.refused = {}                       # procedure -> status to give
        self.delay = 0                          # seconds each way
        self.connections = set()
        self.arrived = threading.Condition(self.lock)
        ready = queue.Queue()
        server.host.thread(lambda: self.listen(server, ready))
        error = ready.get(timeout=120)
        if error:
            raise error

    # ---- what tests do ------------------------------------------------------------------------

    def reset(self):
        with self.lock:
            self.calls.clear()
            self.reads.clear()
            self.read_of.clear()
            self.bytes_read = 0

    def counted(self):
        with self.lock:
            return dict(self.calls)

    def repeated(self):
        """READs of what was read before (since reset)."""
        with self.lock:
            return sum(self.read_of.values()) - len(self.read_of)

    def total(self):
        with self.lock:
            return sum(self.calls.values())

    def wait_calls(self, procedure, n, seconds=120):
        """Until n calls of the procedure have come (since reset)."""
        with self.arrived:
            if not self.arrived.wait_for(lambda: self.calls[procedure] >= n, seconds):
                raise AssertionError(f'{self.calls[procedure]} calls of {procedure}, not {n}, '
                                     f'within {seconds} s')

    def drop(self):
        """Resets all connections."""
        with self.lock:
            connections = list(self.connections)
        for sock in connections:
            try:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:                     # it is gone already
                pass

    def busy(self, procedure, times):
        """The next calls of the procedure are answered NFS3ERR_JUKEBOX."""
        self.busy_left[procedure] += times

    def refuse(self, procedure, status):
        """All calls of the procedure get this status; None ends that."""
        if status is None:
            self.refused.pop(procedure, None)
        else:
            self.refused[procedure] = status

    # ---- inside -------------------------------------------------------------------------------

    def listen(self, server, ready):
        try:
            listener = socket.create_server((server.address, server.announced), backlog=64)
        except OSError as error:
            ready.put(error)
            return
        ready.put(None)
        while True:
            client, _ = listener.accept()
            try:
                behind = nfs3.Rpc.connect('127.0.0.1', server.port)
            except OSError:
                client.close()
                continue
            for sock in (client, behind):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.connections |= {client, behind}
            ends = (queue.Queue(), queue.Queue())       # of what goes to the server, the client
            for body, args in ((self.read, (client, ends[0], ends[1])),
                               (self.read, (behind, ends[1], None)),
                               (self.write, (ends[0], behind)), (self.write, (ends[1], client))):
                threading.Thread(target=body, args=args, daemon=True).start()

    def read(self, sock, to, back):
        try:
            while (record := read_record(sock)) is not None:
                answer = self.look(record) if back else None
                if answer:
                    back.put((time.monotonic() + 2 * self.delay, answer))
                else:
                    to.put((time.monotonic() + self.delay, record))
        except OSError:
            pass
        to.put((0, None))

    def write(self, records, sock):
        while True:
            due, record = records.get()
            pause = due - time.monotonic()
            if pause > 0:
                threading.Event().wait(pause)
            try:
                if record is not None:
                    sock.sendall(record)
                    continue
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            with self.lock:
                self.connections.discard(sock)
            return

    def look(self, record):
        """Counts a call; the reply to give at once, or None to pass it on."""
        r = Reader(record, 4)
        xid, kind, _, program, version, procedure = (r.u32() for _ in range(6))
        if kind or program != nfs3.NFS or version != 3 or procedure >= len(PROCEDURES):
            return None
        name = PROCEDURES[procedure]
        for _ in range(2):
            r.u32()
            r.opaque()
        with self.lock:
            self.calls[name] += 1
            if name == 'READ':
                handle, offset, count = r.opaque(), r.u64(), r.u32()
                self.reads.append((offset, count))
                self.read_of[bytes(handle), offset] += 1
                self.bytes_read += count
            self.arrived.notify_all()
            status = self.refused.get(name)
            if self.busy_left[name] > 0:
                self.busy_left[name] -= 1
                status = nfs3.JUKEBOX
        if status is None:
            return None
        reply = struct.pack('>6I', xid, 1, 0, 0, 0, 0) + u32(status)
        if name != 'GETATTR':
            reply += u32(0)                     # no attributes follow
        return u32(len(reply) | 1 << 31) + reply
