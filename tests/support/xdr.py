# SPDX-License-Identifier: GPL-3.0-or-later
"""XDR (RFC 4506) and ONC RPC over TCP (RFC 5531): as much as tests need to be an NFS client."""
import concurrent.futures
import itertools
import os
import socket
import struct
import threading


class RpcError(Exception):
    """The connection or the RPC layer failed; nothing is known of the call."""


class NoReply(RpcError):
    """Nothing came within the time, which is long: servers that hardly get a processor (a load of
    20 and the lowest priority) have been seen to take 45 seconds."""


REPLY_TIME = 180                # seconds


def u32(n):
    return struct.pack('>I', n & 0xffffffff)


def u64(n):
    return struct.pack('>Q', n)


def opaque(b):
    return struct.pack('>I', len(b)) + b + bytes(-len(b) % 4)


class Reader:
    """Takes XDR values off a reply."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, fmt):
        value, = struct.unpack_from(fmt, self.data, self.at)
        self.at += struct.calcsize(fmt)
        return value

    def u32(self):
        return self.take('>I')

    def u64(self):
        return self.take('>Q')

    def i64(self):
        return self.take('>q')

    def fixed(self, n):
        value = bytes(self.data[self.at:self.at + n])
        if len(value) != n:
            raise RpcError('truncated reply')
        self.at += n + (-n % 4)
        return value

    def opaque(self):
        return self.fixed(self.u32())


def auth_sys(uid=0, gid=0, gids=()):
    body = (u32(0) + opaque(b'quickmigrate-test') + u32(uid) + u32(gid) + u32(len(gids)) +
            b''.join(map(u32, gids)))
    return u32(1) + opaque(body)


class Rpc:
    """One connection.  start() may be called from any thread and has many calls under way."""

    def __init__(self, host, port, uid=0, gid=0, timeout=REPLY_TIME):
        self.timeout = timeout
        self.cred = auth_sys(uid, gid)
        self.sock = self.connect(host, port)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.xid = itertools.count(int.from_bytes(os.urandom(3), 'big') << 8)
        self.lock = threading.Lock()        # sending, and waiting
        self.waiting = {}
        self.dead = None
        threading.Thread(target=self.receive, daemon=True).start()

    @staticmethod
    def connect(host, port):
        """From a reserved port, as servers may demand."""
        for local in range(1023, 600, -1):
            sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                sock.bind(('', local))
                sock.connect((host, port))
                return sock
            except OSError as error:
                sock.close()
                if error.errno not in (98, 99):         # EADDRINUSE, EADDRNOTAVAIL
                    raise
        raise OSError('no reserved port is free')

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.sock.close()

    def start(self, prog, vers, proc, args=b'', cred=None):
        """Sends a call; a Future of the Reader behind an accepted reply's header.  cred: of this
        call alone (auth_sys())."""
        future = concurrent.futures.Future()
        with self.lock:
            if self.dead:
                raise RpcError(str(self.dead))
            xid = next(self.xid) & 0xffffffff
            self.waiting[xid] = future
            message = (struct.pack('>6I', xid, 0, 2, prog, vers, proc) +
                       (cred or self.cred) + u32(0) + u32(0) + args)
            try:
                self.sock.sendall(u32(len(message) | 1 << 31) + message)
            except OSError as error:
                del self.waiting[xid]
                raise RpcError(str(error)) from error
        return future

    def call(self, prog, vers, proc, args=b'', cred=None):
        try:
            return self.start(prog, vers, proc, args, cred).result(self.timeout)
        except concurrent.futures.TimeoutError:
            raise NoReply(f'no reply within {self.timeout} s') from None

    def exactly(self, n):
        buffer = bytearray(n)
        view = memoryview(buffer)
        while view:
            got = self.sock.recv_into(view)
            if not got:
                raise OSError('connection closed')
            view = view[got:]
        return buffer

    def record(self):
        data, last = bytearray(), False
        while not last:
            head, = struct.unpack('>I', self.exactly(4))
            last = bool(head >> 31)
            data += self.exactly(head & 0x7fffffff)
        return data

    def receive(self):
        try:
            while True:
                reply = Reader(self.record())
                xid, kind, denied = reply.u32(), reply.u32(), reply.u32()
                with self.lock:
                    future = self.waiting.pop(xid, None)
                if not future:
                    continue
                if kind != 1 or denied:
                    future.set_exception(RpcError('call denied'))
                    continue
                reply.u32()
                reply.opaque()
                status = reply.u32()
                if status:
                    future.set_exception(RpcError(f'accept status {status}'))
                else:
                    future.set_result(reply)
        except (OSError, struct.error) as error:
            with self.lock:
                self.dead = error
                left, self.waiting = self.waiting, {}
            for future in left.values():
                future.set_exception(RpcError(str(error)))


def port_of(host, prog, vers):
    """The program's TCP port by the portmapper (RFC 1833 section 3, version 2)."""
    rpc = Rpc(host, 111, timeout=10)
    try:
        return rpc.call(100000, 2, 3, u32(prog) + u32(vers) + u32(6) + u32(0)).u32()
    finally:
        rpc.close()
