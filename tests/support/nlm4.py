# SPDX-License-Identifier: GPL-3.0-or-later
"""Locks of NFSv3: the Network Lock Manager, version 4, and the Network Status Monitor (X/Open XNFS chapters 14
and 11), raw."""
import queue
import socket
import struct
import threading

from xdr import Reader, Rpc, opaque, port_of, u32, u64

NLM, NSM = 100021, 100024
NOTIFY = 6
TEST, LOCK, CANCEL, UNLOCK, GRANTED, GRANTED_MSG, GRANTED_RES, SHARE, UNSHARE, FREE_ALL = (
    1, 2, 3, 4, 5, 10, 15, 20, 21, 23)
OK, DENIED, NO_LOCKS, BLOCKED, IN_GRACE = range(5)


class Client:
    """A client called name, as which the server calls back.  Statuses are returned."""

    def __init__(self, host, name):
        self.name = name.encode()
        self.rpc = Rpc(host, port_of(host, NLM, 4))

    def close(self):
        self.rpc.close()

    def call(self, procedure, *args):
        r = self.rpc.call(NLM, 4, procedure, opaque(b'cookie') + b''.join(args))
        r.opaque()
        return r.u32(), r

    def a_lock(self, fh, owner, offset, length):
        return (opaque(self.name) + opaque(fh) + opaque(b'owner %d' % owner) + u32(owner) +
                u64(offset) + u64(length))

    def lock(self, fh, owner, exclusive, offset, length, block=False, reclaim=False):
        return self.call(LOCK, u32(block), u32(exclusive), self.a_lock(fh, owner, offset, length),
                         u32(reclaim), u32(0))[0]

    def unlock(self, fh, owner, offset, length):
        return self.call(UNLOCK, self.a_lock(fh, owner, offset, length))[0]

    def cancel(self, fh, owner, exclusive, offset, length):
        return self.call(CANCEL, u32(1), u32(exclusive), self.a_lock(fh, owner, offset, length))[0]

    def accept(self, cookie):
        """GRANTED_RES, the answer to GRANTED_MSG."""
        self.rpc.start(NLM, 4, GRANTED_RES, opaque(cookie) + u32(OK))

    def test(self, fh, owner, exclusive, offset, length):
        """(status, (exclusive, offset, length) of what is in the way)"""
        status, r = self.call(TEST, u32(exclusive), self.a_lock(fh, owner, offset, length))
        if status != DENIED:
            return status, None
        theirs = r.u32()
        r.u32()
        r.opaque()
        return status, (theirs, r.u64(), r.u64())

    def share(self, fh, owner, mode, access, reclaim=False, procedure=SHARE):
        """mode: what others are denied, access: what is wanted; 0 none, 1 read, 2 write, 3 both."""
        return self.call(procedure, opaque(self.name), opaque(fh), opaque(b'owner %d' % owner),
                         u32(mode), u32(access), u32(reclaim))[0]

    def unshare(self, fh, owner, mode, access):
        return self.share(fh, owner, mode, access, procedure=UNSHARE)


def announce(program, version, protocol, port):
    """To the portmapper of this host."""
    mapper = Rpc('127.0.0.1', 111)
    mapper.call(100000, 2, 1, u32(program) + u32(version) + u32(protocol) + u32(port))
    mapper.close()


def begun(call):
    """Of a call: (procedure, its arguments, the head of the reply)."""
    r = Reader(call)
    xid = r.u32()
    r.at += 4 * 4
    procedure = r.u32()
    for _ in 'credentials', 'verifier':
        r.u32()
        r.opaque()
    return procedure, r, u32(xid) + u32(1) + u32(0) + u32(0) + u32(0) + u32(0)


class Notices:
    """What the statd of this host is told (SM_NOTIFY): that servers have lost their locks.  It needs a
    portmapper."""

    def __init__(self):
        self.told = queue.Queue()           # (the sender's address, the name that it gives itself, its state)
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(('', 0))
        announce(NSM, 1, socket.IPPROTO_UDP, self.sock.getsockname()[1])
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            call, sender = self.sock.recvfrom(4096)
            procedure, r, accepted = begun(call)
            if procedure == NOTIFY:
                self.told.put((sender[0], r.opaque().decode(), r.u32()))
            self.sock.sendto(accepted, sender)


class Callbacks:
    """What a client's host answers when the server grants a lock that was waited for.  Runs in a
    thread of the host, beside a portmapper."""

    def __init__(self, host):
        self.granted = queue.Queue()        # (cookie, svid, offset, length)
        self.ready = queue.Queue()
        host.thread(self.serve)
        self.ready.get(timeout=120)

    def serve(self):
        with socket.socket() as listener:
            listener.bind(('', 0))
            listener.listen()
            announce(NLM, 4, socket.IPPROTO_TCP, listener.getsockname()[1])
            self.ready.put(True)
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=self.answer, args=(connection.makefile('rwb'),),
                                 daemon=True).start()

    def answer(self, stream):
        while head := stream.read(4):
            size, = struct.unpack('>I', head)
            procedure, r, accepted = begun(stream.read(size & 0x7fffffff))
            result = b''
            if procedure in (GRANTED, GRANTED_MSG):
                cookie = r.opaque()
                r.u32()
                for _ in 'caller', 'handle', 'owner':
                    r.opaque()
                self.granted.put((cookie, r.u32(), r.u64(), r.u64()))
                if procedure == GRANTED:
                    result = opaque(cookie) + u32(OK)
            stream.write(u32(len(accepted + result) | 1 << 31) + accepted + result)
            stream.flush()
